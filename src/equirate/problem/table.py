r"""Canonical form plus data: cells, row matrices and the coefficients of any multipliers.

Examples with the same label, slice memberships and baseline predictions form a *cell*; they have the same
coefficients up to their weight. With the cell sums :math:`q_c = \sum_{i \in c} w_i \hat y_i`, every row of the
program is :math:`v = b + B q` (signed by its sense), and the multipliers' coefficient on :math:`\hat y_i` is
:math:`w_i (B^\top m)_{c(i)}`. A round therefore costs O(n) for the cell sums, whatever the number of rates,
groups and constraints. This is the only thing between rates and data.

With K > 2 classes, sums are counts of answers 1 ... K - 1 in each cell, one answer after the other: (K - 1) times as
many, and everything else is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.errors import DataError
from ..data.cells import Cells
from ..data.examples import Examples
from ..language.curvature import Curvature
from ..language.expressions import ONE, Expression
from .canonical import CanonicalAtom, Convex, Program, Role, Row
from .matrices import Matrix, apply_all, compact, product, signed_parts, work
from .problem import Problem
from .rate_matrix import rate_matrix, without_predictions

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""How far an argument may be outside a domain by rounding alone: 1 - positive_rate() of a sum of weights."""


@dataclass(frozen=True, eq=False)
class AtomGroup:
    """All atoms of one form and nesting depth, treated at once: indices into atoms, slacks and rows."""

    form: Convex
    atoms: NDArray[np.intp]
    slacks: NDArray[np.intp]
    """(arguments, atoms)"""
    direct: NDArray[np.intp] | None
    offset: Array
    floors: Array
    """Smallest denominator in biconvex form."""


@dataclass(frozen=True, eq=False)
class Table:
    """A program with its data: see the module's docstring for the notation."""

    program: Program
    examples: Examples
    cells: Cells
    rate_factors: tuple[sp.csr_array, ...]
    """What ``rate_matrix`` is the product of, last factor first: one matrix, or two that are sparse where it is not."""
    rate_offset: Array
    """Rates are rate_offset + rate_matrix @ q."""
    rows_of_rates: Matrix
    rows_constant: Array
    """Signed rows are rows_constant + rows_of_rates @ R."""
    offset: Array
    """Signed rows are offset + matrix @ q."""
    sense: Array
    atom_weights: Array
    """(multiplier rows, atoms): signed coefficients of atoms in rows, all >= 0."""
    atom_matrix: Matrix
    """The same, sparse where there are many."""
    groups: tuple[AtomGroup, ...]
    """Inner atoms first."""
    loss: dict[str, Array]
    """Per-cell coefficient of each ordinary loss in the objective."""
    loss_factors: Array
    """Factor of each distinct loss in the objective."""
    loss_shares: dict[tuple[Any, ...], Array]
    """Share of each cell in the average that each distinct loss is."""
    scale: tuple[Matrix, Array]
    """(J, cells) matrix and (J,) offset: what a constraint's level is multiplied by."""

    @cached_property
    def _rates_of_sums(self) -> sp.csr_array:
        return product(self.rate_factors)

    @cached_property
    def rate_matrix(self) -> Matrix:
        """(rates, counts): what cell sums contribute to rates."""
        return compact(self._rates_of_sums)

    @cached_property
    def matrix(self) -> Matrix:
        """(rows, counts): what cell sums contribute to signed rows."""
        return compact(sp.csr_array(self.rows_of_rates) @ self._rates_of_sums)

    @cached_property
    def _boxes(self) -> tuple[Array, Array]:
        return _boxes(self) if self.program.slacks else (np.zeros(0), np.zeros(0))

    @property
    def lo(self) -> Array:
        """Smallest reachable value of each slack."""
        return self._boxes[0]

    @property
    def hi(self) -> Array:
        """Largest reachable value of each slack."""
        return self._boxes[1]

    @cached_property
    def positive(self) -> Matrix:
        """Transposed positive part of ``matrix``."""
        return compact(signed_parts(self.matrix)[0].T)

    @cached_property
    def negative(self) -> Matrix:
        """Transposed negative part of ``matrix``."""
        return compact(signed_parts(self.matrix)[1].T)

    @cached_property
    def n_slacks(self) -> int:
        """Number of slacks."""
        return len(self.program.slacks)

    @cached_property
    def couplings(self) -> slice:
        """Rows that couple slacks to rates."""
        first = 1 + self.program.n_constraints
        return slice(first, first + self.n_slacks)

    @cached_property
    def constraints(self) -> slice:
        """Rows of the constraints."""
        return slice(1, 1 + self.program.n_constraints)

    @cached_property
    def coupling_sense(self) -> Array:
        """Senses of the couplings, as a column."""
        return self.sense[self.couplings, None]

    @cached_property
    def nonlinear(self) -> NDArray[np.bool_]:
        """Which constraints have atoms in them."""
        return np.asarray(self.atom_weights[self.constraints].any(axis=1))

    @cached_property
    def affine_constraints(self) -> NDArray[np.intp]:
        """Constraints whose rows are their violations as written: without atoms, and not multiplied through."""
        as_written = np.array([scale is None for scale in self.program.scales], dtype=bool)
        return np.flatnonzero(as_written & ~self.nonlinear)

    @cached_property
    def constraints_with_atoms(self) -> NDArray[np.intp]:
        """Rows of the constraints with atoms in them."""
        return 1 + np.flatnonzero(self.nonlinear)

    @cached_property
    def n_direct(self) -> int:
        """Number of direct rows."""
        return len(self.program.rows) - self.program.n_multipliers

    @cached_property
    def constants(self) -> dict[tuple[Any, ...], float]:
        """Values of the rates that no prediction changes, such as base_rate()."""
        known = without_predictions(self.cells, self.examples)
        return {rate.key: known(rate) for rate in self.program.problem.rates() if rate.curvature is Curvature.CONSTANT}

    def reach(self, rows: NDArray[np.intp]) -> tuple[Array, Array]:
        """Smallest and largest values of signed rows over all predictions."""
        totals = self.cells.totals
        if self.cells.n_classes > 2:
            low, high = _best_answers(self.matrix[rows], totals)
            return self.offset[rows] + low, self.offset[rows] + high
        return self.offset[rows] + self.negative.T[rows] @ totals, self.offset[rows] + self.positive.T[rows] @ totals

    def rates(self, sums: Array) -> Array:
        """Exact rates from cell sums."""
        rates: Array = self.rate_offset[:, None] + self.moved_rates(sums)
        return rates

    def moved_rates(self, sums: Array) -> Array:
        """What cell sums contribute to rates: ``rate_matrix @ sums``."""
        return apply_all(self._rate_chain, sums)

    @cached_property
    def _rate_chain(self) -> tuple[Matrix, ...]:
        return tuple(map(compact, self.rate_factors)) if len(self.rate_factors) > 1 else (self.rate_matrix,)

    def rows(self, sums: Array, levels: Array | None = None) -> Array:
        """Signed row values from cell sums; ``levels`` (J, configurations) shift the constraints."""
        values: Array = self.offset[:, None] + apply_all(self._chain, sums)
        if levels is not None:
            matrix, offset = self.scale
            values[self.constraints] -= levels * (offset[:, None] + matrix @ sums)
        return values

    @cached_property
    def _chain(self) -> tuple[Matrix, ...]:
        """``matrix`` as a product, last factor first: through the rates where that is less work.

        A rate of everybody in many rows fills the product, but neither factor.
        """
        through = (*self._rate_chain, self.rows_of_rates)
        if len(self.rate_factors) > 1 or sum(map(work, through)) < work(self.matrix):
            return through
        return (self.matrix,)

    @cached_property
    def _chain_back(self) -> tuple[Matrix, ...]:
        return tuple(compact(factor.T) for factor in reversed(self._chain))

    def rows_from_rates(self, rates: Array, losses: Array) -> Array:
        """Signed multiplier rows (objective, constraints, couplings) from exact rates and losses."""
        n = self.program.n_multipliers
        values: Array = self.rows_constant[:n, None] + (self.rows_of_rates @ rates)[:n]
        if len(losses):
            values[0] += self.loss_factors @ losses
        return values

    def loss_values(self, sums: Array | None, count: int) -> Array:
        """Values of the distinct losses (losses, configurations), from their cell sums by name as in ``loss``."""
        names = list(self.loss)
        terms = self.program.problem.losses()
        values = [] if sums is None else [self.loss_shares[term.key] @ sums[names.index(term.name)] for term in terms]
        return np.array(values, dtype=float).reshape(len(values), count)

    def bounded_rows(self, upper: Array, lower: Array, levels: Array | None = None) -> Array:
        """Upper bounds on the signed rows, from the cell sums of upper and lower bounds on the predictions."""
        values: Array = self.offset[:, None] + self.positive.T @ upper + self.negative.T @ lower
        if levels is not None:
            matrix, offset = self.scale
            up = np.where(levels < 0, 1.0, 0.0)
            positive, negative = signed_parts(matrix)
            high = positive @ upper + negative @ lower
            low = positive @ lower + negative @ upper
            values[self.constraints] -= levels * (offset[:, None] + up * high + (1 - up) * low)
        return values

    def coefficients(self, multipliers: Array, levels: Array | None = None) -> Array:
        """Per-cell coefficients on the weighted predictions: what an oracle minimises."""
        result: Array = apply_all(self._chain_back, multipliers)
        if levels is not None:
            result -= self.scale[0].T @ (multipliers[self.constraints] * levels)
        return result

    def split_coefficients(self, multipliers: Array, levels: Array | None = None) -> tuple[Array, Array]:
        """Per-cell coefficients (>= 0, <= 0) on upper and lower bounds of the predictions: a surrogate's costs."""
        up: Array = self.positive @ multipliers
        down: Array = self.negative @ multipliers
        if levels is not None:
            positive, negative = signed_parts(self.scale[0])
            factor = -multipliers[self.constraints] * levels
            rise, fall = np.maximum(factor, 0), np.minimum(factor, 0)
            up = up + positive.T @ rise + negative.T @ fall
            down = down + positive.T @ fall + negative.T @ rise
        return up, down

    def arguments(self, rows: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Arguments of the atoms, kept in their boxes, and the atoms' values at signed rows (rows, columns).

        Also which columns leave the domain of an atom.
        """
        xi, values = np.zeros((self.n_slacks, rows.shape[1])), np.zeros((len(self.program.atoms), rows.shape[1]))
        left = np.zeros(rows.shape[1], dtype=bool)
        for group in self.groups:  # inner atoms come first
            signed = rows[self.couplings] + (self.atom_matrix @ values)[self.couplings]
            raw = (self.coupling_sense * signed)[group.slacks]
            left |= (raw < group.form.domain_lo - ROUNDING).any((0, 1))
            xi[group.slacks] = np.clip(raw, self.lo[group.slacks][..., None], self.hi[group.slacks][..., None])
            values[group.atoms] = group.form.value(xi[group.slacks])
        return xi, values, left

    def atom_values(self, xi: Array, u: Array | None = None, rows: Array | None = None) -> Array:
        """Value of every atom at the slacks (and, in biconvex form, at u and the direct rows)."""
        values = np.zeros((len(self.program.atoms), xi.shape[1]))
        for group in self.groups:
            value = group.form.value(xi[group.slacks])
            if group.direct is not None:
                assert u is not None  # the biconvex slack player always gives it,
                assert rows is not None  # and the game the rows
                ua = u[group.atoms]
                value = ua**2 * rows[group.direct] + 2 * ua * value + group.offset[:, None]
            values[group.atoms] = value
        return values


def problem_cells(problem: Problem, examples: Examples) -> Cells:
    """The cells of a problem, whatever its canonical form."""
    return Cells.of_rates(examples, problem.rates(), [loss.slice for loss in problem.losses()])


def make_cells(program: Program, examples: Examples) -> Cells:
    """The cells of a program."""
    slices = [loss.slice for loss, _ in program.rows[0].losses]
    slices += [rate.slice for rate in program.problem.rates() if rate.curvature is Curvature.CONSTANT]
    return Cells.of_rates(examples, program.rates, slices)


def make_table(program: Program, examples: Examples, cells: Cells | None = None) -> Table:
    """Combine a program with data; an error names slices that are empty in the data.

    ``cells`` are those of the examples, where they are known already (they may be finer than needed).
    """
    losses = program.rows[0].losses
    cells = make_cells(program, examples) if cells is None else cells
    rate_factors, a = rate_matrix(program.rates, cells, examples)
    known = without_predictions(cells, examples)

    def number(expr: Expression) -> float:
        value = float(expr.value(known))
        if not np.isfinite(value):
            raise DataError(f"the constant {expr!r} is {value} on these data")
        return value

    sense = np.ones(len(program.rows))
    for slack in program.slacks:
        sense[slack.row] = slack.sense
    L, c = _row_matrix(program.rows, sense, len(program.rates), number)
    weights = np.zeros((program.n_multipliers, len(program.atoms)))
    for r, row in enumerate(program.rows[: program.n_multipliers]):
        for atom, factor in row.atoms:
            weights[r, atom] += sense[r] * number(factor)
    groups = _groups(program.atoms, _depths(program, weights))
    loss: dict[str, Array] = {}
    factors: dict[tuple[Any, ...], float] = {}
    shares: dict[tuple[Any, ...], Array] = {}
    for term, factor in losses:
        inside = cells.members[term.slice]
        total = cells.totals[inside].sum()
        if total <= 0:
            raise DataError(f"{term!r} cannot be measured: its slice is empty in the data")
        loss[term.name] = loss.get(term.name, 0.0) + number(factor) * inside / total
        factors[term.key] = factors.get(term.key, 0.0) + number(factor)
        shares[term.key] = inside / total
    return Table(
        program=program,
        examples=examples,
        cells=cells,
        rate_factors=rate_factors,
        rate_offset=a,
        rows_of_rates=compact(L),
        rows_constant=c,
        offset=c + L @ a,
        sense=sense,
        atom_weights=weights,
        atom_matrix=compact(weights),
        groups=groups,
        loss=loss,
        loss_shares=shares,
        loss_factors=np.array([factors.get(term.key, 0.0) for term in program.problem.losses()]),
        scale=_scales(program, rate_factors, a, number),
    )


def _best_answers(matrix: Matrix, totals: Array) -> tuple[Array, Array]:
    """Smallest and largest values of rows where every cell gives its weight to one answer each."""
    dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else np.asarray(matrix)
    by_answer = dense.reshape(len(dense), -1, len(totals))
    return np.minimum(by_answer.min(axis=1), 0) @ totals, np.maximum(by_answer.max(axis=1), 0) @ totals


def _row_matrix(rows: Iterable[Row], sense: Array, n_rates: int, number: Any) -> tuple[sp.csr_array, Array]:
    rows = list(rows)
    entries = [(r, k, sense[r] * number(factor)) for r, row in enumerate(rows) for k, factor in row.linear]
    where, rates = np.array([entry[:2] for entry in entries], dtype=np.intp).reshape(-1, 2).T
    values = np.array([entry[2] for entry in entries], dtype=float)
    matrix = sp.coo_array((values, (where, rates)), shape=(len(rows), n_rates))
    constants = np.array([sense[r] * sum(map(number, row.constant)) for r, row in enumerate(rows)], dtype=float)
    return sp.csr_array(matrix), constants


def _scales(program: Program, factors: tuple[sp.csr_array, ...], a: Array, number: Any) -> tuple[Matrix, Array]:
    rows = [row if row is not None else Row(Role.DIRECT, "1", constant=[ONE]) for row in program.scales]
    L, c = _row_matrix(rows, np.ones(len(rows)), len(program.rates), number)
    return compact(product((*factors, L))), c + L @ a


def _depths(program: Program, weights: Array) -> list[int]:
    """Nesting depth of each atom: 0 if all its arguments are affine, one more than its deepest inner atom otherwise."""
    depths: list[int] = []
    for atom in program.atoms:  # inner atoms come before outer ones
        inner = [depths[b] for s in atom.slacks for b in np.flatnonzero(weights[program.slacks[s].row])]
        depths.append(1 + max(inner) if inner else 0)
    return depths


def _groups(atoms: tuple[CanonicalAtom, ...], depths: list[int]) -> tuple[AtomGroup, ...]:
    indices: dict[tuple[Any, ...], list[int]] = {}
    for index, (atom, depth) in enumerate(zip(atoms, depths, strict=True)):
        indices.setdefault((depth, atom.form, len(atom.slacks), atom.direct is not None), []).append(index)
    groups = []
    for (_, _, _, is_direct), members in sorted(indices.items(), key=lambda item: item[0][0]):
        chosen = [atoms[k] for k in members]
        slacks = np.array([atom.slacks for atom in chosen], dtype=np.intp).T
        direct = np.array([atom.direct for atom in chosen], dtype=np.intp) if is_direct else None
        offset, floors = np.array([atom.offset for atom in chosen]), np.array([atom.floor for atom in chosen])
        groups.append(AtomGroup(chosen[0].form, np.array(members, dtype=np.intp), slacks, direct, offset, floors))
    return tuple(groups)


def _boxes(table: Table) -> tuple[Array, Array]:
    """Reachable values of every coupling's argument: 0 <= q <= totals, and inner atoms over their own boxes."""
    program, weights, B, b = table.program, table.atom_weights, table.matrix, table.offset
    if table.cells.n_classes > 2:
        least, most = _best_answers(B, table.cells.totals)
    else:
        positive, negative = signed_parts(B)
        least, most = negative @ table.cells.totals, positive @ table.cells.totals
    low, high = b + least, b + most
    lo, hi = np.zeros(len(program.slacks)), np.zeros(len(program.slacks))
    for s, slack in enumerate(program.slacks):  # inner slacks come before outer ones
        ends = np.array([low[slack.row], high[slack.row]])
        for a in np.flatnonzero(weights[slack.row]):
            # An atom moves with each slack in the direction of its sense, so it is extreme at two opposite corners.
            inner = list(program.atoms[a].slacks)
            rising = np.array([[program.slacks[k].sense > 0] for k in inner])
            box = np.stack([lo[inner], hi[inner]], axis=1)
            ends += weights[slack.row, a] * program.atoms[a].form.value(np.where(rising, box, box[:, ::-1]))
        bottom, top = np.sort(slack.sense * ends)
        lo[s] = max(bottom, slack.least)
        hi[s] = max(top, lo[s])
    return lo, hi
