"""Linear interpolation in tables, with the same bits on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def interpolated(at: ArrayLike, places: ArrayLike, values: ArrayLike) -> Any:
    """Return values between the rows of a table like ``numpy.interp``, whose rounding depends on the machine.

    Parameters
    ----------
    at : float or (m,) array
        Finite places at which values are wanted. Before the first and after the last row the values of these hold.
    places : (n,) array
        Increasing places of the rows.
    values : (n,) array or (n, k) array
        Values of the rows; several columns only for a single place.

    Returns
    -------
    float64 or array
        Of the shape of `at`, or (k,).
    """
    where, known, table = (np.asarray(one, np.float64) for one in (at, places, values))
    low = np.maximum(np.searchsorted(known, where, side="right") - 1, 0)
    high = np.minimum(low + 1, len(known) - 1)
    width = known[high] - known[low]
    slope = (table[high] - table[low]) / np.where(width > 0.0, width, 1.0)
    return slope * np.maximum(where - known[low], 0.0) + table[low]
