"""The whole state of a run as arrays: the contents of a checkpoint, from which a run can start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.dissipation import ENDED
from pdem.containers.clusters import ParticleTable
from pdem.containers.id_directory import IdDirectory
from pdem.containers.records import PairRecords, WallRecords
from pdem.engine.box.state import box_group, load_box
from pdem.engine.clusters.state import cluster_groups, load_clusters, shapes_digest
from pdem.engine.feature import features_of
from pdem.engine.kept_fields import kept_fields
from pdem.engine.stages.state import load_stages, stage_groups
from pdem.engine.walls.driven_walls import driven_group, load_driven_state
from pdem.foundation.fields import state_fields, with_further
from pdem.numerics.sums import ExactSums
from pdem.output.checkpoints.history_columns import columns_of, history_of
from pdem.output.hdf5 import parallel_hdf5 as parts
from pdem.output.hdf5.parallel_hdf5 import RowTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers
    from pdem.foundation.fields import Field

    Groups = dict[str, dict[str, NDArray[Any]]]


ROW_KEYS = {
    "particles": ("id",), "clusters": ("number",), "contacts": ("lower", "higher"), "wall_contacts": ("id",),
}  # fmt: skip
"""Columns that sort the rows of distributed groups, without groups of features; the order of the wall contacts of a
particle does not change."""


QUANTUM = "_quantum"
"""End of the names of counters with the quantum of a field, see `pdem.engine.quantum_field`."""


def local_groups(system: System) -> Groups:
    """Return copies of this rank's part of the state."""
    pairs = system.contacts.pair_records()
    mine = np.isin(pairs.lower, system.particles.id)  # the owner of the lower particle writes a contact between ranks
    pairs, walls = pairs.take(mine), system.contacts.wall_records()
    of_pairs, of_walls = history_names(system.constants.law)
    return {
        "particles": {
            field.name: system.particles[field.name].copy()
            for field in kept_fields(
                state_fields(system.particles.fields.values()), system.case, system.features
            )
        },
        **cluster_groups(system.clusters),
        "contacts": {"lower": pairs.lower, "higher": pairs.higher, **columns_of(of_pairs, pairs.history)},
        "wall_contacts": {
            "id": walls.id, "kind": walls.kind, "feature": walls.feature, "facet": walls.facet,
            **columns_of(of_walls, walls.history),
        },
        **driven_group(system.walls), **_of_features(system), **stage_groups(system.stages),
        **box_group(system.box),
        "counters": {
            "step": np.array(system.progress.step), "next_id": np.array(system.progress.next_id),
            **_of_ended(system), **_of_quanta(system.contacts), **shapes_digest(system.clusters),
            **{name: one for feature in features_of(system) for name, one in feature.counters(system).items()},
        },
    }  # fmt: skip


def _of_features(system: System) -> Groups:
    """Return the groups of all features."""
    return {name: columns for one in features_of(system) for name, columns in one.groups(system).items()}


def _of_quanta(contacts: RankContacts) -> dict[str, NDArray[Any]]:
    """Return the quanta of the fields that contacts exchange."""
    return {f"{name}{QUANTUM}": np.array(quantum) for name, quantum in contacts.quanta.items()}


def _quanta_of(particles: Particles, counters: Mapping[str, NDArray[Any]]) -> dict[str, float]:
    """Return the quanta by field from the counters of a checkpoint."""
    stored = {name: counters.get(f"{name}{QUANTUM}") for name in particles.fields}
    return {name: float(quantum) for name, quantum in stored.items() if quantum is not None}


def _of_ended(system: System) -> dict[str, Integers]:
    """Return the sums since time 0 of this rank by column: one for all of `ENDED`, one for each further term."""
    ended = system.contacts.ended_energies
    present = [name for one in features_of(system) for name in one.present_terms(system)]
    others = [name for name in ended.names[len(ENDED) :] if name in present]
    rows = {f"ended_{name}": ended.limbs[ended.names.index(name)].copy() for name in others}
    return {"ended": ended.limbs[: len(ENDED)].copy(), **rows}


def _total_of_ended(exchange: Exchange, local: Groups) -> dict[str, Integers]:
    """Return these columns of a state with the sums of all ranks. Collective."""
    columns = {name: one for name, one in local["counters"].items() if name.split("_")[0] == "ended"}
    rows = np.vstack(list(columns.values()))
    total = ExactSums([str(row) for row in range(len(rows))], exchange.add(rows))
    total.normalise()
    ends = np.cumsum([len(np.atleast_2d(one)) for one in columns.values()])
    parts = np.split(total.limbs, ends[:-1])
    return {name: part.reshape(columns[name].shape) for name, part in zip(columns, parts, strict=True)}


def _load_ended(ended: ExactSums, counters: Mapping[str, NDArray[Any]]) -> None:
    """Continue from the sums of all ranks; earlier versions wrote only the first ones."""
    ended.limbs[: len(counters["ended"])] = counters["ended"]
    for name in ended.names[len(ENDED) :]:
        ended.limbs[ended.names.index(name)] = counters.get(f"ended_{name}", 0)


def _with_totals(system: System, local: Groups) -> Groups:
    """Return the groups, with totals of all ranks for groups that are added up over ranks. Collective."""
    total = {name: group for one in features_of(system) for name, group in one.totals(system, local).items()}
    ended = _total_of_ended(system.exchange, local)
    return {**local, **total, "counters": {**local["counters"], **ended}}


def tables_of(system: System, local: Groups) -> dict[str, RowTable]:
    """Return the state of all ranks as tables, sorted by ids. Collective."""
    local = _with_totals(system, local)
    tables, order = {}, ROW_KEYS | system.features.row_keys
    for name, keys in order.items():
        if name not in local:
            continue
        rows = system.exchange.in_order([local[name][key] for key in keys], parts.BLOCK_ROWS)
        tables[name] = RowTable(local[name], rows)
    for name, columns in local.items():
        if name not in order:  # the first rank has all rows
            tables[name] = RowTable(columns)
    return tables


def kept_state(system: System, balance: float) -> StatePart:
    """Return a copy of this rank's part of the state, to continue a simulation on the same ranks. Collective.

    `balance` is the energy balance at time 0 [J].
    """
    local = _with_totals(system, local_groups(system))
    local["counters"]["balance"] = np.array(balance)
    rows = {name: local.pop(name) for name in (*ROW_KEYS, *system.features.row_keys) if name in local}
    return StatePart(rows | system.exchange.share(local))


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


class StatePart(dict[str, Any]):
    """Groups of a state with the rows of one rank, see `pdem.output.checkpoints.checkpoint.read_checkpoint`."""

    def copy(self) -> StatePart:
        """Return new groups with the same columns, which a simulation may empty."""
        return StatePart({name: dict(columns) for name, columns in self.items()})


def spread_state(
    exchange: Exchange, groups: Mapping[str, Mapping[str, NDArray[Any]]] | None, with_rows: Collection[str]
) -> StatePart:
    """Scatter a state: either rank 0 holds all of it, or each rank already holds its rows. Collective.

    Rows of the groups `with_rows` stay on their ranks; each rank gets all further groups, such as counters, of rank 0.
    """
    if int(exchange.largest(np.array([isinstance(groups, StatePart)], np.int64))[0]):
        assert isinstance(groups, StatePart)
        return groups
    small, layout = exchange.share(None if exchange.rank else _without_rows(groups or {}, with_rows))
    if exchange.rank == 0:
        rows = {name: dict(columns) for name, columns in (groups or {}).items() if name in with_rows}
    else:
        rows = {
            name: {column: np.empty((0, *shape), kind) for column, (kind, shape) in columns.items()}
            for name, columns in layout.items()
        }
    return StatePart(rows | small)


def _without_rows(
    groups: Mapping[str, Mapping[str, NDArray[Any]]], with_rows: Collection[str]
) -> tuple[Groups, dict[str, Any]]:
    """Return the groups that are not distributed, and types and shapes of the rows of distributed groups."""
    return (
        {name: dict(columns) for name, columns in groups.items() if name not in with_rows},
        {
            name: {column: (rows.dtype, rows.shape[1:]) for column, rows in columns.items()}
            for name, columns in groups.items()
            if name in with_rows
        },
    )


def load_state(system: System, groups: StatePart) -> tuple[PairRecords, WallRecords]:
    """Send the rows of a state to the ranks that own their particles; return the contacts of this rank's particles.

    `groups` has arbitrary rows of the state; they are emptied to free memory. Collective.

    Raises
    ------
    CheckpointError
        If contacts have no histories.
    """
    exchange, particles = system.exchange, groups["particles"]
    counters = groups["counters"]
    system.progress.resume(int(counters["step"]), int(counters["next_id"]))
    load_box(system, groups)
    exchange.divide(particles["position"])
    owner = load_clusters(system, groups, exchange.owners(particles["position"]))
    owners = IdDirectory(exchange, particles["id"], owner)
    system.particles.replace(exchange.route(dict(particles), owner))
    particles.clear()
    _load_others(system, groups)
    of_pairs, of_walls = history_names(system.constants.law)
    pairs = _route_contacts(exchange, owners, groups["contacts"], ("lower", "higher"))
    walls = _route_contacts(exchange, owners, groups["wall_contacts"], ("id",))
    return (
        PairRecords(pairs["lower"], pairs["higher"], history_of(of_pairs, pairs, "contacts")),
        WallRecords(
            walls["id"], walls["kind"], walls["feature"], walls["facet"],
            history_of(of_walls, walls, "wall_contacts"),
        ),
    )  # fmt: skip


def _load_others(system: System, groups: StatePart) -> None:
    """Load all groups besides particles and contacts; sums over ranks go to the first rank. Collective."""
    counters = groups["counters"]
    load_driven_state(system, groups)
    system.contacts.count_quanta(_quanta_of(system.particles, counters))
    load_stages(system, groups)
    for feature in features_of(system):
        feature.load(system, groups)
    if system.exchange.rank == 0:
        _load_ended(system.contacts.ended_energies, counters)


def _route_contacts(
    exchange: Exchange, owners: IdDirectory, columns: dict[str, NDArray[Any]], keys: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the contacts of particles of this rank; `columns` has arbitrary contacts, and is emptied. Collective.

    A contact is sent to the owners of all particles in its columns `keys`.
    """
    first, *others = (owners.find(columns[key]) for key in keys)
    rows, to = [np.flatnonzero(first >= 0)], [first[first >= 0]]
    for other in others:
        rows.append(np.flatnonzero((other >= 0) & (other != first)))
        to.append(other[rows[-1]])
    chosen = np.concatenate(rows)
    sent = {name: column[chosen] for name, column in columns.items()}
    columns.clear()
    return exchange.route(sent, np.concatenate(to))


def history_names(law: ContactLaw) -> tuple[list[str], list[str]]:
    """Return the names of history columns of contacts between particles, and of contacts with walls."""
    names = [column.name for column in law.history]
    return names, [*names, "normal_x", "normal_y", "normal_z", "wall_work"]


def initial_groups(
    particles: Mapping[str, NDArray[Any]], exchange: Exchange, further: Iterable[Field] = ()
) -> StatePart:
    """Return the state at time 0: particles of this rank, clusters among them, without contacts. Collective.

    Particles have the fields of all cases, and `further` fields.
    """
    clusters = ParticleTable(particles).clusters
    empty = np.empty(0, np.int64)
    ids = np.asarray(particles.get("id", empty))
    next_id = int(exchange.largest(np.array([ids.max(initial=-1)]))[0]) + 1
    return StatePart(
        {
            "particles": {
                field.name: np.asarray(particles.get(field.name, field.allocate(len(ids))), field.dtype)
                for field in state_fields(with_further(further).values())
            },
            **({"clusters": dict(clusters)} if clusters else {}),
            "contacts": {"lower": empty, "higher": empty},
            "wall_contacts": {"id": empty, "kind": np.empty(0, np.int8), "feature": empty, "facet": empty},
            "counters": {
                "step": np.array(0), "next_id": np.array(next_id), "ended": ExactSums(()).limbs,
            },
        }
    )  # fmt: skip
