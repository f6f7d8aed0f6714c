"""Initial particles of a case.

They depend on the case alone: random sizes, positions and velocities are keyed by particle id
(`pdem.foundation.random`). Ids run from 0, one group after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.checks import periodic_width_problems
from pdem.case.messages import shown_key
from pdem.case.particle_files import read_particle_file
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import CaseError
from pdem.foundation.fields import FIELDS
from pdem.foundation.random import keyed_vectors
from pdem.particles.clearance import coincident_pair, wrap_positions
from pdem.particles.filling import (
    FillGroup,
    FillRequest,
    PlacedGroup,
    Surroundings,
    fill_radii,
    lattice_group,
    random_radii,
)
from pdem.particles.random_filling import fill_randomly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.particles import ParticleGroup
    from pdem.containers.mesh import Mesh

_VELOCITY_STREAM = 16
INITIAL_COLUMNS = ("id", "material", "radius", "position", "velocity", "angular_velocity")
"""Names of the columns of initial particles."""


def initial_particles(
    case: Case, meshes: Sequence[Mesh] | None = None, *, progress: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the particles of a case at time 0.

    Parameters
    ----------
    case : Case
        The case.
    meshes : sequence of Mesh, optional
        Of its walls; read from their files if missing.
    progress : bool
        Show the progress of a random fill on standard error, if it takes some seconds.

    Returns
    -------
    dict of ndarray
        By name of the field: ``id`` (n,) = 0 .. n-1, ``material`` (n,) index in the order of the case's
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
    groups = _placed_groups(case, _surroundings(case, meshes), progress)
    table = _table(case, groups)
    table["position"] = wrap_positions(table["position"], case.domain)
    _require_distinct(case, table["position"])
    largest = float(table["radius"].max(initial=0.0))
    for problem in periodic_width_problems(case, largest):
        raise CaseError(f"{case.source}: {shown_key(problem.location)}: {problem.text}")
    return table


def _surroundings(case: Case, meshes: Sequence[Mesh] | None) -> Surroundings:
    """Return the domain and the walls of a case; meshes are read only if a fill avoids walls."""
    walls = (lambda: read_walls(case) if meshes is None else meshes) if case.walls else None
    return Surroundings(case.domain, walls)


def _placed_groups(case: Case, surroundings: Surroundings, progress: bool) -> list[PlacedGroup]:
    """Return all groups with positions: first those of the case or a file, then lattices, then random ones."""
    fixed = {
        index: _fixed_group(case, index) for index, group in enumerate(case.particles) if group.fill is None
    }
    placed = list(fixed.values())
    groups: list[PlacedGroup] = []
    random: list[FillGroup] = []
    for index, group in enumerate(case.particles):
        first_id = groups[-1].first_id + len(groups[-1].radius) if groups else 0
        if group.fill is None:
            groups.append(_with_ids(fixed[index], group, first_id))
        elif group.fill.arrangement == "random":
            request = _request(case, index)
            radii = fill_radii(request, first_id, case.domain.dimension)
            random.append(FillGroup(first_id, radii, np.full((len(radii), 3), np.nan), request=request))
            groups.append(random[-1])
        else:
            groups.append(lattice_group(_request(case, index), first_id, placed, surroundings))
            placed.append(groups[-1])
    fill_randomly(random, placed, surroundings, progress=progress)
    for one, group in zip(groups, case.particles, strict=True):
        _set_velocities(one, group, case.domain.dimension)
    return groups


def _request(case: Case, index: int) -> FillRequest:
    group = case.particles[index]
    sizes = group.sizes()
    assert sizes is not None
    density = case.materials[group.material].density
    assert density is not None
    return FillRequest(
        f"{case.source}: {shown_key(['particles', index, 'fill'])}", sizes, group.fill, density
    )


def _fixed_group(case: Case, index: int) -> PlacedGroup:
    """Return a group with positions from the case or a file, still without ids."""
    group = case.particles[index]
    if group.file is not None:
        columns = read_particle_file(case, index)
        return PlacedGroup(0, **columns)
    sizes = group.sizes()
    assert sizes is not None
    assert group.positions is not None
    # Radii are keyed by ids, which follow later; until then other groups avoid the largest possible radius.
    radius = np.full(len(group.positions), sizes.largest)
    return PlacedGroup(0, radius, np.array(group.positions, dtype=np.float64))


def _with_ids(placed: PlacedGroup, group: ParticleGroup, first_id: int) -> PlacedGroup:
    """Set the ids of a group with positions, and its random radii, which depend on ids."""
    placed.first_id = first_id
    sizes = group.sizes()
    if group.positions is not None and sizes is not None:
        placed.radius = random_radii(sizes, first_id, len(group.positions))
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


def _table(case: Case, groups: list[PlacedGroup]) -> dict[str, NDArray[Any]]:
    materials = [
        np.full(len(one.radius), case.material_index(group.material))
        for one, group in zip(groups, case.particles, strict=True)
    ]
    parts = {"id": [one.ids for one in groups], "material": materials}
    for name in ("radius", "position", "velocity", "angular_velocity"):
        parts[name] = [getattr(one, name) for one in groups]
    return {
        name: np.concatenate([FIELDS[name].allocate(0), *parts[name]]).astype(FIELDS[name].dtype)
        for name in INITIAL_COLUMNS
    }


def _require_distinct(case: Case, positions: NDArray[np.float64]) -> None:
    pair = coincident_pair(positions, case.domain)
    if pair is not None:
        point = ", ".join(f"{value:g}" for value in positions[pair[0]])
        both = f"particles {pair[0]} and {pair[1]}"
        raise CaseError(f"{case.source}: {both} are at one point ({point}) m; move or remove one")
