"""Rolling resistance with a history: an elastic-plastic spring and dashpot.

Type C of Ai, Chen, Rotter, Ooi, Powder Technology 206 (2011) 269. The torque grows with the relative rotation in the
tangent plane by the stiffness ``k_r = 2.25 k_n (mu R)^2`` (or the tangential stiffness times R^2, or one that is
given), is turned with the contact, shrinks with the stiffness on unloading, and is limited to ``mu R N``. Below the
limit it is damped by ``2 eta sqrt(I_r k_r)`` with ``I_r`` the inertia of rolling about the contact, 7/2 of the
effective one: a sphere comes to rest, oscillates with the damping ratio eta, and stays. A heap does not creep. At the
limit a fraction f of the damping acts in addition (Ai's f, 0 by default).

The torque is a history of the pair: relative rotation, torque and history change their sign when the two partners are
exchanged (a rolling *displacement* would not).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.kinds.friction import mindlin_ratio
from pdem.contact.law.kinds.two_frictions import DYNAMIC_FRICTION, frictions_rule, torques_of, with_two_frictions
from pdem.contact.law.parts import TINY, Key, ResistancePart, vector
from pdem.contact.law.rotation import (
    DAMPING_RATIO,
    TORQUE_FRICTION,
    across,
    resistance_energies,
    stable_damping,
    turned,
)

if TYPE_CHECKING:
    from pdem.contact.law.parts import Contact, Load, Pair
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector

ROLLING_INERTIA = 3.5
"""Inertia of a sphere that rolls over that about its centre: 1.4 / 0.4."""

AI = 2.25
"""Stiffness over ``k_n (mu R)^2`` by Ai et al."""


def limited_torque(
    step: TimeStep, contact: Contact, c: Any, load: Load, history: Vector, frictions: tuple[float, float]
) -> tuple[Vector, Vector, float, bool]:
    """Return torque, torque of the spring, energy, and whether it sticks, with static and dynamic friction."""
    tx, ty, tz = across(contact.rolling, contact.normal)
    stiffness = c.ratio * load.stiffness * contact.radius * contact.radius

    # turned about the normal with both bodies, and into the tangent plane of the end of the step
    (hx, hy, hz), grows = turned(history, contact, step.dt), stiffness * load.time
    grown = load.shrink * hx - grows * tx, load.shrink * hy - grows * ty, load.shrink * hz - grows * tz
    mx, my, mz = across(grown, contact.normal)
    size, limit = mx * mx + my * my + mz * mz, frictions[0] * contact.radius * load.force
    sticks = size <= limit * limit
    scale = 1.0 if sticks else frictions[1] * contact.radius * load.force / math.sqrt(max(size, TINY))
    mx, my, mz = mx * scale, my * scale, mz * scale
    stored = 0.5 * (mx * mx + my * my + mz * mz) / max(stiffness, TINY)

    # the velocity of the middle of the step lags, so that damping is limited to its stable range, as in friction
    wanted = 2.0 * c.damping * math.sqrt(abs(ROLLING_INERTIA * contact.inertia * stiffness))
    damping = min(wanted, stable_damping(step, contact, stiffness)) * (1.0 if sticks else c.mobilised_damping)
    return (mx - damping * tx, my - damping * ty, mz - damping * tz), (mx, my, mz), stored, sticks


torque, torque_of_two = torques_of(limited_torque)


def rotational_stiffness(overlap: float, radius: float, normal: float, c: Any) -> float:
    """Return the stiffness [N m/rad] where the normal one [N/m] is given."""
    return float(c.ratio * normal * radius * radius)


def _values(pair: Pair) -> tuple[float, ...]:
    friction, ratio = pair.keys["friction"], pair.keys.get("stiffness_ratio")
    if ratio is None and pair.keys["stiffness"] == "tangential":
        ratio = pair.keys.get("tangential_ratio") or mindlin_ratio(pair)
    ratio = AI * friction * friction if ratio is None else ratio
    return friction, ratio, pair.keys["damping"], pair.keys["mobilised_damping"]


_ONE_FRICTION = ResistancePart(
    role="rolling",
    model="spring",
    text="An elastic-plastic spring and dashpot with memory: a heap stays as it is.",
    keys=(
        TORQUE_FRICTION,
        Key(
            "stiffness",
            "",
            "By Ai's rule, 2.25 k_n (friction R)^2, or as the tangential spring's, k_t R^2.",
            default="ai",
            required=False,
            choices=("ai", "tangential"),
        ),
        Key("stiffness_ratio", "", "Stiffness over k_n R^2, in place of a rule.", required=False, above=0.0),
        DAMPING_RATIO,
        Key(
            "mobilised_damping",
            "",
            "Part of the damping that is left while it rolls on.",
            default=0.0,
            required=False,
            at_least=0.0,
            at_most=1.0,
        ),
        DYNAMIC_FRICTION,
    ),
    coefficients=("friction", "ratio", "damping", "mobilised_damping"),
    values=_values,
    rule=frictions_rule,
    history=vector("rolling_torque", "N m", -1),
    energies=resistance_energies("rolling"),
    torque=torque,
    stiffness=rotational_stiffness,
)

ROLLING_SPRING = with_two_frictions(_ONE_FRICTION, torque_of_two)
