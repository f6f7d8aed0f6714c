"""``[[stages]]``: a run in named parts, which end by time or by a condition, and what changes at the begin of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from pdem.case.base import Name, NotNegative, Positive, Section, Vector
from pdem.case.deformation_sections import Deformation
from pdem.case.gravity_section import GravityTable


class UntilKeys(Section):
    """``until``: ends a stage when a quantity has been below or above a value for some time.

    Attributes
    ----------
    quantity : str
        ``"kinetic_energy_per_particle"`` (J), ``"contacts_per_particle"``, ``"particles"``, or a column of the series
        of a wall, a sensor or an insertion: ``"piston_load"`` (N), ``"gate_force_z"`` (N), ``"bed_mass"`` (kg); with a
        box that deforms also ``"solid_fraction"``, ``"shear_strain"``, ``"stress_xx"`` (Pa), ``"pressure"`` (Pa).
        Without particles the first two are no numbers, and no condition on them holds.
    below : float or None
        The condition holds while the quantity is less, in its unit. Exactly one of `below` and `above` is given.
    above : float or None
        The condition holds while the quantity is greater, in its unit.
    for : float
        Time for which it has to hold without a break, in s.
    latest : float or None
        Time after the begin of the stage at which it ends even so, in s, with a warning. By default it goes on until
        ``time.end``.
    every : float or None
        Interval at which the quantity is looked at, in s, counted from the begin of the stage; by default 100 time
        steps.
    """

    quantity: Name
    below: float | None = None
    above: float | None = None
    latest: Positive | None = None
    every: Positive | None = None

    @property
    def held(self) -> float:
        """The key ``for`` [s]."""
        return float(getattr(self, "for"))

    @property
    def limit(self) -> float:
        """The value of the condition."""
        return float(self.above if self.below is None else self.below)  # type: ignore[arg-type]

    def holds(self, value: float) -> bool:
        """Return whether the condition holds; never for what is not a number."""
        return value < self.limit if self.above is None else value > self.limit

    def __str__(self) -> str:
        """Return the condition in words."""
        text = f"{self.quantity} {'below' if self.above is None else 'above'} {self.limit:g}"
        return text + (f" for {self.held:g} s" if self.held else "")


if TYPE_CHECKING:

    class Until(UntilKeys):
        """``until``, with the key ``for``."""

else:  # a key may be a word that Python keeps for itself
    Until = create_model(
        "Until", __base__=UntilKeys, __doc__=UntilKeys.__doc__, **{"for": (NotNegative, 0.0)}
    )


class WallChange(Section):
    """What happens to a wall at the begin of a stage: exactly one of `remove` and `add`.

    Attributes
    ----------
    remove : bool
        Takes it out: it touches nothing from then on.
    add : bool
        Puts it in, where its motion has brought it by then. A wall whose first change this is has not been there
        before.
    """

    remove: bool = False
    add: bool = False


class Stage(Section):
    """``[[stages]]``: one part of a run. It ends after a time or by a condition, and the next one begins.

    Attributes
    ----------
    name : str
        Of the stage, and of the checkpoint that it ends with, ``stage-NAME.h5``.
    end : float or None
        Time after the begin of the stage at which it ends, in s. The last stage may end with ``time.end`` instead,
        which ends a run in any stage.
    until : Until or None
        In place of `end`: a condition that ends the stage.
    walls : dict of str to WallChange
        By name: walls that are taken out or put in at its begin.
    interactions : dict of str to dict
        By ``"a-b"`` as in ``[interactions]``: values that are others from its begin on, such as
        ``grain-grain = {friction = 0.5}``. Laws and models stay as they are.
    gravity : tuple of 3 float or None
        Acceleration from its begin on, in m/s^2.
    gravity_table : GravityTable or None
        In place of `gravity`: acceleration as a function of the time since its begin.
    deformation : Deformation or None
        How the periodic box deforms from its begin on, in place of what was before; ``{}`` for not at all.
    """

    name: Name
    end: Positive | None = None
    until: Until | None = None
    walls: dict[str, WallChange] = Field(default_factory=dict)
    interactions: dict[str, dict[str, Any]] = Field(default_factory=dict)
    gravity: Vector | None = None
    gravity_table: GravityTable | None = None
    deformation: Deformation | None = None
