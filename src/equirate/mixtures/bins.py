"""A mixture within bins of the rows: which share of each bin belongs to which member, so that every rate stays.

In: what each member adds to each rate in each bin, and a mixture. Out: a basic solution of the linear programme whose
equalities are the rates, which has no more shared bins than there are rates. `selection.derandomization` calls this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from .linear import basic_shares

Array = NDArray[np.float64]


def shares_by_bin(rates: Array, weights: Array) -> Array:
    """Shares of the members in each bin (bins, members) with the rates of the mixture; few bins are shared.

    Parameters
    ----------
    rates
        (rates, bins, members): what each member adds to each rate in each bin.
    weights
        Weights of the members in the mixture.
    """
    n_rates, bins, members = rates.shape
    if not bins:
        return np.zeros((0, members))
    flat = rates.reshape(n_rates, -1)
    flat = flat / np.maximum(np.abs(flat).max(axis=1, keepdims=True), 1e-12)
    flat = flat[_independent(flat)]
    shares = np.tile(weights, (bins, 1))
    # Any objective gives a corner. Random costs spread the members over the whole score, as a draw would, so that the
    # rates hold beyond these rows; an ordered objective would overfit to the bins.
    favour = np.random.default_rng(0).exponential(1 / np.maximum(shares, 1e-6))
    solved = basic_shares(favour, flat.reshape(-1, bins, members), flat @ shares.ravel())
    return shares if solved is None else solved


def _independent(rows: Array) -> NDArray[np.intp]:
    """Linearly independent rows: a group's rate, for instance, follows from those of everybody and of the rest."""
    triangle, order = qr(rows.T, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    return np.sort(order[: np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0))])
