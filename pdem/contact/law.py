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
from typing import TYPE_CHECKING

from pdem.contact.coefficients import DAMPING, FRICTION, HERTZIAN, ROLLING, STIFFNESS, TANGENTIAL_RATIO
from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HISTORY = 11
"""Columns of a contact's history: tangential force (3) [N], relative velocity of the last step (3) [m/s],
energy dissipated so far by normal damping, by sliding, by rolling, energy stored tangentially [J], and the normal
force [N]."""

ROLLING_SHARE = 0.1
"""Part of the relative rotation that rolling resistance may take away in one step."""

TINY = 1e-300
"""Keeps quotients of vanishing vectors finite."""


@inlined
def contact_law(
    dt: float,
    rate: float,
    overlap: float,
    overlap_before: float,
    n: tuple[float, float, float],
    m: tuple[float, float, float],
    u: tuple[float, float, float],
    spin: float,
    rolling: tuple[float, float, float],
    radius: float,
    mass: float,
    inertia: float,
    table: NDArray[np.float64],
    pair: int,
    old: NDArray[np.float64],
    slot: int,
) -> tuple[
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
    float,
]:
    """Return the law's answer for one contact of a first (``lower``) and a second body.

    Parameters
    ----------
    dt, rate : float
        Time by which history grows [s] (0 when a run begins), and one over the time step [1/s].
    overlap, overlap_before : float
        At the end and at the beginning of the step [m].
    n, m : tuples of 3 float
        Unit normals from the first to the second body, at the end and in the middle of the step.
    u : tuple of 3 float
        Velocity of the second body relative to the first at the contact, in the middle of the step [m/s].
    spin : float
        Mean angular velocity of both about the normal [rad/s], by which the history turns.
    rolling : tuple of 3 float
        Angular velocity of the second body relative to the first [rad/s].
    radius, mass, inertia : float
        Effective ones of the pair [m], [kg], [kg m^2].
    table, pair
        Pair table and the column of this pair of materials.
    old, slot
        Histories of the last step, shape (>= 10, n), and the column of this contact; 0 if it is new.

    Returns
    -------
    seventeen float
        Normal force on the second body as a vector along n (3), tangential force on it (3), rolling moment on
        it (3), new tangential history (3), new history columns 6 to 10. Flat, because a tuple of tuples keeps
        numba from seeing that the arrays of a loop do not overlap, and the loop scalar.
    """
    nx, ny, nz = n
    hertzian = table[HERTZIAN, pair] > 0.5
    ratio = table[TANGENTIAL_RATIO, pair]
    gamma = table[DAMPING, pair]
    deep = max(overlap, 0.0)
    deep_before = max(overlap_before, 0.0)
    stiffness = table[STIFFNESS, pair] * (math.sqrt(radius * deep) if hertzian else 1.0)
    stiffness_before = table[STIFFNESS, pair] * (math.sqrt(radius * deep_before) if hertzian else 1.0)
    elastic = stiffness * deep * (2.0 / 3.0 if hertzian else 1.0)

    # velocity at the end of the step; its normal part without what the change of the normal force adds
    half = 0.5 if slot > 0 else 0.0
    ex = u[0] + half * (u[0] - old[3, slot])
    ey = u[1] + half * (u[1] - old[4, slot])
    ez = u[2] + half * (u[2] - old[5, slot])
    en = ex * nx + ey * ny + ez * nz
    tx, ty, tz = ex - en * nx, ey - en * ny, ez - en * nz
    gain = 0.5 * dt / mass
    en -= gain * old[10, slot]

    # the first force of a contact acts from the touch to the middle of the next step, over the way `reach`
    gained = overlap - overlap_before
    begins = (slot == 0) & (overlap_before < 0.1 * gained) & (dt > 0.0)
    reach = deep + (0.5 * gained if begins else 0.0)
    stiffness_at_reach = table[STIFFNESS, pair] * (math.sqrt(radius * reach) if hertzian else 1.0)
    damping = 2.0 * gamma * math.sqrt(mass * stiffness_at_reach)
    closing = (0.8 if hertzian else 1.0) * reach * rate if begins else -en
    normal = max((elastic + damping * closing) / (1.0 + gain * damping), 0.0)
    en += gain * normal

    # history: unloading shrinks it with the stiffness, sliding in the middle of the step makes it grow
    hx, hy, hz = old[0, slot], old[1, slot], old[2, slot]
    k_t = ratio * stiffness
    shrink = min(1.0, stiffness / max(stiffness_before, TINY))
    slips = dt * overlap / gained if begins else dt  # a contact slips from the touch on
    um = u[0] * m[0] + u[1] * m[1] + u[2] * m[2]
    turn = spin * dt
    gx = shrink * (hx + turn * (ny * hz - nz * hy)) - k_t * slips * (u[0] - um * m[0])
    gy = shrink * (hy + turn * (nz * hx - nx * hz)) - k_t * slips * (u[1] - um * m[1])
    gz = shrink * (hz + turn * (nx * hy - ny * hx)) - k_t * slips * (u[2] - um * m[2])
    size = gx * gx + gy * gy + gz * gz
    gn = gx * nx + gy * ny + gz * nz
    gx, gy, gz = gx - gn * nx, gy - gn * ny, gz - gn * nz
    size_in_plane = gx * gx + gy * gy + gz * gz
    limit = table[FRICTION, pair] * normal
    magnitude = math.sqrt(size)
    sticks = magnitude <= limit
    scale = (magnitude if sticks else limit) / math.sqrt(max(size_in_plane, TINY))
    gx, gy, gz = gx * scale, gy * scale, gz * scale

    # damping only where the contact sticks. It takes the velocity of the middle of the step, and solves for its
    # own share of it (2/7 of the mass resists at the surface): an extrapolated one feeds the fast tangential
    # oscillations of dense beds at coarse steps instead of damping them
    c_t = (2.0 * gamma * math.sqrt(mass * k_t)) if sticks else 0.0
    c_t /= 1.0 + 3.5 * gain * c_t
    un = u[0] * nx + u[1] * ny + u[2] * nz
    fx, fy, fz = gx - c_t * (u[0] - un * nx), gy - c_t * (u[1] - un * ny), gz - c_t * (u[2] - un * nz)
    force = math.sqrt(fx * fx + fy * fy + fz * fz)
    cut = min(1.0, limit / max(force, TINY))
    fx, fy, fz = fx * cut, fy * cut, fz * cut

    rx, ry, rz = rolling
    speed = math.sqrt(rx * rx + ry * ry + rz * rz)
    resistance = -min(
        table[ROLLING, pair] * radius * normal / max(speed, TINY), ROLLING_SHARE * inertia * rate
    )
    stored = (gx * gx + gy * gy + gz * gz) / max(2.0 * k_t, TINY)
    damped = old[6, slot] + (elastic - normal) * en * dt
    slid = old[7, slot] - (fx * tx + fy * ty + fz * tz) * dt - (stored - old[9, slot])
    rolled = old[8, slot] - resistance * speed * speed * dt
    return (
        normal * nx, normal * ny, normal * nz, fx, fy, fz, resistance * rx, resistance * ry, resistance * rz,
        gx, gy, gz, damped, slid, rolled, stored, normal,
    )  # fmt: skip
