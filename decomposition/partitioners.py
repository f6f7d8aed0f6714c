"""Methods of dividing space among ranks, by their names in a case file.

A new method is an entry here, with its name in `pdem.containers.exchange.PartitionMethod`. Ghosts do not depend on the
method: they follow from the extents of the ranks nearby, and the parts determine which ranks are near.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from decomposition.bisection import cut, longest_axis
from decomposition.cuts import Cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from decomposition.repeats import Repeats
    from pdem.containers.exchange import PartitionMethod
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Booleans, Floats, Integers


class Parts(Protocol):
    """A division of space into parts."""

    def owners(self, position: Floats) -> Integers:
        """Return the part (n,) that contains each of the positions (n, 3); every position is in one part."""
        ...

    def box(self, part: int, whole: Floats) -> Floats:
        """Return the lowest and highest coordinates (6,) [m] of a part of the region `whole` (6,) [m]."""
        ...

    def axes_of(self, part: int) -> Booleans:
        """Return for each axis (3,) whether the part has neighbours along it."""
        ...

    def near(self, boxes: Floats, whole: Floats, repeats: Repeats) -> Integers:
        """Return the parts, in increasing order, that come within some distance of any of these boxes, and few more.

        The time may grow with the number of parts in the result, and at most logarithmically with the number of all
        parts.

        Parameters
        ----------
        boxes : (k, 7) array
            Lowest and highest coordinates, and the distance, of each box [m]. A box is empty if a lowest coordinate
            exceeds the highest one.
        whole : (6,) array
            Lowest and highest coordinates of the contents of all parts [m].
        repeats : Repeats
            Periodic images of the box.
        """
        ...

    def near_each(self, boxes: Floats, whole: Floats, repeats: Repeats) -> tuple[Integers, Integers]:
        """Return pairs of a box and a part near it, as in `near`: indices of boxes, in increasing order, and parts."""
        ...


class Partitioner(Protocol):
    """A method of dividing space into parts of equal work."""

    def __call__(
        self, position: Floats, parts: int, weights: Floats | None = None, before: Any = None, over: Group | None = None
    ) -> Parts:
        """Divide particles into parts of equal weight, the same on every rank. Collective.

        Parameters
        ----------
        position : (n, 3) array
            Positions of the particles of this rank [m]; n may be 0.
        parts : int
            Number of parts.
        weights : (n,) array, optional
            Work of each particle; equal by default.
        before : Parts, optional
            Present division, made by the same partitioner: as little as possible should move.
        over : Group, optional
            Ranks that own the particles; by default this process alone.
        """
        ...


@dataclass(frozen=True)
class AxisCuts:
    """Recursive cuts in two across the longest axis; see `decomposition.bisection`.

    Attributes
    ----------
    axes : tuple of int
        Axes that may be cut across.
    """

    axes: tuple[int, ...] = (0, 1, 2)

    def __call__(
        self,
        position: Floats,
        parts: int,
        weights: Floats | None = None,
        before: Cuts | None = None,
        over: Group | None = None,
    ) -> Cuts:
        """Divide particles into parts of equal weight."""
        return cut(position, parts, self.axes, weights, before, over)


def bisection(lower: Sequence[float], upper: Sequence[float]) -> AxisCuts:
    """Return recursive coordinate bisection of a box: each part is cut across the longest of its extents."""
    return AxisCuts()


def slabs(lower: Sequence[float], upper: Sequence[float]) -> AxisCuts:
    """Return cuts across the longest axis of a box only."""
    return AxisCuts((longest_axis(lower, upper),))


PARTITIONERS: dict[PartitionMethod, Callable[[Sequence[float], Sequence[float]], Partitioner]] = {
    "bisection": bisection,
    "slabs": slabs,
}
"""Factories by name: each returns the partitioner for a box with these corners [m]."""
