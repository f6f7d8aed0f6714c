"""Indices that are non-negative by construction, so that the compiler can rely on it.

Python counts negative indices from the end, so an index that may be negative costs a comparison, and loops with
comparisons do not become vector code. Unsigned indices, and row numbers with a mask, need no comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdem.numerics.kernels import inlined

ROW = 0x7FFFFFFF
"""Mask of a row number: covers every row that an int32 can name. A masked row number is never negative."""


@inlined
def offset(begin: int, number: int) -> Any:
    """Return ``begin + number`` as an unsigned number; neither may be negative."""
    return np.uint64(begin) + np.uint64(number)
