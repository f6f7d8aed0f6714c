"""Wear of the walls of a run, of all ranks: counted step by step, in checkpoints, and as depths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pdem.contact.walls import wear as kernels
from pdem.contact.walls.wear import WallWear, depths
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import name_key
from pdem.foundation.fields import Field
from pdem.numerics.sums import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers
    from pdem.motion.walls import MovingWalls

WEAR = "wall_wear"
"""Name of the group of a checkpoint: a row for each facet that has worn."""

WEAR_FIELD = Field("wear", np.float64, (), "m", "depth by which each facet has worn, as a mean over it")

_MODELS = {"archard": kernels.ARCHARD, "finnie": kernels.FINNIE}


class WearFeature(Feature):
    """The wear of all walls of a case.

    Attributes
    ----------
    counts : WallWear or None
        Wear counted by this rank, None if no wall wears.
    """

    name, turn, tables = "wear", Turn.COLLECT, (StateTable(WEAR, observes=True),)

    def __init__(self, counts: WallWear | None = None) -> None:
        self.counts = counts

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the wear of the walls of a case at time 0."""
        case, walls = system.case, system.walls
        if walls is None or not any(wall.wear for wall in case.walls):
            return cls()
        models = [kernels.NONE if wall.wear is None else _MODELS[wall.wear.model] for wall in case.walls]
        coefficients = [0.0 if wall.wear is None else wall.wear.coefficient for wall in case.walls]
        materials = [case.material_index(wall.material) for wall in case.walls]
        return cls(WallWear(system.constants.law, walls, materials, models, coefficients))

    @property
    def watches_walls(self) -> bool:
        """Whether any wall wears."""
        return self.counts is not None

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Add the worn volumes of a step."""
        if self.counts is not None:
            self.counts.add(evaluated, parameters)

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the group of a checkpoint."""
        if self.counts is None:
            return {}
        self.counts.normalise()
        return {WEAR: {"volume": self.counts.limbs.copy()}}

    def totals(self, system: System, local: Groups) -> Groups:
        """Return the group of a checkpoint, a row for each facet that has worn on any rank. Collective."""
        walls = system.walls
        if WEAR not in local or walls is None:
            return {}
        limbs = system.exchange.add(local[WEAR]["volume"])
        normalise(limbs)
        worn = np.flatnonzero(limbs.any(axis=1))
        return {
            WEAR: {
                "wall": _keys(system.walls, system.case)[worn],
                "facet": walls.facet_origin[worn],
                "volume": limbs[worn],
            }
        }

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue with the wear of a checkpoint, by walls and facets, on the first rank."""
        stored, walls = groups.get(WEAR), system.walls
        if self.counts is None or stored is None or walls is None or system.exchange.rank:
            return
        places = zip(_keys(system.walls, system.case).tolist(), walls.facet_origin.tolist(), strict=True)
        rows = {place: row for row, place in enumerate(places)}
        columns = (stored["wall"].tolist(), stored["facet"].tolist(), stored["volume"])
        for wall, facet, limbs in zip(*columns, strict=True):
            if (row := rows.get((wall, facet))) is not None:
                self.counts.limbs[row] = limbs

    @property
    def facet_fields(self) -> tuple[Field, ...]:
        """The depth of wear."""
        return () if self.counts is None else (WEAR_FIELD,)

    def facet_values(self, system: System) -> dict[str, NDArray[Any]]:
        """Return the depth by which each facet of all walls has worn (F,) [m]. Collective."""
        if self.counts is None or system.walls is None:
            return {}
        self.counts.normalise()
        limbs = system.exchange.add(self.counts.limbs)
        return {WEAR_FIELD.name: depths(limbs, system.walls.mesh.facet_areas)}


def _keys(walls: MovingWalls | None, case: Case) -> Integers:
    """Return the key of the wall of each facet (F,)."""
    assert walls is not None
    keys = np.array([name_key(wall.name) for wall in case.walls], np.int64)
    found: Integers = keys[walls.facet_wall]
    return found
