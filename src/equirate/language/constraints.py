"""Constraints: one expression kept at or below another.

In: two expressions, from the comparisons of `Expression`. Out: `Constraint`, which knows its signed violation, and
splits at ``abs``, ``max`` and ``min``. It holds no data and never changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import ArrayLike

from .._core.cached import cached_property
from ..data.examples import Examples
from ..data.labels import Classes
from .trees import fields_of

if TYPE_CHECKING:
    from .expressions import Expression
    from .nodes import Rate


@dataclass(frozen=True, eq=False, repr=False)
class Constraint:
    """One expression is at most, or at least, another. Made by ``<=`` and ``>=``.

    Parameters
    ----------
    left
        An expression.
    symbol
        ``"<="`` or ``">="``.
    right
        An expression.
    """

    left: Expression
    symbol: str
    right: Expression

    @cached_property
    def residual(self) -> Expression:
        """The expression that the constraint keeps at or below zero; its value is the signed violation."""
        small, large = (self.left, self.right) if self.symbol == "<=" else (self.right, self.left)
        return small - large

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""
        return (self.symbol, self.left.key, self.right.key)

    def rates(self) -> Iterator[Rate]:
        """Iterate over the linear rates in it.

        Yields
        ------
        Rate
            Each of them, as often as it is written.
        """
        yield from self.left.rates()
        yield from self.right.rates()

    def evaluate(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        classes: ArrayLike | None = None,
    ) -> float:
        """Return the signed violation on any predictions: positive where the constraint is broken.

        Parameters
        ----------
        y_true, y_pred, attributes, sample_weight, pos_label, classes
            As in `Expression.evaluate`.

        Returns
        -------
        float
            The violation.

        Examples
        --------
        >>> import equirate as eq
        >>> (eq.positive_rate() <= 0.5).evaluate([0, 1, 1, 0], [1, 1, 1, 0])
        0.25
        """
        return self.residual.evaluate(
            y_true,
            y_pred,
            attributes=attributes,
            sample_weight=sample_weight,
            pos_label=pos_label,
            classes=classes,
        )

    def on(self, examples: Examples) -> Constraint:
        """The same for the classes of some examples.

        Parameters
        ----------
        examples
            Labels and attributes of some data.

        Returns
        -------
        Constraint
            The constraint itself where nothing depends on the classes.
        """
        return self.in_classes(examples.classes)

    def in_classes(self, classes: Classes) -> Constraint:
        """The same for some classes.

        Parameters
        ----------
        classes
            All classes by value, in their order.

        Returns
        -------
        Constraint
            The constraint itself where nothing depends on the classes.
        """
        left, right = self.left.in_classes(classes), self.right.in_classes(classes)
        return self if left is self.left and right is self.right else replace(self, left=left, right=right)

    def split(self) -> tuple[Constraint, ...]:
        """Split ``abs``, ``max`` and ``min`` into one constraint per part, where that keeps the meaning.

        Returns
        -------
        tuple of Constraint
            The parts; the constraint itself where it does not split.

        Examples
        --------
        >>> import equirate as eq
        >>> for part in (abs(eq.tpr() - eq.tnr()) <= 0.1).split():
        ...     print(part)
        tpr() - tnr() <= 0.1
        -(tpr() - tnr()) <= 0.1
        """
        return self._parts

    @cached_property
    def _parts(self) -> tuple[Constraint, ...]:
        lefts, rights = self.left.pieces(self.symbol == "<="), self.right.pieces(self.symbol == ">=")
        if len(lefts) == len(rights) == 1:
            return (self,)
        return tuple(Constraint(left, self.symbol, right) for left in lefts for right in rights)

    def __getstate__(self) -> dict[str, Any]:
        return fields_of(self)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Constraint) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the constraint {self!r} has no truth value: give chained comparisons as two constraints, "
            "and pass constraints in a list"
        )

    @cached_property
    def _text(self) -> str:
        return f"{self.left!r} {self.symbol} {self.right!r}"

    def __repr__(self) -> str:
        return self._text
