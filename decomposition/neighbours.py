"""Which ranks may hold partners of a rank's particles: found from the parts of space, without asking all ranks.

Every rank knows the parts, and where the particles of all ranks end; the levels of size have the same largest reaches
everywhere. For each level that it has, a rank looks for the parts that particles of that level in its own come near
enough to touch something of this or a lower level there, so that a rank with a large particle finds more parts than
others. Of two ranks with a pair of particles between them the one with the larger finds the other, which is told. Both
remember each other.
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
"""Fraction by which reaches may grow after ranks have met, before they have to meet again."""


class _Bounds(NamedTuple):
    """Where the particles of a rank are, and how far they reach; or what they may not pass.

    Attributes
    ----------
    boxes : (L, `EXTENT`) array
        Of each level alone.
    whole : (6,) array
        Lowest and highest coordinates of all, along periodic axes those of the box [m].
    widest : (L,) array
        Largest reach of each level and all below [m].
    overhang : float
        How far a particle may be outside of the part of its rank [m].
    """

    boxes: Floats
    whole: Floats
    widest: Floats
    overhang: float

    def with_leeway(self, parts: Parts, rank: int, shape: BoxShape) -> _Bounds:
        """Return bounds that hold as long as particles stay in the part of their rank and reach little farther."""
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
        """Tell whether these bounds contain others."""
        return (
            self.boxes.shape == inner.boxes.shape
            and _are_within(inner.boxes, self.boxes)
            and _are_within(inner.whole[None], self.whole[None])
            and bool((inner.boxes[:, 6] <= self.boxes[:, 6]).all() and (inner.widest <= self.widest).all())
            and inner.overhang <= self.overhang
        )


def _are_within(inner: Floats, outer: Floats) -> bool:
    """Tell whether boxes (k, >= 6) are each within another one; empty ones are."""
    return bool((inner[:, :3] >= outer[:, :3]).all() and (inner[:, 3:6] <= outer[:, 3:6]).all())


class Neighbourhood:
    """The ranks that this one may have to copy particles to or from.

    Ranks meet those that particles anywhere in their parts may touch, even if these reach somewhat farther. As long as
    none reaches farther still, no rank gets particles of a level that it had none of, and neither cuts nor the shape of
    the box change, those that have met are all that matter, and nobody asks who else there is.

    Where cuts move, or the box deforms, ranks meet in each detection: images of particles move by the length of the box
    times the strain since the last one, which is more than their reach in all but small boxes.

    Parameters
    ----------
    messages : Messages
        To the other ranks.
    communicator : mpi4py communicator
        Of all ranks.
    rank : int
        This one.

    Attributes
    ----------
    repeats : Repeats
        How the box repeats.
    """

    def __init__(self, messages: Messages, communicator: Any, rank: int) -> None:
        self._messages, self._communicator, self._rank = messages, communicator, rank
        self._met = np.zeros(0, np.int64)  # each has this rank among its own
        self._bounds: _Bounds | None = None
        self._parts: Parts | None = None
        self.reshape(BoxShape.upright(np.zeros(3), np.zeros(3)))

    def reshape(self, shape: BoxShape) -> None:
        """Take note that the box has another shape from now on: ranks meet anew."""
        self._shape, self.repeats, self._bounds = shape, Repeats.of(shape), None

    def find(self, parts: Parts, each: Floats, extents: Floats, overhang: float) -> tuple[Integers, Floats]:
        """Return the neighbours, rising, and their extents. Collective.

        Each of them has this rank among its own. What they own lies in their parts, but for the overhang.

        Parameters
        ----------
        parts : Parts
            Which rank owns which part of space.
        each, extents : (L, `EXTENT`) arrays
            Of the particles of each level of this rank alone, and of each level and all below.
        overhang : float
            How far a particle of this rank may be outside of its part [m].

        Returns
        -------
        neighbours : (k,) int64 array
            Ranks.
        extents : (k, L, `EXTENT`) array
            Of their particles of each level and all below.
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
        """Return the bounds of all ranks, the boxes those of this one, and whether any does not know who matters."""
        sent = np.concatenate((-mine.whole[:3], mine.whole[3:], [mine.overhang, is_unknown], mine.widest))
        most = np.empty_like(sent)
        self._communicator.Allreduce(sent, most, load_mpi().MAX)
        whole = np.concatenate((-most[:3], most[3:6]))
        return _Bounds(mine.boxes, whole, most[8:], float(most[6])), bool(most[7])

    def _meet(self, parts: Parts, everyone: _Bounds, extents: Floats) -> Floats:
        """Find out which ranks matter, and return what they tell of themselves. Collective."""
        self._bounds, self._parts = everyone.with_leeway(parts, self._rank, self._shape), parts
        boxes = self._bounds.boxes.copy()
        boxes[:, 6] += self._bounds.widest + self._bounds.overhang
        found = parts.near(boxes, self._bounds.whole, self.repeats)
        self._met, theirs = self._messages.introduce(found[found != self._rank], extents.ravel())
        return theirs
