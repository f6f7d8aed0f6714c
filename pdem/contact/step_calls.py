"""Arguments of the kernel of many steps: the kernels that it calls, their arguments, and the hooks of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pdem.foundation.array_types import Integers
    from pdem.numerics.kernel_calls import Call


class PythonHooks(NamedTuple):
    """Python functions that the kernel calls, by the address of a `pdem.numerics.kernel_calls.PythonCall`; 0 for none.

    Attributes
    ----------
    begin : int
        At the begin of a step; unless it returns 0 no step is taken. It writes the status of this rank for all ranks.
    walls : int
        After the contacts with walls, before any particle has moved.
    ghosts : int
        After the contacts among owned particles; when it returns, ghosts are up to date.
    """

    begin: int
    walls: int
    ghosts: int


class WallCalls(NamedTuple):
    """Contacts with walls.

    Attributes
    ----------
    acts : bool
        Whether any facets are near particles.
    find, evaluate : calls
        Of kernels of `pdem.contact.walls`, by `pdem.numerics.kernel_calls.call_of`.
    given : tuple
        Fields of `WallArguments`.
    keeps_account : bool
        Whether the energies of contacts that end are added up.
    terms, columns : int64 arrays
        Sums, and the column of a history that is added to each of them.
    place : call
        Of `pdem.motion.planned_walls.place_walls`; 0 if walls do not move, or Python moves them.
    row : int
        Row of the plan for the first step.
    poses, places : tuple
        Fields of `pdem.motion.planned_walls.Poses` and `WallPlaces`.
    sink : tuple or None
        Fields of `pdem.contact.losses.LossSink`, which receives the losses of contacts that end.
    strengths : tuple or None
        Fields of `pdem.contact.strength_watch.Strengths`, if particles may break.
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
    sink: tuple[Any, ...] | None
    strengths: tuple[Any, ...] | None


class PairCalls(NamedTuple):
    """Contacts between particles, and the sums of all forces.

    Attributes
    ----------
    evaluate, sum_forces : calls
        Of kernels of `pdem.contact.pairs`, by `pdem.numerics.kernel_calls.call_of`.
    evaluated, summed : tuple
        Arguments of the two kernels; runs are written.
    late : tuple
        The schedule of contacts with ghosts.
    rows : int
        Owned particles and ghosts.
    inner, chunks : int
        Chunks of candidates among owned particles, and all.
    reserve : int
        Indices that each worker needs in reserve before a step.
    needs_forces : bool
        Whether force indices are needed in reserve as well.
    terms : int64 array
        Sums to which the accounts of ended contacts are added.
    sink : tuple or None
        As `WallCalls.sink`.
    strengths : tuple or None
        As `WallCalls.strengths`.
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
    sink: tuple[Any, ...] | None
    strengths: tuple[Any, ...] | None
