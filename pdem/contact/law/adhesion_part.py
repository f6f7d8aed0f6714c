"""What models of adhesion declare, and how contacts with it depend on what they remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import Part

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class AdhesionPart(Part):
    """A pull between two bodies that touch, or have touched.

    The coefficients ``c`` of its functions also have the field ``modulus`` of the normal part, the first one.

    Attributes
    ----------
    elastic : callable
        ``elastic(overlap, radius, c, force, factor)`` takes what the normal part has found (at an overlap of 0 where it
        is negative: the contact is stretched) and returns force [N] and factor of the stiffness with the pull taken
        into account, and by how much the load of frictions exceeds the force [N]. Damping never pulls by more than
        that: the load does not become negative.
    energy : callable
        ``energy(overlap, radius, c, energy)`` returns the energy [J], 0 at the touch, from that of the normal part.
    gap : callable
        ``gap(radius, c)`` returns up to which distance a contact that has begun lasts [m], 0 if it ends where the
        bodies separate. It grows with the radius.
    remembered : tuple of str
        The last of its coefficients, one for each column of its history: a contact has what it remembers there, and not
        a number of its pair. So its pull, its energy and how long it lasts may depend on what has happened to it. The
        part does not write these columns: a feature does, with the flows of a `pdem.engine.quantum_field` for example.
    reach : callable or None
        ``reach(radius, c)`` returns the largest gap of any contact, whatever it remembers [m], for lists and ghosts;
        it grows with the radius. None: the gap where all that is remembered is infinite.
    stiffness : callable or None
        ``stiffness(radius, c)`` returns the largest stiffness that adhesion alone brings about [N/m], for the limit of
        the time step. None: the stiffness of the normal part at the overlap at which both are in equilibrium.
    normal : tuple of str
        Models of normal parts that it can be combined with.
    """

    elastic: Callable[..., Any]
    energy: Callable[..., float]
    gap: Callable[..., float]
    remembered: tuple[str, ...] = ()
    reach: Callable[..., float] | None = None
    stiffness: Callable[..., float] | None = None
    normal: tuple[str, ...] = ("hertz",)

    def __post_init__(self) -> None:
        """Require a column of the history for each coefficient that is remembered, which are the last ones."""
        number, many = len(self.remembered), len(self.history)
        columns = f"{many} column{'s' * (many != 1)}"
        if number != many or self.remembered != self.coefficients[len(self.coefficients) - number :]:
            raise ValueError(
                f"{self.model} remembers {', '.join(self.remembered) or 'no coefficient'}, and its history has "
                f"{columns}: give one for each column, and name them last among the coefficients"
            )
