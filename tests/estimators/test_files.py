import contextlib
import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equirate._core.errors import EquirateError
from equirate.estimators import files
from equirate.estimators.files import FileError, read, write

ARRAYS: dict[str, Any] = {
    "weights": np.random.default_rng(0).normal(size=(7, 3)),
    "small": np.array([1.5, -0.0, np.nan, np.inf, 5e-324], dtype=np.float32),
    "scalar": np.array(3.25),
    "empty": np.zeros((0, 4)),
    "text": np.array(["a", "größer"]),
    "flags": np.array([True, False]),
    "counts": np.array([2**62, -1]),
    "big endian": np.array([1.0, 2.0], dtype=">f8"),
}
MANIFEST = {"kind": "thing", "settings": {"tolerance": 0.1, "names": ["a", "ü"], "none": None}}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.equirate"
    write(path, MANIFEST, ARRAYS)
    return path


def refused(path: Path | str) -> str:
    with pytest.raises(FileError) as caught:
        read(path)
    assert len(str(caught.value)) > len(str(path)) + 10, "a refusal gives its reason"
    assert isinstance(caught.value, EquirateError)
    return str(caught.value)


def repacked(path: Path, **changed: bytes | None) -> Path:
    """The same file with some entries replaced (``manifest`` or an array's name), or left out (None)."""
    other = path.with_name("other.equirate")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for entry in old.namelist():
            content = changed.get(entry.rsplit(".", 1)[0], old.read(entry))
            if content is not None:
                new.writestr(entry, content)
    return other


def with_manifest(path: Path, **changed: Any) -> Path:
    manifest = json.loads(zipfile.ZipFile(path).read("manifest.json"))
    return repacked(path, manifest=json.dumps({**manifest, **changed}).encode())


def test_round_trip_is_exact_to_the_bit(saved: Path) -> None:
    manifest, arrays = read(saved)
    assert {name: manifest[name] for name in MANIFEST} == MANIFEST
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def test_equal_content_gives_equal_bytes(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shuffled = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    shuffled["weights"] = np.asfortranarray(ARRAYS["weights"])
    write(str(other), dict(reversed(MANIFEST.items())), shuffled)
    assert other.read_bytes() == saved.read_bytes()


def test_the_manifest_cannot_lie_about_the_format(tmp_path: Path) -> None:
    write(tmp_path / "a", {"format": "other", "version": 99, "arrays": ["x"]}, {})
    assert read(tmp_path / "a")[0] == {"format": "equirate", "version": 1, "arrays": []}


def test_a_saved_file_has_the_usual_permissions(saved: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    assert saved.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failure_while_writing_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    before = saved.read_bytes()

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(FileError, match="No space left"):
        write(saved, MANIFEST, {})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_interruption_while_writing_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(saved, MANIFEST, {})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize(
    ("manifest", "arrays"),
    [
        ({"a": object()}, {}),
        ({"a": float("nan")}, {}),
        ({"a": {1, 2}}, {}),
        ({}, {"a": np.array([object()], dtype=object)}),
    ],
    ids=["object", "nan", "set", "object array"],
)
def test_what_is_not_plain_is_not_written(saved: Path, manifest: Any, arrays: Any) -> None:
    before = saved.read_bytes()
    with pytest.raises(FileError, match="not plain data"):
        write(saved, manifest, arrays)
    assert saved.read_bytes() == before


def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="does not exist"):
        write(tmp_path / "missing" / "file", {}, {})
    with pytest.raises(FileError, match="folder"):
        write(tmp_path, {}, {})
    with pytest.raises(FileError, match="cannot save"):
        write(tmp_path / ("n" * 5000), {}, {})
    with pytest.raises(FileError, match="cannot save"):
        write(f"{tmp_path}/a\0b", {}, {})

    def deny(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", deny)
    with pytest.raises(FileError, match="Permission denied"):
        write(tmp_path / "file", {}, {})


def test_places_that_cannot_be_read(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no file" in refused(tmp_path / "missing")
    assert "no file" in refused(tmp_path / "missing" / "file")
    assert "folder" in refused(tmp_path)

    def deny(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(zipfile, "ZipFile", deny)
    assert "Permission denied" in refused(saved)


@pytest.mark.parametrize("content", [b"", b"PK", b"hello, world\n" * 100, b"\x93NUMPY", b"PK\x05\x06" + b"\0" * 18])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    refused(path)


def test_a_pickle_is_refused_and_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(pickle.dumps(_Bomb(tmp_path / "marker")))
    refused(path)
    assert not (tmp_path / "marker").exists()


def test_a_file_cut_short_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for end in range(0, len(content), 7):
        saved.write_bytes(content[:end])
        refused(saved)


def test_a_flipped_bit_is_refused_or_changes_nothing(saved: Path) -> None:
    content, wanted = saved.read_bytes(), read(saved)
    rng, found = np.random.default_rng(0), 0
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(changed)
        try:
            manifest, arrays = read(saved)
        except FileError:
            found += 1
            continue
        assert manifest == wanted[0]
        assert all(arrays[name].tobytes() == wanted[1][name].tobytes() for name in wanted[1])
    assert found > len(content) / 3 / 3


def test_random_bytes_inside_are_refused(saved: Path) -> None:
    rng = np.random.default_rng(0)
    header = zipfile.ZipFile(saved).read("weights.npy")[:128]
    for _ in range(300):
        noisy = bytearray(header + rng.bytes(168))
        for _ in range(int(rng.integers(1, 6))):
            noisy[int(rng.integers(len(header)))] = int(rng.integers(256))
        with contextlib.suppress(FileError):
            read(repacked(saved, weights=bytes(noisy)))


def test_foreign_archives_are_refused(saved: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no manifest" in refused(foreign)
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    assert "no manifest" in refused(tmp_path / "arrays.npz")
    for manifest in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"format": "other"}', b"1" * 5000):
        refused(repacked(saved, manifest=manifest))


def test_versions(saved: Path) -> None:
    assert "upgrade" in refused(with_manifest(saved, version=2))
    for version in (0, -1, "1", None, True, 1.0):
        assert "version" in refused(with_manifest(saved, version=version))


@pytest.mark.parametrize("names", [None, "weights", [1], [["weights"]], ["weights", "weights"], {"weights": 1}])
def test_the_list_of_arrays_is_checked(saved: Path, names: Any) -> None:
    assert "list its arrays" in refused(with_manifest(saved, arrays=names))


def test_a_missing_array_is_refused(saved: Path) -> None:
    assert "weights.npy is missing" in refused(repacked(saved, weights=None))
    assert "other.npy is missing" in refused(with_manifest(saved, arrays=["other"]))


class _Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return open, (str(self.marker), "w")


def test_objects_are_refused_and_never_unpickled(saved: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Bomb(marker)], dtype=object), allow_pickle=True)
    assert "pickled" in refused(repacked(saved, weights=buffer.getvalue()))
    refused(repacked(saved, weights=pickle.dumps(_Bomb(marker))))
    refused(repacked(saved, manifest=pickle.dumps(_Bomb(marker))))
    assert not marker.exists()
    with pickle.loads(pickle.dumps(_Bomb(marker))):  # the bomb is live
        assert marker.exists()


def npy(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def test_an_array_must_have_the_size_that_it_claims(saved: Path) -> None:
    assert read(repacked(saved, weights=npy("(2,)", data=bytes(16))))[1]["weights"].tolist() == [0, 0]
    for content in (
        npy("(10**13,)"),
        npy("(9999999999999,)"),
        npy("(2,)", data=bytes(15)),
        npy("(2,)", data=bytes(17)),
        npy("(-1, -2)", data=bytes(16)),
        npy("(True,)", data=bytes(8)),
        npy("'ab'"),
        npy("(1,)", descr="'|O'", data=bytes(8)),
        npy("(1,)", descr="[('a', '|O')]", data=bytes(8)),
        npy("(1,)", descr="'nonsense'", data=bytes(8)),
        npy("(1,)", descr="__import__('os')", data=bytes(8)),
        b"\x93NUMPY\x03\x00",
        b"\x93NUMPY\x09\x00" + bytes(100),
        b"",
    ):
        assert "weights.npy" in refused(repacked(saved, weights=content))


def test_a_zip_inside_is_not_an_array(saved: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones(2))
    assert "not an array" in refused(repacked(saved, weights=buffer.getvalue()))


def test_a_bomb_is_refused_by_its_declared_size(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytearray(saved.read_bytes())
    place = content.rindex(b"weights.npy") - 46 + 24  # uncompressed size in the central directory
    content[place : place + 4] = struct.pack("<I", 2**32 - 2)
    saved.write_bytes(content)
    assert "unpack to more than 1024 MiB" in refused(saved)
    monkeypatch.setattr(files, "_MOST_BYTES", 2**40)
    monkeypatch.setattr(files, "_MOST_TEXT", 10)
    assert "manifest" in refused(saved)


def test_names_that_lead_elsewhere_are_harmless(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    names = ["../../escaped", "/tmp/equirate-escaped", "C:\\escaped", "..\\escaped", "sub/name"]
    write(folder / "file", {}, {name: np.arange(3) for name in names})
    _, arrays = read(folder / "file")
    assert sorted(arrays) == sorted(names)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "file"]
