"""The value every loader returns: a table of numbers, its labels, and attributes of its rows.

In: what a data set's module built. Out: a :class:`Dataset`, which holds data and computes nothing but its own
summary. Made by the ``build`` function of each data set, returned by
:func:`equirate.datasets.load`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "ProtectedGroup"]


@dataclass(frozen=True)
class ProtectedGroup:
    """Which rows the paper treats as the protected group: those whose ``attribute`` equals ``value``.

    Parameters
    ----------
    attribute : str
        A column of ``Dataset.attributes``.
    value : str
        The value that marks the group.
    name : str
        The group in words.

    Examples
    --------
    >>> from equirate.datasets import load
    >>> load("compas").protected
    ProtectedGroup(attribute='sex', value='Female', name='women')
    """

    attribute: str
    value: str
    name: str

    def rows(self, attributes: pd.DataFrame) -> NDArray[np.bool_]:
        """Return one boolean per row of ``attributes``: whether it is in the group.

        Parameters
        ----------
        attributes : pandas.DataFrame
            Attributes of the rows, such as ``Dataset.attributes``.

        Returns
        -------
        numpy.ndarray of bool
            One value per row.
        """
        return np.asarray(attributes[self.attribute] == self.value, dtype=np.bool_)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A binary classification data set with its protected group.

    Parameters
    ----------
    name : str
        The name it is loaded by.
    features : pandas.DataFrame
        Numbers only, no missing values, readable column names.
    label : numpy.ndarray of int
        0 or 1 per row.
    attributes : pandas.DataFrame
        What rows can be sliced by, with readable values: pass it as ``sensitive_features``.
    protected : ProtectedGroup
        The protected group of the paper.
    description : str
        What it is, where it comes from, its licence, whom to credit.
    split : numpy.ndarray of str, optional
        ``"train"``, ``"dev"`` or ``"test"`` per row where the source comes in parts, else None.

    Examples
    --------
    >>> from equirate.datasets import load
    >>> people = load("compas")
    >>> people
    <Dataset compas: 6,172 rows x 31 features, 45.5% positive, 19.0% protected (women: sex == 'Female')>
    >>> people.attributes.iloc[0].to_dict()
    {'sex': 'Male', 'race': 'Other'}
    """

    name: str
    features: pd.DataFrame
    label: NDArray[np.int64]
    attributes: pd.DataFrame
    protected: ProtectedGroup
    description: str
    split: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        lengths = {
            "features": len(self.features),
            "label": len(self.label),
            "attributes": len(self.attributes),
            "split": len(self.label) if self.split is None else len(self.split),
        }
        if len(set(lengths.values())) != 1:
            raise ValueError(f"The parts of data set {self.name!r} must have as many rows each. Got {lengths}.")
        self.label.setflags(write=False)
        if self.split is not None:
            self.split.setflags(write=False)

    @property
    def n_rows(self) -> int:
        """How many rows there are, in all parts together."""
        return len(self.label)

    @property
    def n_features(self) -> int:
        """How many columns ``features`` has."""
        return int(self.features.shape[1])

    @property
    def positive_rate(self) -> float:
        """The fraction of rows with label 1."""
        return float(np.mean(self.label))

    @property
    def protected_rows(self) -> NDArray[np.bool_]:
        """One boolean per row: whether it is in the protected group."""
        return self.protected.rows(self.attributes)

    def __repr__(self) -> str:
        group = self.protected
        parts = "" if self.split is None else ", parts " + "/".join(dict.fromkeys(self.split.tolist()))
        return (
            f"<Dataset {self.name}: {self.n_rows:,} rows x {self.n_features} features, "
            f"{self.positive_rate:.1%} positive, {np.mean(self.protected_rows):.1%} protected "
            f"({group.name}: {group.attribute} == {group.value!r}){parts}>"
        )
