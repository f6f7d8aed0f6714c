"""The public simulation: a case and its present state."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.clusters import NO_SHAPES, Clusters
from pdem.containers.group import on_each_rank
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.between_steps import advance_by
from pdem.engine.energy import Measures
from pdem.engine.phases import Phases
from pdem.engine.protocol import RestartPoint
from pdem.engine.ranks import exchange_of, group_of, once_per_node
from pdem.engine.setup import wall_geometry_of
from pdem.engine.start import NewSystem
from pdem.engine.state import initial_groups, spread_state
from pdem.engine.walls.driven_walls import driven_reports
from pdem.engine.walls.wall_output import loads_of_walls
from pdem.features.heat.feature import HeatFeature
from pdem.features.insertions.feature import Insertions
from pdem.features.registry import FEATURES, ROW_KEYS, fields_of_features
from pdem.features.sensors.feature import Sensors
from pdem.foundation.arguments import instance_of, path_of, whole_number
from pdem.foundation.errors import CheckpointError, PdemWarning
from pdem.numerics.thread_pool import set_threads
from pdem.output.notebook import notebook_page
from pdem.output.provenance import provenance_warning
from pdem.preflight.given_contacts import given_contacts
from pdem.preflight.given_particles import PartOfParticles, given_particles
from pdem.preflight.restart_checks import set_folder
from pdem.run.files.folder_use import FolderUse
from pdem.run.inputs import case_of, check_arguments, checkpoint_at, warn_of_processes_beside
from pdem.run.kernels.prepare_kernels import prepare_kernels
from pdem.run.nodal_forces import loads_by_wall
from pdem.run.scripting import Scripting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.containers.particles import Particles
    from pdem.engine.state import StatePart
    from pdem.features.insertions.control import InsertionControl
    from pdem.features.observers.observer import Observer


class Simulation(Scripting):
    """A granular system and its motion.

    Every rank makes a simulation with the same case, and owns a part of the particles. Results have the same bits for
    any number of ranks and threads.

    Parameters
    ----------
    case : Case
        The case to simulate.
    comm : mpi4py communicator, optional
        The ranks that share the work, `pdem.communicator` for all of them; None for this process alone.
    threads : int, optional
        Number of threads per rank; by default the cores of the node divided by its ranks.
    state : mapping, optional
        Groups of a checkpoint as initial state, on rank 0 (None on other ranks), or a part of their rows on each rank,
        as returned by `pdem.run.inputs.checkpoint_at`; by default the particles of the case.
    particles : mapping of str to ndarray, optional
        Particles instead of the particles of the case, on rank 0: columns ``id``, ``material``, ``radius``,
        ``position`` and optional columns. `pdem.preflight.given_particles.given_particles` describes and checks them.
    contacts, wall_contacts : mapping of str to ndarray, optional
        Contacts of these particles with their histories, on rank 0, as returned by `pdem.initial_state` and
        `gather_contacts`. Between particles: ``lower`` and ``higher`` (n,), the ids. With walls: ``id`` (n,) of the
        particle, ``kind``, ``feature`` and ``facet`` (n,) in the numbers of all walls joined, ``overlap`` (n,) [m] and
        ``normal`` (n, 3). In addition any columns of the history of the law by name, such as ``tangential_force``
        (n, 3) [N] or ``bridge_volume`` (n,) [m^3], 0 by default.
    meshes : sequence of Mesh, optional
        Meshes instead of the files of the case's walls, in their order. Only the first rank of each node needs them:
        large meshes are stored once per node.

    Raises
    ------
    CaseError, MeshError
        On all ranks, if the particles of the case cannot be made, or its walls cannot be read.
    InputError
        If an argument has the wrong type, the number of threads is below 1, or `particles` or contacts are invalid:
        the bodies of each contact must exist and touch, and the law must have the columns of the histories.

    Warns
    -----
    RuntimeWarning
        If a launcher started several processes, and `comm` is missing.

    Examples
    --------
    >>> case = Case.read("mixer.toml")  # doctest: +SKIP
    >>> simulation = Simulation(case)  # doctest: +SKIP
    >>> simulation.advance(1000)  # doctest: +SKIP
    >>> simulation.particles.position.mean(axis=0)  # doctest: +SKIP
    """

    def __init__(
        self,
        case: Case,
        comm: Any = None,
        *,
        threads: int | None = None,
        state: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
        particles: Mapping[str, NDArray[Any]] | None = None,
        contacts: Mapping[str, NDArray[Any]] | None = None,
        wall_contacts: Mapping[str, NDArray[Any]] | None = None,
        meshes: Sequence[Mesh] | None = None,
    ) -> None:
        self.case = instance_of("case", case, Case, "read one: Case.read(path)")
        check_arguments(comm, threads, state, meshes)
        warn_of_processes_beside(comm)
        self.phases = Phases()
        exchange = exchange_of(case, comm, threads)
        set_threads(exchange.threads, crowded=exchange.crowded)
        prepare_kernels(Simulation, comm, case, exchange.threads)
        communicator = comm if case.walls else None
        geometry, notice = once_per_node(communicator, partial(wall_geometry_of, case, meshes))
        self.meshes: list[Mesh] = geometry.meshes
        continued = bool(exchange.share(state is not None))
        groups = self._initial_state(exchange, state, particles, continued)
        del state, particles
        counters, new = groups["counters"], NewSystem(case, geometry, exchange, FEATURES)
        if not continued:
            law, ids = new.system.constants.law, groups["particles"]["id"]
            groups.update(given_contacts(law, contacts, wall_contacts, geometry.joined, exchange, ids))
        loaded = new.load(groups)
        self.system = loaded.begin(self.phases, continued=continued)
        if notice:
            self.system.progress.note_first(f"walls: {notice}")
        self.restart_point: RestartPoint | None = None
        if "balance" in counters:
            self.first_balance = float(counters["balance"])
        else:  # for a new run, the work of the box counts from here
            initial_box_work = 0.0 if continued else self.system.box.drive.half_steps
            self.first_balance = self.measures().balance + initial_box_work

    @classmethod
    def restart(cls, checkpoint: str | Path, comm: Any = None, *, threads: int | None = None) -> Simulation:
        """Continue from a checkpoint, on any number of ranks.

        `run` then continues in the folder of the checkpoint, even if the folder was moved or copied.

        Parameters
        ----------
        checkpoint : path
            A checkpoint file, or an output folder for its newest readable checkpoint.
        comm, threads
            As for `Simulation`.

        Raises
        ------
        CheckpointError
            If the file is incomplete, from a different program, or not a checkpoint of a run.

        Warns
        -----
        RuntimeWarning
            On rank 0, if bits may differ from an uninterrupted run: see `pdem.output.provenance`.
        """
        stored = checkpoint_at(path_of(checkpoint, CheckpointError), group_of(comm))
        if (warning := provenance_warning(stored.attributes)) and (comm is None or comm.rank == 0):
            warnings.warn(f"{checkpoint}: {warning}", PdemWarning, stacklevel=2)
        case, groups, folder = case_of(stored), [stored.groups], stored.path.parent
        set_folder(case, folder)
        del stored
        continued = cls(case, comm, threads=threads, state=groups.pop())
        continued.restart_point = RestartPoint(folder, case, continued.step)
        return continued

    def __repr__(self) -> str:
        """Return the case, step, time, and the number of particles of this rank."""
        name = self.case.title or self.case.source
        many = len(self.particles)
        return f"Simulation({name!r}: step {self.step}, time {self.time:.6g} s, {many} particle{'s' * (many != 1)})"

    def _repr_html_(self) -> str:
        """Return an HTML table of the present numbers for a notebook; with several ranks, only numbers of this rank."""
        rows = [("time", f"{self.time:.6g} s of {self.case.time.end:g} s"), ("step", str(self.step))]
        rows.append(("particles of this rank", str(len(self.particles))))
        if self.system.exchange.size == 1:
            rows += [(name, f"{value:.6g} J") for name, value in self.energies().items() if value]
            rows += [(name, f"{value:.6g}") for name, value in self.observed.items()]
        return notebook_page(self.case.title or self.case.source, repr(self), rows)

    def _initial_state(self, exchange: Exchange, state: Any, particles: Any, continued: bool) -> StatePart:
        """Return this rank's rows of the initial state, from the case or from the arguments. Collective."""
        if continued:
            return spread_state(exchange, state, ROW_KEYS)
        if exchange.rank and not isinstance(particles, PartOfParticles):
            particles = None
        fields = fields_of_features(self.case)
        if not int(exchange.largest(np.array([particles is not None], np.int64))[0]):
            return initial_groups(initial_particles(self.case, self.meshes, over=exchange), exchange, fields)
        columns = on_each_rank(
            exchange, lambda: {} if particles is None else given_particles(self.case, particles, self.meshes, fields)
        )
        return initial_groups(columns, exchange, fields)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.system.progress.time

    @property
    def step(self) -> int:
        """Number of steps since time 0."""
        return self.system.progress.step

    @property
    def stage(self) -> str:
        """Name of the present stage, also at its last step; empty for a case without stages."""
        return self.system.stages.present_name

    @property
    def particles(self) -> Particles:
        """The particles that this rank owns: arrays by name of the field, in no particular order."""
        return self.system.particles

    @property
    def clusters(self) -> Clusters:
        """The rigid clusters that this rank owns: arrays by name, rows by number; empty for a case without shapes.

        ``number`` (n,) equals ``cluster`` of the members; ``position``, ``velocity``, ``angular_momentum`` (n, 3) [m,
        m/s, kg m^2/s], ``orientation`` (n, 4), a unit quaternion from the principal axes, ``shape``, ``scale`` and
        ``material`` (n,). Members follow from these columns; values written here take effect from the next step on.
        """
        return Clusters(NO_SHAPES) if self.system.clusters is None else self.system.clusters.table

    def advance(self, steps: int, *, observers: Sequence[Observer | Callable[[Any], Any]] | None = None) -> int:
        """Take time steps; return the number of the signal that stopped them, or 0. Collective.

        Parameters
        ----------
        steps : int
            Number of steps; fewer are taken if an observer calls `stop`.
        observers : sequence of callable, optional
            As for `run`; their snapshots and columns are written to files only by `write`.

        Raises
        ------
        BlowUpError
            If a particle or a contact leaves the range in which results are meaningful.
        InputError
            If `steps` is not a whole number, or is negative; if called within an observer.
        ObserverError
            On all ranks, if an observer fails on any rank, or ranks differ.
        """
        steps = whole_number("steps", steps)
        self._require_no_observer("advance")
        self.phases.start()
        if observers:
            return self._advance_observed(steps, observers)
        return advance_by(self.system, self.phases, steps)

    def run(
        self, *, overwrite: bool = False, observers: Sequence[Observer | Callable[[Any], Any]] | None = None
    ) -> int:
        """Run the case to its end with all its output; return the number of steps taken.

        A run in the output folder is continued only by `restart`, and removed only with `overwrite`.

        Parameters
        ----------
        overwrite : bool
            Remove the run in the output folder; for a continued run, remove only its later results.
        observers : sequence of callable, optional
            Functions of the simulation, called on all ranks between steps in this order: once at the begin of the first
            run with them, then at the steps of `pdem.every`, by default at each line of the series. A function may
            return a mapping of names to numbers or ``(unit, number)``, the same on all ranks: these are columns of the
            series, which keep their last value between calls. A continued run needs its former observers by name, or
            ``[]`` to continue without observers.

        Raises
        ------
        InputError
            If the output folder contains a run, or cannot be created; it is then unchanged. If observers are missing.
        ObserverError
            On all ranks, if an observer fails on any rank, or ranks differ; the state before the call is in a
            checkpoint.
        Interrupted
            After a stop signal; the state is in a checkpoint.
        BlowUpError
            As for `advance`; the last good state is in a checkpoint.
        """
        from pdem.run.run import run

        self._require_no_observer("run")
        return run(self, use=FolderUse(overwrite), observers=observers)

    def gather(self) -> dict[str, NDArray[Any]] | None:
        """Return all particles by name of the field, sorted by id, on rank 0; None elsewhere. Collective."""
        own = self.particles
        joined = self.system.exchange.collect({name: own[name].copy() for name in own.fields})
        if joined is None:
            return None
        order = np.argsort(joined["id"], kind="stable")
        return {name: column[order] for name, column in joined.items()}

    def measures(self) -> Measures:
        """Return energies, numbers of contacts and the largest overlap over all ranks. Collective."""
        return Measures(self.system)

    def energies(self) -> dict[str, float]:
        """Return the terms of the energy balance [J]. Collective.

        ``translation``, ``rotation``, ``gravity``, ``elastic``, ``tangential`` are stored energies; ``body_motion``,
        ``body_gravity`` are energies of walls that are free bodies; ``normal_damping``, ``sliding``, ``rolling`` are
        losses; ``wall_work`` is the work of moving walls, servos and forces on bodies; ``own_forces`` is the work of
        forces on single particles besides contacts and gravity, if there are any; ``outflow`` is the energy of removed
        particles minus the energy of inserted particles and the energy that observers add by writing to particles.
        ``residual`` is the change since time 0 of stored + lost + outflow - work: the error. Parts of the law add
        ``rolling_spring``, ``twisting_spring`` (stored), ``adhesion``, ``twisting`` (lost). Stages add ``stages``, the
        energy removed with walls and by changed interactions. Varying gravity adds ``gravity_work``, the work of its
        changes. In a deforming box, ``translation`` is the energy of the motion relative to the box, and ``box_work``
        is the work of its deformation. With ``[output] energies = false`` there are only the terms that follow from the
        present state.
        """
        measured, has_ledger = self.measures(), self.system.constants.law.has_ledger
        return measured.energies | ({"residual": measured.balance - self.first_balance} if has_ledger else {})

    def wall_loads(self) -> dict[str, dict[str, Any]]:
        """Return for each wall: ``force`` (3,) [N] and ``torque`` (3,) [N m] of the particles on it, ``power`` [W].

        In a case with heat also ``heat`` [J], which the wall has received since time 0.

        Torques are about a point on the axis of the wall, which does not rotate with its surface: the present centre of
        its ``rotation``, else ``swing``, else ``rotation_table``, or of the nearest carrying motion with such a centre.
        Without rotation the point is the origin, fixed in space. For a rotating servo it is the servo's centre, for a
        body its centre of mass or hinge. The power that the wall delivers to the particles is
        ``-(force . velocity + torque . angular velocity)``, with the velocity at the same point. Collective.

        With ``wall_lever_arm = "radius"`` friction acts on the sphere at its radius, which is an overlap inside the
        wall: torques then differ from the torques of `nodal_forces` by overlap times friction of each contact.
        """
        loads = loads_of_walls(self.system)
        for wall, heat in self.system.features.get(HeatFeature).heat_of_walls(self.system).items():
            loads[wall]["heat"] = heat
        return loads

    def nodal_forces(self) -> dict[str, dict[str, NDArray[Any]]] | None:
        """Return the forces of the particles on nodes and facets by wall, on rank 0; None elsewhere. Collective.

        The force of each contact is distributed over the nodes of its facet by the weights of H2 eqs. 26-32. Nodes and
        facets have the order of ``meshes``; of duplicate facets the first has the force. Forces act on the surface:
        with ``x`` measured from the point described in `wall_loads`, the sum of ``x cross force`` is the torque, if
        there is neither rolling friction nor, with ``wall_lever_arm = "radius"``, friction, which acts an overlap
        deeper. Entries for each wall, with v nodes, f facets and b connected bodies:

        ``vertices`` (v, 3) [m], ``force`` (v, 3) [N]
            Present positions of the nodes, and the forces on them.
        ``facet_force`` (f, 3) [N], ``pressure`` (f,) [Pa], ``sliding_power`` (f,) [W]
            Force, normal contact force divided by the area, and power lost by sliding in the last step.
        ``body`` (f,), ``body_force`` (b, 3) [N], ``body_torque`` (b, 3) [N m], ``body_power`` (b,) [W]
            Body of each facet (-1 for a duplicate facet, which is ignored), and force, torque and power per body, as in
            `wall_loads` per wall.
        ``wear`` (f,) [m]
            Wear depth of each facet, if any wall of the case wears.
        """
        return loads_by_wall(self)

    @property
    def insertions(self) -> dict[str, InsertionControl]:
        """Controls of the insertions by name: their counts so far, and an early stop; the same on every rank."""
        return self.system.features.get(Insertions).controls

    def sensors(self) -> dict[str, dict[str, float]]:
        """Return the present values of each sensor, by column name without the name of the sensor. Collective."""
        return self.system.features.get(Sensors).reported(self.system)

    def driven_walls(self) -> dict[str, dict[str, float]]:
        """Return the motion of each wall that particles drive, the same on every rank.

        A servo has ``travel``, ``rate``, ``load`` and ``target``; a body ``position_x`` and so on, ``velocity``,
        ``angular_velocity`` [m, m/s, rad/s], and ``angle`` [rad] or ``attitude``, a quaternion.
        """
        return driven_reports(self.system)
