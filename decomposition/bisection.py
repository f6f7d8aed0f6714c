"""Recursive coordinate bisection: divide space into parts of equal work, although no rank holds all particles.

Space is cut in two across one axis, each half is cut again, and so on, until there is one part for each rank (M. J.
Berger, S. H. Bokhari, IEEE Trans. Comput. C-36 (1987) 570). Slabs result if all cuts are across the same axis. A part
for an odd number of ranks is cut at the corresponding fraction of its work, so that any number of ranks is possible.

All cuts of one depth are computed together. Each rank adds its work to one histogram per cut. The histograms are summed
over the ranks, and the bin that contains the wanted fraction is divided into bins again. Work is counted in whole
numbers, so that the sums are exact and all ranks compute the same cuts.
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
"""A part is cut across a different axis than before only if it is longer along that axis by this factor."""

GRADUAL = 0.5
"""Fraction of the distance to its optimum by which a cut moves at a time, because measured work is noisy."""

BINS, ROUNDS = 32, 5
"""Bins of a histogram, and refinements of the bin that contains the cut: a resolution of 3e-8 of a part's extent."""

HALVINGS = 40
"""Bisection steps for an exact cut position: a resolution of 1e-12 of the extent of a part."""

_FINEST_WORK = 2.0**20  # units of work of the particle with the most work


def longest_axis(lower: Sequence[float], upper: Sequence[float]) -> int:
    """Return the axis along which a box is longest; of equally long axes, the first."""
    return int(np.argmax(np.asarray(upper) - np.asarray(lower)))


def cut(
    position: Floats,
    parts: int,
    axes: Sequence[int] = (0, 1, 2),
    weights: Floats | None = None,
    before: Cuts | None = None,
    over: Group | None = None,
) -> Cuts:
    """Cut space into parts of equal weight, as nearly as whole particles allow. Collective.

    Parameters
    ----------
    position : (n, 3) array
        Positions of the particles of this rank [m].
    parts : int
        Number of parts.
    axes : sequence of int
        Axes that may be cut across. A part is cut across the longest of its extents along them.
    weights : (n,) array, optional
        Work of each particle; equal by default.
    before : Cuts, optional
        Previous cuts into the same number of parts. They move by a fraction of the distance to their optimum, and
        change their axis only where that is much better.
    over : Group, optional
        The ranks; by default this process alone.
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
    """Move the cuts around some parts so that these parts have exactly their share of all particles.

    Parameters
    ----------
    cuts : Cuts
        Cuts made from a sample of the particles.
    chosen : sequence of int
        Parts that need exact shares.
    whole : (6,) array
        Lowest and highest coordinates of all particles [m].
    count : callable
        Returns the number of particles in a box (6,) [m].
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
    """Return the coordinate along an axis below which a box has this share of its particles."""
    lower, upper, wanted = float(box[axis]), float(box[3 + axis]), share * count(box)
    for _ in range(HALVINGS):
        middle = 0.5 * (lower + upper)
        if count(side_of(box, axis, middle, is_below=True)) < wanted:
            lower = middle
        else:
            upper = middle
    return upper


class _Tree(NamedTuple):
    """For each cut: child below, child above, number of parts that it divides, and depth in the tree."""

    below: Integers
    above: Integers
    parts: Integers
    depth: Integers


class _Bed(NamedTuple):
    """Positions [m] and work of the particles, and the axes that may be cut across."""

    position: Floats
    work: Integers
    axes: Integers


def _whole_work(weights: Floats | None, count: int, over: Group) -> Integers:
    """Return the work of particles as whole numbers."""
    if weights is None:
        return np.ones(count, np.int64)
    most = float(over.largest(np.array([weights.max(initial=0.0)]))[0])
    return np.rint(weights * (_FINEST_WORK / most if most > 0.0 else 0.0)).astype(np.int64)


def _cuts_of_level(
    bed: _Bed, node: Integers, slot: Integers, share: Floats, old: tuple[Integers, Floats] | None, over: Group
) -> tuple[Integers, Floats]:
    """Return axis and coordinate of all cuts of one depth.

    Parameters
    ----------
    bed : _Bed
        Particles of this rank.
    node : (n,) int64 array
        Cut of this depth that divides the part of each particle; negative if there is none.
    slot : (parts - 1,) int64 array
        Index of each cut among the cuts of this depth; -1 for cuts of other depths.
    share : (k,) array
        Fraction of the work below each cut.
    old : pair of (k,) arrays, optional
        Axes and coordinates of the previous cuts.
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
    """Return the index of the axis to cut across: the longest one, or the previous one if it is about as long."""
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
    """Return cut coordinates that leave about the wanted share of the work below them."""
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
    """Move cuts halfway between their nearest particles, so that rounding cannot carry a particle across."""
    nearest = np.full((len(place), 2), -np.inf)
    _nearest(bed.position, node, slot, axis, place, nearest)
    nearest = over.largest(nearest)
    below, above = nearest[:, 0], -nearest[:, 1]
    known = np.isfinite(below) & np.isfinite(above)
    middle = 0.5 * (np.where(known, below, 0.0) + np.where(known, above, 0.0))
    return np.where(known, np.where(middle > below, middle, above), place)


@kernel
def _extents(position: Floats, axes: Integers, node: Integers, slot: Integers, ends: Floats) -> None:
    """Write to `ends` (k, 2, a) the largest coordinates of each cut's particles, and the largest of their negatives."""
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
    """Add the work of particles to the bins (k, BINS) of their cuts, between the edges (k, BINS + 1)."""
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
    """Write to `nearest` (k, 2) the largest coordinate below each cut, and the largest negated coordinate above it."""
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
    """Move each particle one level down the tree: `node` becomes the child on the particle's side of the cut."""
    for p in range(len(position)):
        if node[p] >= 0:
            one = node[p]
            node[p] = below[one] if position[p, axis[one]] < place[one] else above[one]


@kernel
def _tree(parts: int) -> tuple[Integers, Integers, Integers, Integers]:
    """Return for each cut its child below, its child above, the number of parts that it divides, and its depth.

    A child is the index of a cut, or -1 minus the number of a part. The tree depends on `parts` alone.
    """
    below, above = np.zeros(parts - 1, np.int64), np.zeros(parts - 1, np.int64)
    count, depth = np.zeros(parts - 1, np.int64), np.zeros(parts - 1, np.int64)
    # Stack entries: first part, number of parts, the cut above them, and their side of that cut.
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
