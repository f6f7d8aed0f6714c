"""Check for sides of the domain without a wall, through which particles fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import first_gravity, gravity_tables
from pdem.case.groups.fixed_groups import has_fixed
from pdem.case.groups.inlets import face_of, inlet_of, interval_of, mean_velocity
from pdem.case.stage_cases import walls_present
from pdem.containers.meshes.closed_surfaces import crossings_upwards
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.containers.primitives.frames import frame_of
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.preflight.population import Population

    Surface = tuple[Floats, Integers]
    FixedParticles = tuple[Floats, Floats]  # centres (n, 3) and radii (n,) [m]

RAYS = np.array([(0.0, 0.0, 0.0), *((0.95 * np.cos(a), 0.95 * np.sin(a), 0.0) for a in np.pi * np.arange(8) / 4)])
"""Starts of rays in radii: at the centre and near the rim, because particles cannot pass a narrower hole."""

_THROWN = 0.1
"""Ratio of speeds across and along gravity above which inserted particles may land away from the point below."""


def falling_findings(
    case: Case, particles: Population, meshes: Sequence[Mesh], ground: FixedParticles
) -> Iterator[Finding]:
    """Warn of particles without a wall below, which fall out of the domain, unless the case intends it. Collective.

    From the position of each particle at time 0 a ray along gravity is tested against the walls present in each stage
    and against the fixed particles, the `ground`. Particles outside the domain from the begin are a separate error. The
    position of a cluster is the position of its first sphere.
    """
    moving = particles.moving()
    stands_for_body = _first_of_bodies(moving)
    bodies = moving.marked(stands_for_body)[0]
    for number, gravity, there in _stages(case, meshes):
        places, below = moving["position"], [*_surfaces(there), _squares(*ground, gravity)]
        falling = ~_any_below(places, moving["radius"], below, gravity) & _inside(case, places)
        count, first = moving.marked(falling & stands_for_body)
        if first is not None:
            side = _side(case, np.array(first.values["position"]), gravity)
            text = f"no wall is below {count} of {bodies} particles{_when(case, number)} "
            text = f"{text}(the first is particle {first.number}): {_way(case, side)}"
            yield Finding("warning", "domain", text)
            return


def _first_of_bodies(particles: Population) -> Booleans:
    """Return a mask of spheres that are single particles or the first sphere of a cluster."""
    if "cluster" not in particles.columns:
        return np.ones(len(particles["radius"]), np.bool_)
    cluster = particles["cluster"]
    return (cluster == 0) | (cluster == particles["id"] + 1)


def falling_inlet_findings(case: Case, meshes: Sequence[Mesh], ground: FixedParticles) -> Iterator[Finding]:
    """Warn of insertions without a wall below their middle, in the same way as `falling_findings`."""
    warned: set[str] = set()
    for number, gravity, there in _stages(case, meshes):
        below = [*_surfaces(there), _squares(*ground, gravity)]
        for name, middle in _inlets(case, gravity):
            if name not in warned and not _any_below(middle, np.zeros(1), below, gravity).all():
                warned.add(name)
                text = f"no wall is below the middle of insertion {name}{_when(case, number)}: "
                yield Finding("warning", "domain", text + _way(case, _side(case, middle[0], gravity)))


def _stages(case: Case, meshes: Sequence[Mesh]) -> Iterator[tuple[int, Floats, list[Mesh]]]:
    """Yield number, gravity and present walls of each stage in which particles may fall out.

    Yield no stage if the case explicitly removes particles outside. If gravity follows a table, only the first stage
    can be checked.
    """
    if case.domain.outside == "remove" and "outside" in case.domain.model_fields_set:
        return
    for number in range(1 if gravity_tables(case) else max(len(case.stages), 1)):
        gravity = _gravity(case, number)
        if gravity.any():
            there = walls_present(case, number)
            yield number, gravity, [mesh for mesh, is_there in zip(meshes, there, strict=True) if is_there]


def _gravity(case: Case, number: int) -> Floats:
    """Return gravity in a stage without components along periodic axes, since nothing leaves across periodic sides."""
    gravity = first_gravity(case)
    for stage in case.stages[1 : number + 1]:
        gravity = gravity if stage.gravity is None else np.array(stage.gravity)
    return np.where(case.domain.periodic, 0.0, gravity)


def _when(case: Case, number: int) -> str:
    return f" in stage {case.stages[number].name}" if number else ""


def _way(case: Case, side: str) -> str:
    text = f"they fall through the open side {side}"
    if case.domain.outside == "keep":
        text += ' and on, since domain.outside = "keep"; add a wall below, or remove what leaves'
        return f'{text} with outside = "remove"'
    return f'{text} and are removed; add a wall below, or say that they leave: domain.outside = "remove"'


def _inlets(case: Case, gravity: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield name and middle (1, 3) of each insertion with particles that fall straight down."""
    down = gravity / np.linalg.norm(gravity)
    for index, insertion in enumerate(case.insertions):
        face = face_of(case, index)
        velocity = mean_velocity(insertion, face)
        along = float(velocity @ down)
        if np.linalg.norm(velocity - along * down) <= _THROWN * abs(along):
            lower, upper = inlet_of(case, insertion, face, interval_of(case, insertion, face)).bounds
            yield insertion.name, 0.5 * (lower + upper)[None]


def _surfaces(meshes: Sequence[Mesh]) -> list[Surface]:
    """Return vertices (v, 3) [m] and triangles (t, 3) of meshes."""
    return [(mesh.vertices, triangle_fans(mesh.facet_start, mesh.facet_vertices)[0]) for mesh in meshes]


def fixed_particles(case: Case, particles: Population) -> FixedParticles:
    """Return the fixed particles of all ranks, with periodic images that reach into the domain. Collective."""
    if not has_fixed(case) or "fixed" not in particles.columns:
        return np.zeros((0, 3)), np.zeros(0)
    mine = particles["fixed"] != 0
    given = {name: particles[name][mine] for name in ("position", "radius")}
    found = particles.over.share(particles.over.collect(given))
    centres, radii = found["position"], found["radius"]
    for axis in np.flatnonzero(case.domain.periodic):
        low, high, here = case.domain.lower[axis], case.domain.upper[axis], centres[:, axis]
        beyond = here - radii < low, here + radii > high
        images = np.concatenate([centres[one] for one in beyond])
        images[:, axis] += np.repeat([high - low, low - high], [np.count_nonzero(one) for one in beyond])
        centres = np.concatenate((centres, images))
        radii = np.concatenate((radii, *(radii[one] for one in beyond)))
    return centres, radii


def _squares(centres: Floats, radii: Floats, gravity: Floats) -> Surface:
    """Return squares around spheres, perpendicular to gravity, as a surface that stops falling particles."""
    across = frame_of(gravity.tolist())[:2]
    corners = [radii[:, None] * (a * across[0] + b * across[1]) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    vertices = np.stack([centres + corner for corner in corners], axis=1).reshape(-1, 3)
    first = 4 * np.arange(len(centres))[:, None]
    return vertices, np.concatenate((first + np.array([0, 1, 2]), first + np.array([0, 2, 3])))


def _any_below(positions: Floats, radii: Floats, surfaces: Sequence[Surface], gravity: Floats) -> Booleans:
    """Return whether a ray along gravity, from the centre or near the rim of each particle, meets a surface."""
    frame = frame_of(gravity.tolist())
    points, found = positions @ frame.T, np.zeros(len(positions), bool)
    for offset in RAYS:
        beside = points + radii[:, None] * offset
        for vertices, triangles in surfaces:
            left = np.flatnonzero(~found)
            for _, point in crossings_upwards(vertices @ frame.T, triangles, beside[left]):
                found[left[point]] = True
    return found


def _inside(case: Case, places: Floats) -> Booleans:
    """Return a mask of points inside the domain, ignoring periodic axes."""
    inside = (places >= np.array(case.domain.lower)) & (places <= np.array(case.domain.upper))
    return np.all(inside | np.array(case.domain.periodic), axis=1)


def _side(case: Case, position: Floats, gravity: Floats) -> str:
    """Return the side of the domain through which a ray along gravity leaves."""
    ends = np.where(gravity < 0.0, case.domain.lower, case.domain.upper)
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.where(gravity == 0.0, np.inf, (ends - position) / gravity)
    axis = int(np.argmin(ways))
    return f"{'-' if gravity[axis] < 0.0 else '+'}{'xyz'[axis]}"
