"""A contact law as users write them, for tests on several ranks."""

from __future__ import annotations

import pdem

TURN = 0.3


def normal(overlap, radius, c, history):
    """Return the force of a spring that stiffens, which is a quarter softer where it has been pressed before."""
    most = max(history[0], overlap)
    share = 1.0 if overlap >= history[0] else 0.75
    lost = 0.25 * (pressed(most, radius, c) - pressed(history[0], radius, c))
    deep = overlap / radius
    stiffness = c.stiffness * (1.0 + 2.0 * c.hardening * deep)
    return share * c.stiffness * overlap * (1.0 + c.hardening * deep), stiffness, (most,), lost


def pressed(overlap, radius, c):
    """Return the work of loading."""
    return c.stiffness * overlap * overlap * (0.5 + c.hardening * overlap / radius / 3.0)


def energy(overlap, radius, c, history):
    """Return what can be got back."""
    return 0.75 * pressed(overlap, radius, c)


def twisting(step, contact, c, load, history):
    """Return a torque about the normal: a spring, up to a part of the load."""
    n, w = contact.normal, contact.rolling
    angle = history[0] + step.dt * (w[0] * n[0] + w[1] * n[1] + w[2] * n[2])
    stiffness = c.stiffness * contact.radius * contact.radius * TURN
    most = 0.1 * contact.radius * load.force / max(stiffness, 1e-30)
    angle = min(max(angle, -most), most)
    torque = -stiffness * angle
    return (torque * n[0], torque * n[1], torque * n[2]), (angle,), 0.5 * stiffness * angle * angle


cubic = pdem.contact_law(
    normal=normal,
    energy=energy,
    power=1.0,
    tangential="spring",
    twisting=twisting,
    coefficients={"stiffness": "N/m", "hardening": ""},
    history={"normal": ("most",), "twisting": ("angle",)},
)
