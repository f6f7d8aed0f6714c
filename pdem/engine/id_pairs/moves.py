"""Pairs of tables follow their particles: to other ranks, to other rows, and out of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.exchange import Migration
    from pdem.containers.records import PairRecords
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Integers


def pairs_that_leave(system: System) -> Callable[[Booleans], tuple[PairRecords, ...]]:
    """Return what says for each table which pairs go with particles that leave this rank, marked in an array (n,)."""

    def leaving(leaves: Booleans) -> tuple[PairRecords, ...]:
        gone = system.particles.id[leaves]
        return tuple(table.records(table.with_any(gone)) for table in system.features.pair_tables)

    return leaving


def take_arrived(system: System, stayed: Integers, migration: Migration) -> None:
    """Keep pairs of the particles that stay (their ids), and have those of the ones that come."""
    for table, records in zip(system.features.pair_tables, migration.tables, strict=True):
        table.keep(table.with_any(stayed))
        table.join(records)


def remove_pairs(system: System, removed: Integers) -> None:
    """Take out the pairs of particles that are removed; `removed` are all such ids that this rank knows.

    Features look at them before (`Feature.on_remove_pairs`).
    """
    for feature in system.features:
        for table in feature.pair_tables:
            ends = table.with_any(removed)
            if np.any(ends):
                feature.on_remove_pairs(system, table, ends)
                table.keep(~ends)
