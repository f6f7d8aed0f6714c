"""Checks of particles to be inserted between two steps, the same as for particles of a case.

All checks run before any change, with the same result on every rank, and use the present positions of particles and
walls.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.rules.checks import contact_pairs
from pdem.case.timestep import ImpactConditions, expected_speed
from pdem.detection.find_pairs import find_pairs
from pdem.engine.clusters.insertion import as_clusters, spheres_of
from pdem.engine.views.bodies import largest_present_speed
from pdem.features.insertions.free_places import wall_overlaps
from pdem.foundation.errors import InputError, PdemWarning, name_hint
from pdem.preflight.driven_wall_preflight import driven_findings
from pdem.preflight.estimates.stiffness import impact_findings
from pdem.preflight.given_particles import largest_speed, require_no_problems
from pdem.preflight.particle_checks import particle_findings, share
from pdem.preflight.population import Population

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.containers.meshes.mesh import Mesh
    from pdem.containers.particles import Particles
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers
    from pdem.preflight.findings import Finding

    Columns = dict[str, NDArray[Any]]


def checked_columns(system: System, case: Case, meshes: Sequence[Mesh], material: Any, **given: Any) -> Columns:
    """Return the columns of particles to be inserted, after all checks of particles of a case. Collective.

    Raises
    ------
    InputError
        If the material is unknown, shapes do not fit, values are invalid, particles are outside the domain or touch
        particles or a wall, the time step is too long for them, or the box deforms.
    CaseError
        If the material has no density or no interaction with the materials present, or a periodic axis is too short.

    Warns
    -----
    RuntimeWarning
        On rank 0, where particles of a case would give a warning.
    """
    if system.box.moving is not None:
        raise InputError("particles cannot be inserted into a box that deforms; have them there from the begin")
    shape, orientation = given.pop("shape", None), given.pop("orientation", None)
    columns = _columns(system, list(case.materials), material, **given)
    if shape is not None:
        turns = _numbers_of_shape("orientation", orientation, len(columns["radius"]), 4)
        columns = as_clusters(case, columns, shape, turns)
    elif orientation is not None:
        raise InputError("orientation is given without a shape; spheres have none: give shape, too, or leave it out")
    spheres = spheres_of(case, columns)
    present = _smallest_present(system.particles, system.exchange, case)
    materials = list(dict.fromkeys([material, *present]))
    pairs = tuple(pair for pair in contact_pairs(case, materials) if pair[0] == material)
    largest = float(columns["radius"].max(initial=0.0))
    require_no_problems(case, [material], pairs, largest)
    if not len(columns["radius"]):
        return columns
    findings = _motion_findings(system, case, meshes, material, pairs, present, spheres)
    check_no_overlap(system, spheres)
    _check_walls(system, case, spheres)
    if system.exchange.rank == 0:
        _issue_warnings(system.progress, findings)
    return columns


def _motion_findings(
    system: System, case: Case, meshes: Sequence[Mesh], material: str, pairs: Any, present: dict[str, float],
    columns: Columns,
) -> list[Finding]:  # fmt: skip
    """Check positions, speeds and the time step; raise errors, return all warnings."""
    motions = () if system.walls is None else system.walls.motions
    expected = expected_speed(case, motions)
    speed = max(expected, largest_speed(columns["velocity"]), largest_present_speed(system.particles, system.exchange))
    smallest = {**present, material: float(columns["radius"].min())}
    conditions, step = ImpactConditions(smallest, speed, pairs), system.constants.time_step.dt
    findings = list(particle_findings(case, Population(columns), step, conditions, "position[{}]".format))
    if speed > expected:  # else the check of the case has reported the depth of impacts
        findings += impact_findings(case, conditions, columns["radius"])
    if system.walls is not None and system.walls.drives:
        number = int(system.exchange.add(np.array([system.particles.count]))[0]) + len(columns["radius"])
        findings += driven_findings(case, columns["radius"], number, meshes, step, conditions)
    errors = [f"{one.subject}: {one.message}" for one in findings if one.level == "error"]
    if errors:
        raise InputError("\n".join(errors))
    return findings


def _issue_warnings(progress: RunProgress, findings: list[Finding]) -> None:
    """Issue the warnings among findings, once for each text apart from its numbers."""
    for one in findings:
        kind = re.sub(r"[-+\d.e]+", "", f"{one.subject}: {one.message}")
        if one.level == "warning" and progress.is_new(kind):
            warnings.warn(f"{one.subject}: {one.message}", PdemWarning, stacklevel=4)


def _smallest_present(particles: Particles, exchange: Exchange, case: Case) -> dict[str, float]:
    """Return the smallest radius of particles of each material present on any rank [m]. Collective."""
    own, number = particles, len(case.materials)
    smallest = np.full(number, np.inf)
    np.minimum.at(smallest, own.material, own.radius)
    radii = -exchange.largest(-smallest)
    return {name: float(radius) for name, radius in zip(case.materials, radii, strict=True) if np.isfinite(radius)}


def _columns(system: System, materials: list[str], material: Any, **given: Any) -> Columns:
    """Return the columns of particles to be inserted.

    Raises
    ------
    InputError
        If the material is unknown, shapes do not fit, or values are not finite, radii not positive.
    """
    if not isinstance(material, str):
        raise InputError(f"material must be a name in quotes, not {material!r}: one of {', '.join(materials)}")
    if material not in materials:
        raise InputError(
            f"material {material!r} is none of the case: {', '.join(materials)}; {name_hint(material, materials)}"
        )
    position = _vectors("position", given["position"], None)
    count = len(position)
    radius = _radii(given["radius"], count)
    columns: Columns = {"radius": radius, "material": np.full(count, materials.index(material), np.int32)}
    for name in ("velocity", "angular_velocity"):
        columns[name] = _vectors(name, given[name], count)
    columns["position"], _ = system.constants.shape.wrapped(position)
    return columns


def _radii(given: Any, count: int) -> Floats:
    try:
        radius = np.broadcast_to(_numbers(given), (count,)).copy()
    except (TypeError, ValueError):
        raise InputError(f"radius must be a length, or one for each of the {count} particles") from None
    bad = np.flatnonzero(~(np.isfinite(radius) & (radius > 0.0)))
    if len(bad):
        raise InputError(f"radius[{bad[0]}] is {radius[bad[0]]}; radii are positive finite lengths in metres")
    return radius


def _numbers(given: Any) -> Floats:
    """Return an array of numbers; raise TypeError for texts and truth values, which numpy would convert."""
    values = np.asarray(given)
    if values.size and values.dtype.kind not in "fiu":
        raise TypeError
    return values.astype(np.float64)


def _vectors(name: str, given: Any, count: int | None) -> Floats:
    """Return an array (count, 3) of finite numbers."""
    return _numbers_of_shape(name, given, count, 3)


def _numbers_of_shape(name: str, given: Any, count: int | None, width: int) -> Floats:
    """Return an array (count, width) of finite numbers."""
    try:
        values = _numbers(given)
        if count is None:
            values = values.reshape(-1, width) if values.shape in ((0,), (width,)) else values
            count = len(values)
        if values.shape not in ((width,), (count, width)):
            raise ValueError
        values = np.broadcast_to(values, (count, width)).copy()
    except (TypeError, ValueError):
        other = "" if name == "position" else f" with n = {count}, or ({width},)"
        raise InputError(f"{name} must be numbers of shape (n, {width}){other}") from None
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise InputError(f"{name}[{bad[0]}] is {values[bad[0]].tolist()}; it must be finite")
    return values


def check_no_overlap(system: System, columns: Mapping[str, NDArray[Any]]) -> None:
    """Require that particles to be inserted touch neither present particles nor each other. Collective.

    Raises
    ------
    InputError
        If one does.
    """
    own, constants, axes = system.particles, system.constants, system.constants.dimension
    count = len(columns["radius"])
    found = find_pairs(
        np.concatenate((own.position, columns["position"]))[:, :axes],
        np.concatenate((own.radius, columns["radius"])),
        lower=constants.lower[:axes],
        upper=(constants.lower + np.where(constants.period > 0.0, constants.period, 1.0))[:axes],
        periodic=(constants.period > 0.0)[:axes].tolist(),
    )
    rows = found.pairs[:, 1] - own.count
    if "row" in columns:  # spheres of one cluster may overlap each other
        rows = _of_bodies(found.pairs - own.count, columns["row"])
        count = int(columns["row"].max(initial=-1)) + 1
    first = int(rows[rows >= 0].min(initial=count))
    from_the_end = int(system.exchange.largest(np.array([count - first], np.int64))[0])
    if from_the_end:
        row = count - from_the_end
        place = _place_of(row, columns)
        raise InputError(f"the particle at position[{row}] = {place} m touches another one; move it or leave it out")


def _place_of(row: int, columns: Mapping[str, NDArray[Any]]) -> list[float]:
    """Return the position of an inserted particle [m]."""
    if "row" not in columns:
        return list(columns["position"][row].tolist())
    return list(columns["centre"][np.flatnonzero(columns["row"] == row)[0]].tolist())


def _of_bodies(pairs: Integers, body: Integers) -> Integers:
    """Return the inserted bodies of pairs of spheres, -1 for present spheres, which have negative numbers."""
    own = np.where(pairs >= 0, body[np.maximum(pairs, 0)], -1) if len(body) else np.full(pairs.shape, -1)
    return np.where(own[:, 0] == own[:, 1], -1, own[:, 1])


def _check_walls(system: System, case: Case, columns: Columns) -> None:
    """Require that particles to be inserted overlap no wall at its present position. The same on every rank.

    Raises
    ------
    InputError
        If one does.
    """
    rows, depth, facets = wall_overlaps(system, columns["position"], columns["radius"])
    if not len(rows):
        return
    assert system.walls is not None
    walls, sphere, at = system.walls, int(rows[0]), int(facets[0])
    wall = case.walls[int(walls.facet_wall[at])].name
    row = int(columns["row"][sphere]) if "row" in columns else sphere
    place = _place_of(row, columns)
    raise InputError(
        f"the particle at position[{row}] = {place} m overlaps wall {wall} (facet {walls.facet_origin[at]}) by "
        f"{share(depth[0] / columns['radius'][sphere])} of its radius; move it or leave it out"
    )
