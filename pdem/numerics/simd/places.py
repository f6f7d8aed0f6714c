"""Places in arrays that the compiler knows not to be negative.

Python counts negative places from the end, so each place that may be negative costs a comparison, and loops with
comparisons do not become vector code. Unsigned places, and rows that a mask has made non-negative, need none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdem.numerics.kernels import inlined

ROW = 0x7FFFFFFF
"""Mask of a row number: every row that an int32 can name. A row masked by it is known not to be negative."""


@inlined
def offset(begin: int, number: int) -> Any:
    """Return ``begin + number``, unsigned; neither is negative."""
    return np.uint64(begin) + np.uint64(number)
