"""From a case to a system that can take steps.

The order matters: features are made before the state of a run is loaded into them, a stage is entered before lists are
made with its walls and interactions, and forces need lists. Types enforce it: a `NewSystem` has no particles; it loads
a state and becomes a `LoadedSystem`, which can begin.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pdem.containers.particles import Particles
from pdem.engine import step as time_step
from pdem.engine.between_steps import act
from pdem.engine.box.state import box_of
from pdem.engine.contact_forces import compute_contact_forces
from pdem.engine.feature_set import Features, fields_in
from pdem.engine.initial_contacts import InitialContacts
from pdem.engine.setup import constants_of, skins_of, walls_of
from pdem.engine.stages.change import enter_stage
from pdem.engine.stages.timeline import Stages
from pdem.engine.state import load_state
from pdem.engine.system import System
from pdem.engine.walls.wall_output import measured_walls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange, Records
    from pdem.engine.feature import Feature
    from pdem.engine.parts.neighbour_lists import LevelChoice
    from pdem.engine.phases import Phases
    from pdem.engine.setup import WallGeometry
    from pdem.engine.state import StatePart


class NewSystem:
    """A system with the walls and features of its case at time 0, and without particles. Collective.

    Parameters
    ----------
    case : Case
        The case.
    geometry : WallGeometry
        Meshes of the walls.
    exchange : Exchange
        Communication with other ranks.
    features : iterable of types of Feature
        Types of features in the order of the registry.
    choose_levels : callable, optional
        Chooses the levels of size; by default `pdem.engine.setup.skins_of`.

    Raises
    ------
    CaseError
        On all ranks, if a file that the case names cannot be used.
    """

    def __init__(
        self,
        case: Case,
        geometry: WallGeometry,
        exchange: Exchange,
        features: Iterable[type[Feature]] = (),
        choose_levels: LevelChoice | None = None,
    ) -> None:
        constants, kinds = constants_of(case), tuple(features)
        stages = Stages(case.stages, constants.time_step.dt)
        self.system = System(
            case,
            constants,
            walls_of(case, geometry, stages.clocks),
            exchange,
            choose_levels or partial(skins_of, case),
            geometry.facet_tree,
            stages,
            box_of(case, constants),
            Particles(further=fields_in(kinds, case)),
        )
        self.system.set_features(Features(kind.of(self.system) for kind in kinds))

    def load(self, groups: StatePart) -> LoadedSystem:
        """Load the rows of a state that this rank holds, and empty `groups` to free memory. Collective.

        Raises
        ------
        CaseError, CheckpointError
            On all ranks, if the case cannot continue from the state.
        """
        return LoadedSystem(self.system, load_state(self.system, groups))


class LoadedSystem:
    """A system with the particles and contacts of a state, and without lists; made by `NewSystem.load`."""

    def __init__(self, system: System, contacts: Records) -> None:
        self._system, self._contacts = system, [contacts]

    def make_lists(self, phases: Phases) -> System:
        """Enter the present stage, and make all lists; return the system. Collective, once."""
        system, walls = self._system, self._system.walls
        enter_stage(system)
        system.lists.renew_levels(system.constants, system.exchange)
        if walls is not None:
            walls.place(system.progress.time, system.progress.time_of(system.progress.step - 1))
        system.tuners.start(system.progress.step, system.lists.tuned_fraction)
        phases.start()
        time_step.rebuild_lists(system, self._contacts.pop(), phases)  # which frees this copy of all contacts
        return system

    def begin(self, phases: Phases, *, continued: bool) -> System:
        """Make all lists, compute forces, and run the events of the present step. Collective, once.

        In a `continued` run only forces on walls are computed, since a checkpoint does not have them. A new run may
        have contacts as well, see `pdem.engine.initial_contacts`.

        Raises
        ------
        BlowUpError
            On all ranks, if contacts of the new run are out of range.
        InputError
            On all ranks, if bodies of a contact of the new run do not touch.
        """
        initial = InitialContacts.of(self._system, None if continued else self._contacts[0])
        system = self.make_lists(phases)
        if continued:
            measured_walls(system)
        else:
            compute_contact_forces(system, phases, at_rest=True, keep=system.contacts.keeps_forces)
            time_step.allreduce_status_or_stop(system, False)
            initial.follow(system)
        act(system, phases)
        return system
