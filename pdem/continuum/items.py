"""What is shared among cells: particles, and what acts between them and at walls."""

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
        Number of the class that each belongs to.
    """

    position: Floats
    velocity: Floats
    mass: Floats
    size: Floats
    kind: Integers


class Actions(NamedTuple):
    """What acts along ways and at points.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        Where a way begins, and the way; zeros for forces at points [m].
    force : (n, 3) array
        [N].
    at_wall : (n,) bool array
        Whether it is the force of a wall at a point, and no way.
    kind : (n,) int64 array
        Number of the class.
    """

    begin: Floats
    way: Floats
    force: Floats
    at_wall: Booleans
    kind: Integers


def actions_of_contacts(
    centre: Floats, branch: Floats, force: Floats, is_pair: Booleans, kinds: Integers, point: Floats | None
) -> list[Actions]:
    """Return what acts in contacts: forces along branches, and those of walls on particles where branches end.

    Parameters
    ----------
    centre, branch, force : (n, 3) arrays
        Centre of the first body, way to the second or to the wall [m], force of the first on the second body [N].
    is_pair : (n,) bool array
        False at walls.
    kinds : (2, n) int64 array
        Classes of both bodies.
    point : (n, 3) array or None
        Places of contacts [m], where branches are divided between the classes of both bodies; None to leave them
        whole, with the class of the first.
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
    """Return some actions as one."""
    return Actions(*(np.concatenate(columns) for columns in zip(*actions, strict=True)))


def _points_of(place: Floats, force: Floats, kind: Integers) -> Actions:
    return Actions(place, np.zeros(place.shape), force, np.ones(len(place), np.bool_), kind)


def ways_of(begin: Floats, way: Floats, force: Floats, kind: Integers) -> Actions:
    """Return what acts along ways, none of it at points."""
    return Actions(begin, way, force, np.zeros(len(begin), np.bool_), kind)
