"""All particles that a case can ever have: those of its groups and of its insertions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.inlets import largest_insertion_speed

if TYPE_CHECKING:
    from pdem.case.particle_file_limits import FileLimits
    from pdem.case.schema import CaseData


def particle_materials(case: CaseData) -> list[str]:
    """Return the materials of all particles, each once."""
    names = [group.material for group in case.particles]
    return list(dict.fromkeys([*names, *(one.material for one in case.insertions)]))


def largest_given_radius(case: CaseData) -> float:
    """Return the largest radius [m] of particles whose radii are not in files."""
    sizes = [group.sizes() for group in case.particles] + [one.sizes() for one in case.insertions]
    return max((size.largest for size in sizes if size is not None), default=0.0)


def smallest_radii(case: CaseData) -> dict[str, float]:
    """Return the smallest radius of the particles of each material [m].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    smallest: dict[str, float] = {}
    for index, group in enumerate(case.particles):
        sizes = group.sizes()
        radius = sizes.smallest if sizes is not None else _file_limits(case, index).radius
        smallest[group.material] = min(radius, smallest.get(group.material, math.inf))
    for insertion in case.insertions:
        radius = insertion.sizes().smallest
        smallest[insertion.material] = min(radius, smallest.get(insertion.material, math.inf))
    return {name: radius for name, radius in smallest.items() if math.isfinite(radius)}


def largest_first_speed(case: CaseData) -> float:
    """Return the largest speed with which particles begin or come in [m/s].

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    initial = [_initial_speed(case, index) for index in range(len(case.particles))]
    later = [largest_insertion_speed(case, insertion) for insertion in case.insertions]
    return max([0.0, *initial, *later])


def _file_limits(case: CaseData, index: int) -> FileLimits:
    from pdem.case.particle_file_limits import particle_file_limits

    return particle_file_limits(case, index)


def _initial_speed(case: CaseData, index: int) -> float:
    group = case.particles[index]
    if group.velocity is None:
        return 0.0 if group.file is None else _file_limits(case, index).speed
    if isinstance(group.velocity, tuple):
        return math.hypot(*group.velocity)
    return group.velocity.random * math.sqrt(case.domain.dimension)
