"""Which ranks may hold partners of a rank's particles: found from the parts of space, without asking all ranks.

Every rank knows the parts, and where the particles of all ranks end; the levels of size have the same largest reaches
everywhere. For each level on its own a rank looks for the parts that its particles of that level come near enough to
touch something of this or a lower level there, so that a large particle finds more parts than the small ones beside it.
Of two ranks with a pair of particles between them the one with the larger finds the other, which is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from decomposition.layers import may_meet
from decomposition.mpi import load_mpi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from decomposition.messages import Messages
    from decomposition.partitioners import Parts
    from decomposition.repeats import Repeats

    Floats = NDArray[np.float64]


class Space(NamedTuple):
    """What all ranks know of where particles are.

    Attributes
    ----------
    whole : (6,) array
        Lowest and highest coordinates of all [m].
    widest : (L,) array
        Largest reach of each level and all below [m].
    overhang : float
        How far a particle may be outside of the part of its rank [m].
    repeats : Repeats
        How the box repeats.
    """

    whole: Floats
    widest: Floats
    overhang: float
    repeats: Repeats


def agree_on_space(communicator: Any, extents: Floats, overhang: float, repeats: Repeats) -> Space:
    """Return where the particles of all ranks are, from the extents (L, `EXTENT`) of this one's. One all-reduce.

    Parameters
    ----------
    communicator : mpi4py communicator
        The ranks.
    extents : (L, `EXTENT`) array
        Of the particles of each level and all below.
    overhang : float
        How far a particle of this rank may be outside of its part [m].
    repeats : Repeats
        How the box repeats.
    """
    mine = np.concatenate((-extents[-1, :3], extents[-1, 3:6], [overhang], extents[:, 6]))
    most = np.empty_like(mine)
    communicator.Allreduce(mine, most, load_mpi().MAX)
    most[:3] *= -1.0
    return Space(most[:6].copy(), most[7:].copy(), float(most[6]), repeats)


def find_neighbours(
    messages: Messages, rank: int, parts: Parts, space: Space, each: Floats, extents: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Return the ranks that this rank may have to copy particles to or from, rising, and their extents. Collective.

    Each of them has this rank among its own. What they own lies in their parts, but for the overhang.

    Parameters
    ----------
    messages : Messages
        To the other ranks.
    rank : int
        This one.
    parts : Parts
        Which rank owns which part of space.
    space : Space
        Of all ranks.
    each, extents : (L, `EXTENT`) arrays
        Of the particles of each level of this rank alone, and of each level and all below.

    Returns
    -------
    neighbours : (k,) int64 array
        Ranks.
    extents : (k, L, `EXTENT`) array
        Of their particles of each level and all below.
    """
    boxes = each.copy()
    boxes[:, 6] += space.widest + space.overhang
    found = parts.near(boxes, space.whole, space.repeats)
    others, theirs = messages.introduce(found[found != rank], extents.ravel())
    theirs = theirs.reshape(-1, *extents.shape)
    near = may_meet(extents[-1], theirs[:, -1], space.repeats)
    return others[near], theirs[near]
