"""Force and torque of free particles on each group of fixed particles: exact sums, the same on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.fixed_groups import fixed_columns, fixed_groups
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats


def fixed_loads(system: System) -> dict[str, dict[str, Floats]]:
    """Return by group ``force`` (3,) [N] and ``torque`` (3,) [N m], about the origin. Collective."""
    names = list(fixed_groups(system.case))
    if not names:
        return {}
    own, sums = system.particles, ExactSums([column for column, _ in fixed_columns(system.case)])
    rows = np.flatnonzero(own.fixed)
    force, x = own.force[rows], own.position[rows]
    loads = np.concatenate((force, own.torque[rows] + np.cross(x, force)), axis=1).T
    for number in range(len(names)):
        mine = own.fixed[rows] == number + 1
        sums.add_rows(sums.names[6 * number : 6 * number + 6], loads[:, mine])
    sums.normalise()
    total = ExactSums(sums.names, system.exchange.add(sums.limbs)).values()
    values = np.array(list(total.values())).reshape(len(names), 2, 3)
    return {name: {"force": one[0], "torque": one[1]} for name, one in zip(names, values, strict=True)}


def fixed_values(system: System) -> dict[str, float]:
    """Return the values of the columns of fixed groups. Collective."""
    values = [one[key] for one in fixed_loads(system).values() for key in ("force", "torque")]
    names = [name for name, _ in fixed_columns(system.case)]
    return dict(zip(names, np.concatenate(values).tolist() if values else [], strict=True))
