"""The options of ``fit`` and ``frontier``, from the command line and from a TOML file.

In: options by name, as the command line or a file has them. Out: `RunSettings`, checked. A file is written and read
back to the same settings; the command line overrides the file.
"""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from .._core.errors import EquirateError
from ..judge.certify import check_confidence
from ..language.expressions import Constraint
from ..language.parity import ConstraintFamily
from ..problem.problem import Objective, Problem, maximize, minimize
from ..problem.text import parse_constraints, parse_expression
from ..tables.options import ReadOptions
from ..tables.reading import nearest
from .algorithms import algorithm_named

MODELS = ("linear", "trees", "thresholds")
OUTPUTS = ("hashed", "deterministic")
MISSING_ATTRIBUTES = ("group", "refuse", "drop")
LISTED = ("attributes", "also_feature", "also-feature", "ignore", "category", "date", "number")
"""Options that take names with commas between them."""
_MOST_BYTES = 1 << 20
_LARGEST = sys.float_info.max
_MOST = 2**53  # largest whole number of an option: other programs do not read larger ones exactly


@dataclass(frozen=True)
class RunSettings:
    """The options of ``fit``; the names are those of the command line, with ``_`` for ``-``."""

    data: str = ""
    label: str = ""
    positive: str = ""
    attributes: tuple[str, ...] = ()
    also_feature: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    decimal: str = "."
    encoding: str = ""
    drop_unlabelled: bool = False
    drop_ragged: bool = False
    missing_attributes: str = "group"
    maximize: str = ""
    minimize: str = ""
    subject_to: tuple[str, ...] = ()
    split: float = 0.25
    time_column: str = ""
    test: str = ""
    weight: str = ""
    cluster: str = ""
    model: str = "linear"
    algorithm: str = "auto"
    output: str = "hashed"
    confidence: float = 0.0
    rounds: int = 0
    seed: int = 0

    @classmethod
    def of(cls, *sources: Mapping[str, Any]) -> Self:
        """Combine options, where earlier sources override later ones, and check them."""
        given: dict[str, Any] = {}
        for source in reversed(sources):
            if source.get("maximize") and source.get("minimize"):
                raise EquirateError("give either --maximize or --minimize, not both")
            for sense, other in (("maximize", "minimize"), ("minimize", "maximize")):
                if source.get(sense):  # it takes the place of an objective of the other sense
                    given[other] = ""
            given.update({name: value for name, value in source.items() if value not in (None, (), [])})
        if isinstance(given.get("rounds"), int) and given["rounds"] < 1:
            raise EquirateError(f"--rounds must be at least 1; got {given['rounds']}")
        return cls(
            **{field.name: _typed(field, given[field.name]) for field in fields(cls) if field.name in given}
        )._checked()

    def _checked(self) -> Self:
        for name, allowed in (("model", MODELS), ("output", OUTPUTS), ("missing_attributes", MISSING_ATTRIBUTES)):
            if getattr(self, name) not in allowed:
                option = name.replace("_", "-")
                raise EquirateError(f"--{option} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}")
        algorithm_named(self.algorithm)
        self.reading()
        if not 0 < self.split < 1:
            raise EquirateError(f"--split is the share of the rows to judge on, between 0 and 1; got {self.split:g}")
        if self.confidence:
            check_confidence(self.confidence)
        if self.seed < 0:
            raise EquirateError(f"--seed must not be negative; got {self.seed}")
        for name in ("data", "label"):
            if not getattr(self, name):
                raise EquirateError(_ASKED[name])
        if self.test and self.time_column:
            raise EquirateError("give either --test or --time-column, not both")
        return self

    def problem(self) -> Problem:
        """The objective and constraints as a problem; an error if it cannot be solved."""
        if not (self.maximize or self.minimize):
            raise EquirateError('there is no objective: give --maximize or --minimize, as in --maximize "f1()"')
        make, text = (maximize, self.maximize) if self.maximize else (minimize, self.minimize)
        objective: Objective = make(parse_expression(text))
        constraints: list[Constraint | ConstraintFamily] = [
            part for text in self.subject_to for part in parse_constraints(text)
        ]
        return Problem(objective, constraints)

    def reading(self) -> ReadOptions:
        """How the text of the table is to be read."""
        dates = dict(_format_of(text) for text in self.date)
        numbers = dict.fromkeys(self.number, "")
        return ReadOptions(self.missing, self.decimal, self.encoding, self.category, dates, numbers, self.drop_ragged)

    def with_options(self, options: Iterable[tuple[str, str]]) -> Self:
        """The same with more options: lists grow, other values are replaced."""
        changed: dict[str, Any] = {}
        for name, value in options:
            now = changed.get(name, getattr(self, name))
            if isinstance(now, tuple):
                changed[name] = (*now, value) if value not in now else now
            else:
                changed[name] = True if isinstance(now, bool) else value
        return replace(self, **changed)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the language of rates in it."""
        return (self.maximize or self.minimize, *self.subject_to)

    def changed(self) -> dict[str, Any]:
        """The options that are not the default, by the names of the command line."""
        return {
            field.name.replace("_", "-"): list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }

    def command(self) -> str:
        """The command with these options."""
        parts = ["equirate", "fit", self.data]
        for name, value in self.changed().items():
            for each in value if isinstance(value, list) else [value]:
                parts += [] if name == "data" else option_text(name, each)
        return shell(parts)

    def as_toml(self) -> str:
        """Text of a file that `read` takes back."""
        return "".join(f"{name} = {_toml(value)}\n" for name, value in self.changed().items())


def option_text(name: str, value: Any) -> list[str]:
    """An option as words of a command; a name with a comma in a list of names is put in quotes."""
    option = f"--{name.replace('_', '-')}"
    if value is True or value == "":
        return [option]
    quoted = name in LISTED and "," in str(value) and "=%" not in str(value)
    text = f'"{value}"' if quoted else str(value)
    return [f"{option}={text}"] if text.startswith("--") else [option, text]


def shell(words: Iterable[str]) -> str:
    """Words as a shell takes them; in double quotes where that reads better.

    Examples
    --------
    >>> print(shell(["--subject-to", "tpr(sex == 'F') >= 0.8", "--ignore", "id"]))
    --subject-to "tpr(sex == 'F') >= 0.8" --ignore id
    """
    return " ".join(
        f'"{word}"' if "'" in word and not set(word) & set('"$`\\!') else shlex.quote(word) for word in words
    )


def _format_of(text: str) -> tuple[str, str]:
    """Column and format of what ``--date`` is given: ``opened``, or ``opened=%d.%m.%Y``."""
    name, format_, directives = text.partition("=%")
    return name, f"%{directives}" if format_ else ""


_ASKED = {
    "data": "there is no table: give a file, as in equirate fit data.csv ...",
    "label": "there is no label: name its column with --label",
}


def read(path: Path) -> dict[str, Any]:
    """Read options from a TOML file; refuses names that are no options."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise EquirateError(f"{path} is larger than {_MOST_BYTES >> 20} MiB: it is no file of options")
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise EquirateError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EquirateError(f"{path} is not TOML: {str(error).splitlines()[0]}") from None
    known = {field.name.replace("_", "-") for field in fields(RunSettings)}
    options = {}
    for name, value in given.items():
        plain = name.replace("_", "-")
        if plain not in known:
            raise EquirateError(f"{path}: there is no option {name!r}{nearest(plain, known)}")
        options[plain.replace("-", "_")] = value
    return options


def _typed(field: Any, value: Any) -> Any:
    """A value of the type of a field's default; a single text serves as a list of one."""
    wanted, name = type(field.default), field.name.replace("_", "-")
    if wanted is tuple:
        parts = [value] if isinstance(value, str) else value
        if isinstance(parts, (list, tuple)) and all(isinstance(part, str) for part in parts):
            return tuple(parts)
        raise EquirateError(f"{name} must be a list of texts; got {value!r}")
    if wanted is float and isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    if name == "positive" and isinstance(value, (int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if type(value) is not wanted:
        raise EquirateError(f"{name} must be {_WANTED[wanted]}; got {value!r}")
    if wanted is int and value > _MOST:
        raise EquirateError(f"{name} must be at most {_MOST:,}")
    return value


_WANTED = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}


def _toml(value: Any) -> str:
    """A text, a number or a list of texts as TOML; JSON's escapes are TOML's too, but for the delete sign."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)
