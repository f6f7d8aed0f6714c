"""The tangential force of a contact as pdem computes it; its declaration is in `pdem.contact.law.kinds.friction`.

The force grows by the velocity of the middle of a step in the tangent plane of the middle, and is then turned into the
tangent plane of the end (Vyas, Ottino, Lueptow, Umbanhowar, Comput. Phys. Commun. 310 (2025) 109524); it is kept as a
force, shrunk with the stiffness on unloading.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pdem.contact.law.parts import TINY, WORST_ROTATION
from pdem.numerics.kernels import inlined
from pdem.numerics.vectors import square_root

if TYPE_CHECKING:
    from pdem.contact.law.parts import Contact, Load
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector


class Spring(NamedTuple):
    """The tangential force of a contact before Coulomb's limit has been applied to its damping.

    Attributes
    ----------
    elastic : tuple of 3 float
        Force of the spring, which is the history [N].
    stored : float
        Energy in it [J].
    force : tuple of 3 float
        Force with damping [N].
    limit : float
        Square of the largest force [N^2].
    sticks : bool
        Whether it is within the limit.
    """

    elastic: Vector
    stored: float
    force: Vector
    limit: float
    sticks: bool


@inlined
def spring_force(
    step: TimeStep, contact: Contact, frictions: tuple[float, float], load: Load, damping: float, old: Vector
) -> Spring:
    """Return the tangential force of a contact, with Coulomb's limit applied to the spring but not to damping.

    Parameters
    ----------
    step, contact, load
        See `pdem.contact.law.parts`; the stiffness of the load is the tangential one here.
    frictions : tuple of 2 float
        Static and dynamic friction.
    damping : float
        Tangential damping [N s/m].
    old : tuple of 3 float
        Force of the spring in the last step [N], zeros in a new contact.
    """
    nx, ny, nz = contact.normal
    hx, hy, hz = old
    u, slide = contact.velocity, contact.slip
    turn = contact.spin * step.dt
    slips = load.time * load.stiffness
    gx = load.shrink * (hx + turn * (ny * hz - nz * hy)) - slips * slide[0]
    gy = load.shrink * (hy + turn * (nz * hx - nx * hz)) - slips * slide[1]
    gz = load.shrink * (hz + turn * (nx * hy - ny * hx)) - slips * slide[2]
    size = gx * gx + gy * gy + gz * gz
    gn = gx * nx + gy * ny + gz * nz
    gx, gy, gz = gx - gn * nx, gy - gn * ny, gz - gn * nz
    limit, slips_at = frictions[0] * load.force, frictions[1] * load.force
    limit, slips_at = limit * limit, slips_at * slips_at
    sticks = size <= limit
    limit = limit if sticks else slips_at
    size = size if sticks else limit
    held, yielding = max(gx * gx + gy * gy + gz * gz, TINY), max(load.stiffness, TINY)
    inverse = 1.0 / (held * yielding)
    scale = square_root(size * yielding * inverse)
    stored = 0.5 * size * held * inverse
    gx, gy, gz = gx * scale, gy * scale, gz * scale

    # Damping only where the contact sticks. It takes the velocity of the middle of the step, which lags: that
    # stays stable while WORST_ROTATION (stiffness + 2 damping / step) is below 4 mass / step^2. Of what the stiffness
    # leaves of this limit half is used; more would feed dense beds at coarse steps
    rest = max(contact.mass * step.rate / WORST_ROTATION - 0.25 * load.stiffness * step.dt, 0.0)
    damping = min(damping, rest) if sticks else 0.0
    un = u[0] * nx + u[1] * ny + u[2] * nz
    force = (
        gx - damping * (u[0] - un * nx), gy - damping * (u[1] - un * ny), gz - damping * (u[2] - un * nz)
    )  # fmt: skip
    return Spring((gx, gy, gz), stored, force, limit, sticks)
