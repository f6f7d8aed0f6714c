"""Mean and largest loads of walls over the steps since the last line of the series that was due.

Intervals follow from the case and do not depend on further lines of the series: a run that is continued, or repeated in
part, has the same numbers in the lines that are due.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from pdem.contact.walls.evaluate import LOADS
from pdem.contact.walls.step_loads import LoadsSoFar, StepLoads
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER, name_key
from pdem.engine.schedule import series_steps
from pdem.features.wall_loads.columns import columns_of_wall, mean_load_columns, walls_with_means
from pdem.numerics.sums import NARROW_LIMBS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Floats

LOAD_MEANS = "wall_load_means"
"""Name of the group of a checkpoint: a row for each wall with mean loads."""


class WallLoads(Feature):
    """Mean and largest loads of the walls of a case.

    Attributes
    ----------
    steps : StepLoads or None
        Loads step by step, None if the case has no mean loads.
    """

    name, turn, needs_forces = "wall_loads", Turn.COLLECT, False
    tables = (StateTable(LOAD_MEANS, observes=True),)

    def __init__(self, steps: StepLoads | None = None) -> None:
        self.steps = steps

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the loads of walls step by step at time 0."""
        case, measured = system.case, walls_with_means(system.case)
        if not measured or system.walls is None:
            return cls()
        return cls(StepLoads(measured, len(case.walls), series_steps(case.output, system.constants.time_step.dt)))

    @property
    def next_step(self) -> int:
        """Step at which ranks add up their loads next, `NEVER` if there are none."""
        return NEVER if self.steps is None else self.steps.next_step

    @property
    def watches_walls(self) -> bool:
        """Whether the case asks for mean loads."""
        return self.steps is not None

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Add the loads of a step."""
        if self.steps is not None and system.contacts.walls is not None:
            self.steps.add(system.contacts.walls, system.progress.step)

    def act(self, system: System, phases: Phases) -> None:
        """Add up the loads of all ranks in the steps until now. Collective."""
        if self.steps is not None:
            self.steps.join(system.progress.step, system.exchange.add)

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of mean and largest loads."""
        return list(mean_load_columns(system.case))

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns, the same on all ranks. Collective.

        At the beginning of a run, without steps for a mean, the values are the loads of the present step.
        """
        if self.steps is None:
            return {}
        self.steps.join(system.progress.step, system.exchange.add)
        so_far, found = self.steps.so_far, dict[str, float]()
        means = so_far.means(system.progress.step)
        for row, number in enumerate(walls_with_means(system.case)):
            name = system.case.walls[number].name
            values = [*means[row], *so_far.largest[row]]
            if so_far.begin[row] == system.progress.step:
                force, torque = (np.asarray(line.loads[name][one], np.float64) for one in ("force", "torque"))
                values = [*force, *torque, line.loads[name]["power"], *map(_size, (force, torque))]
            names = (column for column, *_ in columns_of_wall(name))
            found.update(zip(names, map(float, values), strict=True))
        return found

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the group of a checkpoint, including loads that ranks have not added up yet."""
        if self.steps is None:
            return {}
        so_far, walls = self.steps.so_far, system.case.walls
        keys = np.array([name_key(walls[number].name) for number in walls_with_means(system.case)], np.int64)
        return {
            LOAD_MEANS: {
                "wall": keys, "begin": so_far.begin, "total": so_far.total.reshape(len(keys), -1),
                "largest": so_far.largest, "not_joined": self.steps.not_joined(system.progress.step).copy(),
            }
        }  # fmt: skip

    def totals(self, system: System, local: Groups) -> Groups:
        """Return the group of a checkpoint from the parts of all ranks. Collective."""
        if LOAD_MEANS not in local or self.steps is None:
            return {}
        own, step = local[LOAD_MEANS]["not_joined"], int(local["counters"]["step"])
        columns = {name: column for name, column in local[LOAD_MEANS].items() if name != "not_joined"}
        if not len(own):
            return {LOAD_MEANS: columns}
        so_far = LoadsSoFar(columns["begin"], columns["total"].reshape(-1, NARROW_LIMBS), columns["largest"])
        found = so_far.followed_by(system.exchange.add(own), step, self.steps.interval)
        total = found.total.reshape(len(found.begin), -1)
        return {LOAD_MEANS: {**columns, **found._asdict(), "total": total}}

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue with the loads of a checkpoint, by wall; missing ones begin now."""
        if self.steps is None:
            return
        measured = walls_with_means(system.case)
        begun = LoadsSoFar.none(len(measured), system.progress.step)
        stored = groups.get(LOAD_MEANS)
        rows = {} if stored is None else {key: row for row, key in enumerate(stored["wall"].tolist())}
        for own, number in enumerate(measured):
            row = rows.get(name_key(system.case.walls[number].name))
            if row is not None and stored is not None:
                begun.begin[own], begun.largest[own] = stored["begin"][row], stored["largest"][row]
                total = stored["total"][row].reshape(LOADS, NARROW_LIMBS)
                begun.total[own * LOADS : (own + 1) * LOADS] = total
        self.steps.begin_at(system.progress.step, begun)


def _size(vector: Floats) -> float:
    squared = vector * vector
    return float(np.sqrt(squared[0] + squared[1] + squared[2]))
