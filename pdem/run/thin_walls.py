"""Warning during a run about particles in contact through a wall that is too thin to separate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.engine.views.acting_contacts import acting_on_walls, refresh_packed_rows
from pdem.engine.warn_once import warn_once
from pdem.foundation import exact_math
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from pdem.containers.particles import Particles
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.foundation.array_types import Floats, Int32s, Integers

ASIDE = 0.3
"""Limit in radii of the first particle for the distance between its contact point on the wall and the point where the
line between both centres crosses the wall; beyond this limit the line may pass beside the wall."""


class _Pairs(NamedTuple):
    """Pairs of particles in contact: indices (n,), vectors between the centres (n, 3) and overlaps (n,) [m]."""

    first: Int32s
    second: Int32s
    way: Floats
    overlap: Floats


def warn_of_thin_walls(system: System) -> None:
    """Warn once per wall about pairs of particles that touch each other through it. Collective."""
    walls = acting_on_walls(system)
    if walls is None:
        return
    number, count = len(system.case.walls), np.zeros(len(system.case.walls), np.int64)
    wall, overlap = _pairs_through(system.particles, _pairs_on_walls(system, walls), walls)
    np.add.at(count, wall, 1)
    deepest = np.zeros(number)
    np.maximum.at(deepest, wall, overlap)
    count, deepest = system.exchange.add(count), system.exchange.largest(deepest)
    for one in np.flatnonzero(count).tolist():
        _warn(system, system.case.walls[one].name, int(count[one]), float(deepest[one]))


def _warn(system: System, name: str, pairs: int, overlap: float) -> None:
    touch = "1 pair of particles touches" if pairs == 1 else f"{pairs} pairs of particles touch"
    text = (
        f"wall {name}: at {system.progress.time:.6g} s {touch} through it, with overlaps up to {overlap:.3g} m: it is "
        f"thinner than their overlaps with it together; make it thicker by {2.0 * overlap:.2g} m, or youngs_modulus "
        "larger"
    )
    warn_once(system, f"thin wall {name}", text)


def _pairs_on_walls(system: System, walls: ActingContacts) -> _Pairs:
    """Return the pairs that this rank counts and in which the first particle touches a wall. Collective."""
    pairs, particles = system.contacts.pairs, system.particles
    if not pairs.keeps_forces:
        refresh_packed_rows(system)
    touches = np.zeros(len(particles.column("id")), np.bool_)
    touches[walls.first] = True
    first, second = pairs.lower[pairs.touching], pairs.higher[pairs.touching]
    near = touches[first] & (particles.column("fixed")[second] == 0)  # fixed particles may protrude from a wall
    first, second = first[near], second[near]
    place, radius = pairs.rows_to_share(particles)[:, PLACE : PLACE + 3], particles.column("radius")
    way = system.constants.shape.nearest(place[second] - place[first])
    return _Pairs(first, second, way, radius[first] + radius[second] - exact_math.norm(way))


def _pairs_through(particles: Particles, pairs: _Pairs, walls: ActingContacts) -> tuple[Integers, Floats]:
    """Return the wall index and the overlap [m] of each pair that touches through a wall.

    The centres of such a pair are on different sides of the wall, at the wall contact of its first particle.
    This rank owns the first particle, so that exactly one rank counts the pair, by the same contact on any number of
    ranks.
    """
    own = particles
    order = np.argsort(walls.first, kind="stable")
    begin, end = (np.searchsorted(walls.first[order], pairs.first, side) for side in ("left", "right"))
    pair = np.repeat(np.arange(len(begin)), end - begin)
    inside = np.arange(len(pair)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    contact = order[begin[pair] + inside]
    first, way = pairs.first[pair], pairs.way[pair]
    centre, outward = own.position[first], -walls.normal[contact]
    before = exact_math.inner(centre - walls.point[contact], outward)
    behind = before + exact_math.inner(way, outward)
    crosses = (before > 0.0) & (behind < 0.0)
    share = np.where(crosses, before, 0.0) / np.where(crosses, before - behind, 1.0)
    aside = exact_math.norm(centre + share[:, None] * way - walls.point[contact])
    through = np.flatnonzero(crosses & (aside <= ASIDE * own.column("radius")[first]) & (pairs.overlap[pair] > 0.0))
    _, unique = np.unique(pair[through], return_index=True)
    chosen = through[unique]
    return walls.wall[contact[chosen]], pairs.overlap[pair[chosen]]
