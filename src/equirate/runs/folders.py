"""A model's folder: plain data only, and read without trusting it.

``model.equirate`` is the classifier (`equirate.load` opens it by itself), ``model.json`` says how a table becomes its
features: label, attributes, columns. ``summary.json``, ``problem.toml`` and the report are beside them. Equal runs
write equal bytes where ``SOURCE_DATE_EPOCH`` is set: the files have no paths or random names, and one date.
`publishing` moves a folder into place, and `identity` identifies the run of a file.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._core.atomic_folders import set_aside
from .._core.errors import EquirateError, FileError
from ..estimators.loading import load
from ..game.classifiers import Classifier
from ..storage import container
from ..storage.saving import plain_mixture
from ..tables.encoder import Encoder
from ..tables.kinds import Kind
from ..tables.options import AS_WRITTEN, ReadOptions
from .checking import ALL_ROWS, RowRules
from .identity import CLASSIFIER, DESCRIPTION, refuse_mixed
from .jsons import as_json
from .labels import CLASSES, RULES, Labels
from .models import Trained
from .settings import MISSING_ATTRIBUTES, MODELS

FORMAT, VERSION = "equirate table model", 2
_MOST_BYTES = 1 << 26
_MOST_NAMES = 10_000
_LONGEST = 1000
_MOST_TRIES = 1000  # attempts to read a folder that is being replaced


@dataclass(frozen=True, eq=False)
class FolderModel:
    """What a folder holds: a trained model, and how a table becomes its features."""

    trained: Trained
    labels: Labels
    encoder: Encoder
    kinds: dict[str, Kind | None]
    weight: str
    reading: ReadOptions = AS_WRITTEN
    rules: RowRules = ALL_ROWS
    cluster: str = ""


# -- writing --------------------------------------------------------------------------------------


def write_text(path: Path, text: str) -> None:
    """Write a text, down to the disk."""
    with open(path, "x", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def save_classifier(model: FolderModel, folder: Path) -> bytes:
    """Write the classifier, and return the bytes of its file."""
    if model.trained.estimator is None:
        container.write(folder / CLASSIFIER, *plain_mixture(model.trained.classifier))
    else:
        model.trained.estimator.save(folder / CLASSIFIER)
    return (folder / CLASSIFIER).read_bytes()


def save_description(model: FolderModel, folder: Path, classifier: bytes, run: str) -> None:
    """Write how a table becomes features, for a classifier that is written."""
    described = {
        "format": FORMAT,
        "version": VERSION,
        "run": run,
        "kind": model.trained.kind,
        "label": model.labels.plain(),
        "attributes": {name: None if kind is None else kind.value for name, kind in model.kinds.items()},
        "weight": model.weight,
        **({"cluster": model.cluster} if model.cluster else {}),
        "reading": model.reading.plain(),
        "rows": asdict(model.rules),
        "classifier": hashlib.sha256(classifier).hexdigest(),
        "columns": model.encoder.plain(),
    }
    if model.trained.estimator is None:
        described["salt"] = model.trained.salt
    write_text(folder / DESCRIPTION, as_json(described))


# -- reading --------------------------------------------------------------------------------------


def open_model(path: Path) -> FolderModel:
    """Open a model's folder; nothing in it is executed, and what is damaged, newer or not a model is refused.

    A folder that is replaced by another run while it is read is read again: what is returned is one run's.
    """
    for _ in range(_MOST_TRIES):
        before = _version_of(path)
        try:
            model = _opened(path if path.exists() else _waiting(path))
        except FileError:
            if _version_of(path) == before:
                raise
        else:
            if _version_of(path) == before:
                return model
    raise FileError(f"the folder {path} is replaced again and again while it is read")


def _version_of(path: Path) -> tuple[int, ...] | None:
    """A value that changes if the folder is replaced by another one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_ctime_ns, status.st_mtime_ns)


def _waiting(path: Path) -> Path:
    """The previous folder while a new one is being moved into place, if there is one; else the path itself."""
    previous = set_aside(Path(os.path.realpath(path)))
    return previous if previous.is_dir() else path


def _opened(path: Path) -> FolderModel:
    if not path.is_dir():
        raise FileError(
            f"there is no model folder {path}" if not path.exists() else f"{path} is a file, not a model folder"
        )
    described = _described(path / DESCRIPTION)
    try:
        encoder = Encoder.read(described.get("columns"))
        kind = described.get("kind")
        if kind not in MODELS:
            raise FileError(f"there is no kind of model {kind!r}")
        label = {"rule": RULES[0], **_dict(described.get("label"))}
        labels = _labels(label)
        kinds = {
            _text(name): None if value is None else Kind(value)
            for name, value in _dict(described.get("attributes")).items()
        }
        weight = _text(described.get("weight"), empty=True)
        content = _content(path / CLASSIFIER)
        if hashlib.sha256(content).hexdigest() != described.get("classifier"):
            raise FileError(f"{CLASSIFIER} is not the file that was saved with it: it is damaged or another model's")
        refuse_mixed(path, _text(described.get("run")))
        trained = _trained(path, kind, described, len(encoder.features), labels)
        cluster = _text(described.get("cluster", ""), empty=True)
        return FolderModel(trained, labels, encoder, kinds, weight, *_reading(described), cluster)
    except (EquirateError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise FileError(f"the model in {path} cannot be opened: {error}") from None


def read_summary(path: Path) -> dict[str, Any]:
    """The content of ``summary.json`` in a model's folder; empty if it cannot be read."""
    try:
        summary = json.loads(_content(path / "summary.json").decode("utf-8"))
    except (FileError, ValueError, RecursionError):
        return {}
    return summary if isinstance(summary, dict) else {}


def _reading(described: dict[str, Any]) -> tuple[ReadOptions, RowRules]:
    """How tables are read, and which rows are dropped."""
    rules = RowRules(**_dict(described.get("rows")))
    if not isinstance(rules.drop_unlabelled, bool) or rules.missing_attributes not in MISSING_ATTRIBUTES:
        raise FileError("it is not described which rows are left out")
    return ReadOptions.read(described.get("reading")), rules


def _described(path: Path) -> dict[str, Any]:
    try:
        described = json.loads(_content(path).decode("utf-8"))
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError(f"{path} is damaged or cut short: it is not JSON") from None
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise FileError(f"{path} was not written by equirate fit")
    version = described.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileError(f"{path} has no version")
    if version != VERSION:
        advice = "upgrade equirate" if version > VERSION else "fit the model again"
        raise FileError(f"{path} has version {version}; this equirate reads version {VERSION}: {advice}")
    return described


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise FileError(f"{path} is larger than {_MOST_BYTES >> 20} MiB and is refused")
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None


def _labels(label: dict[str, Any]) -> Labels:
    """The description of the label in a file that is not trusted."""
    rule = _text(label.get("rule"))
    if rule not in RULES:
        raise FileError(f"there is no rule of labels {rule!r}")
    classes = label.get("classes", [])
    if (
        not isinstance(classes, list)
        or (rule == CLASSES) != (len(classes) > 2)
        or len(set(map(str, classes))) != len(classes)
    ):
        raise FileError("the classes of the label are not a list of different names")
    positive, negative = (_text(label.get(name), empty=rule == CLASSES) for name in ("positive", "negative"))
    return Labels(_text(label.get("column")), positive, negative, rule, tuple(map(_text, classes)))


def _trained(path: Path, kind: str, described: dict[str, Any], width: int, labels: Labels) -> Trained:
    loaded = load(path / CLASSIFIER)
    if isinstance(loaded, Classifier):
        return _mixture(loaded, kind, described, width)
    estimator = loaded
    if set(map(str, estimator.classes_)) != set(labels.values) or str(estimator.pos_label or "") != labels.positive:
        raise FileError("the labels of the classifier are not those of the table")
    if estimator.n_features_in_ != width:
        raise FileError("the classifier has another number of features than the table")
    return Trained(kind, estimator, estimator.classifier_, estimator.problem_)


def _mixture(classifier: Classifier, kind: str, described: dict[str, Any], width: int) -> Trained:
    """A new mixture of a classifier's members, which has no estimator."""
    if classifier.problem is None:
        raise FileError("the mixture does not say which problem it is for")
    if classifier.members.width not in (None, width):
        raise FileError("the classifier has another number of features than the table")
    salt = described.get("salt", 0)
    if isinstance(salt, bool) or not isinstance(salt, int) or not 0 <= salt < 2**63:
        raise FileError("the salt is not a whole number below 2^63")
    return Trained(kind, None, classifier, classifier.problem, salt)


def _dict(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > _MOST_NAMES:
        raise FileError("a part of the description is missing")
    return value


def _text(value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not (value or empty):
        raise FileError("a name is not text of the right length")
    return value
