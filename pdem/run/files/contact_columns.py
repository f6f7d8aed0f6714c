"""All contacts as columns, for the snapshots of contacts (`output.snapshots.contact_snapshots`) and for scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import AGE
from pdem.contact.law.elastic import elastic_energies, elastic_state
from pdem.engine.energy_terms import Role
from pdem.engine.views.acting_contacts import acting_contacts
from pdem.engine.walls.wall_output import measured_walls
from pdem.foundation import exact_math
from pdem.output.checkpoints.history_columns import columns_of
from pdem.output.contact_table import ContactTable
from pdem.output.snapshots.contact_snapshots import AGE_OF_CONTACT, ENDS, LOST, STORED, contact_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.containers.global_order import OrderedRows
    from pdem.containers.particles import Particles
    from pdem.engine.protocol import Engine
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.foundation.fields import Field
    from pdem.output.snapshots.formats import RowWriter, SnapshotFormat
    from pdem.output.storage import Attribute

    Columns = dict[str, NDArray[Any]]

HISTORY_PREFIX = "history_"
"""Prefix of the columns with the histories of contacts."""


def fields_of_contacts(system: System) -> tuple[Field, ...]:
    """Return the fields of the contacts of a system."""
    law = system.constants.law
    return contact_fields(energies=law.has_ledger, ages=law.has(AGE.name))


def contact_columns(system: System, *, remembered: bool = False) -> tuple[Columns, OrderedRows]:
    """Return the contacts that this rank counts, and the rows that order the contacts of all ranks by id. Collective.

    The columns are `pdem.output.snapshots.contact_snapshots.contact_fields` and ``ends``. Both results are arguments of
    `pdem.output.snapshots.contact_snapshots.ContactSnapshots.write`; `contact_file_of` makes such a file.
    """
    contacts = acting_contacts(system)
    mine = contacts.of_this_rank
    histories = _histories(system)[:, contacts.counted]
    columns = _geometry(system.particles, system.case, mine)
    materials = columns["first_material"], columns["second_material"]
    columns |= _energies(system, mine, materials, histories)
    if remembered:
        named = columns_of([column.name for column in system.constants.law.history], histories)
        columns |= {f"{HISTORY_PREFIX}{name}": column for name, column in named.items()}
    return columns, system.exchange.in_order([columns["first"], columns["second"]])


def contact_file_of(simulation: Engine, form: SnapshotFormat, attributes: Mapping[str, Attribute]) -> RowWriter | None:
    """Return the contact file of a run with the given attributes, None if the case writes no contacts."""
    if simulation.case.output.contacts_every is None:
        return None
    system = simulation.system
    return form.contacts(
        Path(simulation.case.output.folder) / form.contact_file, fields_of_contacts(system), attributes,
        resume_step=simulation.step or None, ranks=system.exchange,
    )  # fmt: skip


def gathered_contacts(system: System, *, remembered: bool = False) -> ContactTable | None:
    """Return the contacts of all ranks ordered by ids on rank 0, None elsewhere. Collective.

    The table has ``centre`` and ``branch`` instead of ``ends``. With `remembered` it also has the histories of
    contacts, with their names in checkpoints after the prefix ``history_``.
    """
    columns, rows = contact_columns(system, remembered=remembered)
    ends = columns.pop(ENDS)
    columns |= {"centre": ends[:, 0], "branch": ends[:, 1] - ends[:, 0]}
    found = system.exchange.collect({name: rows.take(column) for name, column in columns.items()})
    return None if found is None else ContactTable(found)


def _histories(system: System) -> Floats:
    """Return the histories (columns, n) of the contacts of `acting_contacts`, in the same order."""
    pairs, walls = system.contacts.pairs.storage.histories, measured_walls(system)
    if walls is None:
        return pairs
    return np.concatenate((pairs, walls.acting().history[:, : len(pairs)].T), axis=1)


def _geometry(particles: Particles, case: Case, contacts: ActingContacts) -> Columns:
    """Return the columns with bodies, positions and forces."""
    column, pair, second = particles.column, contacts.is_pair, contacts.second
    ids, material = column("id"), column("material")
    of_walls = np.array([case.material_index(wall.material) for wall in case.walls] or [0])
    force, normal = contacts.force, contacts.normal
    push = exact_math.inner(force, normal)
    return {
        "first": ids[contacts.first], "second": np.where(pair, ids[second], -1), "wall": contacts.wall,
        "first_material": material[contacts.first],
        "second_material": np.where(pair, material[second], of_walls[contacts.wall]),
        "point": contacts.point, "normal": normal, "force": force, "normal_force": push,
        "tangential_force": exact_math.norm(force - push[:, None] * normal), "overlap": contacts.overlap,
        ENDS: np.stack((contacts.centre, contacts.centre + contacts.branch), axis=1),
    }  # fmt: skip


def _energies(system: System, contacts: ActingContacts, materials: tuple[Int32s, Int32s], histories: Floats) -> Columns:
    """Return the energies, and ages if contacts have them; `materials` are the indices of both bodies."""
    constants, radius = system.constants, system.particles.column("radius")
    law, one, other = constants.law, radius[contacts.first], radius[contacts.second]
    effective = np.where(contacts.is_pair, one * other / (one + other), one)
    pair = materials[0] * len(constants.density) + materials[1]
    elastic = elastic_energies(law, constants.table, elastic_state(law, histories), effective, pair)
    found = {"elastic_energy": elastic}
    if law.has_ledger:
        terms = system.features.terms
        found[STORED.name] = _accounts(law, histories, terms.with_role(Role.STORED))
        found[LOST.name] = _accounts(law, histories, terms.with_role(Role.LOST))
    if law.has(AGE.name):
        found[AGE_OF_CONTACT.name] = histories[law.place(AGE.name)] * constants.time_step.dt
    return found


def _accounts(law: ContactLaw, histories: Floats, terms: tuple[str, ...]) -> Floats:
    """Return the sum (n,) of the accounts of contacts that belong to some terms of the energy balance [J]."""
    total = np.zeros(histories.shape[1])
    for account, row in zip(law.energies, histories[law.first_energy : law.columns], strict=True):
        if account.lasting in terms:
            total += row
    return total
