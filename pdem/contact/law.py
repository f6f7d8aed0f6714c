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

from pdem.contact.coefficients import (
    COEFFICIENTS,
    DAMPING,
    FRICTION,
    HERTZIAN,
    ROLLING,
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


class Law(NamedTuple):
    """What the contact law needs besides particles and contacts.

    Attributes
    ----------
    density : (M,) array
        By material [kg/m^3].
    table : (M * M, 6) array
        `pdem.contact.coefficients.pair_table`.
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
    lightness: float,
    turning: float,
    coefficient: NDArray[np.float64],
    pair: int,
    known: bool,
    old: tuple[float, ...],
) -> tuple[
    float, float, float, float, float, float, float, float, float, float, float, float, float, float, float,
    float, float,
]:  # fmt: skip
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
    radius : float
        Effective radius of the pair [m].
    mass, lightness : float
        Effective mass of the pair [kg], and one over it.
    turning : float
        Effective moment of inertia of the pair, or less [kg m^2].
    coefficient, pair
        Pair table, flat, and the row of this pair of materials.
    known : bool
        Whether the bodies touched in the last step.
    old : tuple of `HISTORY` - 1 float
        Their history then, without the overlap; zeros if there is none.

    Returns
    -------
    seventeen float
        Normal force on the second body as a vector along n (3), tangential force on it (3), rolling moment on
        it (3), new tangential history (3), normal force, and the new history from `STORED` to `ROLLED`. Flat,
        because a tuple of tuples keeps numba from seeing that the arrays of a loop do not overlap, and the loop
        scalar. Square roots and quotients are few, because they are what the processor is slowest at.
    """
    nx, ny, nz = n
    base = COEFFICIENTS * pair
    hertzian = coefficient[base + HERTZIAN] > 0.5
    modulus = coefficient[base + STIFFNESS]
    ratio = coefficient[base + TANGENTIAL_RATIO]
    gamma = coefficient[base + DAMPING]
    gain = 0.5 * dt * lightness

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
    ex = u[0] + half * (u[0] - old[4])
    ey = u[1] + half * (u[1] - old[5])
    ez = u[2] + half * (u[2] - old[6])
    en = ex * nx + ey * ny + ez * nz
    tx, ty, tz = ex - en * nx, ey - en * ny, ez - en * nz
    en -= gain * old[3]
    at_reach = other_root if begins else root
    damping = 2.0 * gamma * square_root(mass * modulus * at_reach)
    closing = (0.8 if hertzian else 1.0) * reach * rate if begins else -en
    normal = max((elastic + damping * closing) / (1.0 + gain * damping), 0.0)
    en += gain * normal

    # history: unloading shrinks it with the stiffness, sliding in the middle of the step makes it grow
    hx, hy, hz = old[0], old[1], old[2]
    k_t = ratio * stiffness
    # (one quotient for both: a contact that begins has nothing to shrink, and slips from the touch on)
    quotient = (overlap if begins else root) / (gained if begins else max(other_root, TINY))
    shrink = min(1.0, quotient)
    slips = dt * quotient if begins else dt
    um = u[0] * m[0] + u[1] * m[1] + u[2] * m[2]
    turn = spin * dt
    gx = shrink * (hx + turn * (ny * hz - nz * hy)) - k_t * slips * (u[0] - um * m[0])
    gy = shrink * (hy + turn * (nz * hx - nx * hz)) - k_t * slips * (u[1] - um * m[1])
    gz = shrink * (hz + turn * (nx * hy - ny * hx)) - k_t * slips * (u[2] - um * m[2])
    size = gx * gx + gy * gy + gz * gz
    gn = gx * nx + gy * ny + gz * nz
    gx, gy, gz = gx - gn * nx, gy - gn * ny, gz - gn * nz
    limit = coefficient[base + FRICTION] * normal
    limit *= limit
    sticks = size <= limit
    size = size if sticks else limit
    held, yielding = max(gx * gx + gy * gy + gz * gz, TINY), max(k_t, TINY)
    inverse = 1.0 / (held * yielding)
    scale = square_root(size * yielding * inverse)
    stored = 0.5 * size * held * inverse
    gx, gy, gz = gx * scale, gy * scale, gz * scale

    # Damping only where the contact sticks. It takes the velocity of the middle of the step, which lags: that
    # stays stable while CROWD (k_t + 2 c_t / step) is below 4 mass / step^2. Of what k_t leaves of this
    # limit half is used; more would feed dense beds at coarse steps
    c_t = min(damping * square_root(ratio), max(mass * rate / CROWD - 0.25 * k_t * dt, 0.0))
    c_t = c_t if sticks else 0.0
    un = u[0] * nx + u[1] * ny + u[2] * nz
    fx, fy, fz = gx - c_t * (u[0] - un * nx), gy - c_t * (u[1] - un * ny), gz - c_t * (u[2] - un * nz)
    rx, ry, rz = rolling
    turns = rx * rx + ry * ry + rz * rz
    pull, turning_rate = max(fx * fx + fy * fy + fz * fz, TINY), max(square_root(turns), TINY)
    inverse = 1.0 / (pull * turning_rate)
    cut = square_root(min(1.0, limit * turning_rate * inverse))
    fx, fy, fz = fx * cut, fy * cut, fz * cut
    resistance = -min(
        coefficient[base + ROLLING] * radius * normal * pull * inverse, ROLLING_SHARE * turning * rate
    )
    damped = old[8] + (elastic - normal) * en * dt
    slid = old[9] - (fx * tx + fy * ty + fz * tz) * dt - (stored - old[7])
    rolled = old[10] - resistance * turns * dt
    return (
        normal * nx, normal * ny, normal * nz, fx, fy, fz, resistance * rx, resistance * ry, resistance * rz,
        gx, gy, gz, normal, stored, damped, slid, rolled,
    )  # fmt: skip
