"""``[[stages]]``: a run in named parts, which end by time or by a condition, with changes at the start of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import create_model

from pdem.case.sections.base import Name, NotNegative, Positive, Section, Vector, entry
from pdem.case.sections.deformation import Deformation
from pdem.case.sections.gravity import GravityTable


class UntilKeys(Section):
    """``until``: ends a stage when a quantity has been below or above a value for some time."""

    quantity: Name = entry(
        '`"kinetic_energy_per_particle"` (J), `"contacts_per_particle"`, `"particles"`, `"mass"` (kg); what has '
        'left the domain, `"left"`, `"left_mass"` (kg), `"left_-z"`, ...; or a column of the series of a wall, a '
        'fixed group, a sensor or an insertion: `"piston_load"` (N), `"gate_force_z"` (N), `"bed_mass"` (kg); with '
        'a box that deforms also `"solid_fraction"`, `"shear_strain"`, `"stress_xx"` (Pa), `"pressure"` (Pa). '
        "Without particles the first two are no numbers, and no condition on them holds."
    )
    below: float | None = entry(
        "The condition holds while the quantity is less, in its unit. Exactly one of `below` and `above` is given.",
        default=None,
    )
    above: float | None = entry("The condition holds while the quantity is greater, in its unit.", default=None)
    latest: Positive | None = entry(
        "Time at which the stage ends even if the condition is not met, in s after its beginning, with a warning. "
        "By default the stage continues until `time.end`.",
        default=None,
        unit="s",
    )
    every: Positive | None = entry(
        "Interval at which the condition is evaluated, in s, counted from the beginning of the stage; by default "
        "100 time steps, in frozen stages a thousandth of `latest`, or 1 s.",
        default=None,
        unit="s",
    )

    @property
    def held(self) -> float:
        """The key ``for`` [s]."""
        return float(getattr(self, "for"))

    @property
    def limit(self) -> float:
        """The value of the condition."""
        return float(self.above if self.below is None else self.below)  # type: ignore[arg-type]

    def holds(self, value: float) -> bool:
        """Return whether the condition holds; never for a value that is not a number."""
        return value < self.limit if self.above is None else value > self.limit

    def __str__(self) -> str:
        """Return the condition in words."""
        text = f"{self.quantity} {'below' if self.above is None else 'above'} {self.limit:g}"
        return text + (f" for {self.held:g} s" if self.held else "")


if TYPE_CHECKING:

    class Until(UntilKeys):
        """``until``, with the key ``for``."""

else:  # a key may be a reserved word of Python
    _HELD = entry("Time for which the condition has to be met without interruption, in s.", default=0.0, unit="s")
    Until = create_model("Until", __base__=UntilKeys, __doc__=UntilKeys.__doc__, **{"for": (NotNegative, _HELD)})


class WallChange(Section):
    """Change of a wall at the beginning of a stage: exactly one of `remove` and `add`."""

    remove: bool = entry("Remove the wall: afterwards it touches nothing.", default=False)
    add: bool = entry(
        "Add the wall, at the position to which its motion has brought it. If the first change of a wall is `add`, "
        "the wall does not exist before.",
        default=False,
    )


class Stage(Section):
    """``[[stages]]``: one part of a run. It ends after a time or by a condition, and the next stage begins."""

    name: Name = entry("Name of the stage, and of the checkpoint with which it ends, `stage-NAME.h5`.")
    end: Positive | None = entry(
        "Time at which the stage ends, in s after its beginning. The last stage may end with `time.end` instead, "
        "which ends the run in any stage.",
        default=None,
        unit="s",
    )
    until: Until | None = entry("In place of `end`: a condition that ends the stage.", default=None)
    walls: dict[str, WallChange] = entry(
        "Walls by name that are removed or added at the beginning of the stage.", default_factory=dict
    )
    interactions: dict[str, dict[str, Any]] = entry(
        'Interactions by `"a-b"`, with values that change at the beginning of the stage, such as `grain-grain = '
        "{friction = 0.5}`. Laws and models cannot change.",
        default_factory=dict,
    )
    motion: Literal["free", "frozen"] = entry(
        '`"frozen"`: particles and walls keep their places during the stage, and only `heat` goes on; for long times.',
        default="free",
    )
    gravity: Vector | None = entry("Gravity from the beginning of the stage on, in m/s^2.", default=None, unit="m/s^2")
    gravity_table: GravityTable | None = entry(
        "In place of `gravity`: acceleration as a function of the time since the beginning of the stage.", default=None
    )
    deformation: Deformation | None = entry(
        "How the periodic box deforms from the beginning of the stage on; it replaces the deformation before; `{}` "
        "means none.",
        default=None,
    )
