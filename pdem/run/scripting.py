"""What scripts and observers may do between steps, beside reading: forces, output, an early end, changed particles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.engine import step as time_step
from pdem.engine.between_steps import advance_by
from pdem.engine.clusters.steps import place_written_clusters
from pdem.engine.population import check_ids_exist, insert_particles, remove_particles
from pdem.engine.walls.fixed_loads import fixed_loads
from pdem.features.external_forces.array import set_array
from pdem.features.external_forces.feature import ExternalForces
from pdem.features.external_forces.parameters import force_of_function, limits_of
from pdem.features.insertions.checks import checked_columns
from pdem.features.observers.feature import observed
from pdem.foundation.arguments import ids_of
from pdem.foundation.errors import InputError, name_hint
from pdem.run.files.folder_use import FolderUse
from pdem.run.observation import Observation
from pdem.run.reading.reductions import Reductions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

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
        What is kept while observers are called, None else.
    outputs : Outputs or None
        Files that `write` has opened.
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
        """Let a force act on every particle from now on. Collective, with the same function on all ranks.

        Parameters
        ----------
        function : callable
            ``function(time, position, velocity, radius, mass, id)`` returns the force ``(fx, fy, fz)`` [N] on one
            particle; position and velocity are tuples of three numbers [m, m/s]. It is compiled: numbers, tuples,
            ``math`` and plain functions of these. Positions are those in the box, also on periodic axes.
        material : str, optional
            Acts on particles of this material only.

        Raises
        ------
        InputError
            On all ranks, if the function fails, returns something else, or cannot be compiled; if ranks give different
            ones; within an observer.
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

    def set_external_force(
        self,
        force: ArrayLike,
        drag: ArrayLike | None = None,
        fluid_velocity: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
    ) -> None:
        """Give particles a force, and a drag towards the velocity of a fluid, kept until they are given again.

        Collective, between steps, in a script or an observer, for cases with ``[[forces]] kind = "array"``. The force
        on a particle is ``force + drag (fluid_velocity - velocity)``; the drag is implicit in each half kick: stable
        for any step, and of first order. All move with the particle between ranks, and are in checkpoints and
        snapshots as the columns ``external_force``, ``external_drag`` and ``fluid_velocity`` of `particles`, which may
        be written too. Particles that are inserted have zeros, and those that are fixed stay. What it does is the term
        ``own_forces`` of the energy balance.

        Parameters
        ----------
        force : (3,) or (n, 3) array_like
            Without the drag [N].
        drag : float or (n,) array_like, optional
            Coefficients [kg/s]; 0 by default.
        fluid_velocity : (3,) or (n, 3) array_like, optional
            At the particles [m/s]; at rest by default.
        ids : (n,) array_like, optional
            Of the particles that it is for, others keep what they have; each rank may give any, its own, all, or none.
            By default each rank gives all of its own, in the order of ``particles.id``.

        Raises
        ------
        InputError
            On all ranks, if the case has no such force, arrays do not fit, numbers are not finite, a drag is negative,
            there is no particle of an id, ranks give different values for one, or a cluster would be acted on.
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
    ) -> Integers:
        """Add particles between two steps. Collective, with the same arguments on every rank.

        Parameters
        ----------
        position : (n, 3) array_like
            Centres [m], inside the domain and clear of walls and all other particles.
        radius : float or (n,) array_like
            Radii [m]; of clusters those of the spheres of the same volume.
        material : str
            A material of the case.
        velocity, angular_velocity : (3,) or (n, 3) array_like
            In m/s and rad/s.
        shape : str, optional
            A shape of the case, of which all these are clusters, in place of spheres.
        orientation : (4,) or (n, 4) array_like, optional
            Quaternions w, x, y, z, by which clusters are turned from how the shape is drawn; not at all by default.

        Returns
        -------
        (n,) int64 array
            Their ids, which no particle has had before; of clusters those of their first members.

        Raises
        ------
        InputError
            If the material or shape is unknown, arrays do not fit, values are invalid, particles are outside the
            domain or touch others or a wall, or the time step is too long for them. On all ranks, before any change.
        CaseError
            If the material has no density or no interaction with those present, or a periodic axis is too short.

        Warns
        -----
        RuntimeWarning
            On rank 0, where `pdem check` would warn about particles of the case.
        """
        self.before_change()
        columns = checked_columns(
            self.system, self.case, self.meshes, material, position=position, radius=radius,
            velocity=velocity, angular_velocity=angular_velocity, shape=shape,
            orientation=(1.0, 0.0, 0.0, 0.0) if shape is not None and orientation is None else orientation,
        )  # fmt: skip
        ids, contacts = insert_particles(self.system, columns)
        self._rebuild(contacts)
        return ids

    def remove(self, ids: ArrayLike) -> None:
        """Remove particles between two steps. Collective, with the same ids on every rank.

        Raises
        ------
        InputError
            If they are no whole numbers, or there is no particle of one of these ids.
        """
        self.before_change()
        removed = ids_of("ids", ids)
        check_ids_exist(self.system, removed)
        own = self.system.particles.id
        self._rebuild(remove_particles(self.system, own[np.isin(own, removed)]))

    def fixed_loads(self) -> dict[str, dict[str, Floats]]:
        """Return by group of fixed particles ``force`` (3,) [N] and ``torque`` (3,) [N m] of the others on it.

        The torque is about the origin. Collective.
        """
        return fixed_loads(self.system)

    def rebuild_lists(self) -> None:
        """Make lists anew, after positions or radii of particles have been written. Collective.

        Positions on periodic axes are wrapped, in a box that deforms with the velocity of the image there. Contacts go
        on where particles still touch. Members of clusters go where the `clusters` are that may have been written; what
        is written to themselves has no effect.

        Raises
        ------
        InputError
            On all ranks, if a position is not finite, or a radius not positive.
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
            own.velocity[:] -= turns @ system.box.moving.image_velocities(system.progress.step)
        self._rebuild(system.contacts.records())

    def _rebuild(self, contacts: Records) -> None:
        """Make lists for particles that have come, gone or moved, whose contacts are known."""
        time_step.migrate_and_rebuild_lists(self.system, contacts, self.phases)
        if self.observing is not None:
            self.observing.copy_columns()

    def stop(self) -> None:
        """End the run at this step, with its last output: for observers, which all ranks call alike.

        Raises
        ------
        InputError
            Outside of an observer.
        """
        if self.observing is None:
            raise InputError("simulation.stop ends a run from within an observer; a loop by hand ends by itself")
        self.observing.asked = self.observing.asked._replace(stop=True)

    def write(self, *, checkpoint: bool = False, overwrite: bool = False) -> None:
        """Write a snapshot and a line of the series for the present step, and a checkpoint if wanted. Collective.

        In an observer of a run they are written to its files, once all observers of the step have been called. In a
        loop by hand files are opened at the first call, in the output folder of the case, and stay open until `run`
        goes on with them or `close`.

        Parameters
        ----------
        checkpoint : bool
            Also write a checkpoint.
        overwrite : bool
            In a loop by hand, at the first call: remove the run that is in the output folder.

        Raises
        ------
        InputError
            If that folder holds a run, or cannot be made.
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
        """Close the files that `write` has opened."""
        outputs, self.outputs = self.outputs, None
        if outputs is not None:
            outputs.close()

    def _advance_observed(self, steps: int, observers: Sequence[Any]) -> int:
        """Take steps with observers, as `Simulation.advance` does."""
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
        """Keep the state, if observers are being called, before particles come, go or are listed anew."""
        if self.observing is not None:
            self.observing.before_change()

    def _require_no_observer(self, what: str) -> None:
        if self.observing is not None:
            raise InputError(f"simulation.{what} is not for observers, which are called between steps of a run")


def _force_of(case: Case, function: Any, material: str | None) -> OwnForce:
    if material is not None and material not in case.materials:
        raise InputError(f"there is no material {material!r}; {name_hint(material, list(case.materials))}")
    number = -1 if material is None else case.material_index(material)
    return force_of_function(function, limits_of(number))


def _check_written(particles: Any) -> None:
    """Require that what a script has written to particles can be."""
    wrong = ~np.isfinite(particles.position).all(axis=1)
    if wrong.any():
        raise InputError(f"the position of particle {particles.id[wrong].min()} is not finite; write finite numbers")
    wrong = ~(np.isfinite(particles.radius) & (particles.radius > 0.0))
    if wrong.any():
        raise InputError(f"the radius of particle {particles.id[wrong].min()} is not positive; write positive numbers")
