"""What a feature is to the engine: hooks that do nothing unless a feature has them.

A feature is a part of a case beside the motion of particles and walls: sensors, insertions, continuum fields. Each has
a room of its own in `pdem/features` and a line in `pdem.features.registry`; the engine knows these hooks alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.losses import LossSink
    from pdem.contact.strength_watch import Strengths
    from pdem.contact.walls.storage import Evaluated
    from pdem.containers.particles import Particles
    from pdem.containers.records import PairRecords, WallRecords
    from pdem.detection.neighbours import NearPairs
    from pdem.engine.box.feature_stress import BoxForces
    from pdem.engine.energy_terms import EnergyTerm
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.phases import Phases
    from pdem.engine.system import System
    from pdem.engine.views.conducting_pairs import ConductingPairs
    from pdem.engine.views.pair_forces import PairForces
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.foundation.fields import Field
    from pdem.numerics.sums import ExactSums

    Columns = Mapping[str, NDArray[Any]]
    Groups = dict[str, dict[str, NDArray[Any]]]


class Feature:
    """A part of a case besides the motion. Its methods are hooks, which do nothing unless a feature overrides them.

    Attributes
    ----------
    name : str
        Name by which the engine looks it up: the section of the case file.
    turn : Turn
        Order of its events among events of the same step.
    needs_forces : bool
        Whether its events read the forces of contacts, which then stay in memory in these steps.
    acts_when_frozen : bool
        Whether its events happen in stages in which nothing moves.
    receives_losses : bool
        Whether it has a `loss_sink`.
    watches_strengths : bool
        Whether it has `strengths`, and events that contacts request.
    tables : tuple of StateTable
        Its groups of a checkpoint.
    energy_terms : tuple of EnergyTerm
        Terms of the energy balance that it may have, see `pdem.engine.energy_terms`.
    fields : tuple of Field
        Its fields of particles, in cases that have it, see `fields_in`.
    snapshot_fields : tuple of Field
        Fields of particles that it computes for snapshots alone, in cases that have it, see `snapshot_values`.
    table_fields : tuple of str
        Fields of the general table that only this feature uses, see `uses_table_fields`.
    """

    name: ClassVar[str]
    turn: ClassVar[Turn]
    needs_forces: ClassVar[bool] = True
    acts_when_frozen: ClassVar[bool] = True
    receives_losses: ClassVar[bool] = False
    watches_strengths: ClassVar[bool] = False
    tables: ClassVar[tuple[StateTable, ...]] = ()
    energy_terms: ClassVar[tuple[EnergyTerm, ...]] = ()
    fields: ClassVar[tuple[Field, ...]] = ()
    snapshot_fields: ClassVar[tuple[Field, ...]] = ()
    table_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return its fields of the particles of a case: `fields` if the case has its section.

        Columns of particles, migration, ghosts, checkpoints and snapshots follow from these. A feature with a section
        of a different name, or with defaults that depend on the case, overrides this function. The feature writes rows
        of owned particles; ghosts of a field that is ghosted in every step have the values of their owners at the begin
        of the step.
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
        """Run the event of the present step. Collective, with up-to-date columns of particles."""

    def enter_stage(self, system: System) -> None:
        """Enter the present stage of a loaded state."""

    def begin_stage(self, system: System) -> None:
        """Begin the present stage at the present step."""

    def change_stage(self, system: System) -> None:
        """Apply the changes of a stage that has just begun, between two steps. Collective, with up-to-date columns."""

    def add_pairs(self, system: System) -> bool:
        """Add pairs to its tables at the beginning of a stage; return, the same on all ranks, whether it did.

        Collective, with up-to-date columns of particles. Lists are built after it. Contacts between particles of pairs
        without contact end, see `pdem.engine.id_pairs.pairs_by_id.NO_CONTACT`.
        """
        return False

    def groups(self, system: System) -> Groups:
        """Return this rank's part of its groups of a checkpoint, the present ones among `tables`."""
        return {}

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue from the groups of a checkpoint; missing state begins at the present step. Collective."""

    def totals(self, system: System, local: Groups) -> Groups:
        """Return its groups that are sums over ranks, from the groups of this rank. Collective."""
        return {}

    @classmethod
    def terms_in(cls, case: CaseData) -> tuple[str, ...]:
        """Return the names of its `energy_terms` in runs of a case; by default all."""
        return tuple(term.name for term in cls.energy_terms)

    def present_terms(self, system: System) -> tuple[str, ...]:
        """Return the names of its terms in this run, the same on all ranks; by default `terms_in` its case."""
        return self.terms_in(system.case)

    def before_steps(self, system: System) -> None:
        """Check before steps that a script has provided everything that only a script can provide.

        Raises
        ------
        InputError
            On all ranks, if something is missing.
        """

    @property
    def kicks(self) -> bool:
        """Whether it acts on velocities in every step at present, by the next two hooks; the same on all ranks.

        If so, the end of a step and the begin of the next are two passes over the particles, one step at a time. The
        engine checks it before the first of several steps and when a stage begins, see `Features.find_kicking`.
        """
        return False

    def half_kick(self, system: System, time: float, half: float, *, begins: bool) -> None:
        """Change the velocities of particles that no carrier moves, and of clusters, for a time `half` [s].

        Called after the kick by contacts at the end of a step, and before that kick at the begin of the next
        (`begins`), both with the positions and contact forces at the `time` [s] between the two steps.
        """

    def load_carriers(self, system: System, dt: float) -> None:
        """Add its forces at the end of a step to the column ``force`` of particles that carriers move, if not clusters.

        The step is `dt` [s] long; 0 if forces are only measured.
        """

    @property
    def drifts(self) -> bool:
        """Whether `after_drift` is called, constant during a run: the run then takes one step at a time."""
        return False

    def after_drift(self, system: System) -> None:
        """Integrate its fields of particles after particles have moved, and before values are sent to ghosts.

        Columns have the present positions, and the velocities of the middle of the step.
        """

    @property
    def has_forces(self) -> bool:
        """Whether it has forces on particles, constant during a run: the run then takes one step at a time."""
        return False

    def evaluate_forces(self, system: System, dt: float) -> None:
        """Compute its forces at the present positions: packed rows and fields of owned particles and of ghosts.

        Velocities belong to the middle of the step, which is `dt` [s] long; 0 at the begin of a run.
        """

    def add_forces(self, system: System, force: Floats, torque: Floats) -> None:
        """Add its forces on owned particles (n, 3) [N, N m], in an order that does not depend on ranks or lists.

        Called after `evaluate_forces` for the kick that ends the step, and again if `forces_change`.
        """

    def pair_forces(self, system: System, *, present: bool) -> PairForces | None:
        """Return its forces between pairs of particles that this rank counts, for stress; None without such forces.

        Exactly one rank counts a pair. The forces are those of the last step, or `present` ones: evaluated at the
        present positions and velocities. Only for features that have forces.
        """
        return None

    def box_forces(self, system: System) -> BoxForces | None:
        """Return its forces at present for the stress of a box that deforms, part of this rank; None without forces.

        The box reads them between two steps if it is driven by stress. The feature adds the work of the box on them to
        the term ``box_work`` of `RankContacts.ended_energies`.
        """
        return None

    def forces_change(self, system: System, dt: float) -> bool:
        """Finish the step after its last kick; return whether its forces have changed for the begin of the next step.

        If so, `add_forces` is called again, with the new forces. Not collective.
        """
        return False

    @property
    def pair_tables(self) -> tuple[PairTable, ...]:
        """Its tables of pairs of particles by ids, constant during a run, see `pdem.engine.id_pairs`."""
        return ()

    def new_contacts(self, system: System, near: NearPairs) -> PairRecords | None:
        """Return contacts between particles that begin with the lists that are being built, once; None for none.

        `near` are the pairs of rows that may touch.

        Both ranks of a contact return it. It ends at once if its particles are no candidates for contact.
        """
        return None

    def on_remove_pairs(self, system: System, table: PairTable, ends: Booleans) -> None:
        """Account for pairs of a table that end with removed particles, marked in an array (n,)."""

    def error(self, system: System, particle: str, speed: str) -> str:
        """Return the message for an error of a particle that it has recorded as ``(OF_FEATURE, id, its index)``.

        `particle` and `speed` are texts on the particle and its speed.
        """
        raise NotImplementedError(f"{self.name} records no errors")

    def counters(self, system: System) -> Columns:
        """Return its columns of the group ``counters`` of a checkpoint, on all ranks the same; see `load`."""
        return {}

    def add_energies(self, system: System, sums: ExactSums) -> None:
        """Add this rank's part of its terms to exact sums by name [J], without the results of the next hook.

        A value that is equal on all ranks is added on the first rank alone. The engine adds the rows of
        `RankContacts.ended_energies`.
        """

    def particle_energies(self, system: System, columns: Particles | Columns) -> Mapping[str, Floats]:
        """Return the energy of each particle by term (n,) [J], from columns of particles."""
        return {}

    def on_insert(self, system: System, columns: Columns) -> None:
        """Set its own columns of inserted particles, on the first rank, for the present step."""

    def on_remove(self, system: System, columns: Columns) -> None:
        """Account for removed particles of this rank, by their columns. Collective.

        The engine accounts for the energies of `particle_energies`.
        """

    def on_end(self, system: System, reason: int, pairs: PairRecords, walls: WallRecords) -> None:
        """Account for contacts of this rank that end because particles or walls are removed.

        The reason is an index of `pdem.contact.ends.REASONS`. Both ranks get a contact between ranks.
        """

    @property
    def acts_each_step(self) -> bool:
        """Whether `before_step` is called: the run then takes one step at a time."""
        return False

    def before_step(self, system: System) -> None:
        """Act at the begin of each step, before anything moves, on the contacts of the last one. Collective.

        Fields of particles that are not part of the packed rows are up to date, positions and velocities need not be.
        """

    def loss_sink(self, system: System) -> LossSink | None:
        """Return the arrays of owned particles that receive the energies which contacts lose until they end.

        Asked before steps, in cases with a law that passes losses on (`pdem.contact.losses`). None before it is loaded.
        """
        return None

    def strengths(self, system: System) -> Strengths | None:
        """Return the strengths of owned particles before steps, of one feature at most; None before they are loaded."""
        return None

    def request(self, step: int) -> None:
        """Plan an event at a step at the earliest: a contact has reached a strength before it. The same on all ranks.

        `next_step` is then the step of the event.
        """

    def conducting_pairs(self, system: System) -> ConductingPairs | None:
        """Return pairs of particles that conduct heat besides their contact, on all ranks with one of both."""
        return None

    def receive_losses(self, system: System, rows: Integers, losses: Floats) -> None:
        """Receive the losses of pairs that end (n,) [J], by rows of particles (n, 2), owned or ghosts."""

    @property
    def watches_walls(self) -> bool:
        """Whether `after_walls` is called: Python then follows the contacts with walls step by step."""
        return False

    @property
    def watches_pairs(self) -> bool:
        """Whether `after_pairs` is called: Python then follows the contacts between particles step by step."""
        return False

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Read the contacts with walls after their evaluation in a step."""

    def after_pairs(self, system: System, runs: Integers) -> None:
        """Read the contacts between particles after workers have evaluated some or all of them in a step."""

    @classmethod
    def snapshot_fields_in(cls, case: CaseData) -> tuple[Field, ...]:
        """Return its `snapshot_fields` in the snapshots of a case: all if the case has its section."""
        return cls.snapshot_fields if getattr(case, cls.name, None) else ()

    def snapshot_values(self, system: System) -> dict[str, NDArray[Any]]:
        """Return the values of its `snapshot_fields` for the owned particles, by name. Collective."""
        return {}

    @property
    def facet_fields(self) -> tuple[Field, ...]:
        """Fields of the facets of walls in snapshots."""
        return ()

    def facet_values(self, system: System) -> dict[str, NDArray[Any]]:
        """Return the values of these fields for the facets of all walls (F,). Collective."""
        return {}

    @property
    def largest_radius(self) -> float:
        """Largest radius of particles that it may insert [m]."""
        return 0.0

    def quantity(self, system: System, owner: str, name: str) -> float:
        """Return the present value of a column, for the condition of a stage. Collective."""
        raise NotImplementedError(f"{self.name} has no quantities")

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of its columns of the series."""
        return []

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of these columns for the present line of the series. Collective."""
        return {}

    @property
    def output_intervals(self) -> list[int]:
        """Steps between its outputs, at which a run stops."""
        return []

    def write(self, system: System, folder: Path) -> None:
        """Write a file of its own with a snapshot. Collective."""

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write remaining output at the end of a run; return lines for its report. Collective."""
        return []


def features_of(system: System) -> Iterator[Feature]:
    """Yield the features of a system, in the order of the registry."""
    yield from system.features


def first_event(parts: Iterable[Any]) -> int:
    """Return the step of the next event of any of some parts of a feature, which have a `next_step` each."""
    return min((one.next_step for one in parts), default=NEVER)
