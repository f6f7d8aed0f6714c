"""Overlaps among many boxes: a tree of boxes; all pairs of nodes descend through it together.

Boxes are sorted along a space-filling curve, and each node of the tree contains two nodes of the level below. Pairs of
overlapping nodes are split until they are pairs of boxes, so that the work is proportional to the overlaps, for any
sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

AT_ONCE = 1 << 19
"""Number of pairs of nodes that are tested together."""

_BITS = 21
_SPREAD = (
    (32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F),
    (4, 0x10C30C30C30C30C3), (2, 0x1249249249249249),
)  # fmt: skip


class BoxTree:
    """A tree over boxes.

    Parameters
    ----------
    lower, upper : ndarray, shape (n, d)
        Corners of the boxes, d at most 3; n at least 1.
    """

    def __init__(self, lower: Floats, upper: Floats) -> None:
        self.order = curve_order(0.5 * (lower + upper))
        low, high = lower[self.order].T, upper[self.order].T
        self.levels = [(np.ascontiguousarray(low), np.ascontiguousarray(high))]
        while self.levels[-1][0].shape[1] > 1:
            low, high = self.levels[-1]
            self.levels.append((_halved(low, np.minimum, np.inf), _halved(high, np.maximum, -np.inf)))

    def level(self, number: int) -> tuple[Floats, Floats]:
        """Return the boxes of a level, 0 for the leaves; levels above the root repeat the root."""
        return self.levels[min(number, len(self.levels) - 1)]


def pairs_within(tree: BoxTree) -> Iterator[tuple[Integers, Integers]]:
    """Yield, in parts, all pairs of different boxes of a tree that overlap (touch), each once, as two arrays."""
    yield from _pairs(tree, tree, True)


def pairs_between(one: BoxTree, other: BoxTree) -> Iterator[tuple[Integers, Integers]]:
    """Yield, in parts, all pairs of overlapping (touching) boxes of two different trees, as two arrays."""
    yield from _pairs(one, other, False)


def _pairs(one: BoxTree, other: BoxTree, same: bool) -> Iterator[tuple[Integers, Integers]]:
    top = max(len(one.levels), len(other.levels)) - 1
    root = np.zeros(1, np.int64)
    waiting = [(top, root, root)]
    while waiting:
        level, a, b = waiting.pop()
        if len(a) > AT_ONCE:
            waiting += [(level, a[AT_ONCE:], b[AT_ONCE:])]
            a, b = a[:AT_ONCE], b[:AT_ONCE]
        a, b = _overlapping(one.level(level), other.level(level), a, b)
        if not len(a):
            continue
        if level == 0:
            different = (a != b) | (not same)
            yield one.order[a[different]], other.order[b[different]]
            continue
        waiting.append((level - 1, *_children(a, b, one, other, level - 1, same)))


def _children(
    a: Integers, b: Integers, one: BoxTree, other: BoxTree, level: int, same: bool
) -> tuple[Integers, Integers]:
    """Return the pairs of child nodes; for a node paired with itself the mirrored pair is omitted."""
    mirrored = (a != b) | (not same)
    # above its root a tree has one node, with itself as only child
    twice_a = 2 * a if level < len(one.levels) - 1 else a
    twice_b = 2 * b if level < len(other.levels) - 1 else b
    first = np.concatenate((twice_a, twice_a, twice_a + 1, twice_a[mirrored] + 1))
    second = np.concatenate((twice_b, twice_b + 1, twice_b + 1, twice_b[mirrored]))
    there = (first < one.level(level)[0].shape[1]) & (second < other.level(level)[0].shape[1])
    return first[there], second[there]


def _overlapping(
    one: tuple[Floats, Floats], other: tuple[Floats, Floats], a: Integers, b: Integers
) -> tuple[Integers, Integers]:
    for axis in range(len(one[0])):
        touch = one[0][axis][a] <= other[1][axis][b]
        touch &= other[0][axis][b] <= one[1][axis][a]
        a, b = a[touch], b[touch]
    return a, b


def _halved(values: Floats, combine: np.ufunc, nothing: float) -> Floats:
    if values.shape[1] % 2:
        values = np.column_stack((values, np.full(len(values), nothing)))
    halved: Floats = combine(values[:, ::2], values[:, 1::2])
    return halved


def curve_order(points: Floats) -> Integers:
    """Return the order of points, shape (n, d), along a space-filling curve: neighbours are near each other."""
    return np.argsort(_curve(points), kind="stable")


def _curve(points: Floats) -> NDArray[np.uint64]:
    """Return the positions of points along Morton's curve."""
    low = points.min(axis=0)
    size = max(float((points.max(axis=0) - low).max()), np.finfo(float).tiny)
    cells = np.minimum((points - low) / size * 2**_BITS, 2**_BITS - 1).astype(np.uint64)
    key = np.zeros(len(points), np.uint64)
    for axis in range(points.shape[1]):
        bits = cells[:, axis]
        for shift, mask in _SPREAD:
            bits = (bits | (bits << np.uint64(shift))) & np.uint64(mask)
        key |= bits << np.uint64(axis)
    return key
