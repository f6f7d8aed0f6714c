"""Stress of particles, contacts and features on a box that deforms by it: exact sums over all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.box_sums import BOX_SUMS, NO_LIMBS, BoxSums
from pdem.engine.box.feature_stress import products, rows_of_features
from pdem.engine.views.bodies import bodies_of, sizes_of
from pdem.engine.views.stress import added
from pdem.engine.walls.wall_output import measured_walls
from pdem.foundation import exact_math
from pdem.motion.box_kicks import write_kinetic
from pdem.motion.box_servo import GAS, MeasuredStress
from pdem.motion.moving_box import EVERY
from pdem.numerics.sums import LIMBS, ExactSums, normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.contact.walls.storage import ActingOnWalls
    from pdem.engine.parts.system_box import SystemBox
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats
    from pdem.motion.moving_box import MovingBox

_NAMES = tuple(str(number) for number in range(BOX_SUMS))
_MOTION = tuple(str(number) for number in range(8))


def ways_of(box: MovingBox, driven: Floats) -> Floats:
    """Return the modes of deformation of a box (4, 7), as in `BoxSums`."""
    ways = np.zeros((4, 7))
    ways[:3, :3] = ways[:3, 3:6] = np.eye(3)
    if box.gradient >= 0:
        ways[3, box.velocity] = ways[3, 3 + box.gradient] = 1.0
    ways[:, 6] = driven
    return ways


def begin_box_sums(system: System) -> None:
    """Before contacts are evaluated: make room for their sums, if the servo acts at this step."""
    box, drive = system.box.moving, system.box.drive
    looked_at = drive.targets.driven and system.progress.step % EVERY == 0
    if box is None or not looked_at:
        end_box_sums(system.box)
        return
    limbs = np.zeros((system.contacts.pairs.workers, BOX_SUMS, LIMBS), np.int64)
    drive.sums = BoxSums(ways_of(box, drive.targets.strains), limbs)


def end_box_sums(box: SystemBox) -> None:
    """Before contacts are evaluated in steps without an action of the servo: switch the sums off."""
    drive = box.drive
    if drive.sums.limbs is not NO_LIMBS:
        drive.sums = drive.sums._replace(limbs=NO_LIMBS)


def measured_stress(system: System) -> MeasuredStress:
    """Return stress and resistance of all particles, in a step with sums over contacts. Collective.

    The energy that the box delivers is without the forces of features, since features count the work on them.
    """
    box, sums = system.box.moving, system.box.drive.sums
    assert box is not None
    of_contacts = ExactSums(_NAMES)
    for limbs in sums.limbs:
        normalise(limbs)
        of_contacts.limbs += limbs
    along, across, driven = sums.ways[:, :3], sums.ways[:, 3:6], sums.ways[:, 6]
    of_motion, of_others, of_walls = ExactSums(_MOTION), ExactSums(_NAMES[:4]), ExactSums(_NAMES[:4])
    of_features = ExactSums(_NAMES)
    of_motion.add_rows(_MOTION, _kinetic(system, along, across))
    contacts = measured_walls(system)
    walls = None if contacts is None else contacts.acting()
    for force, branch in _others(system, walls):
        of_others.add_rows(_NAMES[:4], products(force, branch, along, across))
    if walls is not None:
        of_walls.add_rows(_NAMES[:4], products(walls.force, walls.point - box.centre, along, across))
    for rows in rows_of_features(system, sums.ways):
        of_features.add_rows(_NAMES, rows)
    parts = of_contacts, of_motion, of_others, of_walls, of_features
    for one in parts:
        one.normalise()
    joined = np.concatenate([one.limbs for one in parts])
    names = [str(number) for number in range(len(joined))]
    total = np.array(list(ExactSums(names, system.exchange.add(joined)).values().values()))
    volume = box.volume(system.progress.step, system.constants.dimension)
    mass, momentum = total[BOX_SUMS + 4], total[BOX_SUMS + 5 : BOX_SUMS + 8]
    moved = exact_math.matmul(along, momentum) * exact_math.matmul(across, momentum)
    motion = total[BOX_SUMS : BOX_SUMS + 4] - moved / (mass or 1.0)
    acting, by_features = total[:4] + total[BOX_SUMS + 8 : BOX_SUMS + 12], total[-BOX_SUMS:]
    stress = (acting + by_features[:4] + motion) / volume
    stress[3] *= -1.0
    modulus = (total[4] + by_features[4] + GAS * float(exact_math.inner(np.abs(motion), driven))) / volume
    delivered = -acting - total[BOX_SUMS + 12 : BOX_SUMS + 16]
    return MeasuredStress(stress, modulus, (total[5] + by_features[5]) / volume, delivered)


def _kinetic(system: System, along: Floats, across: Floats) -> Floats:
    """Return the parts of the kinetic stress times the volume [J], mass [kg] and momentum of each body (8, n)."""
    bodies, box = bodies_of(system), system.box.moving
    assert box is not None
    rows = np.empty((8, len(bodies.mass)))
    ways = np.stack((along.argmax(axis=1), across.argmax(axis=1)), axis=1)
    flow = box.gradient_at(system.progress.step)
    write_kinetic(bodies.mass, bodies.position, bodies.velocity, box.centre, flow, ways, rows)
    rows[:4][~along.any(axis=1)] = 0.0
    return rows


def _others(system: System, walls: ActingOnWalls | None) -> Iterator[tuple[Floats, Floats]]:
    """Yield forces and branches (n, 3) of contacts with walls, and of members to the centres of their clusters."""
    own = system.particles
    if walls is not None:
        yield -walls.force, walls.point - own.position[walls.particle]
    if system.clusters is not None:
        table, member = system.clusters.table, np.flatnonzero(own.cluster)
        centre = table.position[table.rows_of(own.cluster[member])]
        arm = system.constants.shape.nearest(own.position[member] - centre)
        yield -own.force[member], arm


def mean_grain(system: System) -> tuple[float, float]:
    """Return mean diameter by mass [m] and mean density [kg/m^3] (discs: [kg/m^2]) of all particles. Collective."""
    bodies = bodies_of(system)
    radius, mass = bodies.radius, bodies.mass
    whole, widths, solid = added(
        system, np.array([mass, 2.0 * mass * radius, sizes_of(radius, system.constants.dimension)])
    ).tolist()
    return (widths / whole, whole / solid) if whole > 0.0 else (1.0, 1.0)
