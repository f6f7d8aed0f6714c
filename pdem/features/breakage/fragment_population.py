"""Fragments of many parents that break alike: their sizes follow the passing curve, and each parent has its mass.

The fragments of `PARENTS` parents are the quantiles of the curve. They are given to the parents from the largest on,
each to the parent with the largest remaining mass, so that no parent has more than its mass and all have about the same
mass left for the small ones. Fragments above the size 1 / `SINGLE_FROM`, of which a parent has one at most, are the
mass that is left: their total follows the curve, their sizes adapt to the other fragments. For small t10 that is the
only way to realise the curve. Volumes are over the parent's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.features.breakage.fragment_curve import (
    SINGLE_FROM,
    FragmentCurve,
    fragment_curve,
    number_above,
    passing_at,
    volumes_at,
)
from pdem.foundation import exact_math
from pdem.numerics.geometry_kernels import geometry_kernel, inlined_geometry

if TYPE_CHECKING:
    from pdem.features.breakage.fragment_curve import Rows
    from pdem.foundation.array_types import Floats, Integers

PARENTS = 512

LARGE_COUNT = 24.0
"""Mean number of fragments of a parent in the population. Smaller ones are drawn from the curve for each parent."""

T10_STEPS = 32
"""Populations are made at t10 = (k / T10_STEPS)^2 percent for whole k: close to each other where curves change fast."""

_KEPT = 192
"""Populations in memory, of a tenth of a megabyte each."""

_SINGLE_VOLUME = 1.0 / (SINGLE_FROM * SINGLE_FROM * SINGLE_FROM)
_DROPPED = 0.5
"""A fragment that is cut to less than this share of its volume is left out."""


class FragmentPopulation(NamedTuple):
    """Fragments of `PARENTS` parents.

    Attributes
    ----------
    curve : FragmentCurve
        The passing curve.
    begin : (PARENTS + 1,) array of int64
        First fragment of each parent.
    volume : (m,) array
        Volumes of fragments over the parent's, falling for each parent.
    rest : (PARENTS,) array
        Mass fraction of each parent in fragments below the population.
    cut : float
        Volume of the smallest fragments of the population.
    below : float
        Mass fraction of smaller fragments, by the curve.
    """

    curve: FragmentCurve
    begin: Integers
    volume: Floats
    rest: Floats
    cut: float
    below: float


@lru_cache(maxsize=_KEPT)
def population(rows: Rows, step: int) -> FragmentPopulation:
    """Return the population of a table, for t10 = (step / `T10_STEPS`)^2 percent."""
    curve = fragment_curve(rows, min(step * step / (T10_STEPS * T10_STEPS), 100.0))
    cut = _cut(curve)
    below = passing_at(curve, cut)
    single = _single_volumes(curve)
    smaller = _smaller_volumes(curve, cut)
    room, limit = np.ones(PARENTS), np.ones(PARENTS)
    room[: len(single)] -= single
    limit[: len(single)] -= _SINGLE_VOLUME
    owner = np.empty(len(smaller), np.int64)
    share_out(smaller, room, limit, owner, np.empty((2, PARENTS), np.int64))
    _balance(single, room, below * PARENTS)
    owner = np.concatenate((np.arange(len(single)), owner))
    volume = np.concatenate((single, smaller))
    begin, volume = _by_parent(owner, volume)
    return FragmentPopulation(curve, begin, volume, room, cut, below)


def _cut(curve: FragmentCurve) -> float:
    """Return the volume above which parents have `LARGE_COUNT` fragments in the mean."""
    if curve.number[-1] <= LARGE_COUNT:
        return float(curve.volume[-1])
    return float(volumes_at(curve, np.array([LARGE_COUNT]))[0])


def _single_volumes(curve: FragmentCurve) -> Floats:
    """Return the wanted volumes of fragments of which a parent has one at most, falling; for the first parents.

    Those of the curve, if there is room for all others: where two fragments have about half of the mass each, no third
    one fits. Otherwise fewer and larger ones with the same total.
    """
    mass = 1.0 - passing_at(curve, _SINGLE_VOLUME)
    natural = number_above(curve, _SINGLE_VOLUME)
    halves = number_above(curve, 1.0 - _SINGLE_VOLUME) - natural
    count = max(round(PARENTS * min(natural, 1.0 - 0.5 * halves)), 0)
    if count == 0:
        return np.zeros(0)
    missing = 1.0 - volumes_at(curve, natural * (np.arange(count) + 0.5) / count)
    wanted = max(count - mass * PARENTS, 0.0)
    total = exact_math.total(missing)
    return 1.0 - missing * (min(wanted / total, 1.0 / float(missing[-1])) if total > 0.0 else 0.0)


def _smaller_volumes(curve: FragmentCurve, cut: float) -> Floats:
    """Return the volumes of all other fragments of the parents, falling."""
    above, last = number_above(curve, _SINGLE_VOLUME), number_above(curve, cut)
    count = round(PARENTS * (last - above))
    return volumes_at(curve, above + (last - above) * (np.arange(count) + 0.5) / max(count, 1))


def _balance(single: Floats, room: Floats, below: float) -> None:
    """Change the single fragments, and the mass that is left to their parents, until the mass below the cut is right.

    Parents that have more than their mass get a smaller single fragment; what is left too much becomes part of the
    single ones.
    """
    count = len(single)
    single += np.minimum(room[:count], 0.0)
    np.maximum(room, 0.0, out=room)
    left = exact_math.total(room[:count])
    if left > 0.0:
        surplus = exact_math.total(room) - below
        share = min(max(surplus / left, 0.0), 1.0)
        single += share * room[:count]
        room[:count] -= share * room[:count]


def _by_parent(owner: Integers, volume: Floats) -> tuple[Integers, Floats]:
    """Return the first fragment of each parent, and volumes by parent, falling; owner -1 is none."""
    order = np.lexsort((-volume, owner))
    order = order[int(np.count_nonzero(owner < 0)) :]
    begin = np.searchsorted(owner[order], np.arange(PARENTS + 1))
    return begin, volume[order]


@inlined_geometry
def _sink(heap: Integers, place: Integers, room: Floats, at: int) -> None:
    """Move an entry of a heap down behind parents with more room, and equal ones with lower numbers."""
    size, moved = len(heap), heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size:
            one, two = heap[child], heap[child + 1]
            if room[two] > room[one] or (room[two] == room[one] and two < one):
                child += 1
        other = heap[child]
        if room[other] < room[moved] or (room[other] == room[moved] and other > moved):
            break
        heap[at] = other
        place[other] = at
        at = child
    heap[at] = moved
    place[moved] = at


@geometry_kernel
def share_out(volume: Floats, room: Floats, limit: Floats, owner: Integers, heap: Integers) -> None:
    """Give fragments to parents, each to the one with the largest room; they are cut where none has room.

    Parameters
    ----------
    volume : (m,) array
        Volumes, falling; changed where fragments are cut.
    room : (p,) array
        Mass that parents have left by their targets; changed, negative where the limit was used.
    limit : (p,) array
        Mass that parents can have at most, changed likewise.
    owner : (m,) array of int64
        Written: parents of fragments, or -1.
    heap : (2, p) array of int64
        Working space.
    """
    parents = len(room)
    for p in range(parents):
        heap[0, p] = heap[1, p] = p
    for at in range(parents // 2, -1, -1):
        _sink(heap[0], heap[1], room, at)
    for f in range(len(volume)):
        owner[f] = best = heap[0, 0]
        if volume[f] > room[best]:
            for p in range(parents):
                if limit[p] > limit[best]:
                    best = p
            owner[f] = best
            if volume[f] > limit[best]:
                if limit[best] < _DROPPED * volume[f]:
                    owner[f] = -1
                    continue
                volume[f] = limit[best]
        room[best] -= volume[f]
        limit[best] -= volume[f]
        _sink(heap[0], heap[1], room, heap[1, best])
