"""How the box of a run is driven at present."""

from __future__ import annotations

from dataclasses import dataclass, field

from pdem.contact.pairs.box_sums import BoxSums
from pdem.motion.box_servo import Memory, Targets
from pdem.motion.moving_box import REST


@dataclass
class BoxDrive:
    """How the box of a run is driven at present.

    Attributes
    ----------
    targets : Targets
        What shall become of it.
    sums : BoxSums
        What contacts of the last step have done to it, if it was looked at.
    grain : tuple of 2 float
        Mean diameter by mass [m] and mean density [kg/m^3] of the grains at the begin of the run; zeros before.
    memory : Memory
        What the servo keeps from look to look.
    half_steps : float
        What the ledger of the energy lacks of the work of the box, for all changes of its rates so far [J]: contacts
        count it for whole steps at the rates before, and forces act for half a step before and half a step after.
    runaway_from : float or None
        Shear strain from which on the box has sheared at the largest rate, without the stress that is wanted.
    """

    targets: Targets = field(default_factory=lambda: Targets(REST))
    sums: BoxSums = field(default_factory=BoxSums.none)
    grain: tuple[float, float] = (0.0, 0.0)
    memory: Memory = field(default_factory=Memory)
    half_steps: float = 0.0
    runaway_from: float | None = None

    def resume(self, grain: tuple[float, float], memory: Memory, half_steps: float) -> None:
        """Go on from the state of a checkpoint."""
        self.grain, self.memory, self.half_steps = grain, memory, half_steps

    def forget(self) -> None:
        """Begin with the next look of the servo as if there had been none."""
        self.memory = Memory()
