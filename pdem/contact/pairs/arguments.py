"""What the kernels of contacts between particles are given: arrays that belong together, by name.

All are flat tuples of arrays and numbers, which compiled code passes on at no cost.

A touching pair owns two storage indices. Its *history index* says where its history is, which is updated in place as
long as the contact lasts. Its *force index* says where its force and torques are, which are valid until they have been
summed. Within a chunk of candidates the two differ by a constant. Force index 0 marks a pair that does not touch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.motion.integration import FixedColumns, Motion


class Candidates(NamedTuple):
    """Candidate pairs, each oriented from the lower to the higher id.

    Attributes
    ----------
    lower, higher : int32 arrays
        Rows of both particles of each candidate.
    due : float32 array
        Of each candidate that is apart: the path from which on it has to be looked at [m], see
        `pdem.contact.pairs.due_candidates`; NaN of the others.
    listed : int32 array
        Room for a list of candidates that each worker looks at.
    path : (PATHS,) array
        How far particles have moved since lists were made.
    force_index : int32 array
        Of each candidate that touches; 0 of the others.
    ids : int64 array
        Of all rows of particles.
    owned : int
        Particles of this rank. A contact has ended for the rank that owns its lower particle.
    inner, total : int
        Candidates between owned particles, which come first, and all candidates.
    """

    lower: Int32s
    higher: Int32s
    due: NDArray[np.float32]
    listed: Int32s
    path: Floats
    force_index: Int32s
    ids: Integers
    owned: int
    inner: int
    total: int


class Chunks(NamedTuple):
    """How candidates are divided into chunks, and what each chunk owns.

    Attributes
    ----------
    size : int
        Candidates of a chunk.
    most : int
        History indices that a chunk needs if all of its candidates touch.
    history_begin, force_begin : int64 arrays
        First history index and first force index of each chunk.
    persistent : bool array
        Whether the force indices of a chunk are its own until the end of the step; otherwise a later chunk uses them
        again, and there is one for each candidate.
    capacity, contacts : int32 arrays
        Number of history indices of each chunk, and of its contacts.
    """

    size: int
    most: int
    history_begin: Integers
    force_begin: Integers
    persistent: Booleans
    capacity: Int32s
    contacts: Int32s


class Contacts(NamedTuple):
    """Contacts by their two indices.

    Attributes
    ----------
    candidate, lower, higher : int32 arrays
        By history index: the candidate, and the rows of its particles once more: those of candidates lie far apart.
    history : array
        Flat, in blocks of `pdem.contact.law.contact_law.BLOCK` contacts, column behind column.
    forces : (indices, width) array
        What contacts do to their particles by force index, see `pdem.contact.pairs.layout.force_row_of`.
    ended : (accounts, workers * ENDS) array
        Accounts of contacts that have just ended, those of worker w from ``w * ENDS`` on.
    width : int
        Columns of a history.
    """

    candidate: Int32s
    lower: Int32s
    higher: Int32s
    history: Floats
    forces: Floats
    ended: Floats
    width: int


class Rows(NamedTuple):
    """The candidates of each particle.

    Attributes
    ----------
    start : int64 array
        ``entry[start[p]:start[p + 1]]`` are those of the owned particle p.
    entry : int32 array
        ``2 k`` where p is the lower particle of candidate k, ``2 k + 1`` where it is the higher one.
    touching : int32 array
        So many entries at the begin of each row touch and stand in the order of the partners' ids; `UNORDERED` where
        that has to be found out.
    load : int32 array
        Of these entries, twice the force index of the contact, one more where p is the higher particle.
    """

    start: Integers
    entry: Int32s
    touching: Int32s
    load: Int32s


class Schedule(NamedTuple):
    """Which particles a chunk is the first to read, and which it completes; see `pdem.contact.pairs.schedule`.

    Attributes
    ----------
    sums : bool
        Whether forces are summed while chunks are evaluated.
    complete_begin, complete : int64 and int32 arrays
        After chunk t the forces on ``complete[complete_begin[t]:complete_begin[t + 1]]`` can be summed.
    first_read_begin, first_read : int64 and int32 arrays
        Chunk t is the first to read the particles ``first_read[first_read_begin[t]:first_read_begin[t + 1]]``.
    """

    sums: bool
    complete_begin: Integers
    complete: Int32s
    first_read_begin: Integers
    first_read: Int32s


class Lists(NamedTuple):
    """What stays the same until lists are made anew, all in one."""

    candidates: Candidates
    chunks: Chunks
    contacts: Contacts
    rows: Rows
    schedule: Schedule


class StepParameters(NamedTuple):
    """Numbers that all contacts of a step share.

    Attributes
    ----------
    dt, rate : float
        Time by which histories grow [s], and one over the time step [1/s].
    largest_overlap : float
        Over the smaller radius, from which on a candidate is marked.
    materials : float
        Number of materials.
    coefficients : array
        The pair table, flat.
    tensors : array
        Inverse mass tensors of particles by row, flat; empty without clusters.
    period, frequency : (3,) arrays
        Length of periodic axes [m], 0 on open ones, and its inverse or 0.
    images : (ROWS, 3) array or None
        In place of these if the box deforms, see `pdem.numerics.box_images`.
    ways, limbs : arrays or None
        What is summed over contacts in a box that deforms, see `pdem.contact.pairs.box_sums.BoxSums`.
    """

    dt: float
    rate: float
    largest_overlap: float
    materials: float
    coefficients: Floats
    tensors: Floats
    period: Floats
    frequency: Floats
    images: Any
    ways: Any
    limbs: Any


def parameters_of(contact: ContactParameters, box: tuple[Floats, Floats]) -> StepParameters:
    """Return the numbers of a step, of a box with period and frequency as in `StepParameters`."""
    return StepParameters(
        contact.dt, 1.0 / contact.step, contact.largest_overlap, float(len(contact.density)),
        contact.table.reshape(-1), contact.tensors, *box, contact.images, *contact.sums,
    )  # fmt: skip


class Kick(NamedTuple):
    """How the sum of forces acts on a particle.

    Attributes
    ----------
    wall, wall_row : (m, 6) and (n,) int32 arrays
        Force and torque from walls, and which row of these each owned particle has; empty without walls.
    half : float
        For how long forces act on the velocities [s], 0 for not at all.
    ahead : bool
        Whether the next step, twice as long as `half`, is begun at once. Columns are not written then.
    gravity, free, sides, box : arrays
        See `pdem.motion.integration.Motion`.
    reference, skin, inverse_inertia : arrays
        See `pdem.motion.integration.FixedColumns`.
    """

    wall: Floats
    wall_row: Int32s
    half: float
    ahead: bool
    gravity: Floats
    free: Floats
    sides: Floats
    box: Floats | None
    reference: Floats
    skin: Floats
    inverse_inertia: Floats


NO_WALLS = np.empty((0, 6)), np.empty(0, np.int32)
"""In a `Kick` without walls."""


def kick_of(
    wall: tuple[Floats, Int32s], half: float, motion: Motion, fixed: FixedColumns, *, ahead: bool = False
) -> Kick:
    """Return how forces act on particles.

    Parameters
    ----------
    wall : (m, 6) array, (n,) int32 array
        Force and torque from walls, and which row of these each owned particle has; `NO_WALLS` without walls.
    half : float
        Time for which forces act on the velocities when they have been summed [s], 0 for none.
    motion : Motion
        What all particles move by.
    fixed : FixedColumns
        Of owned particles.
    ahead : bool
        Whether the next step, twice as long as `half`, is begun at once.
    """
    return Kick(*wall, half, ahead, motion.gravity, motion.free, motion.sides, motion.box, *fixed)


class ParticleArrays(NamedTuple):
    """Packed rows, which are read and advanced, and the columns that are written from them.

    Attributes
    ----------
    packed : array
        Flat, see `pdem.foundation.packed_row`.
    image, box_work : (n, 3) int32 and (n,) arrays
        See `pdem.motion.integration.Travel`.
    position, velocity, angular_velocity, force, torque : (n, 3) arrays
        The last two are written only where the next step does not begin at once.
    """

    packed: Floats
    image: Int32s
    box_work: Floats
    position: Floats
    velocity: Floats
    angular_velocity: Floats
    force: Floats
    torque: Floats


class Views(NamedTuple):
    """What kernels take that stays the same until lists are made anew; the schedule without and with ghosts."""

    candidates: Candidates
    rows: Rows
    early: Schedule
    late: Schedule
    particles: ParticleArrays
