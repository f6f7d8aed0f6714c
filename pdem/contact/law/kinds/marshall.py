"""Resistance to twisting by the area of contact: a spring, a dashpot and a slider after Marshall.

Marshall, J. Comput. Phys. 228 (2009) 1541. Each part of a contact area of radius a that twists is displaced along it as
the tangential spring is: the stiffness is ``k_t a^2 / 2`` with the tangential one k_t, the largest torque
``2/3 a friction N``. The area is that of the spheres, ``a = sqrt(R overlap)`` without adhesion. k_t has the unit N/m
here for every law: that of elastic spheres is ``8 G a``, and so the stiffness grows with the third power of a. The
dashpot has a damping ratio in place of Marshall's, which comes from the tangential one; the largest torque is that of
spring and dashpot together.

The torque is a number along the normal and turns with it; it has the same sign after an exchange of the partners.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.kinds.friction import mindlin_ratio
from pdem.contact.law.parts import TINY, HistoryColumn, Key, ResistancePart
from pdem.contact.law.rotation import DAMPING_RATIO, resistance_energies, stable_damping, twisting_slider

if TYPE_CHECKING:
    from pdem.contact.law.parts import Contact, Load, Pair
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector


def torque(
    step: TimeStep, contact: Contact, c: Any, load: Load, history: tuple[float]
) -> tuple[Vector, tuple[float], float]:
    """Return the torque on the second body [N m], that of the spring along the normal, and the energy in it [J]."""
    n, w = contact.normal, contact.rolling
    twist = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
    geometric = math.sqrt(abs(contact.radius * contact.overlap))
    area = c.area * load.stiffness if c.area > 0.0 else geometric
    stiffness = 0.5 * c.ratio * load.stiffness * area * area

    # unloading shrinks the torque like the stiffness, with the square of the radius of the area
    smaller = min(1.0, contact.overlap / max(contact.overlap_before, TINY))
    shrink = load.shrink * (load.shrink * load.shrink if c.area > 0.0 else max(smaller, 0.0))
    limit = 2.0 / 3.0 * area * c.friction * load.force
    wanted = 2.0 * c.damping * math.sqrt(abs(contact.inertia * stiffness))
    damping = min(wanted, stable_damping(step, contact, stiffness))
    grown = shrink * history[0] - stiffness * load.time * twist
    value, held, _ = twisting_slider(grown, damping, twist, (limit, limit))
    return (value * n[0], value * n[1], value * n[2]), (held,), 0.5 * held * held / max(stiffness, TINY)


def _stiffness(overlap: float, radius: float, normal: float, c: Any) -> float:
    area = c.area * normal if c.area > 0.0 else math.sqrt(radius * overlap)
    return float(0.5 * c.ratio * normal * area * area)


def _values(pair: Pair) -> tuple[float, ...]:
    ratio = pair.keys.get("tangential_ratio")
    area = 0.5 / pair.effective_modulus if pair.of_spheres else 0.0
    return pair.keys["friction"], mindlin_ratio(pair) if ratio is None else ratio, pair.keys["damping"], area


MARSHALL = ResistancePart(
    role="twisting",
    model="marshall",
    text="A spring, a dashpot and a slider against twisting, from the tangential stiffness and the area of contact.",
    keys=(
        Key(
            "friction",
            "",
            "Of the area of contact; that of the interaction unless given.",
            required=False,
            at_least=0.0,
        ),
        DAMPING_RATIO,
    ),
    coefficients=("friction", "ratio", "damping", "area"),
    values=_values,
    history=(HistoryColumn("twisting_torque", "N m"),),
    energies=resistance_energies("twisting"),
    torque=torque,
    stiffness=_stiffness,
)
"""``area`` is the radius of the contact area over the normal stiffness, 1 / (2 E), or 0: then the overlap gives it."""
