"""Neighbours of a rank: the ranks that may own contact partners of its particles, searched without asking all ranks.

Every rank knows the parts of space and the ends of the region with particles. The largest reach of each level of size
is the same everywhere. For each of its levels, a rank searches for the parts in which its particles of this level may
touch particles of the same or a lower level. Thus a rank with a large particle finds more parts. Of two ranks with a
contact pair between them, the rank with the larger particle finds the second rank and notifies it. Both store each
other as neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decomposition.layers import may_meet
from decomposition.mpi import load_mpi
from decomposition.repeats import Repeats
from pdem.containers.box_shape import BoxShape

if TYPE_CHECKING:
    from decomposition.messages import Messages
    from decomposition.partitioners import Parts
    from pdem.foundation.array_types import Floats, Integers

LEEWAY = 0.25
"""Fraction by which reaches may grow before ranks search for their neighbours again."""


class _Bounds(NamedTuple):
    """Bounds of the positions and reaches of a rank's particles, or limits that these bounds may not pass.

    Attributes
    ----------
    boxes : (L, `EXTENT`) array
        Extents of each level alone.
    whole : (6,) array
        Lowest and highest coordinates of all particles; along periodic axes the ends of the box [m].
    widest : (L,) array
        Largest reach of each level, including all lower levels [m].
    overhang : float
        Largest distance of a particle from the part of its rank [m].
    """

    boxes: Floats
    whole: Floats
    widest: Floats
    overhang: float

    def with_leeway(self, parts: Parts, rank: int, shape: BoxShape) -> _Bounds:
        """Return bounds that are valid while particles stay in the part of their rank and their reaches grow little."""
        apart = np.where(shape.period > 0.0, 0.0, self.widest[-1])
        whole = self.whole + np.concatenate((-apart, apart))
        overhang = (1.0 + LEEWAY) * self.overhang
        part, boxes = parts.box(rank, whole), self.boxes.copy()
        some = boxes[:, 0] <= boxes[:, 3]
        boxes[some, :3] = np.minimum(boxes[some, :3], part[:3] - overhang)
        boxes[some, 3:6] = np.maximum(boxes[some, 3:6], part[3:] + overhang)
        boxes[:, 6] *= 1.0 + LEEWAY
        return _Bounds(boxes, whole, (1.0 + LEEWAY) * self.widest, overhang)

    def hold(self, inner: _Bounds) -> bool:
        """Return whether these bounds contain the bounds `inner`."""
        return (
            self.boxes.shape == inner.boxes.shape
            and _are_within(inner.boxes, self.boxes)
            and _are_within(inner.whole[None], self.whole[None])
            and bool((inner.boxes[:, 6] <= self.boxes[:, 6]).all() and (inner.widest <= self.widest).all())
            and inner.overhang <= self.overhang
        )


def _are_within(inner: Floats, outer: Floats) -> bool:
    """Return whether each of the boxes (k, >= 6) is within its outer box; empty boxes are."""
    return bool((inner[:, :3] >= outer[:, :3]).all() and (inner[:, 3:6] <= outer[:, 3:6]).all())


class Neighbourhood:
    """The ranks with which this rank may exchange copies of particles.

    The search assumes that particles may be anywhere in their parts, and that reaches may grow by `LEEWAY`. Its result
    remains valid, without further messages, as long as no reach grows by more, no rank gets particles of a new level,
    and neither the cuts nor the shape of the box change.

    Where cuts move, or the box deforms, ranks search in each detection: images of particles move by the length of the
    box times the strain since the last detection, which is more than their reach in all but small boxes.

    Parameters
    ----------
    messages : Messages
        Messages to the other ranks.
    communicator : mpi4py communicator
        Communicator of all ranks.
    rank : int
        Number of this rank.

    Attributes
    ----------
    repeats : Repeats
        Periodic images of the box.
    """

    def __init__(self, messages: Messages, communicator: Any, rank: int) -> None:
        self._messages, self._communicator, self._rank = messages, communicator, rank
        self._met = np.zeros(0, np.int64)  # a symmetric relation
        self._bounds: _Bounds | None = None
        self._parts: Parts | None = None
        self.reshape(BoxShape.upright(np.zeros(3), np.zeros(3)))

    def reshape(self, shape: BoxShape) -> None:
        """Record a new shape of the box: ranks search for their neighbours again."""
        self._shape, self.repeats, self._bounds = shape, Repeats.of(shape), None

    def find(self, parts: Parts, each: Floats, extents: Floats, overhang: float) -> tuple[Integers, Floats]:
        """Return the neighbours in increasing order, and their extents. Collective.

        The relation is symmetric. The particles of a rank are in its part, up to the overhang.

        Parameters
        ----------
        parts : Parts
            Division of space among the ranks.
        each, extents : (L, `EXTENT`) arrays
            Extents of this rank's particles: of each level alone, and of each level with all lower levels.
        overhang : float
            Largest distance of a particle of this rank from its part [m].

        Returns
        -------
        neighbours : (k,) int64 array
            Ranks.
        extents : (k, L, `EXTENT`) array
            Extents of the neighbours' particles; the row of a level includes all lower levels.
        """
        mine = _Bounds(each, self._shape.extended(extents[-1, :6]), extents[:, 6], overhang)
        known = self._parts is parts and self._bounds is not None and self._bounds.hold(mine)
        everyone, any_unknown = self._agree(mine, not known)
        if any_unknown:
            theirs = self._meet(parts, everyone, extents)
        else:
            rows = np.tile(extents.ravel(), (len(self._met), 1))
            theirs = self._messages.swap(self._met, rows, np.ones(len(self._met), np.int64))[0]
        theirs = theirs.reshape(-1, *extents.shape)
        near = may_meet(extents[-1], theirs[:, -1], self.repeats)
        return self._met[near], theirs[near]

    def _agree(self, mine: _Bounds, is_unknown: bool) -> tuple[_Bounds, bool]:
        """Return the bounds of all ranks, with this rank's boxes, and whether any rank has to search for neighbours."""
        sent = np.concatenate((-mine.whole[:3], mine.whole[3:], [mine.overhang, is_unknown], mine.widest))
        most = np.empty_like(sent)
        self._communicator.Allreduce(sent, most, load_mpi().MAX)
        whole = np.concatenate((-most[:3], most[3:6]))
        return _Bounds(mine.boxes, whole, most[8:], float(most[6])), bool(most[7])

    def _meet(self, parts: Parts, everyone: _Bounds, extents: Floats) -> Floats:
        """Search for the neighbours, and return their extents. Collective."""
        self._bounds, self._parts = everyone.with_leeway(parts, self._rank, self._shape), parts
        boxes = self._bounds.boxes.copy()
        boxes[:, 6] += self._bounds.widest + self._bounds.overhang
        found = parts.near(boxes, self._bounds.whole, self.repeats)
        self._met, theirs = self._messages.introduce(found[found != self._rank], extents.ravel())
        return theirs
