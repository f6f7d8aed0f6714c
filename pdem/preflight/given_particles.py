"""Checks of particles that a script passes to a simulation instead of the particles of the case."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE_COLUMNS
from pdem.case.groups.initial import INITIAL_COLUMNS
from pdem.case.messages import Problem, shown_key
from pdem.case.rules.checks import contact_pair_problems, contact_pairs, density_problems, periodic_width_problems
from pdem.case.timestep import ImpactConditions, expected_speed
from pdem.case.wall_motions import motion_of
from pdem.containers.clusters import ParticleTable
from pdem.features.preflight import findings_on_particles
from pdem.foundation.errors import CaseError, InputError, PdemWarning, name_hint
from pdem.foundation.fields import with_further
from pdem.particles.clearance import coincident_pair
from pdem.particles.regions import wrap_positions
from pdem.preflight.estimates.impacts import expected_impact
from pdem.preflight.particle_checks import particle_findings, particle_name
from pdem.preflight.population import Population
from pdem.preflight.preflight import of_stiffness, overlap_findings, wall_findings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.foundation.fields import Field
    from pdem.preflight.findings import Finding

    Columns = dict[str, NDArray[Any]]

_OPTIONAL = ("velocity", "angular_velocity")
_LARGEST_ID = 2**40


class CheckedParticles(ParticleTable):
    """Columns of particles already checked by `pdem.preflight.preflight` together with a case."""


class PartOfParticles(CheckedParticles):
    """Columns of checked particles, distributed over the ranks."""


def given_particles(
    case: Case, particles: Mapping[str, Any], meshes: Sequence[Mesh], further: Iterable[Field] = ()
) -> Columns:
    """Return columns of particles from a script, after the same checks as for particles of a case.

    Parameters
    ----------
    case : Case
        The case.
    particles : mapping of str to array_like
        As `pdem.case.groups.initial.initial_particles` returns them: ``id`` (n,) distinct whole numbers from 0 on,
        ``material`` (n,) index in the order of the case's materials, ``radius`` (n,) [m], ``position`` (n, 3) [m].
        Optional, with default zero: ``velocity``, ``angular_velocity`` (n, 3) [m/s, rad/s] and other particle fields.
    meshes : sequence of Mesh
        Meshes of the walls, in the order of the case.
    further : iterable of Field
        Additional optional fields for features of the case.

    Raises
    ------
    InputError
        If a column is missing, unknown or of a wrong type or shape, numbers are not finite, radii not positive, ids
        negative or repeated, or material indices not valid.
    CaseError
        For each finding that is an error for particles of the case, one line each.

    Warns
    -----
    RuntimeWarning
        For each finding that is a warning.
    """
    columns = _columns(particles, with_further(further))
    _require_ids(columns["id"])
    if isinstance(particles, CheckedParticles):
        return ParticleTable(columns, particles.clusters)
    if columns.get("cluster", np.zeros(0)).any():
        raise InputError(
            "particles['cluster']: spheres given by a script are single ones; make clusters by the case "
            "([[particles]] shape = ...), and leave the column out"
        )
    for name in FLEXIBLE_COLUMNS:
        if columns.get(name, np.zeros(0)).any():
            raise InputError(
                f"particles[{name!r}]: spheres given by a script are single ones; make flexible particles by the case "
                "([[particles]] shape = ...), and leave the column out"
            )
    if columns.get("fixed", np.zeros(0)).any():
        raise InputError(
            "particles['fixed']: particles given by a script move; fix those of the case ([[particles]] fixed = true), "
            "and leave the column out"
        )
    materials = _materials(case, columns["material"])
    require_no_problems(case, materials, contact_pairs(case, materials), float(columns["radius"].max(initial=0.0)))
    columns["position"] = wrap_positions(columns["position"], case.domain)
    pair = coincident_pair(columns["position"], case.domain)
    if pair is not None:
        raise CaseError(f"{case.source}: particles {pair[0]} and {pair[1]} are at one point; move or remove one")
    conditions = _conditions_of_columns(case, materials, columns)
    population = Population(columns)
    conditions = replace(conditions, impact=expected_impact(case, population, meshes))
    _raise_errors(
        case,
        [
            *particle_findings(case, population, case.resolved_step(), conditions, particle_name),
            *of_stiffness(case, population, conditions),
            *overlap_findings(case, population),
            *wall_findings(case, population, meshes),
            *findings_on_particles(case, population, case.resolved_step()),
        ],
    )
    return columns


def _conditions_of_columns(case: Case, materials: Sequence[str], columns: Columns) -> ImpactConditions:
    """Return the impact conditions of particles with these materials."""
    names = list(case.materials)
    smallest = {name: float(columns["radius"][columns["material"] == names.index(name)].min()) for name in materials}
    motions = [motion_of(wall, case.motions, case.directory) for wall in case.walls]
    speed = max(expected_speed(case, motions), largest_speed(columns["velocity"]))
    return ImpactConditions(smallest, speed, tuple(contact_pairs(case, materials)))


def largest_speed(velocity: Floats) -> float:
    """Return the largest speed of velocities (n, 3) [m/s]."""
    return float(np.sqrt((velocity**2).sum(axis=1)).max(initial=0.0))


def require_no_problems(
    case: Case, materials: Iterable[str], pairs: Iterable[tuple[str, str, bool]], largest_radius: float
) -> None:
    """Check that densities and interactions are given as needed, and that a periodic box is wide enough.

    Raises
    ------
    CaseError
        With a line for each problem.
    """
    problems: list[Problem] = [problem for name in materials for problem in density_problems(case, name)]
    problems += contact_pair_problems(case, pairs)
    problems += periodic_width_problems(case, largest_radius)
    if problems:
        lines = (f"{case.source}: {shown_key(one.location)}: {one.text}" for one in problems)
        raise CaseError("\n".join(lines))


def _raise_errors(case: Case, findings: Iterable[Finding]) -> None:
    """Raise the errors among findings, and issue the warnings.

    Raises
    ------
    CaseError
        With a line for each error.
    """
    findings = list(findings)
    errors = [f"{case.source}: {one.subject}: {one.message}" for one in findings if one.level == "error"]
    if errors:
        raise CaseError("\n".join(errors))
    for one in findings:
        if one.level == "warning":
            warnings.warn(f"{one.subject}: {one.message}", PdemWarning, stacklevel=3)


def _columns(particles: Any, fields: Mapping[str, Field]) -> Columns:
    """Return the columns as arrays of the correct type and shape, after checks."""
    if not isinstance(particles, Mapping):
        raise InputError(
            f"particles must be columns by name, as initial_particles returns them, not {type(particles).__name__}"
        )
    for name in particles:
        if name not in fields:
            raise InputError(
                f"particles[{name!r}] is no field of particles; {name_hint(str(name), list(INITIAL_COLUMNS))}"
            )
    for name in INITIAL_COLUMNS:
        if name not in particles and name not in _OPTIONAL:
            raise InputError(f"particles[{name!r}] is missing; needed are {', '.join(INITIAL_COLUMNS[:4])}")
    count = np.shape(particles["radius"])[:1]
    columns = {}
    for name in [name for name in fields if name in INITIAL_COLUMNS or name in particles]:
        shape = (*count, *fields[name].shape)
        columns[name] = _column(fields[name], particles.get(name, np.zeros(shape)), shape)
    wrong = np.flatnonzero(columns["radius"] <= 0.0)
    if len(wrong):
        raise InputError(
            f"particles['radius'][{wrong[0]}] is {columns['radius'][wrong[0]]}; radii are positive lengths in metres"
        )
    return columns


def _column(field: Field, given: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    name = field.name
    whole = np.issubdtype(field.dtype, np.integer)
    values = np.asarray(given)
    if values.dtype.kind not in ("iu" if whole else "fiu") or values.shape != shape:
        wanted = f"{'whole ' if whole else ''}numbers of shape ({', '.join(['n', *map(str, field.shape)])})"
        raise InputError(f"particles[{name!r}] is {values.dtype} of shape {values.shape}; it must be {wanted}")
    if not whole and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).reshape(len(values), -1).all(axis=1)))
        raise InputError(f"particles[{name!r}][{row}] is {values[row].tolist()}; it must be finite")
    return values.astype(field.dtype)


def _require_ids(ids: Integers) -> None:
    wrong = np.flatnonzero((ids < 0) | (ids >= _LARGEST_ID))
    if len(wrong):
        raise InputError(f"particles['id'][{wrong[0]}] is {ids[wrong[0]]}; ids are whole numbers from 0 to 2^40")
    order = np.argsort(ids, kind="stable")
    same = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(same):
        first, second = order[same[0]], order[same[0] + 1]
        raise InputError(f"particles['id'] has {ids[first]} twice, in rows {first} and {second}; ids are distinct")


def _materials(case: Case, index: Int32s) -> list[str]:
    """Return the names of the materials of particles, in the order of the case, after a check of the indices."""
    names = list(case.materials)
    wrong = np.flatnonzero((index < 0) | (index >= len(names)))
    if len(wrong):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(names))
        raise InputError(
            f"particles['material'][{wrong[0]}] is {index[wrong[0]]}; materials of the case are {known or 'none'}"
        )
    return [names[number] for number in np.unique(index)]
