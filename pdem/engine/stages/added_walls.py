"""Check for particles at the position of a wall that a stage adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.output.summary import counted
from pdem.particles.clearance import touching_walls
from pdem.preflight.particle_checks import OVERLAP_WARNING, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans


def overlaps_with_added_walls(system: System, before: Booleans) -> Iterator[str]:
    """Yield a warning for each added wall that overlaps particles; `before` (W,) marks the walls before the stage.

    Overlaps are over the radius; overlaps that are allowed at the begin of a run are ignored. Collective, with
    up-to-date columns.
    """
    walls = system.walls
    if walls is None:
        return
    walls.place_all()
    for wall in np.flatnonzero(walls.present & ~before):
        number, worst, particle = _overlap(system, int(wall))
        if worst > OVERLAP_WARNING:
            name = system.case.walls[wall].name
            yield (
                f"stage {system.stages.section.name} adds wall {name} where {counted(number, 'particle')} "
                f"{'is' if number == 1 else 'are'}: particle {particle} overlaps it by {share(worst)} of its radius, "
                "and is pushed out; add the wall where nothing is, or take particles out before by a sensor with remove"
            )


def _overlap(system: System, wall: int) -> tuple[int, float, int]:
    """Return the number of particles that touch a wall, the largest overlap over the radius, and its particle's id."""
    own, walls, exchange = system.particles, system.walls, system.exchange
    assert walls is not None
    start, facets = walls.mesh.facet_start, walls.placed.facets_of(wall)
    loops = walls.mesh.facet_vertices[start[facets.start] : start[facets.stop]]
    moving = np.flatnonzero(own.fixed == 0)
    hit, depth, _ = touching_walls(
        own.position[moving], own.radius[moving], walls.vertices,
        start[facets.start : facets.stop + 1] - start[facets.start], loops,
    )  # fmt: skip
    relative = depth / own.radius[moving[hit]]
    worst = exchange.largest(np.array([relative.max(initial=0.0)]))[0]
    particle = own.id[moving[hit[relative == worst]]].max(initial=-1)
    number = exchange.add(np.array([len(hit)]))[0]
    return int(number), float(worst), int(exchange.largest(np.array([particle]))[0])
