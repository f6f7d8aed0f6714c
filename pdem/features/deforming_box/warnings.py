"""Warnings of a stress-driven box while a case runs, once each: walls that do not fit any more, runaway shear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.deformation import AXES
from pdem.engine.warn_once import warn_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.motion.box_servo import MeasuredStress
    from pdem.motion.moving_box import Rates

    Floats = NDArray[np.float64]

RUNAWAY = 1.0
"""Strain of a shear at the largest rate, with a tenth of the stress missing throughout, at which it counts as runaway.
Dense beds reach their largest stress after a strain of a few tenths."""

MISSING = 0.1
"""Missing fraction of a shear stress at the largest rate that counts towards a runaway."""


def warn_of_walls(system: System) -> None:
    """Warn once of each wall that does not reach from side to side of the box any more, or does not fit into it."""
    box, walls = system.box.moving, system.walls
    if box is None or walls is None:
        return
    half = 0.5 * np.array(box.at(system.progress.step).lengths)
    now, first = ((box.centre - half, box.centre + half), (box.centre - 0.5 * box.begin, box.centre + 0.5 * box.begin))
    for number, wall in enumerate(system.case.walls):
        there, begin = walls.extent(number), walls.first_extent(number)
        spans = (begin[0] <= first[0]) & (begin[1] >= first[1])
        beside = spans & ((there[0] > now[0]) | (there[1] < now[1]))
        outside = ~spans & ((there[0] < now[0]) | (there[1] > now[1])) & (begin[0] >= first[0]) & (begin[1] <= first[1])
        for axis in np.flatnonzero(np.array(box.periodic) & (beside | outside)).tolist():
            _warn_of_wall(system, wall.name, axis, [side[axis] for side in (*there, *now)], beside=bool(beside[axis]))


def _warn_of_wall(system: System, name: str, axis: int, sides: list[float], *, beside: bool) -> None:
    begin, end, low, high = sides
    where = f"{begin:.4g} to {end:.4g} m along {AXES[axis]}, and the box from {low:.4g} to {high:.4g} m"
    what = (
        "it no longer reaches from side to side: grains pass beside it; make it longer, which may be beyond the domain"
        if beside
        else "what is outside the box meets no grains; make it smaller, or end the stage before the box is so small"
    )
    text = f"wall {name}: at {system.progress.time:.6g} s it reaches from {where}: {what}"
    warn_once(system, f"wall {name} {AXES[axis]}", text)


def warn_of_runaway(system: System, measured: MeasuredStress, rates: Rates) -> None:
    """Warn once of a shear that has run at the largest rate for long without reaching its target stress."""
    box, drive = system.box.moving, system.box.drive
    wanted, largest = drive.targets.shear, drive.targets.largest_rate
    if box is None or not wanted:
        drive.runaway_from = None
        return
    sheared, sign = box.at(system.progress.step).shear, np.copysign(1.0, wanted)
    borne = float(measured.stress[3])
    slower = sign * rates.shear < (1.0 - 1e-9) * largest or sign * borne > (1.0 - MISSING) * abs(wanted)
    if slower or drive.runaway_from is None:
        drive.runaway_from = None if slower else sheared
        return
    if abs(sheared - drive.runaway_from) > RUNAWAY:
        _warn_of_shear(system, wanted, borne, float(measured.stress[box.gradient]))


def _warn_of_shear(system: System, wanted: float, borne: float, pressure: float) -> None:
    """Warn that a bed bears less than the target shear stress [Pa] under a pressure across the layers."""
    unit, rate = "Pa" if system.constants.dimension == 3 else "N/m", system.box.drive.targets.largest_rate
    text = (
        f"deformation: at {system.progress.time:.6g} s the box has sheared by {RUNAWAY:g} at largest_rate ({rate:.3g} "
        f"1/s), and bears {borne:.3g} {unit} of the shear stress of {wanted:.3g} {unit} that is wanted, under a "
        f"pressure of {pressure:.3g} {unit} across the layers: the grains flow, and bear no more at this rate; want "
        "less, give a shear rate in place of the stress, or a larger largest_rate if they shall flow faster"
    )
    warn_once(system, "box runaway", text)
