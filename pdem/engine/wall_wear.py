"""Wear of the walls of a run, of all ranks: counted step by step, in checkpoints, and as depths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.walls import wear as kernels
from pdem.contact.walls.wear import WallWear, depths
from pdem.engine.named_events import name_key
from pdem.foundation.fields import Field
from pdem.foundation.sums import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.engine.system import System

    Columns = Mapping[str, NDArray[Any]]

WEAR = "wall_wear"
"""Name of the group of a checkpoint: a row for each facet that has worn."""

WEAR_FIELD = Field("wear", np.float64, (), "m", "depth by which each facet has worn, as a mean over it")

_MODELS = {"archard": kernels.ARCHARD, "finnie": kernels.FINNIE}


def wear_of(system: System) -> WallWear | None:
    """Return the wear of walls at time 0, None if none wears."""
    case, walls = system.case, system.moving_walls
    if walls is None or not any(wall.wear for wall in case.walls):
        return None
    models = [kernels.NONE if wall.wear is None else _MODELS[wall.wear.model] for wall in case.walls]
    coefficients = [0.0 if wall.wear is None else wall.wear.coefficient for wall in case.walls]
    materials = [case.material_index(wall.material) for wall in case.walls]
    return WallWear(system.constants.law, walls, materials, models, coefficients)


def looks_at_each_step(system: System) -> bool:
    """Tell whether contacts with walls are looked at after each step."""
    return any(one is not None for one in (system.wear, system.collisions, system.step_loads))


def note_wall_contacts(system: System, packed: NDArray[np.float64], parameters: ContactParameters) -> None:
    """Add up what the contacts with walls have done in a step: loads, wear, and collisions that have ended."""
    contacts = system.wall_contacts
    if contacts is None or parameters.dt == 0.0 or not looks_at_each_step(system):
        return
    if system.step_loads is not None:
        system.step_loads.add(contacts, system.step)
    evaluated = contacts.evaluated(packed, len(parameters.density))
    if system.wear is not None:
        system.wear.add(evaluated, parameters)
    if system.collisions is not None and contacts.ended:
        system.collisions.count_walls(evaluated)


def wear_group(wear: WallWear | None) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the part of this rank of the group of a checkpoint."""
    if wear is None:
        return {}
    wear.normalise()
    return {WEAR: {"volume": wear.limbs.copy()}}


def joined_wear(system: System, local: Columns) -> dict[str, NDArray[Any]]:
    """Return the group of a checkpoint, rows of the facets that have worn, from the parts of all ranks. Collective."""
    walls, limbs = system.moving_walls, system.exchange.add(local["volume"])
    assert walls is not None
    normalise(limbs)
    worn = np.flatnonzero(limbs.any(axis=1))
    return {"wall": _keys(system)[worn], "facet": walls.facet_origin[worn], "volume": limbs[worn]}


def load_wear(system: System, groups: Mapping[str, Columns]) -> None:
    """Go on with the wear of a checkpoint, by walls and facets. For the first rank."""
    stored, walls = groups.get(WEAR), system.moving_walls
    if system.wear is None or stored is None or walls is None:
        return
    places = zip(_keys(system).tolist(), walls.facet_origin.tolist(), strict=True)
    rows = {place: row for row, place in enumerate(places)}
    for wall, facet, limbs in zip(
        stored["wall"].tolist(), stored["facet"].tolist(), stored["volume"], strict=True
    ):
        if (row := rows.get((wall, facet))) is not None:
            system.wear.limbs[row] = limbs


def _keys(system: System) -> NDArray[np.int64]:
    """Return the key of the wall of each facet (F,)."""
    assert system.moving_walls is not None
    keys = np.array([name_key(wall.name) for wall in system.case.walls], np.int64)
    found: NDArray[np.int64] = keys[system.moving_walls.facet_wall]
    return found


def wear_depths(system: System) -> NDArray[np.float64] | None:
    """Return the depth by which each facet of all walls has worn (F,) [m]; None if none wears. Collective."""
    if system.wear is None or system.moving_walls is None:
        return None
    system.wear.normalise()
    limbs = system.exchange.add(system.wear.limbs)
    return depths(limbs, system.moving_walls.mesh.facet_areas)
