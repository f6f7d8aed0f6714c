"""Contact forces of a case in the form that packings under a pressure need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.messages import shown_key
from pdem.case.stage_cases import walls_present
from pdem.case.timestep import contact_force
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.particles.packings.contact_forces import ContactForces

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.containers.sizes import SizeDistribution

    Pair = tuple[str, str]

_SMALL = 1e-3
"""Overlap over the radius at which forces are evaluated."""

_POWERS = {(1.0, 0.0), (1.5, 0.5), (1.5, 0.0), (1.0, 0.5)}
"""Powers of overlap and effective radius that packings support: such roots have the same bits on any machine."""


def packing_forces(case: Case, index: int, sizes: SizeDistribution) -> ContactForces | None:
    """Return the contact forces of a group that is packed to a pressure; None for a group without a pressure.

    Raises
    ------
    CaseError
        If its particles adhere, or forces are not powers of overlap and radius that packings support.
    """
    group = case.particles[index]
    if group.fill is None or group.fill.pressure is None:
        return None
    where = f"{case.source}: {shown_key(['particles', index, 'fill', 'pressure'])}"
    radius = 0.5 * sizes.largest
    one = _power_law(case, (group.material, group.material), radius, where)
    walls = [wall for wall, here in zip(case.walls, walls_present(case, 0), strict=True) if here]
    others = [_power_law(case, (group.material, wall.material), radius, where) for wall in walls]
    if any(other[:2] != one[:2] for other in others):
        text = "requires that the forces of walls have the same power of the overlap as those of particles; use one law"
        raise CaseError(f"{where}: {text}")
    return ContactForces(group.fill.pressure, *one, tuple(other[2] for other in others))


def _power_law(case: Case, pair: Pair, radius: float, where: str) -> tuple[float, float, float]:
    """Return the powers of overlap and effective radius, and the stiffness, of the forces of two materials."""
    name = "-".join(pair)
    law = case.interaction(*pair)
    if law is not None and law.adhesion:
        raise CaseError(f"{where}: cannot be used where contacts adhere ({name}); use volume_fraction, or leave it out")

    def force(overlap: float, size: float) -> float:
        return contact_force(case, pair, size * radius, overlap * _SMALL * radius)

    base = force(1.0, 1.0)
    power, size = (round(2.0 * exact_math.log2(value / base)) / 2.0 for value in (force(2.0, 1.0), force(1.0, 2.0)))
    known = (power, size) in _POWERS and all(
        math.isclose(force(a, b), base * exact_math.power(a, power) * exact_math.power(b, size), rel_tol=1e-6)
        for a, b in ((0.25, 1.0), (4.0, 1.0), (1.0, 0.25), (4.0, 0.5))
    )
    if not known:
        text = f"needs forces with the power 1 or 1.5 of the overlap, unlike those of {name}; use volume_fraction"
        raise CaseError(f"{where}: {text}")
    return power, size, base / (exact_math.power(_SMALL * radius, power) * exact_math.power(radius, size))
