"""Rolling resistance that remembers: an elastic-plastic spring and dashpot.

Type C of Ai, Chen, Rotter, Ooi, Powder Technology 206 (2011) 269. The torque grows with the relative rotation in the
tangent plane by the stiffness ``k_r = 2.25 k_n (mu R)^2`` (or the tangential stiffness times R^2, or one that is
given), is turned with the contact, shrinks with the stiffness on unloading, and is limited to ``mu R N``. Below the
limit it is damped by ``2 eta sqrt(I_r k_r)`` with ``I_r`` the inertia of rolling about the contact, 7/2 of the
effective one: a sphere comes to rest, oscillates with the damping ratio eta, and stays. A heap does not creep.

The torque is a history of the pair: relative rotation, torque and memory change their sign when the two partners are
exchanged (a rolling *displacement* would not).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.friction import mindlin_ratio
from pdem.contact.law.parts import TINY, WORST_ROTATION, Energy, Key, ResistancePart, vector

if TYPE_CHECKING:
    from pdem.contact.law.parts import Contact, Load, Pair, Step
    from pdem.foundation.vectors import Vector

ROLLING_INERTIA = 3.5
"""Inertia of a sphere that rolls over that about its centre: 1.4 / 0.4."""

AI = 2.25
"""Stiffness over ``k_n (mu R)^2`` by Ai et al."""


def torque(step: Step, contact: Contact, c: Any, load: Load, history: Vector) -> tuple[Vector, Vector, float]:
    """Return the torque on the second body [N m], the torque to be remembered [N m], and the energy in it [J]."""
    n, w, (hx, hy, hz) = contact.normal, contact.rolling, history
    along = w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
    tx, ty, tz = w[0] - along * n[0], w[1] - along * n[1], w[2] - along * n[2]
    stiffness = c.ratio * load.stiffness * contact.radius * contact.radius

    # turned about the normal with both bodies, and into the tangent plane of the end of the step
    turn, grows = contact.spin * step.dt, stiffness * load.time
    mx = load.shrink * (hx + turn * (n[1] * hz - n[2] * hy)) - grows * tx
    my = load.shrink * (hy + turn * (n[2] * hx - n[0] * hz)) - grows * ty
    mz = load.shrink * (hz + turn * (n[0] * hy - n[1] * hx)) - grows * tz
    off = mx * n[0] + my * n[1] + mz * n[2]
    mx, my, mz = mx - off * n[0], my - off * n[1], mz - off * n[2]
    size, limit = mx * mx + my * my + mz * mz, c.friction * contact.radius * load.force
    sticks = size <= limit * limit
    scale = 1.0 if sticks else limit / math.sqrt(max(size, TINY))
    mx, my, mz = mx * scale, my * scale, mz * scale
    stored = 0.5 * (mx * mx + my * my + mz * mz) / max(stiffness, TINY)

    # the velocity of the middle of the step lags: as that of friction, damping is kept below what stays stable
    wanted = 2.0 * c.damping * math.sqrt(abs(ROLLING_INERTIA * contact.inertia * stiffness))
    rest = max(2.5 * contact.inertia * step.rate / WORST_ROTATION - 0.25 * stiffness * step.dt, 0.0)
    damping = min(wanted, rest) if sticks else 0.0
    return (mx - damping * tx, my - damping * ty, mz - damping * tz), (mx, my, mz), stored


def _values(pair: Pair) -> tuple[float, float, float]:
    friction, ratio = pair.keys["friction"], pair.keys.get("stiffness_ratio")
    if ratio is None and pair.keys["stiffness"] == "tangential":
        ratio = pair.keys.get("tangential_ratio") or mindlin_ratio(pair)
    return friction, AI * friction * friction if ratio is None else ratio, pair.keys["damping"]


ROLLING_SPRING = ResistancePart(
    role="rolling",
    model="spring",
    text="An elastic-plastic spring and dashpot with memory: a heap stays as it is.",
    keys=(
        Key("friction", "", "Largest torque over normal force and effective radius.", at_least=0.0),
        Key(
            "stiffness",
            "",
            "By Ai's rule, 2.25 k_n (friction R)^2, or as the tangential spring's, k_t R^2.",
            default="ai",
            required=False,
            choices=("ai", "tangential"),
        ),
        Key("stiffness_ratio", "", "Stiffness over k_n R^2, in place of a rule.", required=False, above=0.0),
        Key(
            "damping",
            "",
            "Damping ratio of the oscillation at rest.",
            default=0.3,
            required=False,
            at_least=0.0,
            at_most=1.0,
        ),
    ),
    coefficients=("friction", "ratio", "damping"),
    values=_values,
    history=vector("rolling_torque", "N m", -1),
    energies=(Energy("rolling_spring", "rolling_spring", "rolling"), Energy("rolling", "rolling", "rolling")),
    torque=torque,
)
