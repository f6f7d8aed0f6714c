"""Functions of resistances to rotation: torques in the tangent plane that rotate with the contact, and stable damping.

A torque between two bodies changes its sign when they exchange their roles, as the relative rotation does; its part
along the normal does not, because the normal changes its sign as well. pdem never changes the order of a pair, so that
histories need no change of sign.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.contact.law.parts import WORST_ROTATION, Energy, Key

if TYPE_CHECKING:
    from pdem.contact.law.parts import Contact
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector


TORQUE_FRICTION = Key("friction", "", "Largest torque over normal force and effective radius.", at_least=0.0)

DAMPING_RATIO = Key(
    "damping", "", "Damping ratio of the oscillation at rest.", default=0.3, required=False, at_least=0.0, at_most=1.0
)  # fmt: skip


def resistance_energies(role: str) -> tuple[Energy, Energy]:
    """Return the accounts of a spring against rolling or twisting: stored and lost energy."""
    return Energy(f"{role}_spring", f"{role}_spring", role), Energy(role, role, role)


def across(v: Vector, n: Vector) -> Vector:
    """Return the part of a vector across a unit vector."""
    along = v[0] * n[0] + v[1] * n[1] + v[2] * n[2]
    return v[0] - along * n[0], v[1] - along * n[1], v[2] - along * n[2]


def turned(held: Vector, contact: Contact, dt: float) -> Vector:
    """Return a vector turned about the normal with both bodies for a time dt [s]."""
    n, (hx, hy, hz) = contact.normal, held
    turn = contact.spin * dt
    return (
        hx + turn * (n[1] * hz - n[2] * hy), hy + turn * (n[2] * hx - n[0] * hz), hz + turn * (n[0] * hy - n[1] * hx)
    )  # fmt: skip


def stable_damping(step: TimeStep, contact: Contact, stiffness: float) -> float:
    """Return the largest stable damping [N m s/rad] with a velocity that lags by half a step, as in friction."""
    return max(2.5 * contact.inertia * step.rate / WORST_ROTATION - 0.25 * stiffness * step.dt, 0.0)


def twisting_slider(
    spring: float, damping: float, twist: float, limits: tuple[float, float]
) -> tuple[float, float, bool]:
    """Return the torque of spring and dashpot about the normal [N m], the torque of the spring, and whether it sticks.

    The contact sticks up to the first limit [N m]; beyond it the torque is the second limit, and the torque of the
    spring is this limit less the torque of the dashpot.
    """
    torque = spring - damping * twist
    sticks = abs(torque) <= limits[0]
    torque = torque if sticks else math.copysign(limits[1], torque)
    return torque, spring if sticks else torque + damping * twist, sticks
