"""Stiffness and damping of contacts against displacements of their bodies, for servos and free walls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.coefficients import coefficients_reader
from pdem.contact.law.elastic import stiffness_of
from pdem.numerics.kernel_factory import inlined_closure

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.foundation.array_types import Floats


def resistance_of(law: ContactLaw) -> Any:
    """Make the function that returns stiffness and damping of a contact, and tangential over normal stiffness.

    Arguments are overlap, effective radius and mass, the row of the pair table, and the table as a flat array.
    """
    stiffness_at, width = stiffness_of(law), law.width
    coefficients_of = coefficients_reader(law, range(law.width))
    has_spring, relaxes = law.is_spring, law.relaxes

    @inlined_closure
    def resistance(overlap: float, radius: float, mass: float, pair: int, table: Floats) -> tuple[float, float, float]:
        k = coefficients_of(table, width * pair)
        stiffness = stiffness_at(overlap, radius, k, ())
        ratio = k.ratio if has_spring else 0.0
        damping = 2.0 * k.damping * math.sqrt(mass * stiffness)
        return stiffness, damping + k.relaxation * stiffness if relaxes else damping, ratio

    return resistance


@inlined_closure
def against(found: tuple[float, float, float], straight: float, aside: float) -> tuple[float, float]:
    """Return stiffness and damping against a displacement, from squares of its parts along and across the normal.

    `found` is the result of the function that `resistance_of` makes.
    """
    stiffness, damping, ratio = found
    return stiffness * (straight + ratio * aside), damping * (straight + math.sqrt(ratio) * aside)
