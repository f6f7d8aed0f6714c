"""Ways of cutting space among ranks, by the name that a case gives them.

One more is an entry here with its name in `pdem.containers.exchange.PartitionMethod`. Ghosts need no knowledge of it:
they follow from the extents of what the ranks near own, and the parts say which these are.
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
    """A division of space in parts."""

    def owners(self, position: Floats) -> Integers:
        """Return the part (n,) in which each of the positions (n, 3) lies; every place is in one."""
        ...

    def box(self, part: int, whole: Floats) -> Floats:
        """Return the lowest and highest coordinates (6,) [m] of a part of a whole (6,) [m]."""
        ...

    def axes_of(self, part: int) -> Booleans:
        """Return for each axis (3,) whether the part has neighbours along it."""
        ...

    def near(self, boxes: Floats, whole: Floats, repeats: Repeats) -> Integers:
        """Return the parts, rising, that come within some distance of any of these boxes, and few others.

        The time may grow with the number of parts found, and with the number of all at most like its logarithm.

        Parameters
        ----------
        boxes : (k, 7) array
            Lowest and highest coordinates and the distance [m]; boxes whose ends are the wrong way round are empty.
        whole : (6,) array
            Lowest and highest coordinates of all that the parts hold [m].
        repeats : Repeats
            How the box repeats.
        """
        ...

    def near_each(self, boxes: Floats, whole: Floats, repeats: Repeats) -> tuple[Integers, Integers]:
        """Return numbers of boxes, rising, and for each a part that comes near it as in `near`, each once."""
        ...


class Partitioner(Protocol):
    """A way of dividing space in parts of equal work."""

    def __call__(
        self, position: Floats, parts: int, weights: Floats | None = None, before: Any = None, over: Group | None = None
    ) -> Parts:
        """Divide particles into parts of equal weight, the same on every rank. Collective.

        Parameters
        ----------
        position : (n, 3) array
            Of the particles of this rank [m]; n may be 0.
        parts : int
            How many.
        weights : (n,) array, optional
            Work of each particle; equal unless given.
        before : Parts, optional
            The present division, made by the same partitioner: as little as possible should move.
        over : Group, optional
            The ranks that the particles are on; this process alone unless given.
        """
        ...


@dataclass(frozen=True)
class AxisCuts:
    """Cuts in two across an axis, each half again, and so on, see `decomposition.bisection`.

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
    """Return cuts across the longest axis of a box alone."""
    return AxisCuts((longest_axis(lower, upper),))


PARTITIONERS: dict[PartitionMethod, Callable[[Sequence[float], Sequence[float]], Partitioner]] = {
    "bisection": bisection,
    "slabs": slabs,
}
"""By name, what makes the partitioner of a box, of its corners [m]."""
