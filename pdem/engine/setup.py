"""From a case to the constants and walls of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.drives import drives_of
from pdem.case.gravity import first_gravity
from pdem.case.groups.fixed_groups import has_fixed
from pdem.case.laws import law_of, material_properties, recipes_of
from pdem.case.moving_surfaces import surface_courses
from pdem.case.stage_cases import in_stage
from pdem.case.wall_files import read_walls
from pdem.case.wall_motions import motion_of
from pdem.contact.law.contact_law import ContactLaw
from pdem.contact.law.elastic import half_gaps
from pdem.contact.law.pair_table import ContactParameters, pair_table
from pdem.containers.box_shape import BoxShape
from pdem.containers.exchange import Alone
from pdem.containers.meshes.mesh import join_meshes
from pdem.containers.meshes.surface import surface_of
from pdem.detection.cell_sizes import CellSizes, automatic_cell_sizes
from pdem.detection.occupancy import local_density
from pdem.detection.overhead import search_times
from pdem.detection.radius_bins import binned_radii
from pdem.detection.skins import Skins
from pdem.detection.walls.facets import tree_of
from pdem.foundation import exact_math
from pdem.motion.integration import Motion
from pdem.motion.time_step import TimeStep
from pdem.motion.walls import MovingWalls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.sections.schema import CaseData
    from pdem.contact.law.contact_law import Recipe
    from pdem.contact.law.parts import MaterialProperties
    from pdem.containers.exchange import Exchange
    from pdem.containers.meshes.mesh import Mesh
    from pdem.detection.walls.facet_tree import FacetTree
    from pdem.foundation.array_types import Floats, Integers
    from pdem.motion.courses import Clock

AUTOMATIC_SKIN = 0.15
"""Default of the initial skin over the largest radius of a level."""


@dataclass(frozen=True)
class Constants:
    """Constants of a run; a change of gravity, interactions or the box replaces them.

    Attributes
    ----------
    time_step : TimeStep
        Its length.
    shape : BoxShape
        Of the box.
    flow, centre : (3, 3) and (3,) arrays
        Gradient of the velocity of a deforming box [1/s], zeros if it does not deform, and the point at rest [m].
    lowest, highest : (3,) arrays
        Sides of the domain that particles can leave [m], infinite on periodic axes.
    keeps_outside : bool
        Whether particles outside remain in the simulation, as long as they can be computed.
    gravity : (3,) array
        [m/s^2].
    free : (6,) array
        1 for free degrees of freedom, else 0: three of translation, three of rotation.
    density : (M,) array
        Density by material [kg/m^3].
    law : ContactLaw
        Contact law of all contacts.
    table : (M * M, law.width) array
        Pair table, see `pdem.contact.law.pair_table`.
    largest_overlap : float
        Overlap over the smaller radius above which a run stops.
    dimension : int
        2 or 3.
    has_fixed : bool
        Whether some particles are fixed.
    """

    time_step: TimeStep
    shape: BoxShape
    flow: Floats
    centre: Floats
    lowest: Floats
    highest: Floats
    keeps_outside: bool
    gravity: Floats
    free: Floats
    density: Floats
    law: ContactLaw
    table: Floats
    largest_overlap: float
    dimension: int
    has_fixed: bool = False

    @property
    def lower(self) -> Floats:
        """Corner of the box (3,) [m]."""
        return self.shape.lower

    @property
    def period(self) -> Floats:
        """Length of periodic axes (3,) [m], 0 on open ones."""
        return self.shape.period

    @cached_property
    def inverse_period(self) -> Floats:
        """One over the length of periodic axes (3,) [1/m], 0 on open ones."""
        return np.divide(1.0, self.period, out=np.zeros(3), where=self.period > 0.0)

    @property
    def periods(self) -> tuple[Floats, Floats]:
        """Length of periodic axes, and one over it."""
        return self.period, self.inverse_period

    def own_velocity(self, position: Floats, velocity: Floats) -> Floats:
        """Return velocities (n, 3) relative to the velocity of the box at these positions [m/s]."""
        if not self.flow.any():
            return velocity
        away, rows = position - self.centre, self.flow
        own = [
            velocity[:, i] - (rows[i, 0] * away[:, 0] + rows[i, 1] * away[:, 1] + rows[i, 2] * away[:, 2])
            for i in range(3)
        ]
        return np.stack(own, axis=1)

    @cached_property
    def powers(self) -> Floats:
        """Exponents of the overlap in elastic forces, by row of the pair table."""
        return self.law.powers(self.table)

    @cached_property
    def adhesion_half_gaps(self) -> Callable[[Floats], Floats] | None:
        """Function that returns half of the largest gap of adhesion for some radii [m]; None without adhesion."""
        return half_gaps(self.law, self.table) if self.law.may_stretch else None

    def parameters(self, step: TimeStep) -> ContactParameters:
        """Return the parameters of contact forces in a step."""
        return ContactParameters(self.density, self.table, self.powers, step, self.largest_overlap)

    @cached_property
    def motion(self) -> Motion:
        """Constants of the motion of particles."""
        sides = np.stack((self.lower, self.period, self.inverse_period))
        return Motion(self.gravity, self.free, sides)


def constants_of(case: Case) -> Constants:
    """Return the constants of a case."""
    domain = case.domain
    lower = np.array(domain.lower, np.float64)
    upper = np.array(domain.upper)
    shape = BoxShape.upright(lower, np.where(domain.periodic, upper - lower, 0.0))
    free = np.ones(6) if domain.dimension == 3 else np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    law = law_of(case)
    contained = np.array(domain.periodic) | (np.arange(3) >= domain.dimension)
    return Constants(
        TimeStep.of(case.resolved_step()), shape, np.zeros((3, 3)), 0.5 * (lower + upper),
        np.where(contained, -np.inf, lower), np.where(contained, np.inf, upper), domain.outside == "keep",
        first_gravity(case), free,
        np.array([one.density for one in material_properties(case)]), law, table_of(case, 0, law),
        case.limits.largest_overlap, domain.dimension, has_fixed(case),
    )  # fmt: skip


def table_of(case: Case, stage: int, law: ContactLaw) -> Floats:
    """Return the pair table of a case in one of its stages, laid out for its law."""
    present, materials = in_stage(case, stage), material_properties(case)
    return pair_table(law, materials, _pair_recipes(present, materials, recipes_of(present)))


def _pair_recipes(
    case: CaseData, materials: Sequence[MaterialProperties], recipes: Mapping[str, Recipe]
) -> dict[tuple[int, int], Recipe]:
    """Return the recipes of pairs of materials; for two rigid ones only if their law has its own stiffness."""
    names, of_pairs = list(case.materials), {}
    for a, first in enumerate(names):
        for b, second in enumerate(names[a:], start=a):
            key = case.interaction_key(first, second)
            if key is None:
                continue
            rigid = materials[a].youngs_modulus == materials[b].youngs_modulus == math.inf
            if not (rigid and recipes[key].normal.part.from_materials):
                of_pairs[a, b] = recipes[key]
    return of_pairs


@dataclass(frozen=True)
class WallGeometry:
    """Meshes of walls: large, read-only, and the same on all ranks.

    Attributes
    ----------
    meshes : list of Mesh
        Meshes of the walls, as in their files.
    joined : Mesh or None
        Mesh of all walls for contacts, None without walls.
    facet_origin, vertex_origin : int64 arrays or None
        Numbers of facets and vertices of `joined` in `meshes`; None if both meshes have the same.
    facet_tree : FacetTree or None
        Tree over the facets of a large mesh.
    """

    meshes: list[Mesh]
    joined: Mesh | None = None
    facet_origin: Integers | None = None
    vertex_origin: Integers | None = None
    facet_tree: FacetTree | None = None


def wall_geometry_of(case: Case, meshes: Sequence[Mesh] | None = None) -> WallGeometry:
    """Return the wall geometry of a case, from its files or from `meshes`.

    Raises
    ------
    CaseError, MeshError
        If a file does not exist or a mesh cannot be used.
    """
    meshes = read_walls(case) if meshes is None else list(meshes)
    if not meshes:
        return WallGeometry(meshes)
    if case.detection.walls != "signed":
        joined = join_meshes(meshes)
        return WallGeometry(meshes, joined, facet_tree=tree_of(joined))
    surfaces = [surface_of(mesh) for mesh in meshes]
    joined = join_meshes([surface.mesh for surface in surfaces])
    facets = np.concatenate([surface.facet_origin for surface in surfaces])
    vertices = np.concatenate([surface.vertex_origin for surface in surfaces])
    return WallGeometry(meshes, joined, facets, vertices, tree_of(joined))


def walls_of(case: Case, geometry: WallGeometry, clocks: Mapping[str, Clock] | None = None) -> MovingWalls | None:
    """Return the walls of a case, None without any; motions with a stage count from its clock.

    Raises
    ------
    CaseError, MeshError
        If a motion, drive or surface of a wall has a file or mesh that cannot be used.
    """
    joined = geometry.joined
    if joined is None:
        return None
    drives = drives_of(case, geometry.meshes, clocks)
    motions = [motion_of(wall, case.motions, case.directory, clocks) for wall in case.walls]
    return MovingWalls(
        joined, joined.facet_wall, joined.vertex_wall, motions, geometry.facet_origin, geometry.vertex_origin, drives,
        surface_courses(case, geometry.meshes), placed=geometry.facet_tree is None,
    )  # fmt: skip


def skins_of(case: Case, particles: Mapping[str, NDArray[Any]], over: Exchange | None = None) -> Skins:
    """Return levels and skins of a case for all its particles, the same on every rank. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : mapping of ndarray
        Columns ``radius`` and ``position`` of the particles of this rank.
    over : Exchange, optional
        The ranks; by default this process alone.
    """
    over = Alone() if over is None else over
    wanted = case.detection
    fraction = AUTOMATIC_SKIN if wanted.skin == "auto" else float(wanted.skin)
    by_speed = wanted.skin == "auto" and wanted.method == "hgrid"
    radii, counts = binned_radii(particles["radius"], over)
    largest = float(radii.max(initial=0.0)) or 1.0
    if not isinstance(wanted.cell_sizes, str):
        limits = 0.5 * np.array(wanted.cell_sizes, np.float64)
    elif wanted.method != "hgrid" or counts.sum() < 2:
        limits = np.array([largest])
    elif isinstance(wanted.levels, int):
        smallest = -float(over.largest(-particles["radius"].min(initial=np.inf, keepdims=True))[0])
        limits = smallest * exact_math.power(largest / smallest, np.arange(1, wanted.levels + 1) / wanted.levels)
    else:
        density = _density(case, particles["position"], largest, over)
        # On rank 0 alone: the measured time of a search differs between ranks, and logarithms between processors.
        chosen = over.share(_automatic_levels(case, radii, counts, density) if over.rank == 0 else None)
        limits = 0.5 * chosen.sizes
        return Skins(np.append(limits[limits < largest], largest), fraction, chosen, by_speed=by_speed)
    return Skins(np.unique(np.append(limits[limits < largest], largest)), fraction, by_speed=by_speed)


def _density(case: Case, position: Floats, unit: float, over: Exchange) -> float:
    """Return the particles per volume around a particle, with `unit` as the unit of length."""
    domain, axes = case.domain, case.domain.dimension
    lower, upper = np.array(domain.lower)[:axes] / unit, np.array(domain.upper)[:axes] / unit
    return local_density(position[:, :axes] / unit, 2.0, lower, upper, domain.periodic[:axes], over)


def _automatic_levels(case: Case, radii: Floats, counts: Integers, density: float) -> CellSizes:
    """Return the levels for the present density of particles; skins are added to their reach later."""
    domain, axes = case.domain, case.domain.dimension
    unit = float(radii.max())
    least = float(np.max(np.subtract(domain.upper, domain.lower)[:axes])) / unit / 2.0**31
    chosen = automatic_cell_sizes(
        radii / unit, density=density, dimension=axes, overhead=search_times().overhead,
        direction=case.detection.direction, least=least, counts=counts,
    )  # fmt: skip
    return replace(chosen, sizes=chosen.sizes * unit)
