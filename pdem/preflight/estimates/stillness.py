"""Check whether anything can move in a run, in case gravity was forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.deformation import deforms
from pdem.case.gravity import largest_gravity
from pdem.case.groups.inlets import largest_insertion_speed
from pdem.case.wall_motions import motion_of
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.case.sections.walls import Wall
    from pdem.preflight.population import Population

_EARTH = "domain.gravity = [0, 0, -9.81] is that of the earth"


def stillness_findings(case: Case, particles: Population, *, touch: bool) -> Iterator[Finding]:
    """Warn of a run in which nothing moves. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : Population
        Particles at time 0.
    touch : bool
        Whether particles overlap each other or a wall at time 0, and are pushed apart.
    """
    moves = [particles.worst(np.linalg.norm(particles[key], axis=1))[0] for key in ("velocity", "angular_velocity")]
    if not (particles.count or case.insertions) or largest_gravity(case).any():
        return
    if touch or max(moves) > 0.0 or _acts(case):
        yield Finding("info", "gravity", f"none; {_EARTH}")
        return
    what = "no initial velocity, " if particles.count else "no velocity of what comes in, "
    text = f"nothing moves: no gravity, {what}no wall that moves"
    yield Finding("warning", "gravity", f"{text}; {_EARTH}")


def _acts(case: Case) -> bool:
    """Return whether a case has anything except gravity that moves particles at rest."""
    acts = bool(case.forces) or deforms(case) or any(one.adhesion for one in case.interactions.values())
    flows = any(largest_insertion_speed(case, one) > 0.0 for one in case.insertions)
    return acts or flows or any(_moves(case, wall) for wall in case.walls)


def _moves(case: Case, wall: Wall) -> bool:
    """Return whether a wall or its surface moves, including motions of the frame that carries it."""
    if wall.surface is not None or wall.servo is not None:
        return True
    if wall.body is not None and any((*wall.body.velocity, *wall.body.angular_velocity, *wall.body.force)):
        return True
    return motion_of(wall, case.motions, case.directory).moves
