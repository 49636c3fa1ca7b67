"""``recertify``: a model certified again on new rows, and a new mixture of its members for changed limits.

In: a model's folder and a file of rows that it has not seen. Out: a `RunOutcome` with the old certificate beside the
new one. With new constraints the members that the model has are mixed anew on one part of the rows, without any
training, and the mixture is certified on the other part.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .._core.errors import EquirateError
from ..data.splits import split_by_cell
from ..estimators.inputs import refuse_empty
from ..game.classifiers import Classifier
from ..judge.certify import check_confidence
from ..models.linear_members import LinearMembers
from ..models.members import Members
from ..models.side_by_side import concatenate_members
from ..models.sklearn_classifiers import Line
from ..problem.problem import Problem
from ..problem.table import problem_cells
from ..problem.text import parse_constraints
from ..tables.reading import open_source
from .fitting import GIVEN, Exit, RunOutcome, sentence, verdict_code
from .folders import FolderModel, open_model, read_summary, save_classifier, save_description, write_text
from .identity import CLASSIFIER, SUMMARY, id_of
from .jsons import as_json
from .models import Trained, needs_dense
from .names import attributes_of, check_names
from .preparing import Part, RunLog, read_part
from .publishing import output_folder

_FIELDS = ("violation", "low", "high")


@dataclass(frozen=True)
class Renewing:
    """How to certify again.

    Attributes
    ----------
    confidence
        Of the intervals and verdicts.
    subject_to
        New constraints that replace the old ones; empty to certify the classifier as it is.
    split
        With new constraints, the share of the rows to certify on; the mixture is chosen on the others.
    seed
        Of that split.
    """

    confidence: float = 0.95
    subject_to: tuple[str, ...] = ()
    split: float = 0.5
    seed: int = 0


def recertify(model_folder: Path, data: Path, how: Renewing, out: Path | None, log: RunLog, force: bool) -> RunOutcome:
    """Certify a model, or a new mixture of its members, on new rows."""
    check_confidence(how.confidence)
    if not 0 < how.split < 1:
        raise EquirateError(f"--split is the share of the rows to certify on, between 0 and 1; got {how.split:g}")
    model = open_model(model_folder)
    wanted = _problem(model, how)
    log.stage(f"Reading {data}")
    kinds = {name: kind for name, kind in model.kinds.items() if name in attributes_of(model.trained.problem)}
    if wanted is not None:
        kinds = dict(model.kinds)
    dense = needs_dense(model.trained.kind)
    source = open_source(data, model.reading)
    part = read_part(source, model.labels, kinds, model.weight, model.encoder, log, dense, model.rules, model.cluster)
    if wanted is not None:
        log.stage("Mixing")
        model, part, met = _mixed(model, wanted, part, how)
        if not met:
            log.note("no mixture of the members keeps these limits on the rows that it is chosen on: train again")
    log.stage("Certifying")
    achieved = model.trained.evaluate(part, how.confidence)
    old = read_summary(model_folder).get("test")
    code = verdict_code(achieved, None)
    summary = {
        "equirate": eq.__version__,
        "code": int(code),
        "verdict": sentence(achieved, GIVEN),
        "rows": len(part),
        "test": achieved,
        "previous": old if isinstance(old, dict) else None,
        "weights": model.trained.classifier.weights.tolist(),
    }
    text = _text(achieved, old, len(part))
    if out is not None:
        with output_folder(out, force) as folder:
            if wanted is None:
                shutil.copyfile(model_folder / CLASSIFIER, folder / CLASSIFIER)
                classifier = (folder / CLASSIFIER).read_bytes()
            else:
                classifier = save_classifier(model, folder)
            summary["run"] = run = id_of(classifier, as_json(summary).encode())
            save_description(model, folder, classifier, run)
            write_text(folder / SUMMARY, as_json(summary))
        text = f"{text}\n\nmodel and certificate: {out}"
    return RunOutcome(text, summary, Exit(code))


def _problem(model: FolderModel, how: Renewing) -> Problem | None:
    """The problem with the new constraints, not yet written out for groups; None where there are none."""
    if not how.subject_to:
        return None
    constraints = [part for text in how.subject_to for part in parse_constraints(text)]
    check_names(how.subject_to, tuple(model.kinds), (*model.encoder.names, model.labels.column))
    return Problem(model.trained.problem.objective, constraints)


def _mixed(model: FolderModel, wanted: Problem, part: Part, how: Renewing) -> tuple[FolderModel, Part, bool]:
    """A new mixture, the rows that it was not chosen on, and whether it keeps the limits on the others."""
    examples = part.examples()
    problem = wanted.expanded(examples)
    refuse_empty(problem, examples)
    chosen_on, held = split_by_cell(problem_cells(problem, examples), (1 - how.split, how.split), how.seed)
    rows, held_out = part.take(chosen_on), part.take(held)
    refuse_empty(problem, held_out.examples())
    members = _members(model.trained)
    weights, met = _weights(problem, members, rows.X, rows)
    support = np.flatnonzero(weights > 0)
    classifier = Classifier(members.take(support.tolist()), weights[support], problem, "polish")
    old = model.trained
    salt = old.salt if old.estimator is None else int(old.estimator.salt_)
    trained = Trained(old.kind, None, classifier, problem, salt)
    return replace(model, trained=trained), held_out, met


def _members(trained: Trained) -> Members:
    """The members that the model has kept, and the constant classifiers of its kind, if there are any.

    A derandomised output is no member of a mixture: only members of the mixture's own kind are used.
    """
    kept = getattr(trained.estimator, "outputs_", {})
    outputs = {name: output.classifier for name, output in kept.items()} or {"": trained.classifier}
    mixed = outputs.get("stochastic", trained.classifier).members
    if trained.kind == "thresholds" and trained.estimator is not None:
        mixed = _linear(trained.estimator)
        return concatenate_members([mixed, mixed.constants() or mixed])
    parts = [mixed, *(each.members for each in outputs.values() if each.members is not mixed)]
    same_kind = [part for part in parts if type(part) is type(mixed)]
    same = mixed.constants()
    return concatenate_members(same_kind if same is None else [*same_kind, same])


def _linear(estimator: Any) -> Members:
    """Thresholds on the score of a linear classifier as linear classifiers, which can be saved without it."""
    line = Line.of(estimator.estimator_)
    sign = 1.0 if estimator.classes_[1] == estimator.pos_label else -1.0
    cuts = estimator.classifier_.members.cuts[0]
    finite = cuts[np.isfinite(cuts)]
    weights = np.repeat(sign * line.coef_.T, len(finite), axis=1)
    return LinearMembers(np.vstack([weights, sign * line.intercept_ - finite]))


def _weights(problem: Problem, members: Members, X: Any, rows: Part) -> tuple[NDArray[np.float64], bool]:
    """The best mixture of members on some rows, and whether it keeps the constraints there.

    Their decisions on these rows are a list of classifiers to choose from.
    """
    decided = members.decide(X)
    distinct = np.unique(decided, axis=1, return_index=True)[1]
    columns = [decided[:, k].astype(np.int8) for k in distinct]
    solution = eq.solve(
        problem,
        np.zeros((len(rows), 1)),
        rows.codes,
        attributes=rows.attributes,
        sample_weight=rows.weights,
        model=columns,
    )
    mixture = solution.polish()
    places = {id(column): int(k) for column, k in zip(columns, distinct, strict=True)}
    chosen: Any = mixture.members
    weights = np.zeros(len(members))
    for column, weight in zip(chosen.classifiers, mixture.weights, strict=True):
        weights[places[id(column)]] += weight
    return weights, solution.status.feasible


# -- text -----------------------------------------------------------------------------------------


def _text(achieved: dict[str, Any], old: Any, rows: int) -> str:
    """The verdict, and for every constraint the new numbers with the old ones beside them."""
    lines = [
        sentence(achieved, GIVEN),
        "",
        f"objective {achieved['objective']:.4f}  on {rows:,} new rows{_previous_objective(old)}",
    ]
    known = _previous_constraints(old)
    for row in achieved["constraints"]:
        lines.append(f"{row['verdict']:<12}  {row['constraint']}")
        lines.append(f"{'':<12}  now    {_numbers(row)}")
        before = known.get(row["constraint"])
        lines.append(f"{'':<12}  before {'not asked for' if before is None else _numbers(before, True)}")
    return "\n".join(lines)


def _previous_objective(old: Any) -> str:
    value = old.get("objective") if isinstance(old, dict) else None
    return f", {value:.4f} before" if isinstance(value, (int, float)) else ""


def _previous_constraints(old: Any) -> dict[str, dict[str, Any]]:
    """The constraints of an old certificate that have numbers; the summary is not trusted."""
    rows = old.get("constraints") if isinstance(old, dict) else None
    if not isinstance(rows, list):
        return {}
    good = [row for row in rows if isinstance(row, dict) and isinstance(row.get("constraint"), str)]
    return {row["constraint"]: row for row in good if all(isinstance(row.get(f), (int, float)) for f in _FIELDS)}


def _numbers(row: dict[str, Any], with_verdict: bool = False) -> str:
    text = f"violation {row['violation']:+.4f}  [{row['low']:+.4f}, {row['high']:+.4f}]"
    return f"{text}  {row.get('verdict', '')}".rstrip() if with_verdict else text
