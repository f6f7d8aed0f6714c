"""Breakage of particles as a feature of the engine: its state, its events, its terms and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pdem.case.laws import has_breakage
from pdem.case.sections.breakage import BreakageLimits
from pdem.contact.law.parts import LARGEST_ENERGY
from pdem.contact.pairs.removed_forces import remove_forces
from pdem.contact.strength_watch import weaken_listed_at_pairs, weaken_listed_at_walls
from pdem.containers.group import on_each_rank, on_first_rank
from pdem.engine.blow_up import OF_FEATURE
from pdem.engine.clusters.steps import cluster_table
from pdem.engine.energy_terms import EnergyTerm, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER
from pdem.engine.population import add_particles, remove_particles
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.engine.views.bodies import rows_of_ids, sphere_masses
from pdem.features.breakage.break_events import BREAK_KEYS, BreakEvents
from pdem.features.breakage.broken_bodies import with_bodies
from pdem.features.breakage.broken_particles import (
    broken_columns,
    broken_rows,
    end_loads,
    released_energies,
    spring_accounts,
)
from pdem.features.breakage.columns import BREAKAGE, BREAKAGE_COLUMNS
from pdem.features.breakage.first_contacts import FirstContacts
from pdem.features.breakage.loading_time import loading_time
from pdem.features.breakage.particle_strengths import ParticleStrengths, fields_of_breakage
from pdem.features.breakage.replacement import Replacement
from pdem.features.breakage.results.breakage_file import breakage_line, broken_particles_of, write_breakage
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import size_rows
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.contact.strength_watch import Strengths
    from pdem.containers.exchange import Records
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.detection.neighbours import NearPairs
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.features.breakage.replacement import ReplacementPlan
    from pdem.features.breakage.results.breakage_file import BrokenParticles
    from pdem.foundation.array_types import Booleans
    from pdem.foundation.fields import Field

TOTALS_GROUP, EVENT_GROUP = "breakage", "broken_particles"
"""Groups of a checkpoint."""

_SUMS = ("fines", "needed")
"""Exact sums: mass of fines [kg], energy that the strengths of the broken particles required [J]."""


class Breakage(Feature):
    """Particles that break, and the fragments that replace them.

    Attributes
    ----------
    events : BreakEvents
        The particles that have broken, on the first rank and on ranks that loaded some.
    broken, fragments : int
        Numbers of particles that have broken, and of fragments that have replaced them.
    """

    name, turn, needs_forces, acts_when_frozen, watches_strengths = "breakage", Turn.BREAK, False, False, True
    tables = (StateTable(TOTALS_GROUP), StateTable(EVENT_GROUP, BREAK_KEYS))
    energy_terms = (EnergyTerm(BREAKAGE, Role.LOST, summed=True),)

    def __init__(self, case: CaseData | None = None, dt: float = 1.0, density: NDArray[Any] | None = None) -> None:
        self.events, self.broken, self.fragments = BreakEvents(), 0, 0
        self._sums, self._first_contacts = ExactSums(_SUMS), FirstContacts()
        self._replaced = np.empty(0, np.int64)
        self._next, self._interval, self._loaded = NEVER, 1, False
        self._continues = False
        self.strengths_of: ParticleStrengths | None = None
        if case is None or density is None:
            return
        limits, sections = case.breakage or BreakageLimits(), [one.breakage for one in case.materials.values()]
        self._most = limits.most_fragments
        self._interval = 1 if limits.every is None else max(1, round(limits.every / dt))
        walls = [case.material_index(wall.material) for wall in case.walls]
        self.strengths_of = ParticleStrengths(case, walls, max(1, round(loading_time(case) / dt)))
        sizes = [
            None if one is None else SizeModel(size_rows(one.fragments.table), one.smallest, one.fines == "keep")
            for one in sections
        ]
        self._replacement = Replacement(self.strengths_of, sizes, density, case.domain.dimension)

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the breakage of a case at time 0. Collective.

        Raises
        ------
        CaseError
            On all ranks, if a function in a file cannot be used.
        """
        case, constants = system.case, system.constants
        if not has_breakage(case):
            return cls()
        return on_each_rank(system.exchange, lambda: cls(case, constants.time_step.dt, constants.density))

    @classmethod
    def fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return the fields of strengths, in a case with a material that breaks."""
        return fields_of_breakage(case)

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the term of breakage, in a case with a material that breaks."""
        return super().terms_in(case) if has_breakage(case) else ()

    @property
    def next_step(self) -> int:
        """Step of the next replacement, `NEVER` unless contacts have requested one."""
        return self._next

    def request(self, step: int) -> None:
        """Plan a replacement at the next multiple of the interval."""
        self._next = min(self._next, -(-step // self._interval) * self._interval)

    def strengths(self, system: System) -> Strengths | None:
        """Return the strengths of the owned particles."""
        if self.strengths_of is None or not self._loaded:
            return None
        return self.strengths_of.arrays(system, asks=self._next == NEVER)

    def act(self, system: System, phases: Phases) -> None:
        """Replace the particles that break by fragments. Collective."""
        self._next = NEVER
        if self.strengths_of is None:
            return
        contacts = system.contacts.records()
        plan = self._plan(system, contacts)
        if plan is not None:
            own = system.particles
            gone = np.isin(own.column("id")[: own.count + own.ghosts], plan.removed)
            remove_forces(system.contacts.pairs, own, gone)
            self._replaced = plan.removed
            rest = remove_particles(system, own.id[gone[: own.count]], contacts)
            self._first_contacts.begin(system.progress.next_id, len(plan.columns["radius"]))
            on_each_rank(system.exchange, lambda: add_particles(system, plan.columns))  # functions of users may fail
            self._check_number(system, plan)
            phases.lap("breakage")
            migrate_and_rebuild_lists(system, rest, phases)

    def _plan(self, system: System, contacts: Records) -> ReplacementPlan | None:
        """Return the plan of all ranks for the particles that break now, None without any; book it. Collective."""
        assert self.strengths_of is not None
        ends = end_loads(system, self.strengths_of.share, contacts)
        arrays, own = self.strengths_of.arrays(system, asks=False), system.particles
        broken = broken_rows(ends, arrays, system.progress.step)
        broken |= np.isin(own.cluster, np.unique(own.cluster[broken & (own.cluster > 0)]))
        columns = with_bodies(system, broken_columns(system, ends, arrays, broken))
        strain, springs = released_energies(system, ends, broken, system.exchange.known_ids(own.id[broken]))
        columns["spring_energy"] = exact_math.totals(springs) if len(springs) else np.zeros(len(strain))
        columns["contact_energy"] = strain + columns["spring_energy"]
        whole = system.exchange.collect(columns)
        found = on_first_rank(system.exchange, lambda: self._replacement_of(whole, system))
        if found is None:
            return None
        plan, events = found
        for (_, term), energies in zip(spring_accounts(system), springs, strict=True):
            system.contacts.ended_energies.add(term, -energies)
        self._book(system, plan, events)
        return plan

    def _replacement_of(self, parents: Columns | None, system: System) -> tuple[ReplacementPlan, Columns] | None:
        """Return the plan for the particles of all ranks that break, and their events; None without any."""
        if parents is None or not len(parents["id"]):
            return None
        order = np.argsort(parents["id"])
        return self._replacement.plan({name: one[order] for name, one in parents.items()}, system.constants.shape)

    def _book(self, system: System, plan: ReplacementPlan, events: Columns) -> None:
        """Add the events of a step to events, sums and energies; the motion of fines remains in the outflow."""
        density, columns = system.constants.density, plan.columns
        self._sums.add("fines", events["mass"])
        self._sums.add("fines", -sphere_masses(columns["radius"], density[columns["material"]]))
        needed = np.minimum(events["strength"], events["energy"]) * events["mass"]
        self._sums.add("needed", needed)
        self.broken, self.fragments = self.broken + len(plan.parents), self.fragments + len(columns["radius"])
        if system.exchange.rank:
            return
        ended, count = system.contacts.ended_energies, events["fragments"]
        ended.add(BREAKAGE, events["released"])
        ended.add("outflow", events["springs"] - events["released"])
        first = system.progress.next_id + np.cumsum(count) - count
        steps = np.full(len(count), system.progress.step)
        self.events.add({**events, "step": steps, "first_fragment": first})

    def _check_number(self, system: System, plan: ReplacementPlan) -> None:
        """Record an error if there are too many fragments."""
        if self.fragments > self._most and system.exchange.rank == 0:
            system.progress.record_error(OF_FEATURE, int(plan.parents[0]), system.features.place(self))

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message on too many fragments."""
        return (
            f"{self.fragments:,} fragments have come with the breakage of {particle}, more than "
            f"breakage.most_fragments = {self._most:,}: raise it, or breakage.smallest of the materials"
        )

    def new_contacts(self, system: System, near: NearPairs) -> PairRecords | None:
        """Return the contacts of the fragments of the last replacement."""
        return self._first_contacts.records(system, near)

    def on_insert(self, system: System, columns: Columns) -> None:
        """Draw the strengths of inserted particles."""
        if self.strengths_of is not None:
            self.strengths_of.complete(columns, cluster_table(system.clusters))

    def on_end(self, system: System, reason: int, pairs: PairRecords, walls: WallRecords) -> None:
        """Weaken the particles of contacts that end with a particle or a wall."""
        strengths = self.strengths(system)
        if strengths is None:
            return
        column, given = system.constants.law.place(LARGEST_ENERGY.name), tuple(strengths)
        first, second = (rows_of_ids(system.particles, ids) for ids in (pairs.lower, pairs.higher))
        known = (first >= 0) & (second >= 0)
        weaken_listed_at_pairs(first[known], second[known], pairs.history[column][known], given)
        if len(walls.id) and system.walls is not None:
            wall = system.walls.facet_wall[walls.facet].astype(np.int64)
            weaken_listed_at_walls(rows_of_ids(system.particles, walls.id), wall, walls.history[column].copy(), given)
        if np.any(_overloaded(strengths) & ~np.isin(system.particles.id, self._replaced)):
            system.progress.request_event()

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue from a checkpoint, and draw the strengths of particles without one. Collective."""
        if self.strengths_of is None:
            return
        strengths, table = self.strengths_of, cluster_table(system.clusters)
        on_each_rank(system.exchange, lambda: strengths.complete(system.particles, table))
        self.events.load(groups.get(EVENT_GROUP))
        if (stored := groups.get(TOTALS_GROUP)) is not None:
            self._sums = ExactSums(_SUMS, np.asarray(stored["sums"]))
            self.broken, self.fragments, self._next = np.asarray(stored["numbers"])[0].tolist()
            self._continues = True
        self._loaded = True
        if _overloaded(self.strengths_of.arrays(system, asks=False)).any():
            system.progress.request_event()

    def before_steps(self, system: System) -> None:
        """After a restart, request the replacement that contacts have requested in the last step before it."""
        if self._continues and self.strengths_of is not None:
            self._continues = False
            ends = end_loads(system, self.strengths_of.share, system.contacts.records())
            arrays = self.strengths_of.arrays(system, asks=False)
            if broken_rows(ends, arrays, system.progress.step).any():
                system.progress.request_event()

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint."""
        if self.strengths_of is None:
            return {}
        self._sums.normalise()
        numbers = np.array([[self.broken, self.fragments, self._next]], np.int64)
        totals = {"sums": self._sums.limbs.copy(), "numbers": numbers}
        return {
            TOTALS_GROUP: totals,
            EVENT_GROUP: {name: column.copy() for name, column in self.events.joined().items()},
        }

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of the columns of the series."""
        return list(BREAKAGE_COLUMNS) if self.strengths_of is not None else []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns."""
        return {} if self.strengths_of is None else self._values()

    def _values(self) -> dict[str, float]:
        sums = self._sums.values()
        return {
            "broken": self.broken, "fragments_inserted": self.fragments, "fines_mass": sums["fines"],
            "fracture_needed": sums["needed"],
        }  # fmt: skip

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column, for the condition of a stage."""
        return float(self._values()[name])

    def all_of(self, system: System) -> BrokenParticles | None:
        """Return all particles that have broken, on the first rank; None elsewhere. Collective.

        Raises
        ------
        InputError
            If no material of the case breaks.
        """
        if self.strengths_of is None:
            raise InputError("simulation.breakage: no material of the case breaks; give one [materials.NAME.breakage]")
        events = self.events.collected(system.exchange)
        dt = system.constants.time_step.dt
        return None if events is None else broken_particles_of(events, system.case, dt)

    def write(self, system: System, folder: Path) -> None:
        """Write the file of broken particles. Collective."""
        if self.strengths_of is not None:
            events = self.events.collected(system.exchange)
            write_breakage(events, system.case, system.constants.time_step.dt, folder)

    def finish(self, system: System, folder: Path) -> list[str]:
        """Return a line for the report at the end of a run. Collective."""
        self.write(system, folder)
        return [breakage_line(self.broken, self.fragments, self._sums.values())] if self.broken else []


def _overloaded(arrays: Strengths) -> Booleans:
    """Return which owned particles (n,) break by a contact that has ended."""
    found: Booleans = arrays.overload >= arrays.limit
    return found
