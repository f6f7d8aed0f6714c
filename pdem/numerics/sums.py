"""Exact sums, which are therefore the same in every order: over threads, over ranks, over restarts.

A sum is an integer in units of the smallest double, stored in limbs of 32 bits with 31 spare bits. An addition takes a
few integer operations. Rounding happens once, when the sum is read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.kernels import inlined, kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Floats, Integers

_SHIFT = 1152  # bits below 1: more than the 1074 of the smallest double
LIMBS = 72
"""Limbs of one sum: 72 * 32 bits, enough for the largest double."""

NARROW_LIMBS, NARROW_BELOW = 10, 224
"""Limbs of narrow sums, for large arrays of sums, and their bits below 1: exact from 4e-52 to 1e28."""

WIDE_BELOW, NARROW_LARGEST = _SHIFT, 2.0**90
"""Bits below 1 of sums of `LIMBS`, and the bound of numbers in narrow sums: they must be smaller."""

_NARROW_BEGIN = (_SHIFT - NARROW_BELOW) // 32
_NORMALISE_AFTER = 2**28

PART = 64
"""Largest number of values that are added at a time before they are added to a sum."""

_CUT = 46  # bits of a number that add up without rounding, for up to `PART` numbers


@inlined
def add_exactly(limbs: Integers, value: float) -> None:
    """Add a finite number to a sum, shape (`LIMBS`,); ignore a number that is not finite."""
    add_in_window(limbs, value, _SHIFT)


@inlined
def add_in_window(limbs: Integers, value: float, below: int) -> None:
    """Add a finite number to a sum with the lowest bit 2**-`below`; ignore numbers with lower bits, or not finite."""
    if value != 0.0 and math.isfinite(value):
        fraction, exponent = math.frexp(value)
        whole = int(fraction * 9007199254740992.0)  # 2**53
        place = exponent - 53 + below
        if place >= 0:
            limb, shift = place >> 5, place & 31
            # two parts of 27 bits, so that a shift by up to 31 stays within 64 bits
            low = (whole & 0x7FFFFFF) << shift
            limbs[limb] += low & 0xFFFFFFFF
            limbs[limb + 1] += low >> 32
            limb, shift = (place + 27) >> 5, (place + 27) & 31
            high = (whole >> 27) << shift
            limbs[limb] += high & 0xFFFFFFFF
            limbs[limb + 1] += high >> 32


@inlined
def _cut(value: float, cut: float) -> tuple[float, float]:
    """Split a number without error: return it rounded to the last digit of `cut`, and the remainder."""
    rounded = (value + cut) - cut
    return rounded, value - rounded


@inlined
def _larger(one: float, other: float) -> float:
    return one if one > other else other


@inlined
def add_part(limbs: Integers, sum_: int, values: Floats, first: int, count: int) -> None:
    """Add at most `PART` entries of a flat array, from `first` on, to a row of sums; faster than single additions.

    Each number is split at two positions relative to the largest number. The high and the middle parts add up without
    rounding. Few numbers have a low part, which is much smaller than the largest number and is added separately. Even
    and odd entries form independent sums, so that neither addition waits for the other.
    """
    even, odd, last = 0.0, 0.0, first + count
    whole = last - (count & 1)
    for k in range(first, whole, 2):
        even, odd = _larger(abs(values[k]), even), _larger(abs(values[k + 1]), odd)
    largest = _larger(even, odd) if whole == last else _larger(_larger(even, odd), abs(values[whole]))
    _, exponent = math.frexp(largest)
    ordinary = -800 < exponent < 800
    # adding and subtracting such a number rounds to multiples of 2**-46 of the largest number, then of 2**-92
    high_cut = math.ldexp(1.5, exponent + 52 - _CUT) if ordinary else 0.0
    low_cut = math.ldexp(1.5, exponent + 52 - 2 * _CUT) if ordinary else 0.0
    high = low = rest = other_high = other_low = other_rest = 0.0
    for k in range(first, whole, 2):
        above, below = _cut(values[k], high_cut)
        other_above, other_below = _cut(values[k + 1], high_cut)
        between, left = _cut(below, low_cut)
        other_between, other_left = _cut(other_below, low_cut)
        high, low, rest = high + above, low + between, _larger(abs(left), rest)
        other_high, other_low = other_high + other_above, other_low + other_between
        other_rest = _larger(abs(other_left), other_rest)
    if whole < last:
        above, below = _cut(values[whole], high_cut)
        between, left = _cut(below, low_cut)
        high, low, rest = high + above, low + between, _larger(abs(left), rest)
    if ordinary and math.isfinite(high + other_high):
        add_exactly(limbs[sum_], high + other_high)
        add_exactly(limbs[sum_], low + other_low)
        if _larger(rest, other_rest) > 0.0:
            for k in range(first, last):
                add_exactly(limbs[sum_], _cut(_cut(values[k], high_cut)[1], low_cut)[1])
    else:
        for k in range(first, last):
            add_exactly(limbs[sum_], values[k])


@kernel
def add_rows(limbs: Integers, sums: Integers, values: Floats) -> None:
    """Add all entries of each row of an array to the row of `limbs` with the index in `sums`."""
    for row in range(len(sums)):
        for first in range(0, values.shape[1], PART):
            add_part(limbs, sums[row], values[row], first, min(PART, values.shape[1] - first))


@kernel
def normalise(limbs: Integers) -> None:
    """Propagate carries, so that every limb but the last is in [0, 2**32): equal sums then have equal limbs."""
    for row in range(limbs.shape[0]):
        carry = np.int64(0)
        for limb in range(limbs.shape[1] - 1):
            value = limbs[row, limb] + carry
            carry = value >> 32
            limbs[row, limb] = value - (carry << 32)
        limbs[row, limbs.shape[1] - 1] += carry


class ExactSums:
    """Several named exact sums.

    Attributes
    ----------
    names : tuple of str
        Names of the sums.
    limbs : (n, LIMBS) int64 array
        The sums. Sums of several ranks may be added entry by entry.
    """

    def __init__(self, names: Sequence[str], limbs: Integers | None = None) -> None:
        self.names = tuple(names)
        self.limbs = np.zeros((len(self.names), LIMBS), np.int64) if limbs is None else limbs.copy()
        self._added = 0

    def add(self, name: str, values: Floats) -> None:
        """Add all entries of an array to the sum `name`."""
        self.add_rows((name,), np.ascontiguousarray(values).reshape(1, -1))

    def add_rows(self, names: Sequence[str], values: Floats) -> None:
        """Add all entries of each row of an array to the sum of its name; several rows may have the same name."""
        self.count(values.size)
        add_rows(self.limbs, np.array([self.names.index(name) for name in names]), np.ascontiguousarray(values))

    def add_limbs(self, name: str, limbs: Integers) -> None:
        """Add sums (n, `LIMBS`), each of a few numbers, to the sum `name`."""
        self.count(len(limbs))
        normalise(limbs)
        self.limbs[self.names.index(name)] += limbs.sum(axis=0)

    def count(self, number: int) -> None:
        """Announce that `number` values will be added to `limbs`; normalise if the limbs might overflow."""
        self._added += number
        if self._added > _NORMALISE_AFTER:
            self.normalise()

    def normalise(self) -> None:
        """Bring the limbs into their unique normal form."""
        normalise(self.limbs)
        self._added = 0

    def values(self) -> dict[str, float]:
        """Return every sum, rounded once."""
        found = np.zeros(len(self.names))
        some = np.flatnonzero(self.limbs.any(axis=1))  # often only a few of many sums are not zero
        found[some] = exact_values(self.limbs[some])
        return dict(zip(self.names, found.tolist(), strict=True))


def exact_values(limbs: Integers) -> Floats:
    """Return the doubles nearest to sums (n, `LIMBS`); infinite beyond the largest."""
    limbs = limbs.copy()
    normalise(limbs)
    values = np.zeros(len(limbs))
    _round_all(limbs, values)
    return values


def narrow_values(limbs: Integers) -> Floats:
    """Return the doubles nearest to sums (n, `NARROW_LIMBS`)."""
    some, values = np.flatnonzero(limbs.any(axis=1)), np.zeros(len(limbs))
    for rows in np.array_split(some, len(some) // 4096 + 1):
        wide = np.zeros((len(rows), LIMBS), np.int64)
        wide[:, _NARROW_BEGIN : _NARROW_BEGIN + NARROW_LIMBS] = limbs[rows]
        values[rows] = exact_values(wide)
    return values


@kernel
def _round_all(limbs: Integers, values: Floats) -> None:
    """Write the doubles nearest to sums in normal form; the sums are made positive."""
    for row in range(len(limbs)):
        negative = limbs[row, LIMBS - 1] < 0
        if negative:
            _negate(limbs[row])
        size = _rounded(limbs[row])
        values[row] = -size if negative else size


@inlined
def _negate(limbs: Integers) -> None:
    carry = np.int64(0)
    for limb in range(LIMBS):
        value = carry - limbs[limb]
        carry = value >> 32
        limbs[limb] = value - (carry << 32)


@inlined
def _rounded(limbs: Integers) -> float:
    """Return the double nearest to a positive sum in normal form; of two equally near doubles, the even one."""
    top = LIMBS - 1
    while top > 2 and limbs[top] == 0:  # no number has bits in the two lowest limbs
        top -= 1
    if limbs[top] == 0 or top == LIMBS - 1:
        return math.inf if limbs[top] else 0.0
    bits = 0
    while limbs[top] >> bits:
        bits += 1
    # the 64 highest bits, and whether any bit below them is set
    head = (np.uint64(limbs[top]) << np.uint64(64 - bits)) | (np.uint64(limbs[top - 1]) << np.uint64(32 - bits))
    head |= np.uint64(limbs[top - 2]) >> np.uint64(bits)
    rest = limbs[top - 2] & ((1 << bits) - 1)
    for limb in range(top - 2):
        rest |= limbs[limb]
    whole, low = np.int64(head >> np.uint64(11)), np.int64(head & np.uint64(0x7FF))
    if low > 0x400 or (low == 0x400 and (rest != 0 or whole & 1)):
        whole += 1
    return math.ldexp(float(whole), 32 * top + bits - 53 - _SHIFT)
