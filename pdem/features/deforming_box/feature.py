"""The drive of a deforming box as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pdem.case.columns import box_columns
from pdem.case.deformation import deforms
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.engine.named_events import NEVER
from pdem.features.deforming_box.events import begin_deformation, look_at_box, set_targets
from pdem.features.deforming_box.report import box_values
from pdem.motion.moving_box import EVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.sections.schema import CaseData
    from pdem.containers.particles import Particles
    from pdem.engine.box.drive import BoxDrive
    from pdem.engine.feature import Columns
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Floats
    from pdem.motion.moving_box import MovingBox
    from pdem.numerics.sums import ExactSums


class DeformingBox(Feature):
    """The drive of the box: the engine has its state, `pdem.engine.box`, and this feature chooses its rates.

    Parameters
    ----------
    box : MovingBox or None
        The box of the system, None if it does not deform.
    drive : BoxDrive or None
        Its present drive.
    """

    name, turn, needs_forces = "box", Turn.DEFORM, False
    energy_terms = (EnergyTerm("box_work", Role.SUPPLIED, summed=True),)

    def __init__(self, box: MovingBox | None = None, drive: BoxDrive | None = None) -> None:
        self._box, self._drive = box, drive

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the drive of the box of a case."""
        return cls(system.box.moving, system.box.drive)

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the name of the work of the box, nothing if it does not deform."""
        return ("box_work",) if deforms(case) else ()

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add the work of changes of rates, which is the same on every rank, on the first rank."""
        if self._box is not None and self._drive is not None and system.exchange.rank == 0:
            sums.add("box_work", np.array([self._drive.half_steps]))

    def particle_energies(self, system: System, columns: Particles | Columns) -> Mapping[str, Floats]:
        """Return the work of the box on the motion of each particle (n,) [J]."""
        return {"box_work": columns["box_work"]} if self._box is not None else {}

    @property
    def next_step(self) -> int:
        """Step of the next event of the box, `NEVER` if it has none."""
        box, drive = self._box, self._drive
        if box is None or drive is None:
            return NEVER
        if box.looked < 0:
            return 0
        steady = (box.wanted or box.state.rates).constant and not drive.targets.driven
        return NEVER if steady else (box.looked // EVERY + 1) * EVERY

    def act(self, system: System, phases: Phases) -> None:
        """Choose the rates of the next steps. Collective."""
        look_at_box(system)

    def enter_stage(self, system: System) -> None:
        """Set the targets of the deformation in the present stage. Collective."""
        set_targets(system)

    def change_stage(self, system: System) -> None:
        """Begin the deformation of the present stage, if it has one. Collective."""
        if system.stages.section.deformation is not None:
            begin_deformation(system)

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column. Collective."""
        return box_values(system)[name]

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of the box, none if it does not deform."""
        return list(box_columns(system.case))

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns. Collective."""
        return box_values(system)
