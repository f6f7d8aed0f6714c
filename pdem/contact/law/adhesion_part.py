"""The declaration of a model of adhesion, with coefficients that may be part of the history of a contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import Part

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class AdhesionPart(Part):
    """A pull between two bodies that touch, or have touched before.

    The first field of the coefficients ``c`` of its functions is ``modulus`` of the normal part.

    Attributes
    ----------
    elastic : callable
        ``elastic(overlap, radius, c, force, factor)`` gets force and factor of the normal part (at an overlap of 0 if
        the contact is stretched, with a negative overlap). It returns force [N] and factor of the stiffness including
        the pull, and the difference of the load for friction and the force [N]. Damping never pulls by more than this
        difference, so that the load does not become negative.
    energy : callable
        ``energy(overlap, radius, c, energy)`` returns the energy [J], 0 at the touch, from that of the normal part.
    gap : callable
        ``gap(radius, c)`` returns the distance of the surfaces at which a contact ends [m], 0 if it ends when the
        bodies separate. It grows with the radius.
    remembered : tuple of str
        The last of its coefficients, one for each column of its history: their values come from the history of the
        contact instead of the pair table. Pull, energy and lifetime of a contact can depend on its history in this way.
        A feature writes these columns, for example with the flows of a `pdem.engine.quantum_field`.
    reach : callable or None
        ``reach(radius, c)`` returns the largest gap of a contact with any history [m], for lists and ghosts; it grows
        with the radius. None: the gap with infinite values of the remembered coefficients.
    stiffness : callable or None
        ``stiffness(radius, c)`` returns the largest stiffness by adhesion alone [N/m], for the limit of the time step.
        None: the stiffness of the normal part at the overlap at which both are in equilibrium.
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
