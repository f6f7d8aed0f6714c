"""Forces on single particles besides contacts and gravity, as a feature of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pdem.engine.blow_up import OF_FEATURE
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.features.external_forces.array import FIELDS, kick_by_array
from pdem.features.external_forces.forces import ForcesOfRun
from pdem.features.external_forces.kernels import NONE_BAD
from pdem.features.external_forces.kicks import TERM, add_to_carried, kick_by_forces
from pdem.features.external_forces.parameters import forces_of, has_array
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.engine.feature_set import Features
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.system import System
    from pdem.foundation.fields import Field

SCRIPT = "script_forces"
"""Column of the counters of a checkpoint that identifies the forces of a script."""


class ExternalForces(Feature):
    """Force functions of a case and of a script, and forces that a script sets for each particle.

    Attributes
    ----------
    own : ForcesOfRun
        Functions that return a force.
    has_array : bool
        Whether a script sets forces and drags for each particle.
    """

    name, turn = "forces", Turn.MEASURE
    energy_terms = (EnergyTerm(TERM, Role.SUPPLIED, summed=True, before="box_work"),)

    fields = FIELDS

    def __init__(self, own: ForcesOfRun | None = None, *, has_array: bool = False) -> None:
        self.own, self.has_array = ForcesOfRun() if own is None else own, has_array

    @classmethod
    def fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return the fields of external forces, for a case with an array among its forces."""
        return cls.fields if has_array(case) else ()

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the force functions of a case; a script may add further ones.

        Raises
        ------
        CaseError
            See `pdem.features.external_forces.parameters.forces_of`.
        """
        return cls(ForcesOfRun(forces_of(system.case)), has_array=has_array(system.case))

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the term of the work of forces, if a case has any."""
        return (TERM,) if case.forces else ()

    def present_terms(self, system: System) -> tuple[str, ...]:
        """Return the term of the work of forces, if case or script have any."""
        return (TERM,) if self.kicks else ()

    def before_steps(self, system: System) -> None:
        """Require the forces of the script of a run that is continued.

        Raises
        ------
        InputError
            If they have not been added again, or differ.
        """
        self.own.check_given()

    @property
    def kicks(self) -> bool:
        """Whether there is any force."""
        return self.has_array or self.own.all is not None

    def half_kick(self, system: System, time: float, half: float, *, begins: bool) -> None:
        """Apply all forces for a time `half` [s] at a `time` [s], and add their work to the energy balance."""
        if self.own.all is not None:
            kick_by_forces(system, self.own, time, half)
        if self.has_array:
            bad = kick_by_array(system, time, half, begins, self.own.scratch(threads()))
            self.own.worst = min(self.own.worst, bad)
        self._record(system.progress, system.features)

    def load_carriers(self, system: System, dt: float) -> None:
        """Add the force functions to the sums of the forces on particles that carriers move."""
        add_to_carried(system, self.own, dt)
        self._record(system.progress, system.features)

    def _record(self, progress: RunProgress, features: Features) -> None:
        """Record an error if a force was not finite."""
        worst = self.own.take_worst()
        if worst != NONE_BAD:
            progress.record_error(OF_FEATURE, worst, features.place(self))

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message on a force that is not finite."""
        own = () if self.own.all is None else self.own.all.forces
        if not own:
            return (
                f"external_force, external_drag and fluid_velocity give {particle} a velocity that is not finite"
                f"{speed}, or the drag is negative; give finite numbers, and drags from 0 on"
            )
        names = ", ".join(["external_force", *(one.name for one in own)][not self.has_array :])
        return (
            f"the own force on {particle} is not finite{speed}; mend the function ({names}), or reduce time.step if "
            "its force is stiff"
        )

    def counters(self, system: System) -> dict[str, NDArray[Any]]:
        """Return the identities of the forces of a script, empty without any."""
        identities = self.own.identities
        return {SCRIPT: identities} if len(identities) else {}

    def load(self, system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Read the identities of the forces of the script that wrote a checkpoint."""
        self.own.expected = groups["counters"].get(SCRIPT, self.own.expected)
