"""A box that deforms, between steps: how fast it shall go on. Its state in checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import AXES, deformation_in, deforms, shear_axes
from pdem.containers.box_shape import UPRIGHT
from pdem.motion.moving_box import EVERY, REST, BoxState, MovingBox, Rates
from pdem.simulation.insertion_source import NEVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.simulation.setup import Constants
    from pdem.simulation.system import System

BOX = "box"
"""Name of the group of a checkpoint with the state of a box that deforms."""


def box_of(case: Case, constants: Constants) -> MovingBox | None:
    """Return the box of a case that deforms, as it is at time 0; None for other cases."""
    if not deforms(case):
        return None
    domain, axes = case.domain, shear_axes(case) or (UPRIGHT, UPRIGHT)
    box = MovingBox(domain.lower, domain.upper, domain.periodic, constants.step, *axes)
    box.set_limits(constants.lowest, constants.highest)
    return box


def next_box_step(system: System) -> int:
    """Return the step of the next event of the box, `NEVER` if it has none."""
    box = system.moving_box
    if box is None:
        return NEVER
    if box.looked < 0:
        return 0
    return NEVER if (box.wanted or box.state.rates).constant else (box.looked // EVERY + 1) * EVERY


def set_rates(system: System) -> None:
    """Choose by which rates the box goes on from the next step, as the present stage says."""
    box = system.moving_box
    if box is None:
        return
    wanted = deformation_in(system.case, system.stages.present if system.stages.sections else -1)
    strain = [0.0 if axis not in wanted.axes else wanted.axes[axis].strain_rate for axis in AXES]
    rates = Rates((strain[0], strain[1], strain[2]), 0.0 if wanted.shear is None else wanted.shear.rate)
    box.looked = system.step
    box.wanted = rates if rates != box.state.rates or not rates.constant else None


def box_group(system: System) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the group of a checkpoint for the box, empty if it does not deform; the same on every rank."""
    box = system.moving_box
    if box is None:
        return {}
    state, wanted = box.state, box.wanted
    columns: dict[str, Any] = {
        "step": state.step, "lengths": state.lengths, "speeds": state.speeds, "offset": state.offset,
        "offset_speed": state.offset_speed, "shear": state.shear, "rates": _row(state.rates), "begin": box.begin,
        "looked": box.looked, "changes": wanted is not None, "wanted": _row(wanted or REST),
    }  # fmt: skip
    return {BOX: {name: np.array([value]) for name, value in columns.items()}}


def load_box(system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
    """Set the state of the box from the group of a checkpoint; where it has none the box begins to deform now."""
    box = system.moving_box
    if box is None or BOX not in groups:
        return
    stored = {name: column[0] for name, column in groups[BOX].items()}
    box.begin, box.looked = stored["begin"].copy(), int(stored["looked"])
    box.wanted = _rates(stored["wanted"]) if stored["changes"] else None
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
