"""The whole state of a run as arrays: the contents of a checkpoint, from which a run can start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.records import PairRecords, WallRecords
from pdem.foundation.fields import state_fields
from pdem.foundation.sums import ExactSums
from pdem.output import parallel_hdf5 as parts
from pdem.output.history_columns import columns_of, history_of
from pdem.output.parallel_hdf5 import Table
from pdem.simulation.driven_walls import GROUP, driven_group, load_driven_state
from pdem.simulation.insertion_state import STATES, WAITING, insertion_groups, load_insertions
from pdem.simulation.sensor_state import KNOWN, SENSORS, STAYS, SUMS, load_sensors, sensor_groups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.simulation.system import System

    Groups = dict[str, dict[str, NDArray[Any]]]


ORDER = {"particles": ("id",), "contacts": ("lower", "higher"), "wall_contacts": ("id",)}
"""Columns by which the rows of a state are sorted; wall contacts of one particle keep their order."""


def local_groups(system: System) -> Groups:
    """Return copies of this rank's part of the state."""
    pairs = system.pair_records()
    mine = np.isin(
        pairs.lower, system.particles.id
    )  # the owner of the lower particle writes a contact between ranks
    pairs, walls = pairs.take(mine), system.wall_records()
    of_pairs, of_walls = history_names(system.constants.law)
    return {
        "particles": {field.name: system.particles[field.name].copy() for field in state_fields()},
        "contacts": {"lower": pairs.lower, "higher": pairs.higher, **columns_of(of_pairs, pairs.history)},
        "wall_contacts": {
            "id": walls.id, "kind": walls.kind, "feature": walls.feature, "facet": walls.facet,
            **columns_of(of_walls, walls.history),
        },
        **driven_group(system), **insertion_groups(system), **sensor_groups(system),
        "counters": {
            "step": np.array(system.step), "next_id": np.array(system.next_id),
            "ended": system.ended_energies.limbs.copy(),
        },
    }  # fmt: skip


def tables_of(system: System, local: Groups) -> dict[str, Table]:
    """Return the state of all ranks as tables, sorted by ids. Collective."""
    total = system.ended_energies.__class__(
        system.ended_energies.names, system.exchange.add(local["counters"]["ended"])
    )
    total.normalise()
    tables = {}
    for name, keys in ORDER.items():
        rows = system.exchange.in_order([local[name][key] for key in keys], parts.BLOCK_ROWS)
        tables[name] = Table(local[name], rows)
    for name in (GROUP, STATES, WAITING, SENSORS, SUMS, KNOWN, STAYS):
        if name in local:  # of which the first rank has all
            tables[name] = Table(local[name])
    tables["counters"] = Table({**local["counters"], "ended": total.limbs})
    return tables


def gather_groups(system: System, local: Groups) -> Groups | None:
    """Return the state of all ranks, sorted by ids, on rank 0; None elsewhere. Collective."""
    groups: Groups = {}
    for name, table in tables_of(system, local).items():
        columns = dict(table.columns)
        if table.rows is not None:
            columns = {key: table.rows.take(column) for key, column in columns.items()}
            columns = system.exchange.collect(columns) or {}
        groups[name] = columns
    return groups if system.exchange.rank == 0 else None


def load_state(
    system: System, groups: Mapping[str, Mapping[str, NDArray[Any]]]
) -> tuple[PairRecords, WallRecords]:
    """Take this rank's share of a state and return the contacts of its particles. The same groups on all ranks.

    Raises
    ------
    CheckpointError
        If contacts have no histories.
    """
    particles = groups["particles"]
    mine = system.exchange.divide(dict(particles))
    system.particles.replace({name: column[mine] for name, column in particles.items()})
    ids = system.particles.id
    pairs, walls = groups["contacts"], groups["wall_contacts"]
    near = np.isin(pairs["lower"], ids) | np.isin(pairs["higher"], ids)
    own = np.isin(walls["id"], ids)
    load_driven_state(system, groups)
    counters = groups["counters"]
    system.step, system.next_id = int(counters["step"]), int(counters["next_id"])
    load_insertions(system, groups)
    load_sensors(system, groups)
    if system.exchange.rank == 0:
        ended = counters["ended"]  # earlier versions wrote fewer terms: the first ones
        system.ended_energies.limbs[: len(ended)] = ended
    of_pairs, of_walls = history_names(system.constants.law)
    return (
        PairRecords(
            pairs["lower"][near], pairs["higher"][near], history_of(of_pairs, pairs, near, "contacts")
        ),
        WallRecords(
            walls["id"][own], walls["kind"][own], walls["feature"][own], walls["facet"][own],
            history_of(of_walls, walls, own, "wall_contacts"),
        ),
    )  # fmt: skip


def history_names(law: ContactLaw) -> tuple[list[str], list[str]]:
    """Return the names of history columns: of pair contacts, and of wall contacts."""
    names = [column.name for column in law.history]
    return names, [*names, "normal_x", "normal_y", "normal_z", "wall_work"]


def initial_groups(particles: Mapping[str, NDArray[Any]]) -> Groups:
    """Return the state at time 0: particles without contacts."""
    empty = np.empty(0, np.int64)
    count = len(particles["id"])
    return {
        "particles": {
            field.name: np.asarray(particles.get(field.name, field.allocate(count)), field.dtype)
            for field in state_fields()
        },
        "contacts": {"lower": empty, "higher": empty},
        "wall_contacts": {"id": empty, "kind": np.empty(0, np.int8), "feature": empty, "facet": empty},
        "counters": {
            "step": np.array(0), "next_id": particles["id"].max(initial=-1) + 1, "ended": ExactSums(()).limbs,
        },
    }  # fmt: skip
