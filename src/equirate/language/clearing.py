"""Rewrites of constraints that keep their meaning and make them easier: bounds on a ratio, multiplied through.

In: the residual of a constraint, which is to stay at or below 0. Out: an affine expression that does so exactly when
the residual does, where there is one. `refusals` lets such constraints pass; `canonical` plays for what is rewritten.
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
    whole = factor * part.left
    for constant in constants:
        whole = whole + constant * part.right
    return whole, part.right
