"""Items that are distributed over cells: particles, and forces between particles and at walls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.foundation.array_types import Booleans, Floats, Integers


class Matter(NamedTuple):
    """Particles, or clusters as a whole.

    Attributes
    ----------
    position, velocity : (n, 3) arrays
        [m, m/s].
    mass, size : (n,) arrays
        Mass [kg]; volume [m^3], in 2D area [m^2].
    kind : (n,) int64 array
        Class of each particle.
    """

    position: Floats
    velocity: Floats
    mass: Floats
    size: Floats
    kind: Integers


class Actions(NamedTuple):
    """Forces along straight segments and at points.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        First point and vector of each segment [m]; for forces at points the vector is zero.
    force : (n, 3) array
        Forces [N].
    at_wall : (n,) bool array
        Whether the force is that of a wall at a point.
    kind : (n,) int64 array
        Class of each force.
    """

    begin: Floats
    way: Floats
    force: Floats
    at_wall: Booleans
    kind: Integers


def actions_of_contacts(
    centre: Floats, branch: Floats, force: Floats, is_pair: Booleans, kinds: Integers, point: Floats | None
) -> list[Actions]:
    """Return the actions of contacts: forces along branches, and forces of walls on particles at the ends of branches.

    Parameters
    ----------
    centre, branch, force : (n, 3) arrays
        Centre of the first body; vector to the centre of the second body or to the wall [m]; force of the first on the
        second body [N].
    is_pair : (n,) bool array
        False at walls.
    kinds : (2, n) int64 array
        Classes of both bodies.
    point : (n, 3) array or None
        Points of contact [m], at which branches are divided between the classes of both bodies; None for undivided
        branches, with the class of the first body.
    """
    wall, end = ~is_pair, centre + branch
    at_walls = _points_of(end[wall], -force[wall], kinds[0, wall])
    if point is None:
        return [at_walls, ways_of(centre, branch, force, kinds[0])]
    middle = np.where(is_pair[:, None], point, end)
    beyond = (end - middle)[is_pair]
    return [
        at_walls, ways_of(centre, middle - centre, force, kinds[0]),
        ways_of(middle[is_pair], beyond, force[is_pair], kinds[1, is_pair]),
    ]  # fmt: skip


def joined(actions: Sequence[Actions]) -> Actions:
    """Return the concatenation of some actions."""
    return Actions(*(np.concatenate(columns) for columns in zip(*actions, strict=True)))


def _points_of(place: Floats, force: Floats, kind: Integers) -> Actions:
    return Actions(place, np.zeros(place.shape), force, np.ones(len(place), np.bool_), kind)


def ways_of(begin: Floats, way: Floats, force: Floats, kind: Integers) -> Actions:
    """Return forces along segments as `Actions`; none of them acts at a point."""
    return Actions(begin, way, force, np.zeros(len(begin), np.bool_), kind)
