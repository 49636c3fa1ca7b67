"""Rewrites of constraints that keep their meaning and make them easier: bounds on a ratio, multiplied through.

In: the residual of a constraint, which must be at most 0. Out: an affine expression that is at most 0 exactly if the
residual is, or None. `refusals` accepts such constraints; `canonical` uses the rewritten form.
"""

from __future__ import annotations

from .curvature import Curvature
from .expressions import Expression, Quotient


def cleared(residual: Expression) -> tuple[Expression, Expression] | None:
    """Multiply a bound on one ratio through by its denominator: ``f N / D + c <= 0`` is ``f N + c D <= 0``.

    Returns the affine left side and D, or None where the residual is anything else.

    Examples
    --------
    >>> import equirate as eq
    >>> cleared((eq.precision() >= 0.8).residual)
    (-1 * tp() + 0.8 * positive_rate(), positive_rate())
    """
    ratios, constants = [], []
    for factor, part in residual.terms():
        if part is None:
            constants.append(factor)
        elif isinstance(part, Quotient) and part.curvature is Curvature.RATIO and part.right.interval.lo >= 0:
            ratios.append((factor, part))
        else:
            return None
    if len(ratios) != 1:
        return None
    factor, part = ratios[0]
    left = factor * part.left
    for constant in constants:
        left = left + constant * part.right
    return left, part.right
