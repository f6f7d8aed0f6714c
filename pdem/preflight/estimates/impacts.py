"""Estimates of the largest impact speed of particles, and of the overlap of such an impact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import first_gravity, gravity_changes
from pdem.case.impact import Impact
from pdem.case.timestep import effective_modulus, expected_speed, spring_of, wall_speed
from pdem.case.wall_motions import motion_of
from pdem.contact.law.models import LAWS
from pdem.preflight.estimates.falls import falls_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.case.sections.materials import Interaction
    from pdem.case.sections.schema import CaseData
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats
    from pdem.preflight.population import Population


def expected_impact(case: Case, particles: Population, meshes: Sequence[Mesh]) -> Impact:
    """Return the fastest expected impact. Collective.

    Candidates are: a fall of particles at time 0 onto a wall or onto particles at rest there; inserted particles after
    their fall; a drop from one wall to the next; a fall inside a rotating wall; initial velocities; moving walls. Falls
    end with the run. If gravity changes, particles may fall through the whole domain.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles at time 0.
    meshes : sequence of Mesh
        Meshes of the walls, in the order of the case.
    """
    return max(_impacts(case, particles, meshes), default=Impact(0.0, ""), key=lambda one: one.speed)


def _impacts(case: Case, particles: Population, meshes: Sequence[Mesh]) -> Iterator[Impact]:
    yield from _of_velocities(case, particles)
    motions = [motion_of(wall, case.motions, case.directory) for wall in case.walls]
    for wall, mesh, motion in zip(case.walls, meshes, motions, strict=True):
        points = np.clip(mesh.vertices, case.domain.lower, case.domain.upper)
        speed = wall_speed(case, wall, motion, points)
        if speed:
            yield Impact(speed, f"wall {wall.name} moves as fast")
    if gravity_changes(case):
        yield Impact(expected_speed(case, motions), "a fall through the whole domain, as gravity changes")
        return
    gravity = pull_of(case)
    size = float(np.linalg.norm(gravity))
    for fall in falls_of(case, particles, meshes, gravity) if size else ():
        yield Impact(fall.impact(size, case.time.end), fall.text)


def pull_of(case: CaseData) -> Floats:
    """Return the acceleration (3,) of all particles at time 0, without components along periodic axes [m/s^2]."""
    given = [one.acceleration for one in case.forces if one.acceleration is not None]
    pull = first_gravity(case) + np.array(given).reshape(-1, 3).sum(axis=0)
    return np.where(case.domain.periodic, 0.0, pull)


def _of_velocities(case: Case, particles: Population) -> Iterator[Impact]:
    """Yield the impacts of particles on walls at rest and between particles, with their initial velocities."""
    velocity = particles["velocity"]
    ends = np.concatenate((-velocity, velocity), axis=1)
    most = particles.over.largest(ends.max(axis=0, initial=-np.inf))
    if not particles.count:
        return
    fastest = float(particles.worst(np.linalg.norm(velocity, axis=1))[0])
    apart = float(np.linalg.norm(most[3:] + most[:3]))
    if case.walls and fastest:
        yield Impact(fastest, "a particle begins as fast")
    if apart:
        yield Impact(apart, "particles begin with such a difference of velocity")


def impact_overlap(case: CaseData, pair: tuple[str, str], mass: float, radius: float, speed: float) -> float:
    """Return the largest overlap [m] of an impact with effective mass [kg], effective radius [m] and speed [m/s].

    Damping with restitution e has caused half of its loss, in the logarithm of the speed, at the largest overlap:
    therefore an impact is as deep as an undamped impact with sqrt(e) times its speed, which is exact for the dampings
    of `pdem.contact.law.restitution`. The undamped overlap is sqrt(m / k) v for the linear law, and (15 m v^2 / (16
    sqrt(R) E))^(2/5) for elastic spheres (Johnson, Contact Mechanics, 1985, sect. 11.4).
    """
    law = case.interaction(*pair)
    assert law is not None, "a checked case has an interaction for every pair that can meet"
    speed *= math.sqrt(_restitution(law))
    if law.law == "linear":
        return speed * math.sqrt(mass / float(law.normal_stiffness or 0.0))
    if law.law != "hertz-mindlin":
        return spring_of(case, pair).depth(mass, radius, speed)
    return float((15.0 * mass * speed**2 / (16.0 * math.sqrt(radius) * effective_modulus(case, pair))) ** 0.4)


def _restitution(law: Interaction) -> float:
    """Return the restitution of a law; 1 for laws in files, because their damping is unknown."""
    return law.restitution if law.law in LAWS else 1.0
