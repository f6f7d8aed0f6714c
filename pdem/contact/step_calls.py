"""What the kernel of many steps is given: the kernels it calls, their arguments, and what Python does besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers
    from pdem.numerics.kernel_calls import Call


class Between(NamedTuple):
    """What Python does besides, by addresses of `pdem.numerics.kernel_calls.PythonCall`; 0 for nothing.

    Attributes
    ----------
    begin : int
        At the begin of a step; unless it returns 0 no step is taken. It writes what this rank has to say to others.
    walls : int
        After the contacts with walls, before any particle has moved on.
    ghosts : int
        After the contacts among owned particles; then ghosts are where they are now.
    """

    begin: int
    walls: int
    ghosts: int


class WallCalls(NamedTuple):
    """Contacts with walls.

    Attributes
    ----------
    acts : bool
        Whether there are any facets near particles.
    find, evaluate : calls
        Of kernels of `pdem.contact.walls`, by `pdem.numerics.kernel_calls.call_of`.
    given : tuple
        Fields of `WallArguments`.
    keeps_account : bool
        Whether the energies of contacts that end are added up.
    terms, columns : int64 arrays
        To which sums which columns of a history go then.
    place : call
        Of `pdem.motion.planned_walls.place_walls`, 0 if walls stay where they are, or Python moves them.
    row : int
        Row of the plan for the first step.
    poses, places : tuple
        Fields of `pdem.motion.planned_walls.Poses` and `WallPlaces`.
    """

    acts: bool
    find: Call
    evaluate: Call
    given: tuple[Any, ...]
    keeps_account: bool
    terms: Integers
    columns: Integers
    place: Call
    row: int
    poses: tuple[Any, ...]
    places: tuple[Any, ...]


class PairCalls(NamedTuple):
    """Contacts between particles, and the sums of all forces.

    Attributes
    ----------
    evaluate, sum_forces : calls
        Of kernels of `pdem.contact.pairs`, by `pdem.numerics.kernel_calls.call_of`.
    evaluated, summed : tuple
        Arguments of these; runs are written.
    late : tuple
        The schedule of contacts with ghosts.
    rows : int
        Owned particles and ghosts.
    inner, chunks : int
        Chunks of candidates among owned particles, and all.
    reserve : int
        Indices that a worker has to have in reserve before a step.
    needs_forces : bool
        Whether force indices are needed in reserve as well.
    terms : int64 array
        To which sums the accounts of contacts go that have ended.
    """

    evaluate: Call
    sum_forces: Call
    evaluated: tuple[Any, ...]
    summed: tuple[Any, ...]
    late: tuple[Any, ...]
    rows: int
    inner: int
    chunks: int
    reserve: int
    needs_forces: bool
    terms: Integers
