r"""Problem to canonical form: affine rows, atoms, and one slack per atom argument. No data yet.

.. math::

    \min\; \ell_0(R) + \sum_a c_{0a}\phi_a \quad\text{s.t.}\quad
    \ell_j(R) + \sum_a c_{ja}\phi_a \le 0, \qquad
    \sigma_s\big(\ell_s(R) + \sum_b c_{sb}\phi_b - \xi_s\big) \le 0,

with every :math:`\phi_a` convex in its slacks, :math:`c_{0a}, c_{ja}, \sigma_s c_{sb} \ge 0`, and :math:`\sigma_s`
the direction in which the atom moves with its argument. Row 0 is the objective, rows 1..J the constraints, the rest are
couplings, one per slack. A coupling whose argument is itself an atom gives nested metrics at no extra cost: the
smallest of several ratios is an atom over slacks, each below its ratio (the epigraph).
Coefficients may be constants that depend on the data (such as ``base_rate()``), so they stay expressions
here; `table` evaluates them.

Ratios become atoms too: in slack form (Algorithm 3) :math:`\phi = \pm a / b`, or in biconvex form
(Algorithm 4) :math:`\phi = u^2 D - 2u\sqrt{\xi} + const` with a slack under the root and D, a *direct* row, as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..language.atoms import ABS, MAX, SQRT, Atom
from ..language.clearing import cleared
from ..language.curvature import Curvature, Monotonicity
from ..language.expressions import Call, Constant, Constraint, Expression, Quotient, times
from ..language.nodes import BlackBox, Loss, Rate
from .problem import Problem

Array = NDArray[np.float64]

RATIO_FLOOR = 1e-3
"""Smallest denominator that a slack takes, unless the user gives a floor."""


class RatioForm(Enum):
    """How ratios enter the game."""

    SLACK = "slack"
    BICONVEX = "biconvex"


class Role(Enum):
    """What a row is for."""

    OBJECTIVE = "objective"
    CONSTRAINT = "constraint"
    COUPLING = "coupling"
    DIRECT = "direct"


@dataclass
class Row:
    """An affine function of the rates plus non-negative multiples of atoms; coefficients may depend on the data."""

    role: Role
    text: str
    linear: list[tuple[int, Expression]] = field(default_factory=list)
    constant: list[Expression] = field(default_factory=list)
    atoms: list[tuple[int, Expression]] = field(default_factory=list)
    losses: list[tuple[Loss, Expression]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Convex:
    """An atom in convex form: functions of an array of shape (arguments, ...).

    ``respond`` is the best response of `atoms`; None where there is none (ratios) or where a grid is searched.
    """

    name: str
    value: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    respond: Callable[[Array, Array, Array, Array], Array] | None
    smooth: bool = True
    mends: bool = False
    """Whether it has a continuous gradient in x where its argument is an absolute value of x."""
    domain_lo: float = -np.inf
    grid: bool = False


@dataclass(frozen=True)
class CanonicalAtom:
    r"""One atom of the problem and its slacks (indices).

    With a ``direct`` row D the atom is in biconvex form:
    :math:`u^2 D + 2 u \cdot \mathrm{form}(\xi) + \mathrm{offset}`.
    """

    form: Convex
    slacks: tuple[int, ...]
    text: str
    direct: int | None = None
    offset: float = 0.0
    floor: float = 0.0
    absolute: bool = False
    """Whether this is the absolute value of one argument."""


@dataclass(frozen=True)
class Slack:
    """One slack: the row it is coupled to, the sense sigma of the coupling, and the least value it may take."""

    row: int
    sense: int
    least: float


@dataclass(frozen=True)
class Program:
    """A problem in canonical form.

    ``rows`` are ordered objective, constraints, couplings, direct; ``parts[j]`` says which constraint of the
    problem row 1 + j came from; ``scales[j]`` is the affine expression that a ratio bound was multiplied by.
    """

    problem: Problem
    rates: tuple[Rate, ...]
    rows: tuple[Row, ...]
    atoms: tuple[CanonicalAtom, ...]
    slacks: tuple[Slack, ...]
    parts: tuple[tuple[int, Constraint], ...]
    scales: tuple[Row | None, ...]
    form: RatioForm

    @property
    def n_constraints(self) -> int:
        """Number of constraint rows, J."""
        return len(self.parts)

    @property
    def n_multipliers(self) -> int:
        """Rows that get a multiplier: objective, constraints and couplings."""
        return 1 + self.n_constraints + len(self.slacks)

    @property
    def has_ratios(self) -> bool:
        """Whether any atom is a ratio."""
        return any(atom.form.name == "ratio" or atom.direct is not None for atom in self.atoms)

    @property
    def has_losses(self) -> bool:
        """Whether the objective has a term that is a loss of the scores."""
        return bool(self.rows[0].losses)

    def kinked(self) -> list[CanonicalAtom]:
        """Atoms without a continuous gradient; an absolute value inside a smooth even atom has one again."""
        mended = {self.slacks[s].row for atom in self.atoms if atom.form.mends for s in atom.slacks}
        kinks = {a for r, row in enumerate(self.rows) if r not in mended for a, _ in row.atoms}
        return [
            atom for a, atom in enumerate(self.atoms) if not atom.form.smooth and not (atom.absolute and a not in kinks)
        ]


def canonicalize(problem: Problem, form: RatioForm = RatioForm.SLACK) -> Program:
    """Bring a problem (with its families written out) to canonical form.

    Examples
    --------
    >>> import equirate as eq
    >>> program = canonicalize(eq.Problem(eq.minimize(eq.kl_divergence()), [eq.error_rate() <= 0.2]))
    >>> [row.text for row in program.rows]
    ['kl_divergence()', 'error_rate() <= 0.2', 'positive_rate()', '1 - positive_rate()']
    >>> [slack.sense for slack in program.slacks]
    [-1, -1]
    """
    return _Builder(problem, form).build()


class _Builder:
    def __init__(self, problem: Problem, form: RatioForm) -> None:
        self.problem, self.form = problem, form
        self.rates: dict[tuple[Any, ...], int] = {}
        self.rate_list: list[Rate] = []
        self.atoms: list[CanonicalAtom] = []
        self.atom_index: dict[tuple[Any, ...], int] = {}
        self.couplings: list[tuple[Row, int, float]] = []
        self.direct: list[Row] = []

    def build(self) -> Program:
        objective = self.row(Role.OBJECTIVE, self.problem.objective.minimised, repr(self.problem.objective.expr))
        rows, parts, scales = [objective], [], []
        for index, constraint in enumerate(self.problem.constraints):
            if not isinstance(constraint, Constraint):
                raise TypeError("families of constraints must be expanded before a problem is canonicalised")
            for part in constraint.split():
                through = cleared(part.residual)
                left, scale = (part.residual, None) if through is None else through
                rows.append(self.row(Role.CONSTRAINT, left, repr(part)))
                scales.append(None if scale is None else self.row(Role.DIRECT, scale, repr(scale)))
                parts.append((index, part))
        first = len(rows)
        slacks = tuple(Slack(first + k, sense, least) for k, (_, sense, least) in enumerate(self.couplings))
        rows += [row for row, _, _ in self.couplings]
        atoms = tuple(a if a.direct is None else replace(a, direct=len(rows) + a.direct) for a in self.atoms)
        for rate in self.problem.rates():  # rates that only the report needs, e.g. of a multiplied-through ratio
            if rate.curvature is Curvature.AFFINE:
                self.rate(rate)
        return Program(
            self.problem,
            tuple(self.rate_list),
            tuple(rows + self.direct),
            atoms,
            slacks,
            tuple(parts),
            tuple(scales),
            self.form,
        )

    def rate(self, rate: Rate) -> int:
        if rate.key not in self.rates:
            self.rates[rate.key] = len(self.rate_list)
            self.rate_list.append(rate)
        return self.rates[rate.key]

    def row(self, role: Role, expr: Expression, text: str, sense: int = 1) -> Row:
        """Write ``expr`` as a row. ``sense`` is the sign under which the row enters the Lagrangian."""
        row = Row(role, text)
        for factor, part in expr.terms():
            if part is None:
                row.constant.append(factor)
            elif isinstance(part, Rate):
                row.linear.append((self.rate(part), factor))
            elif isinstance(part, Loss):
                row.losses.append((part, factor))
            else:
                # The row enters the Lagrangian as sense * factor * f, which is |factor| * phi with phi = sign * f.
                sign = sense if factor.interval.lo >= 0 else -sense
                if role is Role.COUPLING and isinstance(part, Quotient) and self.form is RatioForm.BICONVEX:
                    raise AlgorithmError(f"biconvex cannot play {part!r} inside a function: use slack_ratios")
                row.atoms.append((self.atom(part, sign), times(Constant(sign), factor)))
        return row

    def atom(self, part: Expression, sign: int) -> int:
        """Return the index of the atom whose convex form is ``sign * part``."""
        key = (sign, part.key)
        if key not in self.atom_index:
            if isinstance(part, Quotient):
                atom = self._ratio(part, sign) if self.form is RatioForm.SLACK else self._biconvex(part, sign)
            elif isinstance(part, BlackBox):
                atom = self._black_box(part, sign)
            elif isinstance(part, Call):
                atom = self._call(part)
            else:
                raise TypeError(f"{part!r} has no canonical form")  # Problem refuses such parts earlier
            self.atom_index[key] = len(self.atoms)
            self.atoms.append(atom)
        return self.atom_index[key]

    def slack(self, argument: Expression, sense: int, floor: float = -np.inf) -> int:
        row = self.row(Role.COUPLING, argument, repr(argument), sense)
        self.couplings.append((row, sense, max(floor, argument.interval.lo)))
        return len(self.couplings) - 1

    def _call(self, call: Call) -> CanonicalAtom:
        atom, arguments = _monotone(call)
        senses = atom.monotonicity([argument.interval for argument in arguments])
        least = max(atom.floor, atom.domain.lo) if atom.floor else atom.domain.lo
        slacks = tuple(self.slack(a, atom.sign * s, least) for a, s in zip(arguments, senses, strict=True))
        return CanonicalAtom(convex_form(atom), slacks, repr(call), absolute=call.atom is ABS)

    def _black_box(self, box: BlackBox, sign: int) -> CanonicalAtom:
        senses = [sign * (1 if up else -1) for up in box.increasing]
        slacks = tuple(self.slack(a, s) for a, s in zip(box.arguments, senses, strict=True))

        def value(x: Array) -> Array:
            result = np.asarray(box.function(*x), dtype=float)
            if result.shape != x.shape[1:]:
                result = np.vectorize(box.function, otypes=[float])(*x)
            return sign * result

        form = Convex("black_box", value, _by_differences(value), None, smooth=False, grid=True)
        return CanonicalAtom(form, slacks, repr(box))

    def _ratio(self, part: Quotient, sign: int) -> CanonicalAtom:
        # Increasing in N: a >= N, b <= D. With a minus sign: a <= N, b >= D.
        floor = part.floor if part.floor is not None else RATIO_FLOOR
        slacks = (self.slack(part.left, sign), self.slack(part.right, -sign, floor))
        return CanonicalAtom(ratio_form(sign), slacks, repr(part))

    def _biconvex(self, part: Quotient, sign: int) -> CanonicalAtom:
        # N/D = min_u u^2 D - 2u sqrt(D - N) + 1;   -N/D = (D - N)/D - 1 = min_u u^2 D - 2u sqrt(N).
        if not part.is_share:
            raise AlgorithmError(
                f"biconvex needs 0 <= numerator <= denominator, which is not known of {part!r}: use slack_ratios"
            )
        slack = self.slack(part.right - part.left if sign > 0 else part.left, -1, SQRT.floor)
        self.direct.append(self.row(Role.DIRECT, part.right, repr(part.right)))
        offset = 1.0 if sign > 0 else 0.0
        floor = part.floor if part.floor is not None else RATIO_FLOOR
        return CanonicalAtom(convex_form(SQRT), (slack,), repr(part), len(self.direct) - 1, offset, floor)


@cache
def convex_form(atom: Atom) -> Convex:
    """Return an atom with its sign folded in, so that it is convex."""
    sign = atom.sign
    return Convex(
        atom.name,
        lambda x: sign * atom.value(x),
        lambda x: sign * atom.gradient(x),
        atom.best_response,
        atom.smooth,
        atom.smooth and atom.even,
        atom.domain.lo,
    )


@cache
def ratio_form(sign: int) -> Convex:
    """Return a ratio of two slacks, or its negative. Not convex: played by gradient steps only."""

    def gradient(x: Array) -> Array:
        result = np.empty_like(x)
        np.divide(sign, x[1], out=result[0])
        np.divide(-x[0] * result[0], x[1], out=result[1])
        return result

    return Convex(
        "ratio",
        lambda x: sign * x[0] / x[1],
        gradient,
        None,
    )


def _monotone(call: Call) -> tuple[Atom, tuple[Expression, ...]]:
    """Rewrite a call so that its atom is monotone: abs(x) = max(x, -x), square(x) = square(abs(x))."""
    if call.atom is ABS:
        x = call.arguments[0]
        return MAX, (x, -x)
    arguments = tuple(
        argument if direction is not Monotonicity.NONE else Call(ABS, (argument,))
        for argument, direction in zip(call.arguments, call.monotonicity, strict=True)
    )
    return call.atom, arguments


def _by_differences(value: Callable[[Array], Array], step: float = 1e-4) -> Callable[[Array], Array]:
    def gradient(x: Array) -> Array:
        columns = []
        for k in range(len(x)):
            up, down = x.copy(), x.copy()
            up[k] += step
            down[k] -= step
            columns.append((value(up) - value(down)) / (2 * step))
        return np.stack(columns)

    return gradient
