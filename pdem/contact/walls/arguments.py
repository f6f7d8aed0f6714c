"""What the kernels of contacts with walls are given: arrays that belong together, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers


class NearFacets(NamedTuple):
    """The particles near a wall, and the facets that each may touch.

    Attributes
    ----------
    near : int32 array
        Rows of these particles.
    start, end, candidates : int64 arrays
        Facets to test are ``candidates[start[q]:end[q]]`` for ``near[q]``. The rows ``start[q]:start[q + 1]`` of all
        that is kept by contact are those of this particle: nothing can overflow, and threads never meet.
    due : float32 array
        From when on these have to be tested [m], see `pdem.contact.walls.due_facets`; NaN for rows without a facet.
    crosses : bool array
        By place in `near`: whether the particle may cross a periodic side, where other facets are near it at once.
    path : (WALL_PATHS,) array
        How far particles and walls have moved.
    packed : array
        Rows of particles, see `pdem.foundation.packed_row`.
    """

    near: Int32s
    start: Integers
    end: Integers
    candidates: Integers
    due: NDArray[np.float32]
    crosses: Booleans
    path: Floats
    packed: Floats


class WallParameters(NamedTuple):
    """Numbers that all contacts of a step share.

    Attributes
    ----------
    dt, rate : float
        Time by which histories grow [s], and one over the time step [1/s].
    largest_overlap : float
        Over the radius, beyond which a run stops.
    shortened : float
        By how many overlaps the lever arm of friction is less than the radius (0 or 1: multiplied, neither rounds, and
        the default costs no branch).
    materials : int
        Number of materials.
    coefficients : array
        The pair table, flat.
    powers : array
        By row of that: with which power of the overlap elastic forces grow.
    tensors : array
        Inverse mass tensors of particles by row, flat; empty without clusters.
    images : (ROWS, 3) array or None
        Of a box that deforms, see `pdem.numerics.box_images`.
    """

    dt: float
    rate: float
    largest_overlap: float
    shortened: float
    materials: int
    coefficients: Floats
    powers: Floats
    tensors: Floats
    images: Any


class WallMotion(NamedTuple):
    """How each wall moves, and how it gives way; see `pdem.motion.walls.MovingWalls`.

    Attributes
    ----------
    material : (W,) int32 array
        Of each wall.
    anchor, angular_velocity, anchor_velocity : (W, 3) arrays
        Place of a point of the wall, angular velocity, velocity of that point, at the end of the step.
    velocity_gradient, mean_velocity : (W, 3, 3) and (W, 3) arrays
        Over the step.
    inverse_mass, inverse_inertia : (W, 3) and (W, 3, 3) arrays
        Of free bodies, zeros for other walls.
    counted : (W,) array
        1 if the work of the wall is added up contact by contact.
    surface_moves, surface_state : (W,) int8 and (W, 3, 3) arrays
        Whether and how its surface moves by itself, see `pdem.motion.surfaces.SurfaceMotion`.
    """

    material: Int32s
    anchor: Floats
    angular_velocity: Floats
    anchor_velocity: Floats
    velocity_gradient: Floats
    mean_velocity: Floats
    inverse_mass: Floats
    inverse_inertia: Floats
    counted: Floats
    surface_moves: NDArray[np.int8]
    surface_state: Floats


class WallRecord(NamedTuple):
    """The contacts of one evaluation, by row.

    Attributes
    ----------
    kind, feature, facet : int8, int64 and int64 arrays
        What each touches.
    history : array
        Flat, `width` numbers each, one row on: the row 0 is that of a contact that begins.
    counts : int32 array
        Number of contacts of each particle near a wall.
    width, normal : int
        Columns of the history of a wall contact, and the first of its normal, which stands behind those of the law.
    """

    kind: NDArray[np.int8]
    feature: Integers
    facet: Integers
    history: Floats
    counts: Int32s
    width: int
    normal: int


class WallWork(NamedTuple):
    """What an evaluation writes besides contacts.

    Attributes
    ----------
    seen : (SEEN, workers) int64 array
        What each worker has seen; the particles are divided among so many.
    real, integer : arrays
        Rows of the facets that a particle touches, see `pdem.contact.geometry.surface_arrays.Scratch`; as many for each
        worker. So has `bound`, a flat array.
    listed, tested : int32 and int64 arrays
        Places of the facets to test, and these facets, tile by tile.
    active, until : int32 arrays
        Of `TILE` particles of each worker: who has a facet to test, or had a contact, and where its list ends.
    match : int64 array
        By contact, the history row that it continues, 0 for none.
    row, particle, owner : int32 arrays
        Contacts in the order of evaluation: their rows, particles, and rows of `total`.
    force : (rows, LOAD) array
        Forces and moments on the particles, by contact.
    total : (m, 6) array
        Their sums, from row 1 on in the order of `NearFacets.near`.
    history, columns : arrays
        A block of histories and the columns of the stages of each worker.
    ended : int32 array
        Rows of contacts that nothing continues; those of a worker begin with the first row of its particles.
    """

    seen: Integers
    real: Floats
    integer: Integers
    bound: Floats
    listed: Int32s
    tested: Integers
    active: Int32s
    until: Int32s
    match: Integers
    row: Int32s
    particle: Int32s
    owner: Int32s
    force: Floats
    total: Floats
    history: Floats
    columns: Floats
    ended: Int32s


class WallArguments(NamedTuple):
    """Arguments of an evaluation, as plain tuples of the fields of those above.

    Attributes
    ----------
    tally : int32 array or None
        Of the signed contact sum, see `pdem.contact.walls.search.search_kernel`.
    near, parameters, surface, motion, work : tuple
        Of `NearFacets`, `WallParameters`, `pdem.contact.geometry.surface_arrays.SurfaceArrays`, `WallMotion`, and
        `WallWork`.
    found, record : tuple of two tuples
        Of `pdem.contact.geometry.surface_arrays.Found` and `WallRecord`: the contacts of this step, and those of the
        one before, in whose place those of the next step will be.
    """

    tally: Int32s | None
    near: tuple[Any, ...]
    parameters: tuple[Any, ...]
    surface: tuple[Any, ...]
    motion: tuple[Any, ...]
    work: tuple[Any, ...]
    found: tuple[tuple[Any, ...], tuple[Any, ...]]
    record: tuple[tuple[Any, ...], tuple[Any, ...]]


class FixedArguments(NamedTuple):
    """Arguments that stay the same until lists are made anew, as plain tuples of the fields of those above.

    Attributes
    ----------
    surface, motion : tuple
        Of `pdem.contact.geometry.surface_arrays.SurfaceArrays` and `WallMotion`.
    found, record : dict of tuple
        Of `pdem.contact.geometry.surface_arrays.Found` and `WallRecord`, for the contacts of this step and of the last.
    """

    surface: tuple[Any, ...]
    motion: tuple[Any, ...]
    found: dict[Any, tuple[Any, ...]]
    record: dict[Any, tuple[Any, ...]]
