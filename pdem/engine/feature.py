"""What a feature is to the engine: hooks that do nothing unless a feature has them.

A feature is a part of a case beside the motion of particles and walls: sensors, insertions, continuum fields. Each has
a room of its own in `pdem/features` and a line in `pdem.features.registry`; the engine knows these hooks alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER
from pdem.engine.views.acting_contacts import acting_contacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.engine.energy_terms import EnergyTerm
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.foundation.fields import Field
    from pdem.numerics.sums import ExactSums

    Columns = Mapping[str, NDArray[Any]]
    Groups = dict[str, dict[str, NDArray[Any]]]


class SeriesLine:
    """What several features look at for one line of the series, computed when the first one asks for it."""

    def __init__(self, system: System, loads: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._system = system
        self.loads = {} if loads is None else loads
        """Loads of walls in the present step, see `pdem.engine.walls.wall_output.loads_of_walls`."""

    @cached_property
    def contacts(self) -> ActingContacts:
        """The acting contacts of this rank. Collective."""
        return acting_contacts(self._system)


class Feature:
    """A part of a case beside the motion, and its hooks: each does nothing unless a feature has its own.

    Attributes
    ----------
    name : str
        Under which the engine asks for it: the section of the case file.
    turn : Turn
        When it acts at a step.
    needs_forces : bool
        Whether its events ask for the forces of contacts, which are kept in their steps.
    tables : tuple of StateTable
        Its groups of a checkpoint.
    energy_terms : tuple of EnergyTerm
        Terms of the energy balance that it may have, see `pdem.engine.energy_terms`.
    fields : tuple of Field
        What it remembers of each particle, in cases that have it: see `fields_in`.
    table_fields : tuple of str
        Fields of the general table that are there for it alone; see `uses_table_fields`.
    """

    name: ClassVar[str]
    turn: ClassVar[Turn]
    needs_forces: ClassVar[bool] = True
    tables: ClassVar[tuple[StateTable, ...]] = ()
    energy_terms: ClassVar[tuple[EnergyTerm, ...]] = ()
    fields: ClassVar[tuple[Field, ...]] = ()
    table_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return the fields that particles of a case have for it: its `fields` if the case has its section.

        Columns of particles, migration, ghosts, checkpoints and snapshots follow from these. A feature with a section
        of another name, or with defaults that the case sets, has its own function here. Who changes a column writes
        rows of owned particles; of a field that is ghosted in every step, ghosts have in each what their owners had at
        its begin.
        """
        return cls.fields if getattr(case, cls.name, None) else ()

    @classmethod
    def uses_table_fields(cls, case: CaseData) -> bool:
        """Return whether the particles of a case need its `table_fields`; else files are written without these."""
        return True

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the feature of the case of a system at time 0. Collective.

        Raises
        ------
        CaseError
            On all ranks, if a file that the case names cannot be used.
        """
        raise NotImplementedError(f"{cls.__name__} does not say how it is made from a case")

    @property
    def next_step(self) -> int:
        """Step of its next event, `NEVER` if there is none."""
        return NEVER

    def act(self, system: System, phases: Phases) -> None:
        """Let the event of the present step happen. Collective, with columns of particles that are up to date."""

    def enter_stage(self, system: System) -> None:
        """Enter the present stage of a loaded state."""

    def begin_stage(self, system: System) -> None:
        """Begin the present stage at the present step."""

    def change_stage(self, system: System) -> None:
        """Change what a stage says that has just begun, between two steps. Collective, with columns up to date."""

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the groups of a checkpoint, those of `tables` that there are."""
        return {}

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue from the groups of a checkpoint; what it lacks begins at the present step. Collective."""

    def totals(self, system: System, local: Groups) -> Groups:
        """Return those of its groups that ranks add up, from the groups of this rank. Collective."""
        return {}

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the names of those of its `energy_terms` that runs of a case have; by default all."""
        return tuple(term.name for term in cls.energy_terms)

    def present_terms(self, system: System) -> tuple[str, ...]:
        """Return the names of those that this run has, on all ranks the same; by default those of its case."""
        return self.terms_in(system.case)

    def before_steps(self, system: System) -> None:
        """Refuse to take steps if something is missing that only a script can give.

        Raises
        ------
        InputError
            Then, on all ranks.
        """

    @property
    def kicks(self) -> bool:
        """Whether it acts on velocities in every step now, the same on all ranks, by the next two hooks.

        The end of a step and the begin of the next are two passes over the particles then, one step at a time. The
        engine asks before the first of several steps and when a stage begins, see `Features.find_kicking`.
        """
        return False

    def half_kick(self, system: System, time: float, half: float, *, begins: bool) -> None:
        """Change the velocities of particles that move by themselves, and of clusters, for a time `half` [s].

        Called after the kick by contacts at the end of a step, and before that kick at the begin of the next
        (`begins`), both with the positions, the contact forces and at the `time` [s] between the two.
        """

    def load_carriers(self, system: System, dt: float) -> None:
        """Add its forces at the end of a step to the column ``force`` of particles that carriers move, if not clusters.

        The step is `dt` [s] long, 0 where forces are only measured.
        """

    @property
    def drifts(self) -> bool:
        """Whether `after_drift` is called, the same in all of a run: it then takes one step at a time."""
        return False

    def after_drift(self, system: System) -> None:
        """Move on what it remembers of particles, after these have moved, and before ghosts get their values.

        Columns have the present positions, and the velocities of the middle of the step.
        """

    @property
    def has_forces(self) -> bool:
        """Whether it has forces on particles, the same in all of a run: it then takes one step at a time."""
        return False

    def evaluate_forces(self, system: System, dt: float) -> None:
        """Compute its forces at the present positions: packed rows and fields of owned particles and of ghosts.

        Velocities are those of the middle of the step, which is `dt` [s] long; 0 at the begin of a run.
        """

    def add_forces(self, system: System, force: Floats, torque: Floats) -> None:
        """Add them to those of owned particles (n, 3) [N, N m], for each in an order that no rank and list changes.

        Called after `evaluate_forces` for the kick that ends the step, and again if `forces_change`.
        """

    def forces_change(self, system: System, dt: float) -> bool:
        """End the step after its last kick; tell whether the forces are others now, with which the next one begins.

        `add_forces` gives these from then on. Not collective.
        """
        return False

    @property
    def pair_tables(self) -> tuple[PairTable, ...]:
        """Its tables of pairs of particles by ids, the same in all of a run; see `pdem.engine.id_pairs`."""
        return ()

    def on_remove_pairs(self, system: System, table: PairTable, ends: Booleans) -> None:
        """Take note of pairs of a table, marked in an array (n,), that go with particles that are removed."""

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message on a particle about which it has recorded an error ``(OF_FEATURE, id, its place)``.

        `particle` and `speed` are texts that say which it is, and how fast.
        """
        raise NotImplementedError(f"{self.name} records no errors")

    def counters(self, system: System) -> Columns:
        """Return its columns of the group ``counters`` of a checkpoint, on all ranks the same; see `load`."""
        return {}

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add what this rank has of its terms now to exact sums by name [J], beside what the next hook gives.

        What all ranks have the same of is added on the first rank alone. Rows of `RankContacts.ended_energies` are
        added by the engine.
        """

    def particle_energies(self, system: System, columns: Particles | Columns) -> Mapping[str, Floats]:
        """Return by term what each particle has of it (n,) [J], from columns of particles."""
        return {}

    def on_insert(self, system: System, columns: Columns) -> None:
        """Set its own columns of particles that are inserted, on the first rank: rows of the present step."""

    def on_remove(self, system: System, columns: Columns) -> None:
        """Take note of particles of this rank that are removed, by their columns. Collective.

        Energies that `particle_energies` gives are accounted for by the engine.
        """

    def on_end(self, system: System, reason: int, pairs: PairRecords, walls: WallRecords) -> None:
        """Take note of contacts of this rank that end since particles or walls are taken out.

        The reason is a number of `pdem.contact.ends.REASONS`. A contact between ranks is given on both.
        """

    @property
    def acts_each_step(self) -> bool:
        """Whether `before_step` is called: the run then takes one step at a time."""
        return False

    def before_step(self, system: System) -> None:
        """Act at the begin of each step, before anything moves, on the contacts of the last one. Collective.

        Fields of particles that are not part of the packed rows are up to date, positions and velocities need not be.
        """

    @property
    def watches_walls(self) -> bool:
        """Whether `after_walls` is called: Python then follows the contacts with walls step by step."""
        return False

    @property
    def watches_pairs(self) -> bool:
        """Whether `after_pairs` is called: Python then follows the contacts between particles step by step."""
        return False

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Look at the contacts with walls that have just been evaluated in a step."""

    def after_pairs(self, system: System, runs: Integers) -> None:
        """Look at the contacts between particles that workers have just evaluated, some or all of a step."""

    @property
    def facet_fields(self) -> tuple[Field, ...]:
        """Fields of the facets of walls in snapshots."""
        return ()

    def facet_values(self, system: System) -> dict[str, NDArray[Any]]:
        """Return the values of these fields for the facets of all walls (F,). Collective."""
        return {}

    @property
    def largest_radius(self) -> float:
        """Largest radius of particles that it may bring in [m]."""
        return 0.0

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column, for the condition of a stage. Collective."""
        raise NotImplementedError(f"{self.name} has no quantities")

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of its columns of the series."""
        return []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns for a line of the series that is written now. Collective."""
        return {}

    @property
    def output_intervals(self) -> list[int]:
        """Steps between its outputs, at which a run stops."""
        return []

    def write(self, system: System, folder: Path) -> None:
        """Write a file of its own with a snapshot. Collective."""

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write what is left at the end of a run; return lines for its report. Collective."""
        return []


def features_of(system: System) -> Iterator[Feature]:
    """Yield the features of a system, in the order of the registry."""
    yield from system.features


def first_event(parts: Iterable[Any]) -> int:
    """Return the step of the next event of any of some parts of a feature, which have a `next_step` each."""
    return min((one.next_step for one in parts), default=NEVER)
