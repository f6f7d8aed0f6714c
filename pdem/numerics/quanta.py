"""Amounts in whole quanta, a power of two in SI units: their sums are exact in any order, on any number of ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats, Integers

DIGITS = 48
"""Bits of the number of quanta in the largest expected amount. A double has 53 bits, which leaves room for amounts 32
times as large."""

MOST = float(1 << 53)
"""Largest number of quanta up to which a double represents every whole number."""


def quantum_of(largest: float) -> float:
    """Return a power of two as quantum, such that the largest expected amount has about 2^48 quanta.

    Raises
    ------
    ValueError
        If the amount is not positive and finite, or so small that the quantum is 0.
    """
    if not 0.0 < largest < math.inf:
        raise ValueError(f"quanta for amounts up to {largest}: the largest must be positive and finite")
    quantum = math.ldexp(1.0, math.frexp(largest)[1] - DIGITS)
    if quantum == 0.0:
        raise ValueError(f"quanta for amounts up to {largest}: the largest is too small")
    return quantum


def whole_quanta(amounts: Floats, quantum: float) -> Floats:
    """Return amounts rounded down to whole quanta."""
    return np.floor(amounts / quantum) * quantum


@kernel
def add_quanta(amounts: Floats, change: Integers, quantum: float) -> int:
    """Add whole numbers of quanta to amounts, and reset `change` to 0; return the first bad row, or -1.

    Amounts that are not whole quanta are rounded to the nearest. A row is bad if its sum is not finite or exceeds
    `MOST` quanta; its amount stays unchanged.
    """
    bad = -1
    for row in range(len(change)):
        before = np.rint(amounts[row] / quantum)
        fine = abs(before) <= MOST
        after = (np.int64(before) if fine else 0) + change[row]
        change[row] = 0
        if fine and abs(after) <= int(MOST):
            amounts[row] = np.float64(after) * quantum
        elif bad < 0:
            bad = row
    return bad
