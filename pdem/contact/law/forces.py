"""The contact law of one contact: force and moment from geometry, motion and history.

Normal: elastic force of Hertz, ``(4/3) E* sqrt(R*) overlap^1.5``, or of a linear spring, plus damping
``2 gamma sqrt(m* k_n) v_n``; contacts never pull. Tangential: Mindlin's stiffness (or a constant one) in
incremental form with the history kept as a force, damping with the tangential stiffness, Coulomb's limit.
Rolling: type A of Wensrich and Katterfeld (2012), a moment ``mu_r R* N`` against the relative rotation,
limited near zero to what takes a tenth of that rotation away in a step, so that it stops instead of
chattering.

Two times meet in a step of central differences: positions are known at its end, velocities in its middle.
History grows by the velocity of the middle in the tangent plane of the middle, and is then turned into the
tangent plane of the end (Vyas, Ottino, Lueptow, Umbanhowar, Comput. Phys. Commun. 310 (2025) 109524);
damping takes the velocity of the end, extrapolated from this step's and the last one's. Of normal damping the
part of that velocity which the normal force itself brings about is solved for, not extrapolated. A contact
begins somewhere within a step, with damping at once: its first force is the mean of the force
from the touch to the middle of the next step. Both together keep restitution within 1 % at twenty steps per impact,
where explicit damping misses it by 10 % and more.
All of it is branch-free: selects, no ifs, so that a loop over contacts becomes vector code.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.contact.law.pair_table import (
    DAMPING,
    HERTZIAN,
    STIFFNESS,
    TANGENTIAL_RATIO,
)
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HISTORY = 12
"""Columns of a contact's history: tangential force (3) [N], normal force [N], relative velocity of the last step
(3) [m/s], then those below."""

STORED, DAMPED, SLID, ROLLED, OVERLAP = range(7, 12)
"""Columns of the energy stored tangentially and of those dissipated so far by normal damping, sliding and rolling
[J], and of the overlap [m]."""

ROLLING_SHARE = 0.1
"""Part of the relative rotation that rolling resistance may take away in one step."""

CROWD = 20.0
"""Twelve contacts of a sphere resist its turning like so many times the stiffness of one, over the effective
mass of a contact: 12 (contacts) * 2/3 (of their planes) / 0.4 (moment of inertia)."""

TINY = 1e-150
"""Keeps quotients of vanishing vectors finite, also where one quotient has two of them below it."""


class ContactParameters(NamedTuple):
    """What the contact law needs besides particles and contacts.

    Attributes
    ----------
    density : (M,) array
        By material [kg/m^3].
    table : (M * M, COEFFICIENTS) array
        `pdem.contact.law.pair_table.pair_table`.
    dt, step : float
        Time by which histories grow, and time step [s].
    largest_overlap : float
        Over the smaller radius.
    """

    density: NDArray[np.float64]
    table: NDArray[np.float64]
    dt: float
    step: float
    largest_overlap: float


@inlined
def square_root(value: float) -> float:
    """Return the root of a number that is not negative: said so, the compiler needs no call for the others."""
    return math.sqrt(abs(value))


@inlined
def normal_force(
    dt: float,
    rate: float,
    overlap: float,
    overlap_before: float,
    n: tuple[float, float, float],
    u: tuple[float, float, float],
    radius: float,
    mass: float,
    inverse_mass: float,
    law: tuple[float, float, float, float],
    known: bool,
    old_normal: float,
    old_velocity: tuple[float, float, float],
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the normal force of a contact, and what the tangential one needs to know of it.

    Parameters
    ----------
    dt, rate : float
        Time by which history grows [s] (0 when a run begins), and one over the time step [1/s].
    overlap, overlap_before : float
        At the end and at the beginning of the step [m].
    n : tuple of 3 float
        Unit normal from the first to the second body at the end of the step.
    u : tuple of 3 float
        Velocity of the second body relative to the first at the contact, in the middle of the step [m/s].
    radius : float
        Effective radius of the pair [m].
    mass, inverse_mass : float
        Effective mass of the pair [kg], and one over it.
    law : tuple of 4 float
        The first coefficients of the pair of materials, up to `DAMPING`.
    known : bool
        Whether the bodies touched in the last step.
    old_normal, old_velocity
        Normal force and `u` of the last step, zeros if there was no contact.

    Returns
    -------
    nine float
        Normal force [N], energy that its damping takes in this step [J], tangential velocity at the end of the step (3)
        [m/s], tangential stiffness [N/m], damping [N s/m], the part of the tangential force that unloading leaves, and
        for how long the contact has slipped [s].
    """
    nx, ny, nz = n
    hertzian, modulus = law[HERTZIAN] > 0.5, law[STIFFNESS]
    gain = 0.5 * dt * inverse_mass

    # the first force of a contact acts from the touch to the middle of the next step, over the way `reach`
    deep = max(overlap, 0.0)
    gained = overlap - overlap_before
    begins = (not known) & (overlap_before < 0.1 * gained) & (dt > 0.0)
    reach = deep + 0.5 * gained if begins else deep
    # a contact that begins has no stiffness before: that root is free for the one at its reach
    other = reach if begins else max(overlap_before, 0.0)
    root, other_root = square_root(radius * deep), square_root(radius * other)
    root = root if hertzian else 1.0
    other_root = other_root if hertzian else 1.0
    stiffness = modulus * root
    elastic = stiffness * deep * (2.0 / 3.0 if hertzian else 1.0)

    # velocity at the end of the step; its normal part without what the change of the normal force adds
    half = 0.5 if known else 0.0
    ex = u[0] + half * (u[0] - old_velocity[0])
    ey = u[1] + half * (u[1] - old_velocity[1])
    ez = u[2] + half * (u[2] - old_velocity[2])
    en = ex * nx + ey * ny + ez * nz
    tx, ty, tz = ex - en * nx, ey - en * ny, ez - en * nz
    en -= gain * old_normal
    at_reach = other_root if begins else root
    damping = 2.0 * law[DAMPING] * square_root(mass * modulus * at_reach)
    closing = (0.8 if hertzian else 1.0) * reach * rate if begins else -en
    normal = max((elastic + damping * closing) / (1.0 + gain * damping), 0.0)
    en += gain * normal

    # unloading shrinks the tangential force with the stiffness, a contact that begins has nothing to shrink and slips
    # from the touch on: one quotient for both
    quotient = (overlap if begins else root) / (gained if begins else max(other_root, TINY))
    return (
        normal, (elastic - normal) * en * dt, tx, ty, tz, law[TANGENTIAL_RATIO] * stiffness, damping,
        min(1.0, quotient), dt * quotient if begins else dt,
    )  # fmt: skip


@inlined
def tangential_force(
    dt: float,
    rate: float,
    n: tuple[float, float, float],
    slide: tuple[float, float, float],
    u: tuple[float, float, float],
    spin: float,
    mass: float,
    normal: float,
    stiffness: float,
    damping: float,
    shrink: float,
    slips: float,
    friction: float,
    old: tuple[float, float, float],
) -> tuple[float, float, float, float, float, float, float, float]:
    """Return the tangential force of a contact, as long as Coulomb's limit holds it only without damping.

    Parameters
    ----------
    dt, rate, n, u, mass
        As `normal_force` takes them.
    slide : tuple of 3 float
        The part of `u` in the tangent plane of the middle of the step [m/s].
    spin : float
        Mean angular velocity of both bodies about the normal [rad/s], by which the history turns.
    normal, stiffness, shrink, slips
        As `normal_force` returns them.
    damping : float
        Tangential [N s/m].
    friction : float
        Coefficient of friction.
    old : tuple of 3 float
        Tangential force of the last step, zeros if there was no contact [N].

    Returns
    -------
    eight float
        Force that history holds (3) [N], energy stored in it [J], force with damping (3) [N], square of the largest.
    """
    nx, ny, nz = n
    hx, hy, hz = old
    turn = spin * dt
    slips *= stiffness
    gx = shrink * (hx + turn * (ny * hz - nz * hy)) - slips * slide[0]
    gy = shrink * (hy + turn * (nz * hx - nx * hz)) - slips * slide[1]
    gz = shrink * (hz + turn * (nx * hy - ny * hx)) - slips * slide[2]
    size = gx * gx + gy * gy + gz * gz
    gn = gx * nx + gy * ny + gz * nz
    gx, gy, gz = gx - gn * nx, gy - gn * ny, gz - gn * nz
    limit = friction * normal
    limit *= limit
    sticks = size <= limit
    size = size if sticks else limit
    held, yielding = max(gx * gx + gy * gy + gz * gz, TINY), max(stiffness, TINY)
    inverse = 1.0 / (held * yielding)
    scale = square_root(size * yielding * inverse)
    stored = 0.5 * size * held * inverse
    gx, gy, gz = gx * scale, gy * scale, gz * scale

    # Damping only where the contact sticks. It takes the velocity of the middle of the step, which lags: that
    # stays stable while CROWD (stiffness + 2 damping / step) is below 4 mass / step^2. Of what the stiffness leaves of
    # this limit half is used; more would feed dense beds at coarse steps
    damping = min(damping, max(mass * rate / CROWD - 0.25 * stiffness * dt, 0.0))
    damping = damping if sticks else 0.0
    un = u[0] * nx + u[1] * ny + u[2] * nz
    return (
        gx, gy, gz, stored, gx - damping * (u[0] - un * nx), gy - damping * (u[1] - un * ny),
        gz - damping * (u[2] - un * nz), limit,
    )  # fmt: skip


@inlined
def limited_force(
    dt: float,
    rate: float,
    force: tuple[float, float, float],
    limit: float,
    t: tuple[float, float, float],
    rolling: tuple[float, float, float],
    reach: float,
    turning: float,
) -> tuple[float, float, float, float, float, float]:
    """Return the tangential force within Coulomb's limit, and the rolling resistance.

    Parameters
    ----------
    dt, rate
        As `normal_force` takes them.
    force, limit
        Tangential force (3) [N], and the square of the largest one.
    t : tuple of 3 float
        Tangential velocity at the end of the step [m/s].
    rolling : tuple of 3 float
        Angular velocity of the second body relative to the first [rad/s].
    reach : float
        Largest rolling moment [N m].
    turning : float
        Effective moment of inertia of the pair, or less [kg m^2].

    Returns
    -------
    six float
        Force (3) [N], rolling moment over the relative angular velocity [N m s], work of the tangential force and of
        the rolling moment in this step [J].
    """
    fx, fy, fz = force
    rx, ry, rz = rolling
    turns = rx * rx + ry * ry + rz * rz
    pull, turning_rate = max(fx * fx + fy * fy + fz * fz, TINY), max(square_root(turns), TINY)
    inverse = 1.0 / (pull * turning_rate)
    cut = square_root(min(1.0, limit * turning_rate * inverse))
    fx, fy, fz = fx * cut, fy * cut, fz * cut
    resistance = -min(reach * pull * inverse, ROLLING_SHARE * turning * rate)
    return fx, fy, fz, resistance, (fx * t[0] + fy * t[1] + fz * t[2]) * dt, resistance * turns * dt
