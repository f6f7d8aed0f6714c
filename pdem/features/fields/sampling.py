"""Continuum fields of the present state: particles and contacts of a rank, distributed to the cells of grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.continuum.items import Matter, actions_of_contacts, joined, ways_of
from pdem.continuum.moving_box import FieldFrame, MovingImages
from pdem.continuum.sums import MASS, SIZE, Rooms, field_sums
from pdem.engine.views.acting_contacts import acting_on_walls, acting_parts, counted_ways
from pdem.engine.views.bodies import bodies_of, sizes_of
from pdem.engine.views.pair_forces import feature_pair_forces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.containers.particles import Particles
    from pdem.continuum.grid import Grid
    from pdem.continuum.items import Actions
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.features.fields.averages import FieldAverage
    from pdem.foundation.array_types import Floats

    Present = tuple[Matter, list[Actions]]


def take_samples(system: System, due: Sequence[FieldAverage], rooms: Rooms) -> None:
    """Take samples of the present step. Collective, with columns that are up to date."""
    present = {split: _present(system, split=split) for split in {len(one.materials) > 0 for one in due}}
    for one in due:
        split = len(one.materials) > 0
        grid = followed(system, one.grid)
        one.add(present_sums(system, grid, len(one.materials), rooms, present[split]), system.progress.step, grid)


def followed(system: System, grid: Grid) -> Grid:
    """Return a grid of the box at time 0 in the present box, if the box deforms."""
    box = system.box.moving
    if box is None:
        return grid
    begin = FieldFrame.of_lengths(box.centre - 0.5 * box.begin, box.begin)
    return begin.follow(grid, present_frame(system))


def present_frame(system: System) -> FieldFrame:
    """Return the corners of the box at the present step; along open axes the corners of the domain."""
    domain, box = system.case.domain, system.box.moving
    if box is None:
        return FieldFrame(np.array(domain.lower), np.array(domain.upper))
    lengths = np.array(box.at(system.progress.step).lengths)
    return FieldFrame.of_lengths(box.centre - 0.5 * lengths, lengths)


def present_sums(system: System, grid: Grid, materials: int, rooms: Rooms, present: Present | None = None) -> Floats:
    """Return the sums (classes, cells, SUMS) of the present state over the cells of a grid. Collective.

    Parameters
    ----------
    system : System
        State of this rank.
    grid : Grid
        The cells.
    materials : int
        Number of materials with fields of their own; 0 for the whole alone.
    rooms : Rooms
        Work arrays.
    present : (Matter, list of Actions), optional
        Particles and forces of this rank, if they have been computed before.
    """
    classes = max(materials, 1)
    sums = _spread(system, grid, classes, rooms, *(present or _present(system, split=materials > 0)))
    if system.case.heat is None:
        return sums
    heat = _spread(system, grid, classes, Rooms(), _heat_of(system), [])  # other rooms: `sums` is a view of these
    return np.concatenate((sums, heat[:, :, [MASS, SIZE]]), axis=2)


def _spread(
    system: System, grid: Grid, classes: int, rooms: Rooms, matter: Matter, actions: list[Actions]
) -> Floats:  # fmt: skip
    """Return the sums (classes, cells, SUMS) of items of this rank over the cells of a grid. Collective."""
    period, box = system.constants.period, system.box.moving
    if box is not None:
        images = MovingImages(box.shape(system.progress.step), box.image_velocities(system.progress.step))
        period, matter, actions = images.repeated(grid, matter, actions)
    return field_sums(grid, period, classes, matter, actions, system.exchange, rooms)


def _heat_of(system: System) -> Matter:
    """Return the spheres of this rank with their heat as mass, and their heat capacity as size."""
    own, capacity = system.particles, system.particles["heat_capacity"]
    still, kind = np.zeros((own.count, 3)), own.material.astype(np.int64)
    return Matter(own.position, still, capacity * own["temperature"], capacity, kind)


def _present(system: System, *, split: bool) -> Present:
    """Return particles, and the forces of contacts that this rank counts, split by material or not. Collective."""
    matter = _matter_of(system)
    if split:
        parts = [part.of_this_rank for part in acting_parts(system)]
        actions = [action for part in parts for action in _actions_of(system.particles, part, split=True)]
        return matter, [*actions, *_actions_of_features(system, split=True)]
    centre, branch, force = counted_ways(system)
    ways, walls = ways_of(centre, branch, force, np.zeros(len(force), np.int64)), acting_on_walls(system)
    actions = [ways, *_actions_of_features(system, split=False)]
    # few forces at walls are one part with their ways: each part takes as long as some hundred contacts to begin with
    return matter, [*actions, *([] if walls is None else [joined(_actions_of(system.particles, walls, split=False))])]


def _actions_of_features(system: System, *, split: bool) -> list[Actions]:
    """Return the pair forces of features that this rank counts; split branches change their class in the middle."""
    pairs = feature_pair_forces(system)
    if pairs is None:
        return []
    if not split:
        return [ways_of(pairs.centre, pairs.branch, pairs.force, np.zeros(len(pairs.force), np.int64))]
    material = system.particles.column("material").astype(np.int64)
    halves, middle = 0.5 * pairs.branch, pairs.centre + 0.5 * pairs.branch
    return [
        ways_of(pairs.centre, halves, pairs.force, material[pairs.first]),
        ways_of(middle, halves, pairs.force, material[pairs.second]),
    ]


def _matter_of(system: System) -> Matter:
    bodies = bodies_of(system)
    size = sizes_of(bodies.radius, system.constants.dimension)
    return Matter(bodies.position, bodies.velocity, bodies.mass, size, bodies.material.astype(np.int64))


def _actions_of(particles: Particles, contacts: ActingContacts, *, split: bool) -> list[Actions]:
    kinds, point = np.zeros((2, len(contacts.first)), np.int64), None
    if split:
        material, point = particles.column("material"), contacts.point
        kinds[0], kinds[1] = material[contacts.first], material[contacts.second]  # not used for walls
    return actions_of_contacts(
        contacts.centre, contacts.branch, contacts.force, contacts.is_pair, kinds, point
    )  # fmt: skip
