"""The damping factor for a coefficient of restitution."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from pdem.foundation import exact_math
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair

_MOST = 20.0
"""Damping factor of an impact that all but sticks."""

_HALVINGS = 60  # of the range up to that: to the last digit


def rebound(damping: float, hertzian: bool) -> float:
    """Return the rebound speed over the impact speed of two spheres with the damping factor `damping`.

    Parameters
    ----------
    damping : float
        Factor gamma of the damping coefficient 2 gamma sqrt(m k), with k the present stiffness.
    hertzian : bool
        Stiffness growing with the square root of the overlap, else constant.

    Notes
    -----
    In dimensionless form x'' = -(f(x) + 2 gamma sqrt(f'(x)) x') from x = 0, x' = 1, with f = x or x^1.5, until the
    force has vanished: contacts do not pull, so it ends while x > 0. With y = sqrt(4/5) x^(5/4) in place of x the
    second is v dv/dy = -y - 2 zeta v with zeta = sqrt(6/5) gamma (as Antypov, Elliott, EPL 94 (2011) 50004, map it to
    a linear spring), which is the first with zeta = gamma. Its force vanishes at the time
    (pi - 2 asin zeta) / sqrt(1 - zeta^2), and the speed is exp(-zeta time) then, independent of speed, size and mass.
    """
    zeta = math.sqrt(1.2) * damping if hertzian else damping
    if zeta < 1.0:
        time = 2.0 * exact_math.acos(zeta) / math.sqrt(1.0 - zeta * zeta)
    elif zeta > 1.0:
        beyond = math.sqrt((zeta - 1.0) * (zeta + 1.0))
        time = 2.0 * exact_math.log1p(zeta - 1.0 + beyond) / beyond
    else:
        time = 2.0
    return exact_math.exp(-zeta * time)


@lru_cache(maxsize=256)
def damping_factor(restitution: float, hertzian: bool) -> float:
    """Return the damping factor gamma for a coefficient of restitution.

    Parameters
    ----------
    restitution : float
        In (0, 1].
    hertzian : bool
        See `rebound`.

    Raises
    ------
    InputError
        If the restitution is out of range.
    """
    if not 0.0 < restitution <= 1.0:
        raise InputError(f"restitution is {restitution}; it must be above 0 and at most 1")
    if restitution == 1.0:
        return 0.0
    low, high = 0.0, _MOST
    for _ in range(_HALVINGS):  # a library for this takes longer to load than a run to start
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rebound(middle, hertzian) > restitution else (low, middle)
    return 0.5 * (low + high)


def damped_as_hertz(pair: Pair) -> float:
    """Return the damping factor for the restitution of a pair with the stiffness of elastic spheres."""
    return damping_factor(pair.keys["restitution"], True)


def damped_as_spring(pair: Pair) -> float:
    """Return the damping factor for the restitution of a pair with a constant stiffness."""
    return damping_factor(pair.keys["restitution"], False)


def undamped(pair: Pair) -> float:
    """Return no damping factor: the normal force loses energy by itself."""
    return 0.0
