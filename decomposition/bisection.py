"""Recursive coordinate bisection: space in parts of equal work, without a rank that sees all particles.

Space is cut in two across one axis, each half again, and so on, until there is a part for each rank (M. J. Berger,
S. H. Bokhari, IEEE Trans. Comput. C-36 (1987) 570). Slabs are the same with all cuts across one axis. A part that is to
be divided among an odd number of ranks is cut at the corresponding fraction of its work, so that any number will do.

All cuts of one depth are found together. Each rank counts its work in the bins of a histogram for each of them; the
histograms are added up over the ranks, and the bin that holds the wanted fraction is divided in bins again. Work is
counted in whole numbers, so that the sums are exact and all ranks find the same cuts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from decomposition.cuts import DEEPEST, Cuts, side_of
from pdem.containers.group import OneRank
from pdem.numerics.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.containers.group import Group
    from pdem.foundation.array_types import Floats, Integers

LONGER = 1.5
"""A part is cut across another axis than before only where it is longer there by this factor."""

GRADUAL = 0.5
"""Part of the way to its best place by which a cut moves at a time: what is measured is noisy."""

BINS, ROUNDS = 32, 5
"""Bins of a histogram, and how often the bin of the cut is divided: in all 3e-8 of the extent of a part."""

HALVINGS = 40
"""How often the range of an exact place is halved: to 1e-12 of the extent of a part."""

_FINEST_WORK = 2.0**20  # parts of the largest work of a particle in which work is counted


def longest_axis(lower: Sequence[float], upper: Sequence[float]) -> int:
    """Return the axis along which a box is longest, the first of equals."""
    return int(np.argmax(np.asarray(upper) - np.asarray(lower)))


def cut(
    position: Floats,
    parts: int,
    axes: Sequence[int] = (0, 1, 2),
    weights: Floats | None = None,
    before: Cuts | None = None,
    over: Group | None = None,
) -> Cuts:
    """Cut particles into parts of equal weight, as nearly as whole particles allow. Collective.

    Parameters
    ----------
    position : (n, 3) array
        Of the particles of this rank [m].
    parts : int
        How many.
    axes : sequence of int
        Axes that may be cut across; each part is across the longest of its extents.
    weights : (n,) array, optional
        Work of each particle; equal unless given.
    before : Cuts, optional
        Of as many parts: its cuts are moved by a part of the way, and turned only where that is much better.
    over : Group, optional
        The ranks; this process alone unless given.
    """
    over = OneRank() if over is None else over
    tree = _Tree(*_tree(parts))
    bed = _Bed(np.ascontiguousarray(position), _whole_work(weights, len(position), over), np.array(axes))
    axis, place = np.zeros(parts - 1, np.int64), np.zeros(parts - 1)
    node = np.full(len(position), 0 if parts > 1 else -1)
    for depth in range(int(tree.depth.max(initial=-1)) + 1):
        level = np.flatnonzero(tree.depth == depth)
        slot = np.full(parts - 1, -1)
        slot[level] = np.arange(len(level))
        old = None if before is None else (before.axis[level], before.place[level])
        share = (tree.parts[level] // 2) / tree.parts[level]
        axis[level], place[level] = _cuts_of_level(bed, node, slot, share, old, over)
        _descend(bed.position, node, axis, place, tree.below, tree.above)
    return Cuts(parts, axis, place, tree.below, tree.above)


def with_exact_parts(cuts: Cuts, chosen: Sequence[int], whole: Floats, count: Callable[[Floats], int]) -> Cuts:
    """Return cuts of which those around some parts are moved so that these have their share of all particles.

    Parameters
    ----------
    cuts : Cuts
        Made from a sample of the particles.
    chosen : sequence of int
        These parts.
    whole : (6,) array
        Lowest and highest coordinates of all particles [m].
    count : callable
        Returns how many particles are in a box (6,) [m].
    """
    parts, place, moved = _Tree(*_tree(cuts.parts)).parts, cuts.place.copy(), set()
    for part in chosen:
        box = whole
        for node, is_below in cuts.way_to(part):
            axis = int(cuts.axis[node])
            if node not in moved:
                place[node] = _exact_place(box, axis, (parts[node] // 2) / parts[node], count)
                moved.add(node)
            box = side_of(box, axis, float(place[node]), is_below=is_below)
    return replace(cuts, place=place)


def _exact_place(box: Floats, axis: int, share: float, count: Callable[[Floats], int]) -> float:
    """Return the place across an axis below which a box has this share of its particles."""
    lower, upper, wanted = float(box[axis]), float(box[3 + axis]), share * count(box)
    for _ in range(HALVINGS):
        middle = 0.5 * (lower + upper)
        if count(side_of(box, axis, middle, is_below=True)) < wanted:
            lower = middle
        else:
            upper = middle
    return upper


class _Tree(NamedTuple):
    """Of each cut what is below and above it, among how many parts it divides, and how many cuts are before it."""

    below: Integers
    above: Integers
    parts: Integers
    depth: Integers


class _Bed(NamedTuple):
    """Positions [m] and work of particles, and the axes that may be cut across."""

    position: Floats
    work: Integers
    axes: Integers


def _whole_work(weights: Floats | None, count: int, over: Group) -> Integers:
    """Return the work of particles in whole numbers."""
    if weights is None:
        return np.ones(count, np.int64)
    most = float(over.largest(np.array([weights.max(initial=0.0)]))[0])
    return np.rint(weights * (_FINEST_WORK / most if most > 0.0 else 0.0)).astype(np.int64)


def _cuts_of_level(
    bed: _Bed, node: Integers, slot: Integers, share: Floats, old: tuple[Integers, Floats] | None, over: Group
) -> tuple[Integers, Floats]:
    """Return axis and place of all cuts of one depth.

    Parameters
    ----------
    bed : _Bed
        Particles of this rank.
    node : (n,) int64 array
        Cut of this depth that each is to be divided by, negative for none.
    slot : (parts - 1,) int64 array
        Number of each cut among those of this depth, -1 for others.
    share : (k,) array
        Fraction of the work that shall be below.
    old : pair of (k,) arrays, optional
        Axis and place before.
    over : Group
        The ranks.
    """
    ends = np.full((len(share), 2, len(bed.axes)), -np.inf)
    _extents(bed.position, bed.axes, node, slot, ends)
    ends = over.largest(ends)
    empty = ends[:, 0, 0] == -np.inf
    along = _axis_along(np.where(empty[:, None], 0.0, ends[:, 0] + ends[:, 1]), bed.axes, old)
    rows, axis = np.arange(len(share)), bed.axes[along]
    lower = np.where(empty, 0.0, -ends[rows, 1, along])
    upper = np.where(empty, 0.0, np.nextafter(ends[rows, 0, along], np.inf))
    place = _between(bed, node, slot, axis, _refine(bed, node, slot, axis, (lower, upper), share, over), over)
    if old is None:
        return axis, np.where(empty, 0.0, place)
    moved = np.where(axis == old[0], old[1] + GRADUAL * (place - old[1]), place)
    return axis, np.where(empty, old[1], moved)


def _axis_along(length: Floats, axes: Integers, old: tuple[Integers, Floats] | None) -> Integers:
    """Return which of the axes to cut across: the longest, or that of before if it is about as long."""
    longest = np.argmax(length, axis=1)
    if old is None:
        return longest
    same = np.argmax(axes[None, :] == old[0][:, None], axis=1)
    rows = np.arange(len(length))
    keep = (axes[same] == old[0]) & (LONGER * length[rows, same] >= length[rows, longest])
    return np.where(keep, same, longest)


def _refine(
    bed: _Bed, node: Integers, slot: Integers, axis: Integers, ends: tuple[Floats, Floats], share: Floats, over: Group
) -> Floats:
    """Return places below which there is about the wanted share of the work."""
    lower, upper = ends
    rows = np.arange(len(share))
    below, inside, wanted = np.zeros(len(share)), np.zeros(len(share)), np.zeros(len(share))
    for round_number in range(ROUNDS):
        edges = lower[:, None] + (upper - lower)[:, None] * (np.arange(BINS + 1) / BINS)
        edges[:, -1] = upper
        counts = np.zeros((len(share), BINS), np.int64)
        _histogram(bed.position, bed.work, node, slot, axis, edges, counts)
        counts = over.add(counts)
        if round_number == 0:
            wanted = share * counts.sum(axis=1)
        reached = below[:, None] + np.cumsum(counts, axis=1)
        chosen = np.argmax(reached >= wanted[:, None], axis=1)
        inside = counts[rows, chosen].astype(np.float64)
        below = reached[rows, chosen] - inside
        lower, upper = edges[rows, chosen], edges[rows, chosen + 1]
    return np.where(wanted - below < below + inside - wanted, lower, upper)


def _between(bed: _Bed, node: Integers, slot: Integers, axis: Integers, place: Floats, over: Group) -> Floats:
    """Return places halfway between the particles below and above, so that none is near its end by rounding."""
    nearest = np.full((len(place), 2), -np.inf)
    _nearest(bed.position, node, slot, axis, place, nearest)
    nearest = over.largest(nearest)
    below, above = nearest[:, 0], -nearest[:, 1]
    known = np.isfinite(below) & np.isfinite(above)
    middle = 0.5 * (np.where(known, below, 0.0) + np.where(known, above, 0.0))
    return np.where(known, np.where(middle > below, middle, above), place)


@kernel
def _extents(position: Floats, axes: Integers, node: Integers, slot: Integers, ends: Floats) -> None:
    """Write the largest coordinates of the particles of each cut, and the largest of their negatives (k, 2, a)."""
    for p in range(len(position)):
        if node[p] >= 0:
            row = slot[node[p]]
            for along in range(len(axes)):
                x = position[p, axes[along]]
                ends[row, 0, along] = max(ends[row, 0, along], x)
                ends[row, 1, along] = max(ends[row, 1, along], -x)


@kernel
def _histogram(
    position: Floats, work: Integers, node: Integers, slot: Integers, axis: Integers, edges: Floats, counts: Integers
) -> None:
    """Add the work of particles to the bins (k, BINS) between edges (k, BINS + 1) of their cuts."""
    bins = counts.shape[1]
    for p in range(len(position)):
        if node[p] < 0:
            continue
        row = slot[node[p]]
        x, low, high = position[p, axis[row]], edges[row, 0], edges[row, bins]
        if x < low or x >= high:
            continue
        one = min(max(int((x - low) / (high - low) * bins), 0), bins - 1)
        while one > 0 and x < edges[row, one]:
            one -= 1
        while one < bins - 1 and x >= edges[row, one + 1]:
            one += 1
        counts[row, one] += work[p]


@kernel
def _nearest(position: Floats, node: Integers, slot: Integers, axis: Integers, place: Floats, nearest: Floats) -> None:
    """Write the largest coordinate below each cut, and the largest of the negatives of those above (k, 2)."""
    for p in range(len(position)):
        if node[p] >= 0:
            row = slot[node[p]]
            x = position[p, axis[row]]
            if x < place[row]:
                nearest[row, 0] = max(nearest[row, 0], x)
            else:
                nearest[row, 1] = max(nearest[row, 1], -x)


@kernel
def _descend(position: Floats, node: Integers, axis: Integers, place: Floats, below: Integers, above: Integers) -> None:
    """Hand each particle to what is below or above its cut."""
    for p in range(len(position)):
        if node[p] >= 0:
            one = node[p]
            node[p] = below[one] if position[p, axis[one]] < place[one] else above[one]


@kernel
def _tree(parts: int) -> tuple[Integers, Integers, Integers, Integers]:
    """Return what is below and above each cut, among how many parts it divides, and how many cuts are before it.

    A function of `parts` alone.
    """
    below, above = np.zeros(parts - 1, np.int64), np.zeros(parts - 1, np.int64)
    count, depth = np.zeros(parts - 1, np.int64), np.zeros(parts - 1, np.int64)
    # Of each: first part, how many, the cut above these, and on which side of it they are.
    waiting = np.empty((DEEPEST, 4), np.int64)
    waiting[0, :], height, numbered = np.array([0, parts, -1, 0]), 1, 0
    while height > 0:
        height -= 1
        first, number, upper, side = waiting[height]
        node = -1 - first
        if number > 1:
            node, numbered = numbered, numbered + 1
            count[node] = number
            depth[node] = depth[upper] + 1 if upper >= 0 else 0
            half = number // 2
            waiting[height, :] = np.array([first + half, number - half, node, 1])
            waiting[height + 1, :] = np.array([first, half, node, 0])
            height += 2
        if upper >= 0:
            if side == 0:
                below[upper] = node
            else:
                above[upper] = node
    return below, above, count, depth
