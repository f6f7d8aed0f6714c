"""All particles that can occur in a case, from its groups and insertions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.groups.group_sizes import group_sizes, reach_of, sphere_limits
from pdem.case.groups.inlets import largest_insertion_speed
from pdem.case.groups.shapes import is_in_file
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.case.groups.group_sizes import Group
    from pdem.case.groups.particle_file_limits import FileLimits
    from pdem.case.sections.schema import CaseData


def particle_materials(case: CaseData) -> list[str]:
    """Return the materials of all moving particles, each once."""
    names = [group.material for group in case.particles if not group.fixed]
    return list(dict.fromkeys([*names, *(one.material for one in case.insertions)]))


def largest_given_radius(case: CaseData) -> float:
    """Return the largest radius [m] of particles with sizes in the case file; for clusters the largest reach."""
    groups: list[Group] = [*case.particles, *case.insertions]
    sizes = [(one, group_sizes(case, one)) for one in groups if not is_in_file(case, one.shape)]
    return max((reach_of(case, one) * size.largest for one, size in sizes if size is not None), default=0.0)


def smallest_radii(case: CaseData) -> dict[str, float]:
    """Return the smallest radius of the moving particles of each material and of their fragments [m].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    given = smallest_given_radii(case)
    return {name: min(least_fragment(case, name), smallest) for name, smallest in given.items()}


def smallest_given_radii(case: CaseData) -> dict[str, float]:
    """Return the smallest radius of the moving particles of each material [m], without fragments.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    return {name: min(smallest for smallest, _ in ends) for name, ends in _radii(case, moving=True).items()}


def least_fragment(case: CaseData, material: str) -> float:
    """Return the radius of the smallest fragments of a material [m], infinite if it does not break."""
    breakage = case.materials[material].breakage
    return math.inf if breakage is None else breakage.smallest


def largest_radii(case: CaseData) -> dict[str, float]:
    """Return the largest radius of the particles of each material [m].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    return {name: max(largest for _, largest in ends) for name, ends in _radii(case).items()}


def _radii(case: CaseData, *, moving: bool = False) -> dict[str, list[tuple[float, float]]]:
    """Return the smallest and the largest radius of each group and insertion that has particles, by material [m].

    With `moving`, fixed groups are left out.
    """
    ends: dict[str, list[tuple[float, float]]] = {}
    for index, group in enumerate(case.particles):
        if moving and group.fixed:
            continue
        ends.setdefault(group.material, []).append(sphere_limits(case, group) or _file_ends(case, index))
    for insertion in case.insertions:
        ends.setdefault(insertion.material, []).append(sphere_limits(case, insertion) or (math.inf, 0.0))
    found = {name: [one for one in some if math.isfinite(one[0])] for name, some in ends.items()}
    return {name: some for name, some in found.items() if some}


def _file_ends(case: CaseData, index: int) -> tuple[float, float]:
    limits = _file_limits(case, index)
    return limits.radius, limits.largest


def largest_first_speed(case: CaseData) -> float:
    """Return the largest speed of initial and newly inserted particles [m/s].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    initial = [_initial_speed(case, index) for index in range(len(case.particles))]
    later = [largest_insertion_speed(case, insertion) for insertion in case.insertions]
    return max([0.0, *initial, *later])


def _file_limits(case: CaseData, index: int) -> FileLimits:
    from pdem.case.groups.particle_file_limits import particle_file_limits

    return particle_file_limits(case, index)


def _initial_speed(case: CaseData, index: int) -> float:
    group = case.particles[index]
    if group.fixed:
        return 0.0
    if group.velocity is None:
        return 0.0 if group.file is None else _file_limits(case, index).speed
    if isinstance(group.velocity, tuple):
        return exact_math.hypot(*group.velocity)
    return group.velocity.random * math.sqrt(case.domain.dimension)
