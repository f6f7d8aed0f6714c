"""Bonds between particles as a feature of the engine: their hooks for each step, for the break, and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pdem.containers.group import on_first_rank
from pdem.engine.blow_up import OF_FEATURE
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT
from pdem.features.bonds.bond_readings import bonds_of_run
from pdem.features.bonds.breaks_file import breaks_line, write_breaks
from pdem.features.bonds.broken import EVENT_KEYS, BrokenBonds
from pdem.features.bonds.contacts_after import contact_energies
from pdem.features.bonds.evaluation import AFTER_BREAK, NEVER_TOUCHING, BondEvaluation
from pdem.features.bonds.potential import BY_ENERGY, BY_FORCE, BY_STRESS, MODES
from pdem.features.bonds.reference import law_row
from pdem.features.bonds.selection import select_bonds
from pdem.features.bonds.turning import SPHERE_ORIENTATION, fill_orientations, turn_spheres
from pdem.foundation.errors import CaseError, InputError
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.engine.feature import Columns, Groups, SeriesLine
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.foundation.fields import Field
    from pdem.numerics.sums import ExactSums

BOND_ENERGY, BOND_DAMPING, BOND_FRACTURE = "bond_energy", "bond_damping", "bond_fracture"
"""Terms of the energy balance."""

BOND_GROUP, BROKEN_GROUP, APART_GROUP = "bonds", "broken_bonds", "broken_pairs"
"""Groups of a checkpoint."""

PAIR_KEYS = ("lower", "higher")

_CRITERIA = {"stress": BY_STRESS, "force": BY_FORCE, "energy": BY_ENERGY}
_CONTACTS = {"always": 0, "after-break": AFTER_BREAK, "never": NEVER_TOUCHING}


class Bonds(Feature):
    """All bonds of a case.

    Attributes
    ----------
    evaluation : BondEvaluation or None
        The bonds of this rank; None for a case without bonds.
    broken : BrokenBonds
        Events of the bonds that have broken.
    """

    name, turn, needs_forces = "bonds", Turn.MEASURE, False
    tables = (
        StateTable(BOND_GROUP, PAIR_KEYS),
        StateTable(APART_GROUP, PAIR_KEYS),
        StateTable(BROKEN_GROUP, EVENT_KEYS),
    )
    energy_terms = (
        EnergyTerm(BOND_ENERGY, Role.STORED, of_state=True),
        EnergyTerm(BOND_DAMPING, Role.LOST, summed=True),
        EnergyTerm(BOND_FRACTURE, Role.LOST, summed=True),
    )
    fields: ClassVar[tuple[Field, ...]] = (SPHERE_ORIENTATION,)

    def __init__(self, laws: Floats | None = None) -> None:
        self.evaluation = None if laws is None else BondEvaluation()
        self._laws = np.zeros((0, 3)) if laws is None else laws
        self.broken = BrokenBonds()

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature of a case, still without bonds.

        Raises
        ------
        CaseError
            On all ranks, if the case has shapes or a deforming box, which cannot be combined with bonds.
        """
        if not system.case.bonds:
            return cls()
        if system.clusters is not None or system.box.moving is not None:
            raise CaseError(
                f"{system.case.source}: bonds: join single spheres in a box that does not deform; remove shapes and "
                "domain.deformation, or the bonds"
            )
        return cls(laws_of(system.case))

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the energy terms of bonds; none for a case without bonds."""
        return super().terms_in(case) if cls.fields_in(case) else ()

    @property
    def pair_tables(self) -> tuple[PairTable, ...]:
        """The tables of bonds, and of broken pairs that never touch."""
        return () if self.evaluation is None else (self.evaluation.table, self.evaluation.apart)

    @property
    def has_forces(self) -> bool:
        """Whether the case has bonds."""
        return self.evaluation is not None

    @property
    def drifts(self) -> bool:
        """Whether the case has bonds, so that spheres have orientations."""
        return self.evaluation is not None

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message on a bond that has become too long for a periodic box."""
        return (
            f"a bond of {particle} is as long as half of a periodic side{speed}: the next image of its other end is as "
            "near; give bonds a strength, or widen the domain"
        )

    def after_drift(self, system: System) -> None:
        """Turn all spheres by their angular velocities of the middle of the step."""
        own = system.particles
        turn_spheres(own.count, system.constants.time_step.dt, own.angular_velocity, own.orientation)

    def evaluate_forces(self, system: System, dt: float) -> None:
        """Evaluate all bonds; at the start of a run account for the damping of the kick that begins the first step."""
        if self.evaluation is not None:
            self.evaluation.evaluate(system, self._laws)
            if (too_long := self.evaluation.too_long()) is not None:
                system.progress.record_error(OF_FEATURE, too_long, system.features.place(self))
            if dt == 0.0:
                mine = self.evaluation.table.counted(system.particles)
                system.contacts.ended_energies.add(
                    BOND_DAMPING, self.evaluation.ahead(mine, system.constants.time_step.dt)
                )

    def add_forces(self, system: System, force: Floats, torque: Floats) -> None:
        """Add the forces and torques of bonds; each particle sums its bonds in the order of its partners' ids."""
        if self.evaluation is not None:
            self.evaluation.add_loads(force, torque)

    def forces_change(self, system: System, dt: float) -> bool:
        """Account for damping and remove the bonds that break in this step; return whether any bond breaks."""
        if self.evaluation is None:
            return False
        if system.constants.law.has_ledger:
            system.contacts.ended_energies.add(BOND_DAMPING, self.evaluation.lost(system.particles.count, dt))
        if not self.evaluation.any_breaks:
            return False
        self._break(system, self.evaluation)
        return True

    def _break(self, system: System, bonds: BondEvaluation) -> None:
        """Remove the bonds that break: their energy becomes fracture energy, and each break is an event."""
        table, broken = bonds.table, bonds.results.mode > 0
        mine = broken & (table.rows[:, 0] < system.particles.count)
        energy = table.columns["energy"][mine]
        system.contacts.ended_energies.add(BOND_FRACTURE, energy)
        begins = mine & (table.columns[NO_CONTACT] == AFTER_BREAK)
        system.contacts.ended_energies.add(
            BOND_FRACTURE, -contact_energies(system, table.rows[begins], table.shift[begins])
        )
        self.broken.add(
            {
                "step": np.full(len(energy), system.progress.step),
                "lower": table.lower[mine],
                "higher": table.higher[mine],
                "position": _middles(system, table, mine),
                "mode": bonds.results.mode[mine],
                "energy": energy.sum(axis=1),
                "kind": table.columns["kind"][mine],
            }
        )
        if np.any(table.columns[NO_CONTACT][broken] == AFTER_BREAK):
            system.lists.ask_for()
        bonds.take_out(broken)

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Load the bonds of a checkpoint, or make the bonds of a new run. Collective.

        Raises
        ------
        CaseError, InputError
            On all ranks, if particles cannot be bonded as the case or the checkpoint says.
        """
        if self.evaluation is None:
            return
        own, over = system.particles, system.exchange
        stored = groups.get(BOND_GROUP)
        if stored is None:  # bonds of a new run have no strain in the present orientations
            own.orientation[:] = 0.0
        fill_orientations(own.orientation)
        self.evaluation.table.load(over, own, _new_bonds(system) if stored is None else stored)
        apart = groups.get(APART_GROUP)
        if apart is not None:
            self.evaluation.apart.load(over, own, apart)
        self.broken.load(groups.get(BROKEN_GROUP))

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint."""
        if self.evaluation is None:
            return {}
        bonds, own = self.evaluation, system.particles
        return {
            BOND_GROUP: bonds.table.columns_of(bonds.table.counted(own)),
            APART_GROUP: bonds.apart.columns_of(bonds.apart.counted(own)),
            BROKEN_GROUP: {name: column.copy() for name, column in self.broken.columns.items()},
        }

    def on_insert(self, system: System, columns: Columns) -> None:
        """Give inserted spheres the orientation of all spheres at time 0."""
        if self.evaluation is not None:
            fill_orientations(columns["orientation"])

    def on_remove_pairs(self, system: System, table: PairTable, ends: Booleans) -> None:
        """Account for the energy of bonds that are removed with a particle."""
        if self.evaluation is not None and table is self.evaluation.table:
            mine = table.counted(system.particles) & ends
            system.contacts.ended_energies.add("outflow", table.columns["energy"][mine])
            system.contacts.ended_energies.add(
                BOND_DAMPING, -self.evaluation.ahead(mine, system.constants.time_step.dt)
            )

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add the energy of the bonds that this rank counts."""
        if self.evaluation is not None:
            table = self.evaluation.table
            mine = table.counted(system.particles)
            sums.add(BOND_ENERGY, table.columns["energy"][mine])
            sums.add(BOND_DAMPING, -self.evaluation.ahead(mine, system.constants.time_step.dt))

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of series columns: number of bonds, number of broken bonds by mode."""
        if self.evaluation is None:
            return []
        return [("bonds", "1", "i8"), *((f"bonds_broken_{mode}", "1", "i8") for mode in MODES)]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of `columns`. Collective."""
        if self.evaluation is None:
            return {}
        table = self.evaluation.table
        count = np.array([np.count_nonzero(table.counted(system.particles))], np.int64)
        broken = self.broken.counts(system.exchange).tolist()
        whole = int(system.exchange.add(count)[0])
        return {"bonds": whole, **{f"bonds_broken_{mode}": one for mode, one in zip(MODES, broken, strict=True)}}

    def all_of(self, system: System) -> dict[str, NDArray[Any]] | None:
        """Return all bonds, present and broken, on the first rank; None elsewhere. Collective.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        if self.evaluation is None:
            raise InputError("simulation.bonds: the case has no bonds; give it [bonds.NAME]")
        return bonds_of_run(system, self.evaluation, self.broken)

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write the events of all bonds that have broken; return a line for the report. Collective."""
        if self.evaluation is None:
            return []
        self.write(system, folder)
        count = self.broken.counts(system.exchange)
        return [breaks_line(count)] if count.any() else []

    def write(self, system: System, folder: Path) -> None:
        """Write the events of all bonds that have broken so far, and replace an earlier file. Collective."""
        if self.evaluation is not None:
            events = self.broken.collected(system.exchange)
            on_first_rank(
                system.exchange, lambda: write_breaks(events, system.case, system.constants.time_step.dt, folder)
            )


def laws_of(case: CaseData) -> Floats:
    """Return the laws of the kinds of bonds of a case (K, 3), see `.reference.law_row`."""
    return np.array([law_row(_CRITERIA[one.criterion], one.friction_angle) for one in case.bonds.values()])


def _new_bonds(system: System) -> Columns:
    """Return ids and columns of the bonds of a new run; each bond is on exactly one rank. Collective."""
    lower, higher, bonds = select_bonds(system.case, system.exchange, dict(system.particles))
    contact = np.array([_CONTACTS[one.contact] for one in system.case.bonds.values()], np.int64)
    return {"lower": lower, "higher": higher, **bonds._asdict(), NO_CONTACT: contact[bonds.kind]}


def _middles(system: System, table: PairTable, pairs: Booleans) -> NDArray[Any]:
    """Return the middles of marked pairs (n, 3) [m], inside the box on periodic axes."""
    rows, shift = table.rows[pairs], table.shift[pairs]
    packed = system.contacts.pairs.rows_to_share(system.particles)[:, PLACE : PLACE + 3]
    lower, higher = packed[rows[:, 0]], packed[rows[:, 1]] + shift
    return system.constants.shape.wrapped(lower + 0.5 * (higher - lower))[0]
