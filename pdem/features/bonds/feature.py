"""Bonds between particles as a feature of the engine: their hooks for each step, for the break, and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pdem.case.groups.shapes import has_flexible
from pdem.containers.group import on_first_rank
from pdem.engine.blow_up import OF_FEATURE
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.id_pairs.pairs_by_id import NO_CONTACT
from pdem.engine.views.conducting_pairs import ConductingPairs, give_losses
from pdem.features.bonds.box_work import count_box_work
from pdem.features.bonds.broken import EVENT_KEYS, BrokenBonds
from pdem.features.bonds.contacts_after import contacts_of_broken, records_of
from pdem.features.bonds.evaluation import AFTER_BREAK, LOSS, NEVER_TOUCHING, BondEvaluation
from pdem.features.bonds.potential import BY_ENERGY, BY_FORCE, BY_STRESS
from pdem.features.bonds.present_box import case_in_box
from pdem.features.bonds.readings import BondReadings
from pdem.features.bonds.reference import law_row
from pdem.features.bonds.selection import bonds_of_all, kinds_of_stage, select_bonds
from pdem.features.bonds.shape_bonds import FLEXIBLE_FIELDS, kinds_of_shapes, require_flexible_shapes
from pdem.features.bonds.turning import SPHERE_ORIENTATION, fill_orientations, turn_spheres
from pdem.foundation import exact_math
from pdem.foundation.packed_row import PLACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.containers.records import PairRecords
    from pdem.detection.neighbours import NearPairs
    from pdem.engine.box.feature_stress import BoxForces
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.system import System
    from pdem.features.bonds.kernel import BondColumns
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.foundation.fields import Field
    from pdem.motion.moving_box import MovingBox
    from pdem.numerics.sums import ExactSums

BOND_ENERGY, BOND_DAMPING, BOND_FRACTURE = "bond_energy", "bond_damping", "bond_fracture"
"""Terms of the energy balance."""

BOND_GROUP, BROKEN_GROUP, APART_GROUP, BEGUN_GROUP = "bonds", "broken_bonds", "broken_pairs", "begun_contacts"
"""Groups of a checkpoint."""

PAIR_KEYS = ("lower", "higher")

_CRITERIA = {"stress": BY_STRESS, "force": BY_FORCE, "energy": BY_ENERGY}
_CONTACTS = {"always": 0, "after-break": AFTER_BREAK, "never": NEVER_TOUCHING}


class Bonds(BondReadings):
    """All bonds of a case; `.readings.BondReadings` has their output."""

    turn, needs_forces = Turn.MEASURE, False
    tables = (
        StateTable(BOND_GROUP, PAIR_KEYS, motion=(*PAIR_KEYS, "energy"), row="bond of particles"),
        StateTable(APART_GROUP, PAIR_KEYS),
        StateTable(BEGUN_GROUP, PAIR_KEYS),
        StateTable(BROKEN_GROUP, EVENT_KEYS),
    )
    energy_terms = (
        EnergyTerm(BOND_ENERGY, Role.STORED, of_state=True),
        EnergyTerm(BOND_DAMPING, Role.LOST, summed=True),
        EnergyTerm(BOND_FRACTURE, Role.LOST, summed=True),
    )
    fields: ClassVar[tuple[Field, ...]] = (SPHERE_ORIENTATION, *FLEXIBLE_FIELDS)

    def __init__(self, laws: Floats | None = None, box: MovingBox | None = None, *, heats: bool = False) -> None:
        self.evaluation = None if laws is None else BondEvaluation(box, heats=heats)
        self._laws = np.zeros((0, 3)) if laws is None else laws
        self.broken = BrokenBonds()

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature of a case, still without bonds.

        Raises
        ------
        CaseError
            On all ranks, if a flexible shape is not valid.
        """
        if not system.case.bonds:
            return cls()
        on_first_rank(system.exchange, lambda: require_flexible_shapes(system.case))
        return cls(laws_of(system.case), system.box.moving, heats=system.constants.law.passes_losses)

    @classmethod
    def fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return the orientation of spheres, and with flexible particles the fields that name these."""
        if not case.bonds:
            return ()
        return (SPHERE_ORIENTATION, *(FLEXIBLE_FIELDS if has_flexible(case) else ()))

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the energy terms of bonds; none for a case without bonds."""
        return super().terms_in(case) if cls.fields_in(case) else ()

    @property
    def pair_tables(self) -> tuple[PairTable, ...]:
        """The tables of bonds, of broken pairs that never touch, and of broken pairs whose contact begins."""
        return () if (one := self.evaluation) is None else (one.table, one.apart, one.begun)

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
        """Turn all spheres by their angular velocities of the middle of the step; count the work of the box."""
        if self.evaluation is not None and self.evaluation.in_box is not None:
            count_box_work(system, self.evaluation.in_box, system.progress.step - 1)
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

    def box_forces(self, system: System) -> BoxForces | None:
        """Return the forces of the bonds that this rank counts, with stiffness and damping."""
        bonds = self.evaluation
        return (
            None
            if bonds is None or bonds.in_box is None
            else bonds.in_box.forces(bonds.table.counted(system.particles))
        )

    def forces_change(self, system: System, dt: float) -> bool:
        """Account for work and damping, and remove the bonds that break in this step; return whether any breaks."""
        if self.evaluation is None:
            return False
        if self.evaluation.in_box is not None:
            count_box_work(system, self.evaluation.in_box, system.progress.step)
        if system.constants.law.has_ledger:
            system.contacts.ended_energies.add(BOND_DAMPING, self.evaluation.lost(system.particles.count, dt))
            self.evaluation.keep_losses(dt)
        if not self.evaluation.any_breaks:
            return False
        self._break(system, self.evaluation)
        return True

    def _break(self, system: System, bonds: BondEvaluation) -> None:
        """Remove the bonds that break: their energy becomes fracture energy, and each break is an event."""
        table, broken = bonds.table, bonds.results.mode > 0
        mine = broken & (table.rows[:, 0] < system.particles.count)
        energy, kept = table.columns["energy"][mine], np.zeros(len(table))
        system.contacts.ended_energies.add(BOND_FRACTURE, energy)
        if (begins := broken & (table.columns[NO_CONTACT] == AFTER_BREAK)).any():
            contacts = contacts_of_broken(system, table, begins)
            system.contacts.ended_energies.add(BOND_FRACTURE, -contacts.energy[mine[begins]])
            bonds.begun.add(table.lower[begins], table.higher[begins], contacts._asdict())
            kept[begins] = contacts.energy
            system.lists.ask_for()
        self.broken.add(
            {
                "step": np.full(len(energy), system.progress.step),
                "lower": table.lower[mine],
                "higher": table.higher[mine],
                "position": _middles(system, table, mine),
                "mode": bonds.results.mode[mine],
                "energy": exact_math.totals(energy.T),
                "kind": table.columns["kind"][mine],
            }
        )
        if LOSS.name in table.columns:
            fracture = exact_math.totals(table.columns["energy"][broken].T) - kept[broken]
            give_losses(system, table.rows[broken], table.columns[LOSS.name][broken] + fracture)
        bonds.take_out(broken)

    def new_contacts(self, system: System, near: NearPairs) -> PairRecords | None:
        """Return the contacts of the bonds that have broken since the last lists."""
        if self.evaluation is None or not len(begun := self.evaluation.begun):
            return None
        records = records_of(system.constants.law, begun)
        begun.keep(np.zeros(len(begun), np.bool_))
        return records

    def conducting_pairs(self, system: System) -> ConductingPairs | None:
        """Return the bonds of this rank as rods that conduct heat."""
        if self.evaluation is None or system.case.heat is None or not len(table := self.evaluation.table):
            return None
        columns = table.columns
        conductivity = np.array([one.conductivity or 0.0 for one in system.case.bonds.values()])[columns["kind"]]
        losses = columns.get(LOSS.name, np.zeros(len(table)))
        return ConductingPairs(table.rows, columns["section"][:, 0] / columns["length"], conductivity, losses)

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
        for table, name in ((self.evaluation.apart, APART_GROUP), (self.evaluation.begun, BEGUN_GROUP)):
            if name in groups:
                table.load(over, own, groups[name])
        self.broken.load(groups.get(BROKEN_GROUP))

    def add_pairs(self, system: System) -> bool:
        """Make the bonds that begin with the present stage; return whether the stage makes any.

        Raises
        ------
        CaseError
            On all ranks, if particles cannot be bonded as the case says.
        """
        if self.evaluation is None or not kinds_of_stage(system.case, system.stages.present):
            return False
        table = self.evaluation.table
        table.load_more(system.exchange, system.particles, _new_bonds(system, table))
        return True

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint."""
        if self.evaluation is None:
            return {}
        bonds, own = self.evaluation, system.particles
        return {
            BOND_GROUP: bonds.table.columns_of(bonds.table.counted(own)),
            APART_GROUP: bonds.apart.columns_of(bonds.apart.counted(own)),
            BEGUN_GROUP: bonds.begun.columns_of(bonds.begun.counted(own)),
            BROKEN_GROUP: {name: column.copy() for name, column in self.broken.columns.items()},
        }

    def on_insert(self, system: System, columns: Columns) -> None:
        """Give inserted spheres the orientation of all spheres at time 0, and join those of flexible particles."""
        if self.evaluation is not None:
            fill_orientations(columns["orientation"])
            if kinds := kinds_of_shapes(system.case):
                pairs, bonds = bonds_of_all(system.case, columns, kinds)
                self.evaluation.table.add(pairs[:, 0], pairs[:, 1], _with_contacts(system.case, bonds))

    def on_remove_pairs(self, system: System, table: PairTable, ends: Booleans) -> None:
        """Account for the energy of bonds, and of contacts about to begin, that are removed with a particle."""
        bonds, ended = self.evaluation, system.contacts.ended_energies
        if bonds is None or table is bonds.apart:
            return
        mine = table.counted(system.particles) & ends
        ended.add("outflow", table.columns["energy"][mine])
        if table is bonds.table:
            ended.add(BOND_DAMPING, -bonds.ahead(mine, system.constants.time_step.dt))

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add the energy of the bonds that this rank counts."""
        if self.evaluation is not None:
            table = self.evaluation.table
            mine = table.counted(system.particles)
            sums.add(BOND_ENERGY, table.columns["energy"][mine])
            begun = self.evaluation.begun
            sums.add("elastic", begun.columns["energy"][begun.counted(system.particles)])
            sums.add(BOND_DAMPING, -self.evaluation.ahead(mine, system.constants.time_step.dt))


def laws_of(case: CaseData) -> Floats:
    """Return the laws of the kinds of bonds of a case (K, 3), see `.reference.law_row`."""
    return np.array([law_row(_CRITERIA[one.criterion], one.friction_angle) for one in case.bonds.values()])


def _new_bonds(system: System, present: PairTable | None = None) -> Columns:
    """Return ids and columns of the bonds that begin with the stage; each bond is on exactly one rank. Collective.

    Without a table of present bonds the run begins.
    """
    case, over, own = case_in_box(system), system.exchange, system.particles
    if present is None:
        lower, higher, bonds = select_bonds(case, over, dict(own))
    else:
        mine = present.counted(own)
        bonded = np.stack((present.lower[mine], present.higher[mine]), axis=1)
        lower, higher, bonds = select_bonds(case, over, dict(own), system.stages.present, bonded)
    return {"lower": lower, "higher": higher, **_with_contacts(case, bonds)}


def _with_contacts(case: CaseData, bonds: BondColumns) -> Columns:
    """Return the columns of new bonds, and whether their ends may be in contact."""
    contact = np.array([_CONTACTS[one.contact] for one in case.bonds.values()], np.int64)
    return {**bonds._asdict(), NO_CONTACT: contact[bonds.kind]}


def _middles(system: System, table: PairTable, pairs: Booleans) -> NDArray[Any]:
    """Return the middles of marked pairs (n, 3) [m], inside the box on periodic axes."""
    rows, shift = table.rows[pairs], table.shift[pairs]
    packed = system.contacts.pairs.rows_to_share(system.particles)[:, PLACE : PLACE + 3]
    lower, higher = packed[rows[:, 0]], packed[rows[:, 1]] + shift
    box = system.box.moving
    shape = system.constants.shape if box is None else box.shape(system.progress.step)
    return shape.wrapped(lower + 0.5 * (higher - lower))[0]
