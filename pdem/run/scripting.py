"""Actions of scripts and observers between steps: forces, output, an early end, changes of particles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.engine import step as time_step
from pdem.engine.between_steps import advance_by
from pdem.engine.clusters.steps import place_written_clusters
from pdem.engine.population import check_ids_exist, insert_particles, remove_particles
from pdem.engine.state import gather_groups, local_groups
from pdem.engine.walls.fixed_loads import fixed_loads
from pdem.features.contact_ends.feature import EndedContacts
from pdem.features.external_forces.array import set_array
from pdem.features.external_forces.feature import ExternalForces
from pdem.features.external_forces.parameters import force_of_function, limits_of
from pdem.features.insertions.checks import checked_columns
from pdem.features.observers.feature import observed
from pdem.foundation import exact_math
from pdem.foundation.arguments import ids_of
from pdem.foundation.errors import InputError, name_hint
from pdem.run.files.folder_use import FolderUse
from pdem.run.observation import Observation
from pdem.run.reading.reductions import Reductions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pdem.case.model import Case
    from pdem.containers.exchange import Records
    from pdem.containers.meshes.mesh import Mesh
    from pdem.engine.phases import Phases
    from pdem.features.external_forces.kernels import OwnForce
    from pdem.foundation.array_types import Floats, Integers
    from pdem.run.files.outputs import Outputs


class Scripting(Reductions):
    """The part of a simulation for scripts and observers.

    Attributes
    ----------
    case, meshes, phases
        See `pdem.engine.protocol.Engine`.
    observing : object or None
        State saved while observers are called, otherwise None.
    outputs : Outputs or None
        Files opened by `write`.
    """

    case: Case
    meshes: list[Mesh]
    phases: Phases
    observing: Any = None
    outputs: Outputs | None = None

    @property
    def observed(self) -> dict[str, float]:
        """Last values of the columns of observers, also after a restart; the same on all ranks."""
        return {name: one.value for name, one in observed(self.system).columns.items()}

    def force(self, function: Callable[..., Any], *, material: str | None = None) -> None:
        """Apply a force to every particle from now on. Collective, with the same function on all ranks.

        Parameters
        ----------
        function : callable
            ``function(time, position, velocity, radius, mass, id)`` returns the force ``(fx, fy, fz)`` [N] on one
            particle; position and velocity are tuples of three numbers [m, m/s]. The function is compiled: it may use
            numbers, tuples, ``math`` and plain functions of these. Positions are inside the box, also on periodic axes.
        material : str, optional
            Restricts the force to particles of this material.

        Raises
        ------
        InputError
            On all ranks, if the function fails, returns an invalid value, or cannot be compiled; if the functions of
            the ranks differ; if called within an observer.
        """
        self._require_no_observer("force")
        if self.outputs is not None:
            raise InputError("simulation.force comes before simulation.write: its work is a column of the series")
        system = self.system
        made = on_each_rank(system.exchange, lambda: _force_of(self.case, function, material))
        mine = (made.version, repr(made.parameters))
        others = system.exchange.first(None if system.exchange.share(mine) == mine else made.name)
        if others is not None:
            raise InputError(f"simulation.force: ranks give different functions ({others}); give all the same")
        system.features.get(ExternalForces).own.add(made)
        system.features.find_kicking()

    def set_external_force(
        self,
        force: ArrayLike,
        drag: ArrayLike | None = None,
        fluid_velocity: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
    ) -> None:
        """Set an external force on particles, and a drag towards the velocity of a fluid, until the next call.

        Collective, between steps, in a script or an observer, for cases with ``[[forces]] kind = "array"``. The force
        on a particle is ``force + drag (fluid_velocity - velocity)``. The drag is implicit in each half kick, therefore
        stable for any step, and of first order. The values migrate with their particles, and are in checkpoints and
        snapshots as the columns ``external_force``, ``external_drag`` and ``fluid_velocity`` of `particles`, which
        scripts may also write. Inserted particles have zeros; fixed particles do not move. The work of these forces is
        the term ``own_forces`` of the energy balance.

        Parameters
        ----------
        force : (3,) or (n, 3) array_like
            Force without the drag [N].
        drag : float or (n,) array_like, optional
            Drag coefficients [kg/s]; default 0.
        fluid_velocity : (3,) or (n, 3) array_like, optional
            Velocity of the fluid at the particles [m/s]; at rest by default.
        ids : (n,) array_like, optional
            Ids of the particles to set; other particles keep their values. Each rank may pass any ids: its own
            particles, all particles, or none. By default each rank passes values for all its own particles, in the
            order of ``particles.id``.

        Raises
        ------
        InputError
            On all ranks, if the case has no such force, array shapes do not match, numbers are not finite, a drag is
            negative, an id does not exist, ranks pass different values for an id, or a particle is in a cluster.
        """
        set_array(self.system, force, drag, fluid_velocity, ids)

    def insert(
        self,
        position: ArrayLike,
        radius: ArrayLike,
        material: str,
        *,
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        shape: str | None = None,
        orientation: ArrayLike | None = None,
        temperature: float | None = None,
    ) -> Integers:
        """Add particles between two steps. Collective, with the same arguments on every rank.

        Parameters
        ----------
        position : (n, 3) array_like
            Centres [m], inside the domain and without contact with walls or other particles.
        radius : float or (n,) array_like
            Radii [m]; for clusters, radii of spheres of the same volume.
        material : str
            A material of the case.
        velocity, angular_velocity : (3,) or (n, 3) array_like
            Velocity [m/s] and angular velocity [rad/s].
        shape : str, optional
            A shape of the case: insert clusters with this shape instead of spheres.
        orientation : (4,) or (n, 4) array_like, optional
            Quaternions w, x, y, z that rotate clusters from the orientation of the shape; by default no rotation.
        temperature : float, optional
            Temperature [K], in a case with ``[heat]``; by default ``heat.temperature``.

        Returns
        -------
        (n,) int64 array
            Ids of the particles, never used before; for clusters, the ids of their first members.

        Raises
        ------
        InputError
            If the material or shape does not exist, array shapes do not match, values are invalid, particles are
            outside the domain or touch a wall or other particles, or the time step is too long for them. On all ranks,
            before any change.
        CaseError
            If the material has no density, or no interaction with the materials present, or a periodic axis is too
            short.

        Warns
        -----
        RuntimeWarning
            On rank 0, in cases in which `pdem check` would warn about particles of the case.
        """
        self.before_change()
        columns = checked_columns(
            self.system, self.case, self.meshes, material, position=position, radius=radius,
            velocity=velocity, angular_velocity=angular_velocity, shape=shape,
            orientation=(1.0, 0.0, 0.0, 0.0) if shape is not None and orientation is None else orientation,
        )  # fmt: skip
        heat = temperature_column(self.case, material, len(columns["radius"]), temperature)
        ids, contacts = insert_particles(self.system, columns | heat)
        self._rebuild(contacts)
        return ids

    def remove(self, ids: ArrayLike) -> None:
        """Remove particles between two steps. Collective, with the same ids on every rank.

        Raises
        ------
        InputError
            If the ids are not whole numbers, or an id does not exist.
        """
        self.before_change()
        removed = ids_of("ids", ids)
        check_ids_exist(self.system.particles, self.system.exchange, removed)
        own = self.system.particles.id
        self._rebuild(remove_particles(self.system, own[np.isin(own, removed)]))

    def gather_contacts(self) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]] | None:
        """Return all contacts with what they remember, on rank 0; None elsewhere. Collective.

        The two are between particles and with walls, columns by name in the order of ids: what `Simulation` takes as
        ``contacts`` and ``wall_contacts``, together with the ``particles`` that `gather` returns.
        """
        groups = gather_groups(self.system, local_groups(self.system))
        return None if groups is None else (groups["contacts"], groups["wall_contacts"])

    def ended_contacts(self) -> dict[str, NDArray[Any]] | None:
        """Return the contacts that have ended since the last call, on rank 0; None elsewhere. Collective.

        The first call begins the list, and returns none. Columns are ``first`` and ``second`` (n,), the ids of the
        particles, -1 in place of the second one at a wall; ``wall``, the number of that, else -1; ``reason``, the place
        in `pdem.contact.ends.REASONS`. Rows are in the order of these. For cases with ``output.contact_ends = true``.

        Raises
        ------
        InputError
            On all ranks, if the case does not count them.
        """
        return self.system.features.get(EndedContacts).take_events(self.system)

    def fixed_loads(self) -> dict[str, dict[str, Floats]]:
        """Return for each group of fixed particles ``force`` (3,) [N] and ``torque`` (3,) [N m] by other particles.

        The torque is about the origin. Collective.
        """
        return fixed_loads(self.system)

    def rebuild_lists(self) -> None:
        """Rebuild lists after positions or radii of particles were written. Collective.

        Positions on periodic axes are wrapped; in a deforming box the velocity changes to the velocity of the image.
        Contacts continue if the particles still touch. Members of clusters follow from `clusters`, which scripts may
        write; values written to the members themselves have no effect.

        Raises
        ------
        InputError
            On all ranks, if a position is not finite, or a radius is not positive.
        """
        self.before_change()
        system = self.system
        place_written_clusters(system)
        on_each_rank(system.exchange, lambda: _check_written(system.particles))
        own = system.particles
        system.follow_box()
        wrapped, turns = system.constants.shape.wrapped(own.position)
        own.image[:] += turns.astype(np.int32)
        own.position[:] = wrapped
        if system.box.moving is not None:
            own.velocity[:] -= exact_math.matmul(turns, system.box.moving.image_velocities(system.progress.step))
        self._rebuild(system.contacts.records())

    def _rebuild(self, contacts: Records) -> None:
        """Rebuild lists after particles were inserted, removed or moved; `contacts` are the contacts to retain."""
        time_step.migrate_and_rebuild_lists(self.system, contacts, self.phases)
        if self.observing is not None:
            self.observing.copy_columns()

    def stop(self) -> None:
        """End the run at this step, with its last output. Only for observers; all ranks must call it.

        Raises
        ------
        InputError
            If called outside an observer.
        """
        if self.observing is None:
            raise InputError("simulation.stop ends a run from within an observer; a loop by hand ends by itself")
        self.observing.asked = self.observing.asked._replace(stop=True)

    def write(self, *, checkpoint: bool = False, overwrite: bool = False) -> None:
        """Write a snapshot, a line of the series and optionally a checkpoint of the present step. Collective.

        In an observer of a run, the run writes them to its files after all observers of the step were called. In a loop
        of a script, the first call opens the files in the output folder of the case; they stay open until `close`, or
        until `run` continues with them.

        Parameters
        ----------
        checkpoint : bool
            Also write a checkpoint.
        overwrite : bool
            For the first call in a loop of a script: remove the run in the output folder.

        Raises
        ------
        InputError
            If the output folder contains a run, or cannot be created.
        """
        if self.observing is not None:
            asked = self.observing.asked
            self.observing.asked = asked._replace(snapshot=True, checkpoint=asked.checkpoint or checkpoint)
            return
        from pdem.run.files.outputs import Outputs

        if self.outputs is None:
            simulation: Any = self
            self.outputs = Outputs(simulation, quiet=True, findings=(), use=FolderUse(overwrite))
        self.outputs.write_present(checkpoint=checkpoint)

    def close(self) -> None:
        """Close the files opened by `write`."""
        outputs, self.outputs = self.outputs, None
        if outputs is not None:
            outputs.close()

    def _advance_observed(self, steps: int, observers: Sequence[Any]) -> int:
        """Take steps with observers, for `Simulation.advance`."""
        system, observation = self.system, Observation(self, observers)
        last, requested, asked = system.progress.step + steps, 0, observation.call_due()
        while True:
            if asked.snapshot:
                self.write(checkpoint=asked.checkpoint)
            if asked.stop or requested or system.progress.step >= last:
                return requested
            stop = min(last, observation.next_step(system.progress.step))
            requested = advance_by(system, self.phases, stop - system.progress.step)
            asked = observation.call_due()

    def before_change(self) -> None:
        """Save the state, if observers are being called, before particles change in number or lists are rebuilt."""
        if self.observing is not None:
            self.observing.before_change()

    def _require_no_observer(self, what: str) -> None:
        if self.observing is not None:
            raise InputError(f"simulation.{what} is not for observers, which are called between steps of a run")


def temperature_column(case: Case, material: str, number: int, temperature: float | None) -> dict[str, Floats]:
    """Return the column of temperatures of inserted particles, if one is given.

    Raises
    ------
    InputError
        If the case has no heat, the material no heat capacity, or the temperature is not positive and finite.
    """
    if case.heat is not None and case.materials[material].heat_capacity is None:
        raise InputError(f"material {material!r} has no heat_capacity, and the case has heat; give it in materials")
    if temperature is None:
        return {}
    if case.heat is None:
        raise InputError("temperature is given, and the case has no [heat]; leave it out, or add the section")
    if not 0.0 < float(temperature) < math.inf:
        raise InputError(f"temperature is {temperature} K; give a positive, finite number, in K")
    return {"temperature": np.full(number, float(temperature))}


def _force_of(case: Case, function: Any, material: str | None) -> OwnForce:
    if material is not None and material not in case.materials:
        raise InputError(f"there is no material {material!r}; {name_hint(material, list(case.materials))}")
    number = -1 if material is None else case.material_index(material)
    return force_of_function(function, limits_of(number))


def _check_written(particles: Any) -> None:
    """Check that positions and radii written by a script are valid."""
    wrong = ~np.isfinite(particles.position).all(axis=1)
    if wrong.any():
        raise InputError(f"the position of particle {particles.id[wrong].min()} is not finite; write finite numbers")
    wrong = ~(np.isfinite(particles.radius) & (particles.radius > 0.0))
    if wrong.any():
        raise InputError(f"the radius of particle {particles.id[wrong].min()} is not positive; write positive numbers")
