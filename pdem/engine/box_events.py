"""A box that deforms, between steps: how fast it shall go on. Its state in checkpoints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import AXES, deformation_in, deforms, free_axes, shear_axes
from pdem.case.groups.group_sizes import largest_cluster_reach
from pdem.containers.box_shape import UPRIGHT
from pdem.engine.box_stress import mean_grain, measured_stress
from pdem.engine.box_warnings import warn_of_runaway, warn_of_walls
from pdem.engine.named_events import NEVER
from pdem.motion.box_servo import Memory, Targets, chosen_rates, inertial_rate
from pdem.motion.moving_box import EVERY, REST, BoxState, MovingBox, Rates
from pdem.preflight.restart_box import box_would_rest, check_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.sections.deformation import Deformation
    from pdem.case.sections.schema import CaseData
    from pdem.engine.setup import Constants
    from pdem.engine.system import System

BOX = "box"
"""Name of the group of a checkpoint with the state of a box that deforms."""


def box_of(case: Case, constants: Constants) -> MovingBox | None:
    """Return the box of a case that deforms, as it is at time 0; None for other cases."""
    if not deforms(case):
        return None
    domain, axes = case.domain, shear_axes(case) or (UPRIGHT, UPRIGHT)
    reach = largest_cluster_reach(case)
    return MovingBox(domain.lower, domain.upper, domain.periodic, constants.step, *axes, reach)


def next_box_step(system: System) -> int:
    """Return the step of the next event of the box, `NEVER` if it has none."""
    box = system.moving_box
    if box is None:
        return NEVER
    if box.looked < 0:
        return 0
    steady = (box.wanted or box.state.rates).constant and not system.box_drive.targets.driven
    return NEVER if steady else (box.looked // EVERY + 1) * EVERY


def set_targets(system: System) -> None:
    """Take note of what shall become of the box in the present stage. Collective."""
    box = system.moving_box
    if box is None:
        return
    case, drive = system.case, system.box_drive
    wanted = deformation_in(case, system.stages.present if system.stages.sections else -1)
    drive.targets = targets_of(case, wanted)
    if drive.targets.driven:
        drive.grain = drive.grain if any(drive.grain) else mean_grain(system)
        slow, largest = inertial_rate(drive.targets.stresses, *drive.grain), drive.targets.largest_rate
        largest = slow if math.isinf(largest) else largest
        drive.targets = drive.targets._replace(largest_rate=largest, pace=min(slow, largest))


def targets_of(case: CaseData, wanted: Deformation) -> Targets:
    """Return what shall become of the box of a case by one of its deformations."""
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
    """Choose by which rates the box goes on from the next step, by the stress of this one. Collective."""
    box, drive = system.moving_box, system.box_drive
    if box is None:
        return
    rates = drive.targets.rates
    if drive.targets.driven:
        measured = measured_stress(system)
        rates, drive.memory = chosen_rates(drive.targets, measured, system.dimension, box.dt, drive.memory)
        drive.half_steps += _half_step(box, measured.delivered, rates, system.step)
        warn_of_runaway(system, measured, rates)
        warn_of_walls(system)
    _go_on(box, rates, system.step)


def _half_step(box: MovingBox, delivered: NDArray[np.float64], rates: Rates, step: int) -> float:
    """Return what forces deliver in half a step at other rates, beyond what they do at the present ones [J]."""
    flow = box.gradient_at(step)
    present = [*np.diag(flow).tolist(), float(flow[box.velocity, box.gradient]) if box.gradient >= 0 else 0.0]
    each = zip(delivered.tolist(), (*rates.strain, rates.shear), present, strict=True)
    return 0.5 * box.dt * math.fsum(work * (rate - before) for work, rate, before in each)


def begin_deformation(system: System) -> None:
    """Let the box deform as a stage says that begins; what stress drives goes on as before until the next look."""
    set_targets(system)
    box, targets = system.moving_box, system.box_drive.targets
    if box is None:
        return
    if not targets.driven:
        system.box_drive.memory = Memory()
    before, strain = box.state.rates, list(targets.rates.strain)
    for axis in (*(axis for axis, _ in targets.axes), *targets.free):
        strain[axis] = before.strain[axis]
    shear = targets.rates.shear if targets.shear is None else before.shear
    _go_on(box, Rates((strain[0], strain[1], strain[2]), shear), system.step)


def _go_on(box: MovingBox, rates: Rates, step: int) -> None:
    box.looked = step
    box.wanted = rates if rates != box.state.rates or not rates.constant else None


def box_group(system: System) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for the box, empty if it does not deform; the same on every rank."""
    box = system.moving_box
    if box is None:
        return {}
    state, wanted, drive = box.state, box.wanted, system.box_drive
    columns: dict[str, Any] = {
        "step": state.step, "lengths": state.lengths, "speeds": state.speeds, "offset": state.offset,
        "offset_speed": state.offset_speed, "shear": state.shear, "rates": _row(state.rates), "begin": box.begin,
        "looked": box.looked, "changes": wanted is not None, "wanted": _row(wanted or REST),
        "grain": drive.grain, "mean_stress": drive.memory.stress, "lacking": drive.memory.lacking,
        "mean_resistance": drive.memory.resistance, "half_steps": drive.half_steps,
        "velocity_axis": box.velocity, "gradient_axis": box.gradient,
    }  # fmt: skip
    return {BOX: {name: np.array([value]) for name, value in columns.items()}}


def load_box(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Set the state of the box from the group of a checkpoint; where it has none the box begins to deform now.

    Raises
    ------
    CaseError
        If the box of the case would not deform, or lean along other axes than that of the checkpoint.
    """
    box = system.moving_box
    if not len(groups.get(BOX, {}).get("offset", ())):
        return
    stored = {name: column[0] for name, column in groups[BOX].items()}
    if box is None:
        raise box_would_rest()
    check_axes(stored, (box.velocity, box.gradient))
    box.begin, box.looked = stored["begin"].copy(), int(stored["looked"])
    box.wanted = _rates(stored["wanted"]) if stored["changes"] else None
    diameter, density = stored["grain"].tolist()
    system.box_drive.grain = diameter, density
    if "mean_stress" in stored:  # earlier versions kept less from look to look, or nothing
        means = tuple(stored["mean_stress"].tolist())
        lacking = tuple(stored["lacking"].tolist()) if "lacking" in stored else Memory().lacking
        system.box_drive.memory = Memory(means, lacking, float(stored["mean_resistance"]))
    if "half_steps" in stored:
        system.box_drive.half_steps = float(stored["half_steps"])
    box.adopt(
        BoxState(
            int(stored["step"]), stored["lengths"].tolist(), stored["speeds"].tolist(), float(stored["offset"]),
            float(stored["offset_speed"]), float(stored["shear"]), _rates(stored["rates"]),
        )
    )  # fmt: skip


def _row(rates: Rates) -> NDArray[np.float64]:
    return np.array([*rates.strain, rates.shear])


def _rates(row: NDArray[np.float64]) -> Rates:
    x, y, z, shear = row.tolist()
    return Rates((x, y, z), shear)
