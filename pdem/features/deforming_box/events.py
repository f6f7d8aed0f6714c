"""Rates of a deforming box, chosen between steps, and its state in checkpoints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.deformation import AXES, deformation_in, free_axes
from pdem.engine.box.stress import mean_grain, measured_stress
from pdem.features.deforming_box.warnings import warn_of_runaway, warn_of_walls
from pdem.motion.box_servo import Targets, chosen_rates, inertial_rate
from pdem.motion.moving_box import MovingBox, Rates

if TYPE_CHECKING:
    from pdem.case.sections.deformation import Deformation
    from pdem.case.sections.schema import CaseData
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats


def set_targets(system: System) -> None:
    """Set the targets of the deformation in the present stage. Collective."""
    box = system.box.moving
    if box is None:
        return
    case, drive = system.case, system.box.drive
    wanted = deformation_in(case, system.stages.present if system.stages.sections else -1)
    drive.targets = targets_of(case, wanted)
    if drive.targets.driven:
        drive.grain = drive.grain if any(drive.grain) else mean_grain(system)
        slow, largest = inertial_rate(drive.targets.stresses, *drive.grain), drive.targets.largest_rate
        largest = slow if math.isinf(largest) else largest
        drive.targets = drive.targets._replace(largest_rate=largest, pace=min(slow, largest))


def targets_of(case: CaseData, wanted: Deformation) -> Targets:
    """Return the targets of the box of a case for one of its deformations."""
    strain, axes = [0.0, 0.0, 0.0], []
    for name, one in wanted.axes.items():
        if one.stress is not None:
            axes.append((AXES.index(name), one.stress))
        strain[AXES.index(name)] = one.strain_rate or 0.0
    shear = wanted.shear
    return Targets(
        Rates((strain[0], strain[1], strain[2]), 0.0 if shear is None else shear.rate or 0.0), tuple(axes),
        wanted.mean_stress, free_axes(case, wanted) if wanted.mean_stress is not None else (),
        None if shear is None else shear.stress, wanted.largest_rate or math.inf,
    )  # fmt: skip


def look_at_box(system: System) -> None:
    """Choose the rates of the box from the next step on, by the stress of this step. Collective."""
    box, drive = system.box.moving, system.box.drive
    if box is None:
        return
    rates = drive.targets.rates
    if drive.targets.driven:
        measured = measured_stress(system)
        rates, drive.memory = chosen_rates(drive.targets, measured, system.constants.dimension, box.dt, drive.memory)
        drive.half_steps += _half_step(box, measured.delivered, rates, system.progress.step)
        warn_of_runaway(system, measured, rates)
        warn_of_walls(system)
    _go_on(box, rates, system.progress.step)


def _half_step(box: MovingBox, delivered: Floats, rates: Rates, step: int) -> float:
    """Return the work of forces in half a step at new rates, less their work at the present rates [J]."""
    flow = box.gradient_at(step)
    present = [*np.diag(flow).tolist(), float(flow[box.velocity, box.gradient]) if box.gradient >= 0 else 0.0]
    each = zip(delivered.tolist(), (*rates.strain, rates.shear), present, strict=True)
    return 0.5 * box.dt * math.fsum(work * (rate - before) for work, rate, before in each)


def begin_deformation(system: System) -> None:
    """Begin the deformation of a stage; rates that stress drives stay as they were until the servo acts next."""
    set_targets(system)
    box, targets = system.box.moving, system.box.drive.targets
    if box is None:
        return
    if not targets.driven:
        system.box.drive.forget()
    before, strain = box.state.rates, list(targets.rates.strain)
    for axis in (*(axis for axis, _ in targets.axes), *targets.free):
        strain[axis] = before.strain[axis]
    shear = targets.rates.shear if targets.shear is None else before.shear
    _go_on(box, Rates((strain[0], strain[1], strain[2]), shear), system.progress.step)


def _go_on(box: MovingBox, rates: Rates, step: int) -> None:
    box.looked = step
    box.wanted = rates if rates != box.state.rates or not rates.constant else None
