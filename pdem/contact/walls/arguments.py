"""Arguments of the kernels of contacts with walls: arrays that belong together, by name."""

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
        Facets to test are ``candidates[start[q]:end[q]]`` for ``near[q]``. This particle owns the rows
        ``start[q]:start[q + 1]`` of all arrays by contact: they cannot overflow, and threads never share a row.
    due : float32 array
        Path from which on each facet has to be tested [m], see `pdem.contact.walls.due_facets`; NaN for rows without a
        facet.
    crosses : bool array
        By index in `near`: whether the particle may cross a periodic side and then be near different facets.
    path : (WALL_PATHS,) array
        Displacements of particles and walls since lists were made.
    packed : array
        Packed rows of particles, see `pdem.foundation.packed_row`.
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
        Overlap over the radius at which a run stops.
    shortened : float
        1 if the lever arm of friction is the radius less the overlap, 0 if it is the radius (a factor of the overlap,
        so that the choice costs no branch and no rounding).
    materials : int
        Number of materials.
    coefficients : array
        The pair table, flat.
    powers : array
        Power of the overlap in the elastic force, by row of the pair table.
    tensors : array
        Inverse mass tensors of particles by row, flat; empty without clusters.
    images : (ROWS, 3) array or None
        Images of a deforming box, see `pdem.numerics.box_images`.
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
    """Motion and inertia of each wall, see `pdem.motion.walls.MovingWalls`.

    Attributes
    ----------
    material : (W,) int32 array
        Material of each wall.
    anchor, angular_velocity, anchor_velocity : (W, 3) arrays
        Position of a point of the wall, angular velocity, velocity of this point, at the end of the step.
    velocity_gradient, mean_velocity : (W, 3, 3) and (W, 3) arrays
        Means over the step.
    inverse_mass, inverse_inertia : (W, 3) and (W, 3, 3) arrays
        Inverse mass and inertia of free bodies, zeros for walls with a prescribed motion.
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
        Kind and number of the touched feature, and a facet with this feature.
    history : array
        Flat, `width` numbers each, shifted by one row: row 0 is the history of a new contact.
    counts : int32 array
        Number of contacts of each particle near a wall.
    width, normal : int
        Columns of the history of a wall contact, and the first column of its normal, after the columns of the law.
    """

    kind: NDArray[np.int8]
    feature: Integers
    facet: Integers
    history: Floats
    counts: Int32s
    width: int
    normal: int


class WallWork(NamedTuple):
    """Work arrays and results of an evaluation besides contacts.

    Attributes
    ----------
    seen : (SEEN, workers) int64 array
        Results of each worker; its length is the number of workers among which the particles are divided.
    real, integer : arrays
        Rows of the facets that a particle touches, see `pdem.contact.geometry.surface_arrays.Scratch`, for each worker;
        `bound` is a flat array with the same rows.
    listed, tested : int32 and int64 arrays
        Indices of the facets to test, and these facets, tile by tile.
    active, until : int32 arrays
        For `TILE` particles of each worker: particles with a facet to test or a contact before, and the ends of their
        lists.
    match : int64 array
        Row of the history that a contact continues, 0 for a new contact.
    row, particle, owner : int32 arrays
        Contacts in the order of evaluation: their rows, particles, and rows of `total`.
    force : (rows, LOAD) array
        Forces and moments on the particles, by contact.
    total : (m, 6) array
        Sums of forces and moments, from row 1 on in the order of `NearFacets.near`.
    history, columns : arrays
        A block of histories and the columns of the stages of each worker.
    ended : int32 array
        Rows of contacts that have ended; the rows of a worker begin with the first row of its particles.
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
    """Arguments of an evaluation, as plain tuples of the fields of the classes above.

    Attributes
    ----------
    tally : int32 array or None
        Tally of the signed contact sum, see `pdem.contact.walls.search.search_kernel`.
    near, parameters, surface, motion, work : tuple
        Fields of `NearFacets`, `WallParameters`, `pdem.contact.geometry.surface_arrays.SurfaceArrays`, `WallMotion`,
        and `WallWork`.
    found, record : tuple of two tuples
        Fields of `pdem.contact.geometry.surface_arrays.Found` and `WallRecord`: the contacts of this step, and the
        contacts of the step before, which the next step overwrites.
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
    """Arguments that stay the same until new lists are made, as plain tuples of the fields of the classes above.

    Attributes
    ----------
    surface, motion : tuple
        Fields of `pdem.contact.geometry.surface_arrays.SurfaceArrays` and `WallMotion`.
    found, record : dict of tuple
        Fields of `pdem.contact.geometry.surface_arrays.Found` and `WallRecord`, for this step and the step before.
    """

    surface: tuple[Any, ...]
    motion: tuple[Any, ...]
    found: dict[Any, tuple[Any, ...]]
    record: dict[Any, tuple[Any, ...]]
