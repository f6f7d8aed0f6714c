"""The bonds of a simulation for scripts: ids, lengths, loads, energies, and the times at which bonds have broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.output.snapshots.contact_snapshots import ENDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.features.bonds.broken import BrokenBonds

    Columns = dict[str, NDArray[Any]]

_IDS = ("first", "second", "kind")


def bonds_of_run(system: System, columns: Columns, broken: BrokenBonds) -> Columns | None:
    """Return all present and broken bonds, sorted by ids, on the first rank; None elsewhere. Collective.

    See `pdem.run.reading.reductions.Reductions.bonds`; `columns` are `.bond_lines.bond_columns` of this rank.
    """
    whole = system.exchange.collect({name: column for name, column in columns.items() if name != ENDS})
    events = broken.collected(system.exchange)
    if whole is None or events is None:
        return None
    count, gone = len(whole["first"]), len(events["lower"])
    known = {"first": events["lower"], "second": events["higher"], "kind": events["kind"], "energy": events["energy"]}
    both = {
        name: np.concatenate((column, known.get(name, np.full((gone, *column.shape[1:]), np.nan))))
        for name, column in whole.items()
    }
    found = {
        "ids": np.stack((both["first"], both["second"]), axis=1),
        "bond": np.array(list(system.case.bonds))[both["kind"].astype(np.int64)],
        **{name: column for name, column in both.items() if name not in _IDS},
        "broken_at": np.concatenate((np.full(count, np.nan), events["step"] * system.constants.time_step.dt)),
    }
    order = np.lexsort((found["ids"][:, 1], found["ids"][:, 0]))
    return {name: column[order] for name, column in found.items()}
