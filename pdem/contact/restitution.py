"""The damping that gives a wanted coefficient of restitution."""

from __future__ import annotations

import math
from functools import lru_cache

from pdem.foundation.errors import InputError

_LONGEST = 1000.0
"""End of the integration in units of 1/omega; impacts that take longer do not rebound measurably."""

_MOST = 20.0
"""Damping factor of an impact that all but sticks."""


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
    Integrates one impact in dimensionless form, x'' = -max(0, f(x) + 2 gamma sqrt(f'(x)) x'), from x = 0,
    x' = 1, with f = x^1.5 or x, until the force has vanished: contacts do not pull, so it ends while x > 0.
    The result is independent of speed, size and mass, for both laws.
    """
    from scipy.integrate import solve_ivp

    def force(overlap: float, speed: float) -> float:
        overlap = max(overlap, 0.0)
        if hertzian:
            stiffness, elastic = 1.5 * math.sqrt(overlap), overlap * math.sqrt(overlap)
        else:
            stiffness, elastic = 1.0, overlap
        return elastic + 2.0 * damping * math.sqrt(stiffness) * speed

    def motion(_: float, state: tuple[float, float]) -> tuple[float, float]:
        return state[1], -max(0.0, force(*state))

    def separation(_: float, state: tuple[float, float]) -> float:
        return force(*state)

    separation.terminal = True  # type: ignore[attr-defined]
    separation.direction = -1.0  # type: ignore[attr-defined]
    start = (1e-9, 1.0)
    path = solve_ivp(
        motion, (0.0, _LONGEST), start, events=separation, method="DOP853", rtol=1e-8, atol=1e-11
    )
    return max(0.0, -float(path.y[1, -1]))


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
    from scipy.optimize import brentq

    if restitution <= rebound(_MOST, hertzian):
        return _MOST
    return float(brentq(lambda gamma: rebound(gamma, hertzian) - restitution, 0.0, _MOST, xtol=1e-8))
