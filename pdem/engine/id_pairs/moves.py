"""Pairs of tables follow their particles to other ranks, and are removed with their particles."""

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
    """Return a function from marks (n,) of leaving particles to the records of their pairs in each table."""

    def leaving(leaves: Booleans) -> tuple[PairRecords, ...]:
        gone = system.particles.id[leaves]
        return tuple(table.records(table.with_any(gone)) for table in system.features.pair_tables)

    return leaving


def take_arrived(system: System, stayed: Integers, migration: Migration) -> None:
    """Keep the pairs of remaining particles (ids `stayed`), and add the pairs that arrive with particles."""
    for table, records in zip(system.features.pair_tables, migration.tables, strict=True):
        table.keep(table.with_any(stayed))
        table.join(records)


def remove_pairs(system: System, removed: Integers) -> None:
    """Remove the pairs of removed particles; `removed` has the ids of all such particles that this rank has.

    The hook `Feature.on_remove_pairs` is called for these pairs first.
    """
    for feature in system.features:
        for table in feature.pair_tables:
            ends = table.with_any(removed)
            if np.any(ends):
                feature.on_remove_pairs(system, table, ends)
                table.keep(~ends)
