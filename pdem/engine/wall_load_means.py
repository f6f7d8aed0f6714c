"""Mean and largest loads of walls over the steps since the last line of the series that was due.

Intervals are those of the case, whatever lines are written besides: so a run that is continued, or of which a part is
computed again, has the same numbers in the lines that are due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.mean_loads import columns_of_wall, walls_with_means
from pdem.contact.walls.evaluate import LOADS
from pdem.contact.walls.step_loads import LoadsSoFar, StepLoads
from pdem.engine.named_events import name_key
from pdem.engine.schedule import series_steps
from pdem.foundation.sums import NARROW_LIMBS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.engine.system import System

    Columns = Mapping[str, NDArray[Any]]

LOAD_MEANS = "wall_load_means"
"""Name of the group of a checkpoint: a row for each wall whose mean loads are asked for."""


def step_loads_of(system: System) -> StepLoads | None:
    """Return the loads of walls step by step at time 0, None if the case does not ask for them."""
    case, measured = system.case, walls_with_means(system.case)
    if not measured or system.moving_walls is None:
        return None
    return StepLoads(measured, len(case.walls), series_steps(case.output, system.constants.step))


def join_step_loads(system: System) -> None:
    """Add up the loads of all ranks in the steps until now. Collective."""
    if system.step_loads is not None:
        system.step_loads.join(system.step, system.exchange.add)


def mean_load_values(system: System, loads: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return the values of the columns of mean and largest loads, the same on all ranks. Collective.

    `loads` are those of the present step (`pdem.engine.wall_output.loads_of_walls`): where there are no steps to
    take means of, at the beginning of a run, they stand in place of these.
    """
    if system.step_loads is None:
        return {}
    join_step_loads(system)
    so_far, found = system.step_loads.so_far, dict[str, float]()
    means = so_far.means(system.step)
    for row, number in enumerate(walls_with_means(system.case)):
        name = system.case.walls[number].name
        values = [*means[row], *so_far.largest[row]]
        if so_far.begin[row] == system.step:
            force, torque = (np.asarray(loads[name][one], np.float64) for one in ("force", "torque"))
            values = [*force, *torque, loads[name]["power"], *map(_size, (force, torque))]
        names = (column for column, *_ in columns_of_wall(name))
        found.update(zip(names, map(float, values), strict=True))
    return found


def _size(vector: NDArray[np.float64]) -> float:
    squared = vector**2
    return float(np.sqrt(squared[0] + squared[1] + squared[2]))


def load_mean_group(system: System) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the part of this rank of the group of a checkpoint, with loads that ranks have yet to add up."""
    loads = system.step_loads
    if loads is None:
        return {}
    so_far, walls = loads.so_far, system.case.walls
    keys = np.array([name_key(walls[number].name) for number in walls_with_means(system.case)], np.int64)
    return {
        LOAD_MEANS: {
            "wall": keys, "begin": so_far.begin, "total": so_far.total.reshape(len(keys), -1),
            "largest": so_far.largest, "not_joined": loads.not_joined(system.step).copy(),
        }
    }  # fmt: skip


def joined_load_means(system: System, local: Columns, step: int) -> dict[str, NDArray[Any]]:
    """Return the group of a checkpoint of a step from the parts of all ranks. Collective."""
    loads, own = system.step_loads, local["not_joined"]
    assert loads is not None
    columns = {name: column for name, column in local.items() if name != "not_joined"}
    if not len(own):
        return columns
    found = _so_far_of(columns).followed_by(system.exchange.add(own), step, loads.interval)
    return {**columns, **found._asdict(), "total": found.total.reshape(len(found.begin), -1)}


def load_load_means(system: System, groups: Mapping[str, Columns]) -> None:
    """Go on with the loads of a checkpoint, by wall; those that it lacks begin now."""
    loads = system.step_loads
    if loads is None:
        return
    measured = walls_with_means(system.case)
    begun = LoadsSoFar.none(len(measured), system.step)
    stored = groups.get(LOAD_MEANS)
    if stored is not None:
        rows = {key: row for row, key in enumerate(stored["wall"].tolist())}
        for own, number in enumerate(measured):
            row = rows.get(name_key(system.case.walls[number].name))
            if row is not None:
                begun.begin[own], begun.largest[own] = stored["begin"][row], stored["largest"][row]
                begun.total[own * LOADS : (own + 1) * LOADS] = stored["total"][row].reshape(
                    LOADS, NARROW_LIMBS
                )
    loads.begin_at(system.step, begun)


def _so_far_of(columns: Columns) -> LoadsSoFar:
    return LoadsSoFar(columns["begin"], columns["total"].reshape(-1, NARROW_LIMBS), columns["largest"])
