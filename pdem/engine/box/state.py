"""The state of a deforming box: at time 0 by its case, and in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import deforms, shear_axes
from pdem.case.groups.group_sizes import largest_cluster_reach
from pdem.containers.box_shape import UPRIGHT
from pdem.motion.box_servo import Memory
from pdem.motion.moving_box import REST, BoxState, MovingBox, Rates
from pdem.preflight.restart_box import box_would_rest, check_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.engine.parts.system_box import SystemBox
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats

BOX = "box"
"""Name of the group of a checkpoint with the state of a deforming box."""


def box_of(case: Case, constants: Constants) -> MovingBox | None:
    """Return the deforming box of a case at time 0; None if the box does not deform."""
    if not deforms(case):
        return None
    domain, axes = case.domain, shear_axes(case) or (UPRIGHT, UPRIGHT)
    reach = largest_cluster_reach(case)
    return MovingBox(domain.lower, domain.upper, domain.periodic, constants.time_step.dt, *axes, reach)


def box_group(box: SystemBox) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for the box, empty if it does not deform; the same on every rank."""
    moving = box.moving
    if moving is None:
        return {}
    state, wanted, drive = moving.state, moving.wanted, box.drive
    columns: dict[str, Any] = {
        "step": state.step, "lengths": state.lengths, "speeds": state.speeds, "offset": state.offset,
        "offset_speed": state.offset_speed, "shear": state.shear, "rates": _row(state.rates), "begin": moving.begin,
        "looked": moving.looked, "changes": wanted is not None, "wanted": _row(wanted or REST),
        "grain": drive.grain, "mean_stress": drive.memory.stress, "lacking": drive.memory.lacking,
        "mean_resistance": drive.memory.resistance, "half_steps": drive.half_steps,
        "velocity_axis": moving.velocity, "gradient_axis": moving.gradient,
    }  # fmt: skip
    return {BOX: {name: np.array([value]) for name, value in columns.items()}}


def load_box(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Set the state of the box from the group of a checkpoint; without a group the box begins to deform now.

    Raises
    ------
    CaseError
        If the box of the case does not deform, or leans along different axes than the box of the checkpoint.
    """
    box = system.box.moving
    if not len(groups.get(BOX, {}).get("offset", ())):
        return
    stored = {name: column[0] for name, column in groups[BOX].items()}
    if box is None:
        raise box_would_rest()
    check_axes(stored, (box.velocity, box.gradient))
    box.begin, box.looked = stored["begin"].copy(), int(stored["looked"])
    box.wanted = _rates(stored["wanted"]) if stored["changes"] else None
    diameter, density = stored["grain"].tolist()
    memory, half_steps = Memory(), float(stored.get("half_steps", 0.0))
    if "mean_stress" in stored:  # earlier versions stored less of the servo's memory, or nothing
        means = tuple(stored["mean_stress"].tolist())
        lacking = tuple(stored["lacking"].tolist()) if "lacking" in stored else Memory().lacking
        memory = Memory(means, lacking, float(stored["mean_resistance"]))
    system.box.drive.resume((diameter, density), memory, half_steps)
    box.load_state(
        BoxState(
            int(stored["step"]), stored["lengths"].tolist(), stored["speeds"].tolist(), float(stored["offset"]),
            float(stored["offset_speed"]), float(stored["shear"]), _rates(stored["rates"]),
        )
    )  # fmt: skip


def _row(rates: Rates) -> Floats:
    return np.array([*rates.strain, rates.shear])


def _rates(row: Floats) -> Rates:
    x, y, z, shear = row.tolist()
    return Rates((x, y, z), shear)
