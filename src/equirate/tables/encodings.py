"""The text of a CSV file as UTF-8, whatever its encoding, in one pass and in constant memory.

In: a stream of bytes. Out: `Utf8`, a stream of the same text in UTF-8 that knows the encoding it has recognised so far.
UTF-16 is recognised by its first bytes. Everything else is UTF-8 until a byte is invalid; if all bytes before that
one are ASCII, the file is cp1252, of which Latin-1 is a part, and reading goes on: large files are never read twice. As
in browsers, the five bytes that cp1252 does not define are read as Latin-1.
"""

from __future__ import annotations

import codecs
import io
import re
from typing import IO, Any

from .._core.errors import DataError

UTF_8, LATIN_1, CP1252 = "utf-8", "latin-1", "cp1252"
_CONTROL = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1, letters and signs in cp1252
_OPEN = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # without a meaning in cp1252
_LONGEST = 4  # bytes of a character in UTF-8
_NOT_TEXT = frozenset({"base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib", "idna", "punycode"})


def _from_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode(LATIN_1), error.end


codecs.register_error("equirate.latin-1", _from_latin_1)


def check_encoding(name: str) -> str:
    """The plain name of an encoding; refuses one that Python does not know.

    Examples
    --------
    >>> check_encoding("Windows-1252")
    'cp1252'
    """
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        codec = ""
    if not codec or codec in _NOT_TEXT:
        raise DataError(f"there is no encoding {name!r}: give, for example, utf-8, utf-16, latin-1 or cp1252")
    return {"iso8859-1": LATIN_1}.get(codec, codec)


def wide_encoding(start: bytes) -> str:
    """The kind of UTF-16 that the first bytes of a file show; empty if none.

    Examples
    --------
    >>> wide_encoding("a;b".encode("utf-16-le"))
    'utf-16-le'
    >>> wide_encoding(b"a;b")
    ''
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = start[0:1024:2], start[1:1024:2]
    # A header is mostly ASCII, of which every second byte is 0 in UTF-16.
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros and zeros.count(0) > len(zeros) / 2 and not others.count(0):
            return name
    return ""


class Utf8(io.RawIOBase):
    """A stream of text in UTF-8.

    Parameters
    ----------
    stream
        The bytes of the file; closed with this stream.
    name
        What the file is called in errors.
    encoding
        The encoding of the file; recognised if empty.
    """

    def __init__(self, stream: IO[bytes], name: str, encoding: str = "") -> None:
        self._stream, self._name, self._given = stream, name, encoding
        self._start = stream.read(1024)
        self.encoding = encoding or wide_encoding(self._start) or UTF_8
        self._plain = not encoding and self.encoding == UTF_8
        self._decoder: Any = codecs.getincrementaldecoder(self.encoding)()
        self._held = b""  # bytes of a character that is not complete yet
        self._beyond_ascii = False
        self._place = 0

    def readable(self) -> bool:
        """Whether there may be something to read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read at most so many bytes of text, all of it by default; nothing at the end of the file."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(1 << 20), b""))
        while True:
            raw = self._take(max(size // _LONGEST, 1))
            text = self._utf8(raw) if self._plain else self._transcoded(raw)
            self._place += len(raw)
            if text or not raw:
                return text

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()

    def _take(self, size: int) -> bytes:
        if self._start:
            start, self._start = self._start[:size], self._start[size:]
            return start
        return self._stream.read(size)

    def _utf8(self, raw: bytes) -> bytes:
        """The bytes without an incomplete last character; cp1252 from the first byte that is invalid UTF-8 on."""
        pending = self._held + raw
        if pending.isascii():
            self._held = b""
            return pending
        decoder: Any = codecs.getincrementaldecoder(UTF_8)()
        try:
            decoder.decode(pending, final=not raw)
        except UnicodeDecodeError as error:
            if self._beyond_ascii or not pending[: error.start].isascii():
                raise DataError(
                    f"{self._name} is UTF-8 up to byte {self._place - len(self._held) + error.start:,}, which is not: "
                    "repair it there, or name the encoding of the whole file, as in --encoding cp1252"
                ) from None
            self._plain, self._held = False, b""
            self.encoding, self._decoder = LATIN_1, None
            return self._transcoded(pending)
        self._held = decoder.getstate()[0]
        complete = pending[: len(pending) - len(self._held)]
        self._beyond_ascii = self._beyond_ascii or not complete.isascii()
        return complete

    def _transcoded(self, raw: bytes) -> bytes:
        if self._decoder is None:
            if self.encoding == LATIN_1 and _CONTROL.search(raw) and not _OPEN.search(raw):
                self.encoding = CP1252
            return raw.decode(CP1252, "equirate.latin-1").encode()
        try:
            text: str = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            place = self._place + error.start
            raise DataError(f"{self._name} is not {self.encoding}: see its byte {place:,}") from None
        return text.encode(errors="replace")
