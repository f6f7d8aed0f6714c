"""Lengths of steps of heat: how long they may be, and how they are divided."""

from __future__ import annotations

import math

STEPS_IN_MOTION = 50
"""Steps of motion in a step of heat, as long as two or three impacts."""

FINEST_SHARE, COARSEST_SHARE, BODIES_PER_SHARE = 2e-4, 1e-2, 2e5
"""Step of heat in frozen stages over the shortest time constant of a particle: the number of bodies over the last
number, between the first two. Steps of a few bodies cost little, and outputs are behind by less than a step."""

OSCILLATES = 0.5
"""Step of heat over the shortest time constant above which it is divided; at 1 temperatures could oscillate."""

CAREFUL = 0.05
"""Interval over the shortest time constant, as known from the step before, above which it is found out anew."""

MOST_PARTS = 1000
"""Largest number of parts of a step of heat."""

LONGEST = 10**15
"""Largest number of steps in an interval."""


def number_of_parts(duration: float, rate: float) -> int:
    """Return in how many parts a step of heat [s] is divided, by the fastest rate [1/s]."""
    return max(1, math.ceil(duration * rate / OSCILLATES))


def interval_in_steps(every: float | str, dt: float, rate: float, *, frozen: int = 0) -> int:
    """Return the number of steps of motion [s] until the next step of heat.

    Parameters
    ----------
    every : float or str
        The key of the case: a time [s] or ``"auto"``.
    dt : float
        Step of motion [s].
    rate : float
        Fastest rate of any particle [1/s].
    frozen : int
        Number of bodies if nothing moves, else 0.
    """
    if not isinstance(every, str):
        return max(1, round(every / dt))
    share = min(max(frozen / BODIES_PER_SHARE, FINEST_SHARE), COARSEST_SHARE)
    limit = LONGEST if rate <= 0.0 else round_time(share / rate) / dt
    if frozen:
        return int(min(max(1, round(limit)), LONGEST))
    return max(1, min(STEPS_IN_MOTION, int(min(limit, LONGEST))))


def round_time(time: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten up to a time [s], so that outputs meet steps of heat."""
    for power in range(20, -21, -1):
        for digit in (5.0, 2.0, 1.0):
            if (found := float(f"{digit}e{power}")) <= time:
                return found
    return time
