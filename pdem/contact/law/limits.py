"""Coulomb's limit of the tangential force, and the torque of constant size against rolling.

Division is the slowest operation of a processor: if a case uses both, they share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.contact.law.kinds.constant_torque import ROLLING_SHARE
from pdem.contact.law.parts import TINY
from pdem.numerics.kernels import inlined
from pdem.numerics.vectors import square_root

if TYPE_CHECKING:
    from pdem.numerics.vectors import Vector


@inlined
def limited_force(force: Vector, limit: float) -> Vector:
    """Return a tangential force [N] within its limit; `limit` is the square of the limit [N^2]."""
    fx, fy, fz = force
    cut = square_root(min(1.0, limit / max(fx * fx + fy * fy + fz * fz, TINY)))
    return fx * cut, fy * cut, fz * cut


@inlined
def rolling_resistance(rolling: Vector, reach: float, inertia: float, rate: float) -> tuple[float, float]:
    """Return the torque over the relative angular velocity [N m s], negative, and the square of that velocity.

    Parameters
    ----------
    rolling : tuple of 3 float
        Relative angular velocity [rad/s].
    reach : float
        Largest torque [N m].
    inertia : float
        Effective inertia of the pair [kg m^2].
    rate : float
        One over the time step [1/s].
    """
    rx, ry, rz = rolling
    turns = rx * rx + ry * ry + rz * rz
    return -min(reach / max(square_root(turns), TINY), ROLLING_SHARE * inertia * rate), turns


@inlined
def limited_force_and_resistance(
    force: Vector, limit: float, rolling: Vector, reach: float, inertia: float, rate: float
) -> tuple[Vector, float, float]:
    """Return the results of `limited_force` and `rolling_resistance`, with one division."""
    fx, fy, fz = force
    rx, ry, rz = rolling
    turns = rx * rx + ry * ry + rz * rz
    size, turning_rate = max(fx * fx + fy * fy + fz * fz, TINY), max(square_root(turns), TINY)
    inverse = 1.0 / (size * turning_rate)
    cut = square_root(min(1.0, limit * turning_rate * inverse))
    resistance = -min(reach * size * inverse, ROLLING_SHARE * inertia * rate)
    return (fx * cut, fy * cut, fz * cut), resistance, turns
