"""Arguments of the kernels of contacts between particles: arrays that belong together, by name.

All are flat tuples of arrays and numbers, which compiled code passes at no cost.

A touching pair owns two storage indices. The *history index* locates its history, which is updated in place as long as
the contact lasts. The *force index* locates its force and torques, which are valid until they have been summed. Within
a chunk of candidates the two differ by a constant. Force index 0 marks a pair that does not touch.
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
        Path from which on a candidate that does not touch has to be tested [m], see
        `pdem.contact.pairs.due_candidates`; NaN for touching candidates.
    listed : int32 array
        Room for the list of candidates that each worker tests.
    path : (PATHS,) array
        Displacements of particles since lists were made, see `pdem.contact.pairs.due_candidates`.
    force_index : int32 array
        Force index of each candidate; 0 if it does not touch.
    ids : int64 array
        Ids of particles by row.
    owned : int
        Particles of this rank. The end of a contact is counted by the rank that owns its lower particle.
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
    """How candidates are divided into chunks, and which indices each chunk owns.

    Attributes
    ----------
    size : int
        Candidates of a chunk.
    most : int
        History indices that a chunk needs if all of its candidates touch.
    history_begin, force_begin : int64 arrays
        First history index and first force index of each chunk.
    persistent : bool array
        Whether the force indices of a chunk are its own until the end of the step; otherwise a later chunk uses the
        same indices, and each candidate has one.
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
        Candidate and rows of both particles by history index. Rows are copied from the candidates, which are far apart
        in memory.
    history : array
        Flat, in blocks of `pdem.contact.law.contact_law.BLOCK` contacts, one column after the other.
    forces : (indices, width) array
        Forces and torques of contacts by force index, see `pdem.contact.pairs.layout.force_row_of`.
    ended : (accounts, workers * ENDS) array
        Accounts of contacts that ended in the present runs; worker w writes from ``w * ENDS`` on.
    left : (3, workers * ENDS) array
        Candidates of these contacts, including contacts that another rank counts; the loss that their particles have
        not received yet [J]; the largest energy of the contact [J]. Empty unless
        `pdem.contact.losses.leaves_at_end`.
    width : int
        Columns of a history.
    """

    candidate: Int32s
    lower: Int32s
    higher: Int32s
    history: Floats
    forces: Floats
    ended: Floats
    left: Floats
    width: int


class Rows(NamedTuple):
    """The candidates of each particle.

    Attributes
    ----------
    start : int64 array
        ``entry[start[p]:start[p + 1]]`` are the entries of the owned particle p.
    entry : int32 array
        ``2 k`` where p is the lower particle of candidate k, ``2 k + 1`` where it is the higher one.
    touching : int32 array
        Number of touching entries of each particle. They come first in its range, in the order of the partners' ids;
        `UNORDERED` if the entries still have to be sorted.
    load : int32 array
        Twice the force index of a touching entry, plus one where p is the higher particle.
    """

    start: Integers
    entry: Int32s
    touching: Int32s
    load: Int32s


class Schedule(NamedTuple):
    """Particles that a chunk reads first, and particles that it completes; see `pdem.contact.pairs.schedule`.

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
    """All arguments that stay the same until new lists are made."""

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
        Largest overlap over the smaller radius; a candidate with a larger overlap is marked.
    materials : float
        Number of materials.
    coefficients : array
        The pair table, flat.
    tensors : array
        Inverse mass tensors of particles by row, flat; empty without clusters.
    period, frequency : (3,) arrays
        Length of periodic axes [m], 0 on open ones, and its inverse or 0.
    images : (ROWS, 3) array or None
        Replaces period and frequency if the box deforms, see `pdem.numerics.box_images`.
    ways, limbs : arrays or None
        Sums over contacts in a deforming box, see `pdem.contact.pairs.box_sums.BoxSums`.
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
    """Return the numbers of a step; `box` is period and frequency of `StepParameters`."""
    return StepParameters(
        *contact.step, contact.largest_overlap, float(len(contact.density)),
        contact.table.reshape(-1), contact.tensors, *box, contact.images, *contact.sums,
    )  # fmt: skip


class Kick(NamedTuple):
    """How the sum of forces acts on a particle.

    Attributes
    ----------
    wall, wall_row : (m, 6) and (n,) int32 arrays
        Force and torque from walls, and the row of each owned particle in this array; empty without walls.
    dt : float
        Time step [s], for half of which forces act on the velocities; 0 if they do not.
    ahead : bool
        Whether the next step begins immediately. Columns are not written in this case.
    gravity, free, sides, box : arrays
        See `pdem.motion.integration.Motion`.
    reference, skin, inverse_inertia : arrays
        See `pdem.motion.integration.FixedColumns`.
    """

    wall: Floats
    wall_row: Int32s
    dt: float
    ahead: bool
    gravity: Floats
    free: Floats
    sides: Floats
    box: Floats | None
    reference: Floats
    skin: Floats
    inverse_inertia: Floats


NO_WALLS = np.empty((0, 6)), np.empty(0, np.int32)
"""The first two fields of a `Kick` without walls."""


def kick_of(
    wall: tuple[Floats, Int32s], dt: float, motion: Motion, fixed: FixedColumns, *, ahead: bool = False
) -> Kick:
    """Return how forces act on particles.

    Parameters
    ----------
    wall : (m, 6) array, (n,) int32 array
        Force and torque from walls, and the row of each owned particle in this array; `NO_WALLS` without walls.
    dt : float
        Time step [s], for half of which forces act on the velocities when they have been summed; 0 for none.
    motion : Motion
        Gravity, free axes and box, which all particles share.
    fixed : FixedColumns
        Constant columns of owned particles.
    ahead : bool
        Whether the next step begins immediately.
    """
    return Kick(*wall, dt, ahead, motion.gravity, motion.free, motion.sides, motion.box, *fixed)


class ParticleArrays(NamedTuple):
    """Packed rows, which kernels read and integrate, and the columns that are written from them.

    Attributes
    ----------
    packed : array
        Flat, see `pdem.foundation.packed_row`.
    image, box_work : (n, 3) int32 and (n,) arrays
        See `pdem.motion.integration.Travel`.
    position, velocity, angular_velocity, force, torque : (n, 3) arrays
        Force and torque are written only if the next step does not begin immediately.
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
    """Arguments of kernels that stay the same until new lists are made; the schedule without and with ghosts."""

    candidates: Candidates
    rows: Rows
    early: Schedule
    late: Schedule
    particles: ParticleArrays
