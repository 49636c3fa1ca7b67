"""A forger of model files and of texts of the language of rates.

In: the manifests and arrays of models, and a generator of random numbers. Out: bytes and texts that are nearly, or not
at all, what `equirate.load` and `equirate.parse` take. The layout of files is written and read here a second time, from
its description alone, so that a forger's checksum is right and so that the library is not judged by itself.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Manifest = dict[str, Any]
Arrays = dict[str, Array]

MOST_PLACES = 5000
"""Places in nested data beyond which nothing more is put in."""
CODES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in CODES.items()}


# -- the layout, a second time --------------------------------------------------------------------


def packed(manifest: Manifest | bytes, arrays: Arrays, edit: Callable[[Any], Any] | None = None) -> bytes:
    """A file of version 2 with a checksum that is right; ``edit`` changes its header."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    table: dict[str, Any] = {"__metadata__": {"format": "equirate", "version": "2"}}
    data = b""
    everything = {"manifest": np.frombuffer(text, np.uint8), **arrays, "sha256": np.zeros(32, np.uint8)}
    for name, array in everything.items():
        code = NAMES.get(array.dtype, "F64")
        table[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    head = json.dumps(table if edit is None else edit(table)).encode()
    return signed(len(head).to_bytes(8, "little") + head + data)


def signed(content: bytes) -> bytes:
    """The content with a checksum that is right."""
    return content[:-32] + hashlib.sha256(content[:-32]).digest()


def unpacked(content: bytes) -> tuple[Manifest, Arrays]:
    """Manifest and arrays of a file that was loaded."""
    length = int.from_bytes(content[:8], "little")
    table, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    del table["__metadata__"]
    arrays = {}
    for name, entry in table.items():
        start, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[start:end], CODES[entry["dtype"]]).reshape(entry["shape"])
    return json.loads(arrays.pop("manifest").tobytes()), arrays


# -- what a forger does ---------------------------------------------------------------------------

WORDS = (
    *("f1()", "tpr()", "precision(group == 'a')", "0.5", "1e308", "group", "'a'", ">=", "<=", "==", "+", "-", "*", "/"),
    *("(", ")", "[", "]", ",", "~", "&", "|", "minimize(", "maximize(", "sqrt(", "max(", " ", "**", "abs(", "norm("),
    *("demographic_parity(group, tolerance=0.1)", "lambda x: x", "__import__('os')", "f'{1}'", "1j", "...", "None"),
    *("ratio(", "kl(", "log(", "inv(", "churn('old')", "\\", '"', "\n", "\0", "ß", "\ud800", "9" * 30, "0x1F", "1_0"),
    *("not ", " if ", " else ", " and ", " is ", "{", "}", ":=", ":", ";", "#", "@", "e400", "-" * 50, "(" * 40),
    *(".isin(['a', 'b'])", "tnr(", "fpr(", "group == 'b'", "q_mean()", "tolerance=", "beta=", "f_score(", "geo_mean("),
)
TEXTS = (
    "precision(group == 'a') >= precision(group == 'b') - 0.02",
    "maximize(geo_mean(tpr(), tnr()))",
    "demographic_parity(group, tolerance=0.05)",
    "(group == 'a') & (age < 30) | ~group.isin(['b', 'c'])",
    "minimize(0.5 * fpr() + sqrt(fnr(group != 'a')) + log_loss())",
    "kl_divergence(0.3) <= 0.1",
    "abs(tpr(a == 1) - tpr(a == 2)) <= 0.1",
    "[f1() >= 0.5, win_loss_ratio('old') >= 1.2]",
)
NUMBERS = (0, 1, -1, 2, 3, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, 10**400)


def any_value(rng: Random) -> Any:
    """Anything that JSON can hold, and likes to trouble programmes."""
    kind = rng.randrange(12)
    if kind < 4:
        return rng.choice(NUMBERS)
    if kind == 4:
        return rng.choice((None, True, False, "", [], {}))
    if kind == 5:
        return {"float": rng.choice(("nan", "inf", "-inf", "1e999", "x"))}
    if kind == 6:
        return forged_text(rng)
    if kind == 7:
        return "x" * rng.choice((1, 300, 25_000))
    if kind == 8:
        return [rng.choice(NUMBERS)] * rng.choice((1, 2, 50, 5000))
    if kind == 9:
        value: Any = 1
        for _ in range(rng.choice((2, 10, 31, 60))):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    if kind == 10:
        return {rng.choice(("float", "linear", "estimator", "LogisticRegression", "x")): rng.choice(NUMBERS)}
    return rng.choice(
        ("<U500000000", "|O", "linear", "plug_in", "thresholds", "deterministic", "\x00", "\ud83d", "a b")
    )


def forged_text(rng: Random) -> str:
    """Text that is nearly, or not at all, of the language."""
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 25)))
    text = rng.choice(TEXTS)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        place = rng.randrange(len(text) + 1)
        if kind == 1:
            text = text[:place] + rng.choice(WORDS) + text[place:]
        elif kind == 2:
            text = text[:place] + text[place + rng.randrange(1, 6) :]
        else:
            text = text[:place] + chr(rng.choice((rng.randrange(32, 127), rng.randrange(0x10FFFF)))) + text[place + 1 :]
    return text if rng.random() < 0.97 else text * rng.choice((20, 300))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in nested data."""
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, part in parts for place in places(part, (*path, name)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What stands at a path."""
    for name in path:
        value = value[name]
    return value


def forge(value: Any, rng: Random, times: int = 1) -> Any:
    """Nested data with something else somewhere."""
    value = json.loads(json.dumps(value))
    for _ in range(times):
        known = places(value)
        path = rng.choice(known)
        if not path or len(known) > MOST_PLACES:
            return any_value(rng) if rng.random() < 0.2 else value
        inside, kind = at(value, path[:-1]), rng.randrange(6)
        if kind == 0:
            del inside[path[-1]]
        elif kind == 1 and isinstance(inside, dict):
            inside[rng.choice(("surprise", "salt", "count", "float", "kind", "x" * 300))] = any_value(rng)
        elif kind == 2:
            inside[path[-1]] = copy.deepcopy(at(value, rng.choice(known)))
        elif kind == 3 and isinstance(inside, list) and len(places(inside)) < 100:
            inside.extend(inside * rng.choice((1, 3, 1000)))
        elif kind == 4 and isinstance(inside[path[-1]], str):
            inside[path[-1]] = forged_text(rng)
        else:
            inside[path[-1]] = any_value(rng)
    return value


def forge_arrays(arrays: Arrays, rng: Random) -> Arrays:
    """Arrays of which one is another."""
    arrays = dict(arrays)
    name = rng.choice([*arrays])
    array = np.array(arrays.pop(name))
    kind = rng.randrange(9)
    if kind == 0:
        return arrays
    if kind == 1:
        return {**arrays, rng.choice(("surprise", "a b", "end.parameters", "history.x", "n" * 300)): array}
    if kind == 2 and array.size:
        array.reshape(-1)[rng.randrange(array.size)] = (
            rng.choice((np.nan, np.inf, -1.0, 1e308, 2.0)) if array.dtype == np.float64 else 99
        )
    elif kind == 3:
        with np.errstate(invalid="ignore"):  # whatever NaN becomes
            array = array.astype(rng.choice(list(CODES.values())), casting="unsafe")
    elif kind == 4:
        array = array.reshape(rng.choice(((-1,), (1, -1), (-1, 1), (1, -1, 1))))
    elif kind == 5:
        array = np.concatenate([array.reshape(-1)] * rng.choice((2, 5)))
    elif kind == 6:
        array = array.reshape(-1)[: rng.randrange(array.size + 1)]
    elif kind == 7 and array.size:
        array = array * array.dtype.type(rng.choice((0, 2, 1)))
    else:
        array = np.zeros(rng.choice(((0,), (0, 3), (3, 0), (4, 2), (), (2,) * 8)), array.dtype)
    return {**arrays, name: array}


def forge_bytes(content: bytes, rng: Random) -> bytes:
    """Bytes of which some are others."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        place, kind = rng.randrange(len(changed) + 1), rng.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[place:]
        elif kind == 2:
            del changed[place : place + rng.randrange(1, 50)]
        elif kind == 3:
            changed[place:place] = rng.randbytes(rng.randrange(1, 20))
        elif kind == 4:
            changed[place : place + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"PK\x01\x02")
            )
        else:
            other = rng.randrange(len(changed) + 1)
            changed[place : place + 30] = changed[other : other + 30]
        if not changed:
            break
    return bytes(changed)


@dataclass
class Forger:
    """Makes files and texts from models."""

    sources: dict[str, tuple[Manifest, Arrays]]
    rng: Random

    def file(self) -> bytes:
        """One file that is not quite a model, or a model."""
        rng = self.rng
        name = rng.choice([*self.sources])
        manifest, arrays = self.sources[name]
        kind = rng.randrange(10)
        if kind < 4:
            return packed(forge(manifest, rng, rng.choice((1, 1, 1, 2, 4))), arrays)
        if kind < 6:
            return packed(manifest, forge_arrays(arrays, rng))
        if kind == 6:
            text = json.dumps(forge(manifest, rng)).encode()
            deep = rng.choice((b"", b"", b"[" * 40, b'{"a":' * 2000, b"[" * 200_000))
            place = rng.randrange(len(text) + 1)
            return packed(text[:place] + deep + text[place:] if deep else forge_bytes(text, rng), arrays)
        if kind == 7:
            return packed(manifest, arrays, lambda table: forge(table, rng))
        content = forge_bytes(packed(manifest, arrays), rng)
        return content if kind == 8 or len(content) < 32 else signed(content)
