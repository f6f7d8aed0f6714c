"""The bonds of a simulation for scripts: ids, lengths, energies, and the times at which bonds have broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.features.bonds.broken import BrokenBonds
    from pdem.features.bonds.evaluation import BondEvaluation
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]


def bonds_of_run(system: System, bonds: BondEvaluation, broken: BrokenBonds) -> Columns | None:
    """Return all present and broken bonds, sorted by ids, on the first rank; None elsewhere. Collective.

    See `pdem.run.simulation.Simulation.bonds`.
    """
    over, own = system.exchange, system.particles
    whole = over.collect(bonds.table.columns_of(bonds.table.counted(own)))
    events = broken.collected(over)
    places = over.collect({"id": own.id.copy(), "position": own.position.copy()})
    if whole is None or events is None or places is None:
        return None
    ids = np.stack((whole["lower"], whole["higher"]), axis=1)
    gone = np.stack((events["lower"], events["higher"]), axis=1)
    unknown = np.full(len(gone), np.nan)
    found = {
        "ids": np.concatenate((ids, gone)),
        "bond": np.array(list(system.case.bonds))[np.concatenate((whole["kind"], events["kind"]))],
        "length": np.concatenate((_lengths(system, ids, places), unknown)),
        "energy": np.concatenate((whole["energy"].sum(axis=1), events["energy"])),
        "stress": np.concatenate((whole["used"], unknown)),
        "broken_at": np.concatenate((np.full(len(ids), np.nan), events["step"] * system.constants.time_step.dt)),
    }
    order = np.lexsort((found["ids"][:, 1], found["ids"][:, 0]))
    return {name: column[order] for name, column in found.items()}


def _lengths(system: System, ids: Integers, places: Columns) -> Floats:
    """Return the distances of the particles of pairs (n, 2) of ids [m]."""
    order = np.argsort(places["id"])
    rows = order[np.searchsorted(places["id"], ids, sorter=order)]
    branch = places["position"][rows[:, 1]] - places["position"][rows[:, 0]]
    lengths: Floats = np.sqrt((system.constants.shape.nearest(branch) ** 2).sum(axis=1))
    return lengths
