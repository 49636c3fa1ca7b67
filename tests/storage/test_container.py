"""The container of model files: exact, the same bytes for the same content, and closed to whatever strangers send."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import equirate as eq
from equirate.storage import container
from equirate.storage.container import read, write

ARRAYS: dict[str, Any] = {
    "weights": np.random.default_rng(0).normal(size=(7, 3)),
    "small": np.array([1.5, -0.0, np.nan, np.inf, 5e-324], dtype=np.float32),
    "scalar": np.array(3.25),
    "empty": np.zeros((0, 4)),
    "flags": np.array([True, False]),
    "counts": np.array([2**62, -1]),
    "bytes": np.arange(5, dtype=np.uint8),
    "big-endian": np.array([1.0, 2.0], dtype=">f8"),
}
MANIFEST = {"kind": "thing", "settings": {"tolerance": 0.1, "names": ["a", "ü"], "none": None, "far": float("inf")}}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.equirate"
    write(path, MANIFEST, ARRAYS)
    return path


def refused(path: Path | str) -> str:
    """The reason of a refusal; the same with the path in front is what `load` says."""
    with pytest.raises(eq.FileError) as caught:
        read(path)
    with pytest.raises(eq.FileError) as said:
        eq.load(path)
    assert str(said.value) == f"cannot load {path}: {caught.value}"
    assert said.value.__cause__ is None
    return str(caught.value)


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and data of a file, read by hand."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def forged(path: Path, header: Any, data: bytes) -> Path:
    """A file of a header and data, with a checksum that is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = len(text).to_bytes(8, "little") + text + data[:-32]
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


# -- what is written ------------------------------------------------------------------------------


def test_round_trip_is_exact_to_the_bit(saved: Path) -> None:
    manifest, arrays = read(saved)
    assert manifest == MANIFEST
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype.newbyteorder("=")
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.astype(arrays[name].dtype).tobytes()
        assert arrays[name].flags.aligned
        assert arrays[name].flags.writeable


def test_other_readers_of_the_layout_open_it(saved: Path) -> None:
    found = load_file(saved)
    assert set(found) == {*ARRAYS, "manifest", "sha256"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
    assert json.loads(found["manifest"].tobytes())["kind"] == "thing"
    assert hashlib.sha256(saved.read_bytes()[:-32]).digest() == found["sha256"].tobytes()


def test_numbers_stand_at_multiples_of_their_size(saved: Path) -> None:
    header, data = parts(saved)
    start = len(saved.read_bytes()) - len(data)
    for name, array in ARRAYS.items():
        assert (start + header[name]["data_offsets"][0]) % array.dtype.itemsize == 0


def test_equal_content_gives_equal_bytes(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shuffled = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    shuffled["weights"] = np.asfortranarray(ARRAYS["weights"])
    write(str(other), dict(reversed(MANIFEST.items())), shuffled)
    assert other.read_bytes() == saved.read_bytes()


@pytest.mark.parametrize(
    ("manifest", "arrays"),
    [
        ({"a": object()}, {}),
        ({"a": {1, 2}}, {}),
        ({}, {"a": np.array([object()], dtype=object)}),
        ({}, {"a": np.array(["text"])}),
        ({}, {"a": np.array([1j])}),
        ({}, {"a": np.ones(2, np.longdouble)}),
        ({}, {"a": np.ones((1,) * 9)}),
        ({}, {"../a": np.ones(2)}),
        ({}, {"sha256": np.ones(2)}),
        ({}, {f"a{k}": np.ones(1) for k in range(4000)}),
        ({"a": list(range(400_001))}, {}),
    ],
    ids=["object", "set", "objects", "text", "complex", "long", "axes", "name", "checksum", "arrays", "values"],
)
def test_what_would_not_be_read_is_not_written(saved: Path, manifest: Any, arrays: Any) -> None:
    before = saved.read_bytes()
    with pytest.raises(eq.FileError, match=r"cannot save to .*(plain data|name of an array|at most|more than)"):
        write(saved, manifest, arrays)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_model_that_is_too_large_is_not_written(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MOST_BYTES", 2**20)
    with pytest.raises(eq.FileError, match="at most 1 MiB in 4000 arrays; this one would have 2 MiB in 3"):
        write(saved, {}, {"a": np.ones(2**18)})
    assert read(saved)[0] == MANIFEST


# -- what is read ---------------------------------------------------------------------------------


def test_places_that_cannot_be_read(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing") == "there is no such file"
    assert refused(tmp_path / "missing" / "file") == "there is no such file"
    assert refused(tmp_path) == "it is a folder, not a file"
    assert refused("/dev/zero") == "it is a device, not a file"
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "it is a pipe (FIFO), not a file"
    assert "no name of a file" in refused(f"{tmp_path}/a\0b")
    with pytest.raises(eq.FileError, match="no name of a file"):
        eq.load(None)  # type: ignore[arg-type]
    (tmp_path / "a").symlink_to("a")
    assert "symbolic links" in refused(tmp_path / "a")


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as stream:
        stream.truncate(2**40)
    assert refused(tmp_path / "huge") == "it has 1048576 MiB; at most 2048 MiB are read"


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"PK\x03\x04", b"hello, world\n" * 100, b"\x93NUMPY", b"PK\x05\x06" + b"\0" * 18, bytes(1000)],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert "not" in refused(path)


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return open, (str(self.marker), "w")


def test_a_pickle_is_refused_and_never_loaded(tmp_path: Path, saved: Path) -> None:
    path, marker = tmp_path / "file", tmp_path / "marker"
    path.write_bytes(pickle.dumps(Bomb(marker)))
    refused(path)
    refused(forged(path, pickle.dumps(Bomb(marker)), parts(saved)[1]))
    assert not marker.exists()
    with pickle.loads(pickle.dumps(Bomb(marker))):  # the bomb is live
        assert marker.exists()


def test_a_file_cut_short_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for end in range(0, len(content), 7):
        saved.write_bytes(content[:end])
        refused(saved)


def test_every_flipped_bit_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(changed)
        refused(saved)


def test_versions(saved: Path) -> None:
    header, data = parts(saved)
    for version, message in (
        ("3", "its format version is 3, and this equirate reads version 2: upgrade equirate"),
        ("1", "its format version is 1, and this equirate reads version 2"),
        ("0", "no format version, but '0'"),
        ("two", "no format version"),
        (2, "version must be a text"),
        ("9" * 30, "version must be a text"),
    ):
        header["__metadata__"]["version"] = version
        assert message in refused(forged(saved, header, data))
    header["__metadata__"] = {"format": "pt"}
    assert refused(forged(saved, header, data)) == "it was not saved by equirate"
    del header["__metadata__"]
    assert refused(forged(saved, header, data)) == "it was not saved by equirate"


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("weights", {"dtype": "F16"}, "must be one of"),
        ("weights", {"dtype": "O"}, "must be one of"),
        ("weights", {"dtype": "F32"}, "size and the place"),
        ("weights", {"shape": [3, 8]}, "size and the place"),
        ("weights", {"shape": [-7, -3]}, "must be a whole number"),
        ("weights", {"shape": [2**40]}, "must be a whole number"),
        ("weights", {"shape": [2**31, 2**31, 2**31]}, "size and the place"),
        ("weights", {"shape": [1] * 9}, "a list of 0 to 8 entries"),
        ("weights", {"shape": "73"}, "must be a list"),
        ("weights", {"data_offsets": [0, 168]}, "size and the place"),
        ("weights", {"data_offsets": [0]}, "a list of 2 to 2 entries"),
        ("weights", {"extra": 1}, "upgrade equirate"),
        ("manifest", {"dtype": "I8"}, "not bytes"),
        ("sha256", {"dtype": "I8"}, "not bytes"),
        ("sha256", {"shape": [4, 8]}, "not bytes"),
        ("other", {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}, "size and the place"),
        ("a b", {}, "has no 'dtype'"),
    ],
)
def test_a_forged_header_is_refused(saved: Path, name: str, entry: dict[str, Any], message: str) -> None:
    header, data = parts(saved)
    header[name] = {**header.get(name, {}), **entry}
    assert message in refused(forged(saved, header, data))


def test_the_manifest_comes_first_and_the_checksum_last(saved: Path) -> None:
    header, data = parts(saved)
    for changed in (
        {"manifest": "first", "sha256": "last"},
        {"sha256": "other"},
        {"manifest": "sha256", "sha256": "manifest"},
    ):
        renamed = {changed.get(name, name): entry for name, entry in header.items()}
        assert "not where it belongs" in refused(forged(saved, renamed, data))
    names = {("a b" if name == "flags" else name): entry for name, entry in header.items()}
    assert "an array is called 'a b'" in refused(forged(saved, names, data))
    assert "damaged or cut short" in refused(forged(saved, header, data + b"more"))


def test_many_arrays_are_refused(saved: Path) -> None:
    header, data = parts(saved)
    empty = {f"a{k}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for k in range(5000)}
    assert "claims to hold 5010 arrays" in refused(forged(saved, {**header, **empty}, data))


def test_flags_are_true_or_false(saved: Path) -> None:
    header, data = parts(saved)
    place = header["flags"]["data_offsets"][0]
    data = data[:place] + b"\x02" + data[place + 1 :]
    assert "neither true nor false" in refused(forged(saved, header, data))


def test_the_manifest_is_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "file", [1], {})  # type: ignore[arg-type]
    assert "not an object" in refused(tmp_path / "file")
    monkeypatch.setattr(container.plain, "MOST_TEXT", 1000)
    write(tmp_path / "file", {"a": "b" * 500}, {})
    monkeypatch.setattr(container.plain, "MOST_TEXT", 450)
    assert "too large" in refused(tmp_path / "file")


# -- bombs ----------------------------------------------------------------------------------------

BOMBS = '''
import hashlib, io, json, os, resource, struct, sys, time, zipfile, zlib
import numpy as np
import equirate as eq
from equirate.storage import container

folder, source = sys.argv[1:]
path = os.path.join(folder, "bomb")
eq.load(source)  # whatever is imported late
manifest, arrays = container.read(source)
good = arrays["stochastic.members.coefficients"]

def write(manifest, **changed):
    """A file with a checksum that is right, whatever its manifest and arrays are."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    table, data = {"__metadata__": {"format": "equirate", "version": "2"}}, b""
    named = {"manifest": np.frombuffer(text, np.uint8), **{**arrays, **changed}, "sha256": np.zeros(32, np.uint8)}
    kinds = {"float64": "F64", "float32": "F32", "uint8": "U8", "int64": "I64"}
    for name, array in named.items():
        place = [len(data), len(data) + array.nbytes]
        table[name] = {"dtype": kinds[str(array.dtype)], "shape": array.shape, "data_offsets": place}
        data += array.tobytes()
    head = json.dumps(table).encode()
    body = len(head).to_bytes(8, "little") + head + data[:-32]
    with open(path, "wb") as stream:
        stream.write(body + hashlib.sha256(body).digest())

def deep(value, depth):
    for _ in range(depth):
        value = [value]
    return value

def huge():
    with open(path, "wb") as stream:
        stream.truncate(2**31 - 10)

def manifest_of(**changed):
    return {**manifest, **changed}

def problem_of(*constraints):
    return manifest_of(problem={"objective": "minimize(f1())", "constraints": constraints})

bombs = {
    "text type": lambda: write(manifest_of(classes={"values": ["a", "b"], "dtype": "<U500000000"})),
    "text": lambda: write(manifest_of(notes=["x" * 15_000_000])),
    "wide text": lambda: write(manifest_of(notes=["\\U0001f600" + "x" * 15_000_000])),
    "lists": lambda: write(b"[" + b"[]," * 5_000_000 + b"[]]"),
    "objects": lambda: write(b"[" + b"{}," * 5_000_000 + b"{}]"),
    "strings": lambda: write(b"[" + b'"",' * 5_000_000 + b'""]'),
    "escapes": lambda: write(b'"' + b'\\\\"' * 7_000_000 + b'"'),
    "numbers": lambda: write(b"[" + b"1.5," * 4_000_000 + b"1]"),
    "digits": lambda: write(b"[" + (b"9" * 4200 + b",") * 3900 + b"1]"),
    "depth": lambda: write(b"[" * 16_000_000),
    "constraints": lambda: write(problem_of(*["f1() >= 0.5"] * 20_000)),
    "long constraints": lambda: write(problem_of(*["+".join(["tpr()"] * 2900) + " >= 1"] * 60)),
    "numbers in notes": lambda: write(manifest_of(notes=[0] * 300_000)),
    "features": lambda: write(manifest_of(features={"count": 10_000_000, "names": None})),
    "empty shape": lambda: write(manifest, **{"stochastic.members.coefficients": np.zeros((0, 2**31 - 1))}),
    "empty weights": lambda: write(manifest, **{"stochastic.weights": np.zeros(0)}),
    "zeros": huge,
}
virtual = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for name, make in bombs.items():
    make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pid = os.fork()
    if pid == 0:  # a process of its own, so that its peak is that of this file
        resource.setrlimit(resource.RLIMIT_AS, (virtual + 2**28, resource.RLIM_INFINITY))
        start = time.process_time()
        try:
            eq.load(path)
            said = "LOADED"
        except eq.FileError as error:
            said = f"CAUSE {error.__cause__!r}" if error.__cause__ else str(error)
        except BaseException as error:
            said = f"ESCAPED {error!r}"
        print(json.dumps([name, said[:200], time.process_time() - start]), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
'''


@pytest.mark.slow
def test_bombs_are_refused_with_little_memory(tmp_path: Path) -> None:
    """Each in a process that may not take more than 256 MiB beyond what importing took."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    fitted = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.fpr() <= 0.2], random_state=0).fit(X, y)
    source, folder = tmp_path / "mixture.equirate", tmp_path / "bombs"
    fitted.save(source)
    folder.mkdir()
    command = [sys.executable, "-c", BOMBS, str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == BOMBS.count("lambda: ") + 1
    for name, said, _ in told:
        assert said.startswith("cannot load"), (name, said)
