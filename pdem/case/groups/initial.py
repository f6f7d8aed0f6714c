"""Initial particles of a case.

They depend on the case alone: random sizes, positions and velocities are keyed by particle id
(`pdem.numerics.random`). Ids run from 0, one group after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.gravity import first_gravity
from pdem.case.groups.fixed_groups import has_fixed, number_of_fixed
from pdem.case.groups.group_sizes import group_sizes, reach_of
from pdem.case.groups.group_values import values_of_group
from pdem.case.groups.initial_clusters import ids_with_members, orientations, orientations_of, with_members
from pdem.case.groups.packing_forces import packing_forces
from pdem.case.groups.particle_files import read_particle_file
from pdem.case.groups.shapes import shape_of
from pdem.case.messages import shown_key
from pdem.case.rules.checks import periodic_width_problems
from pdem.case.stage_cases import first_meshes, walls_present
from pdem.case.wall_files import read_walls
from pdem.containers.exchange import Alone
from pdem.containers.global_order import part_of
from pdem.containers.group import on_each_rank
from pdem.foundation.errors import CaseError
from pdem.foundation.fields import FIELDS
from pdem.numerics.random import keyed_vectors
from pdem.particles.clearance import coincident_pair
from pdem.particles.filling import FillGroup, FillRequest, PlacedGroup, Surroundings, fill_count, random_radii, reaches
from pdem.particles.lattice_filling import lattice_group
from pdem.particles.packings.dense_filling import pack_together, pack_until_jammed
from pdem.particles.perturbed_radii import radius_factors
from pdem.particles.random_filling import fill_randomly
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.sections.particles import ParticleGroup
    from pdem.containers.clusters import ParticleTable
    from pdem.containers.exchange import Exchange
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Integers

    Table = dict[str, NDArray[Any]]

_VELOCITY_STREAM = 16
INITIAL_COLUMNS = ("id", "material", "radius", "position", "velocity", "angular_velocity")
"""Names of the columns of initial particles."""


def initial_particles(
    case: Case, meshes: Sequence[Mesh] | None = None, *, progress: bool = False, over: Exchange | None = None
) -> ParticleTable:
    """Return the particles of a case at time 0, members of clusters among them.

    Parameters
    ----------
    case : Case
        The case.
    meshes : sequence of Mesh, optional
        Meshes of the walls; read from their files by default.
    progress : bool
        Show the progress of a random fill on standard error, if it takes some seconds.
    over : Exchange, optional
        Ranks that create the particles together; by default this process alone. The call is then collective.

    Returns
    -------
    ParticleTable
        Columns of the particles in this rank's part of space, sorted by id, by name of the field: ``id`` (n,), over all
        ranks 0, 1, ..., ``material`` (n,) index in the order of the case's
        materials, ``radius`` (n,) in m, ``position``, ``velocity``, ``angular_velocity`` (n, 3) in m, m/s,
        rad/s. Without groups all are empty. Positions are inside the domain along its periodic axes.

    Raises
    ------
    CaseError
        If a file cannot be used, particles do not fit into their region, two have the same centre, or a periodic
        axis is too short for them.
    MeshError
        If a fill avoids a wall whose mesh cannot be read.
    """
    over = Alone() if over is None else over
    groups = _placed_groups(case, _surroundings(case, meshes), progress, over)
    table = _table(case, groups, over)
    table["position"] = wrap_positions(table["position"], case.domain)
    over.divide(table["position"])
    table = over.route(table, over.owners(table["position"]))
    order = np.argsort(table["id"])
    table = {name: column[order] for name, column in table.items()}
    _require_distinct(case, table, over)
    largest = float(over.largest(np.array([table["radius"].max(initial=0.0)]))[0])
    for problem in periodic_width_problems(case, largest):
        raise CaseError(f"{case.source}: {shown_key(problem.location)}: {problem.text}")
    if case.perturbation is not None:
        table["radius"] *= radius_factors(case.perturbation.size, case.perturbation.seed, table["id"])
    return with_members(case, table)


def _surroundings(case: Case, meshes: Sequence[Mesh] | None) -> Surroundings:
    """Return the domain and the walls of a case; meshes are read only if a fill avoids walls."""

    def walls() -> Sequence[Mesh]:
        return first_meshes(case, read_walls(case) if meshes is None else meshes)

    domain = case.domain.model_copy(update={"gravity": tuple(first_gravity(case).tolist())})
    return Surroundings(domain, walls if any(walls_present(case, 0)) else None)


def _placed_groups(case: Case, surroundings: Surroundings, progress: bool, over: Exchange) -> list[PlacedGroup]:
    """Return this rank's parts of all groups with positions: of the case or a file, lattices, packed, random."""
    fixed = {index: _fixed_group(case, index, over) for index, group in enumerate(case.particles) if group.fill is None}
    placed = list(fixed.values())
    groups: list[PlacedGroup] = []
    random: list[FillGroup] = []
    packed: list[FillGroup] = []
    first_id = 0
    for index, group in enumerate(case.particles):
        if group.fill is None:
            groups.append(_with_ids(case, fixed[index], group, first_id + over.before(len(fixed[index].radius))))
        elif group.fill.arrangement == "packed":
            request = _request(case, index)
            if request.counted:
                packed.append(_unplaced_group(case, index, first_id, surroundings, over))
                groups.append(packed[-1])
            else:
                groups.append(pack_until_jammed(request, first_id, placed, surroundings, progress=progress, over=over))
                placed.append(groups[-1])
        elif group.fill.arrangement == "random":
            random.append(_unplaced_group(case, index, first_id, surroundings, over))
            groups.append(random[-1])
        else:
            groups.append(lattice_group(_request(case, index), first_id, placed, surroundings, over))
            placed.append(groups[-1])
        first_id += int(over.add(np.array([len(groups[-1].radius)]))[0])
    pack_together(packed, placed, surroundings, progress=progress, over=over)
    placed += packed
    fill_randomly(random, placed, surroundings, progress=progress, over=over)
    for one, group in zip(groups, case.particles, strict=True):
        _set_velocities(one, group, case.domain.dimension)
    return groups


def _unplaced_group(case: Case, index: int, first_id: int, surroundings: Surroundings, over: Exchange) -> FillGroup:
    """Return this rank's part of a group that is to be placed at random."""
    request = _request(case, index)
    count = fill_count(request, first_id, surroundings, over) or 0
    begin, end = part_of(count, over.rank, over.size)
    radii = reaches(request, first_id + begin, end - begin)
    places = np.full((len(radii), 3), np.nan)
    return FillGroup(first_id + begin, radii, places, shape=request.shape, request=request)


def _request(case: Case, index: int) -> FillRequest:
    group = case.particles[index]
    sizes = group_sizes(case, group)
    assert sizes is not None
    density = case.materials[group.material].density
    if density is None:
        assert group.fixed, "a checked case has densities of all materials of particles that move"
        density = 1.0  # without any effect
    where = f"{case.source}: {shown_key(['particles', index, 'fill'])}"
    forces = packing_forces(case, index, sizes)
    if group.shape is None:
        return FillRequest(where, sizes, group.fill, density, forces=forces)

    def turned(ids: Integers, attempts: Integers) -> Floats:
        assert group.fill is not None
        return orientations(group, group.fill.seed, ids, attempts, case.domain.dimension)

    return FillRequest(where, sizes, group.fill, density, shape_of(case, group.shape), turned, forces)


def _fixed_group(case: Case, index: int, over: Exchange) -> PlacedGroup:
    """Return this rank's part of a group with positions from the case or a file, still without ids."""
    group = case.particles[index]
    if group.file is not None:
        columns: dict[str, Any] = on_each_rank(over, lambda: read_particle_file(case, index, over.rank, over.size))
        return PlacedGroup(0, **columns)
    sizes = group_sizes(case, group)
    assert sizes is not None
    assert group.positions is not None
    begin, end = part_of(len(group.positions), over.rank, over.size)
    positions = np.array(group.positions[begin:end], dtype=np.float64).reshape(-1, 3)
    # Radii are keyed by ids, which follow later; until then other groups avoid the largest possible radius.
    return PlacedGroup(0, np.full(len(positions), reach_of(case, group) * sizes.largest), positions)


def _with_ids(case: Case, placed: PlacedGroup, group: ParticleGroup, first_id: int) -> PlacedGroup:
    """Set the ids of a group with positions, and its random radii, which depend on ids."""
    placed.first_id = first_id
    sizes = group_sizes(case, group)
    if group.positions is not None and sizes is not None:
        placed.radius = reach_of(case, group) * random_radii(sizes, first_id, len(placed.radius))
    if group.shape is not None:
        placed.shape = shape_of(case, group.shape)
        placed.orientation = orientations(group, 0, placed.ids, 0, case.domain.dimension)
    return placed


def _set_velocities(placed: PlacedGroup, group: ParticleGroup, dimension: int) -> None:
    velocity = group.velocity
    if group.file is None:
        placed.velocity, placed.angular_velocity = np.zeros((2, len(placed.radius), 3))
    if isinstance(velocity, tuple):
        placed.velocity[:] = velocity
    elif velocity is not None:
        uniform = keyed_vectors(velocity.seed, _VELOCITY_STREAM, placed.ids)
        placed.velocity = velocity.random * (2.0 * uniform - 1.0)
        placed.velocity[:, dimension:] = 0.0
    if group.angular_velocity is not None:
        placed.angular_velocity[:] = group.angular_velocity
    if group.fixed:  # its file may have velocities
        placed.velocity, placed.angular_velocity = np.zeros((2, len(placed.radius), 3))


def _table(case: Case, groups: list[PlacedGroup], over: Exchange) -> Table:
    """Return the particles of all groups; a cluster is one row with its first id and its reach. Collective."""
    materials = [
        np.full(len(one.radius), case.material_index(group.material))
        for one, group in zip(groups, case.particles, strict=True)
    ]
    parts = {"id": ids_with_members(case, groups, over), "material": materials}
    for name in ("radius", "position", "velocity", "angular_velocity"):
        parts[name] = [getattr(one, name) for one in groups]
    both = zip(groups, case.particles, strict=True)
    values = [values_of_group(case, group, one.radius) for one, group in both]
    parts |= {name: [one[name] for one in values] for name in (values[0] if values else ())}
    if has_fixed(case):
        numbers = (number_of_fixed(case, index) for index in range(len(groups)))
        parts["fixed"] = [np.full(len(one.radius), k) for one, k in zip(groups, numbers, strict=True)]
    table = {
        name: np.concatenate([FIELDS[name].allocate(0), *columns]).astype(FIELDS[name].dtype)
        if name in FIELDS
        else np.concatenate(columns)
        for name, columns in parts.items()
    }
    return table | orientations_of(case, groups)


def _require_distinct(case: Case, particles: dict[str, NDArray[Any]], over: Exchange) -> None:
    """Reject particles with the same centre; such particles have the same owner."""
    position = particles["position"]
    found = None
    pair = coincident_pair(position, case.domain)
    if pair is not None:
        found = int(particles["id"][pair[0]]), int(particles["id"][pair[1]]), position[pair[0]].tolist()
    found = over.first(found)
    if found is not None:
        first, second, place = found
        point = ", ".join(f"{value:g}" for value in place)
        raise CaseError(
            f"{case.source}: particles {first} and {second} are at one point ({point}) m; move or remove one"
        )
