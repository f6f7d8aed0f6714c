"""The present drive of a deforming box."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdem.contact.pairs.box_sums import BoxSums
from pdem.motion.box_servo import Memory, Targets
from pdem.motion.moving_box import REST


@dataclass
class BoxDrive:
    """The present drive of the box of a run.

    Attributes
    ----------
    targets : Targets
        Rates and stresses that the box shall reach.
    sums : BoxSums
        Sums over the contacts of the last step, if the servo acts at it.
    grain : tuple of 2 float
        Mean diameter by mass [m] and mean density [kg/m^3] of particles at the begin of the run; zeros before.
    memory : Memory
        State of the servo between two of its actions.
    half_steps : float
        Correction of the work of the box for all changes of its rates so far [J]: contacts count the work for whole
        steps at the rates before, and forces act for half a step before and half a step after a change.
    runaway_from : float or None
        Shear strain from which on the box has sheared at the largest rate without reaching the target stress.
    """

    targets: Targets = field(default_factory=lambda: Targets(REST))
    sums: BoxSums = field(default_factory=BoxSums.none)
    grain: tuple[float, float] = (0.0, 0.0)
    memory: Memory = field(default_factory=Memory)
    half_steps: float = 0.0
    runaway_from: float | None = None

    def resume(self, grain: tuple[float, float], memory: Memory, half_steps: float) -> None:
        """Continue from the state of a checkpoint."""
        self.grain, self.memory, self.half_steps = grain, memory, half_steps

    def forget(self) -> None:
        """Begin with the next look of the servo as if there had been none."""
        self.memory = Memory()
