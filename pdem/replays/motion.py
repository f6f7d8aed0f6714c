"""The columns that define the motion in a state, and their digest from files and from memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.state import local_groups, tables_of
from pdem.engine.walls.driven_walls import GROUP
from pdem.features.registry import COMPARED, OBSERVING
from pdem.output.checkpoints.content_digest import Layout, content_digest_of_tables
from pdem.output.hdf5.parallel_hdf5 import RowTable, block_checksums

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from pdem.run.simulation import Simulation

    Layouts = Mapping[str, Mapping[str, Layout]]
    Chosen = Mapping[str, Collection[str]]

GROUPS = ("particles", "clusters", "contacts", "wall_contacts", GROUP)
"""Groups of a state that define the motion. Effects of stages, insertions and energies appear in these as well."""


def shared_columns(a: Layouts, b: Layouts, accounts: Collection[str]) -> dict[str, list[str]]:
    """Return the motion columns that two states have in common, by group.

    Parameters
    ----------
    a, b : mapping
        Layouts of both states.
    accounts : collection of str
        Columns of contacts that hold energies, which do not affect the motion.
    """
    found = {}
    for group in (*GROUPS, *COMPARED):
        mine, other = a.get(group, {}), b.get(group, {})
        only = COMPARED[group].motion if group in COMPARED else mine
        names = [
            name
            for name in mine
            if name in only and name in other and name not in accounts and _form(mine[name]) == _form(other[name])
        ]
        if names:
            found[group] = names
    return found


def _form(layout: Layout) -> tuple[Any, ...]:
    return layout.dtype, layout.shape[1:]


def accounts_of(simulation: Simulation) -> set[str]:
    """Return the names of the contact columns of a simulation that hold energies."""
    return {one.name for one in simulation.system.constants.law.energies} | {"wall_work"}


def layouts_of(simulation: Simulation) -> dict[str, dict[str, Any]]:
    """Return the layouts of the groups of a simulation; row counts are of this rank only."""
    return {
        group: {name: Layout(column.dtype, column.shape) for name, column in columns.items()}
        for group, columns in local_groups(simulation.system).items()
    }


def motion_digest(simulation: Simulation, chosen: Chosen) -> str:
    """Return the hexadecimal digest of chosen columns of the present state, equal to a checkpoint's. Collective."""
    tables = tables_of(simulation.system, local_groups(simulation.system))
    some = {
        group: RowTable({name: tables[group].columns[name] for name in names}, tables[group].rows)
        for group, names in chosen.items()
    }
    return _digest(simulation, some)


def state_digest_of(simulation: Simulation) -> str:
    """Return the hexadecimal digest of the present state as in ``digests.csv``. Collective."""
    local = local_groups(simulation.system)
    local["counters"]["balance"] = np.array(simulation.first_balance)
    tables = tables_of(simulation.system, local)
    return _digest(simulation, {name: one for name, one in tables.items() if name not in OBSERVING})


def _digest(simulation: Simulation, tables: Mapping[str, RowTable]) -> str:
    exchange = simulation.system.exchange
    checks: dict[str, NDArray[Any]] = {}
    for group, table in tables.items():
        for name in table.columns:
            _, rows = table.take(name, exchange.rank)
            checks[f"{group}/{name}"] = np.frombuffer(block_checksums(rows), np.uint8)
    joined = exchange.collect(checks)
    digest = None
    if joined is not None:
        digest = content_digest_of_tables(tables, {name: column.tobytes() for name, column in joined.items()}, {})
    shared: str = exchange.share(digest)
    return shared
