"""Read access to the contacts with walls after an evaluation: points, forces, energies, loads on the walls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.geometry.signed_features import signed_features, with_features
from pdem.contact.geometry.signed_patches import Powers
from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
from pdem.contact.law.elastic import ElasticState, elastic_state
from pdem.contact.walls import evaluate as kernels
from pdem.contact.walls.arguments import NearFacets
from pdem.contact.walls.driven_loads import sums_of_driven
from pdem.contact.walls.storage import ActingOnWalls, Evaluated
from pdem.foundation import exact_math
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import WallRoom, WallRows
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers
    from pdem.motion.walls import MovingWalls

    Rows = tuple[Integers, Integers]

_NO_ROWS = np.empty(0)
_COMPONENTS = ("fx", "fy", "fz", "tx", "ty", "tz", "power")


class WallReadings:
    """The read-only part of `pdem.contact.walls.contacts.WallContacts`."""

    law: ContactLaw
    walls: MovingWalls
    total_row: Int32s
    _signed: bool
    _shortened: float
    _materials: Int32s
    _near: Int32s
    _start: Integers
    _end: Integers
    _candidates: Integers
    _due: NDArray[np.float32]
    _crosses: Booleans
    path: Floats
    _new: WallRows
    _old: WallRows
    _room: WallRoom

    def _near_facets(self, packed: Floats) -> NearFacets:
        return NearFacets(
            self._near, self._start, self._end, self._candidates, self._due, self._crosses, self.path, packed
        )

    @property
    def _surface(self) -> SurfaceArrays:
        walls = self.walls
        return SurfaceArrays.of(walls.mesh, walls.vertices, walls.normals, self._materials)

    @property
    def wall_materials(self) -> Int32s:
        """Material of each wall (W,)."""
        return self._materials

    def _contact_rows(self) -> Rows:
        """Return particle and row of each contact, by particle and distance."""
        near = len(self._near)
        counts = self._new.counts[:near]
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(self._near.astype(np.int64), counts), np.repeat(self._start[:near], counts) + inside

    def elastic_state(self) -> tuple[Integers, ElasticState, Int32s]:
        """Return particle, variables of the elastic energy, and material of the wall of each contact."""
        owner, rows, material, histories = self.places()
        return owner, elastic_state(self.law, histories[rows].T), material

    def places(self) -> tuple[NDArray[Any], ...]:
        """Return particle, row of the history, and material of the wall of each contact; and histories (a view)."""
        owner, rows = self._contact_rows()
        material = self._materials[self.walls.facet_wall[self._new.facet[rows]]]
        return owner, rows + 1, material, self._new.history

    def energies(self) -> Floats:
        """Return the accounts of all contacts and the work of the walls, (accounts + 1, n) [J]."""
        histories, law = self._new.history[self._contact_rows()[1] + 1], self.law
        return np.vstack((histories[:, law.first_energy : law.columns].T, histories[:, law.columns + 3]))

    def loads(self) -> ExactSums:
        """Return force, torque and power of the particles on every wall as exact sums ``wall.component``."""
        count = len(self.walls.motions)
        sums = ExactSums([f"{wall}.{name}" for wall in range(count) for name in _COMPONENTS])
        self.add_loads(np.arange(count), kernels.WIDE, sums.limbs)
        sums.normalise()
        return sums

    def add_loads(self, row: Integers, window: kernels.LoadWindow, limbs: Integers) -> None:
        """Add force, torque and power of the particles on walls to exact sums, `LOADS` of `kernels` for each.

        `row` has the index of each wall in the sums, -1 for walls without sums.
        """
        walls = self.walls
        loaded = kernels.LoadedWalls(row, walls.centre, walls.angular_velocity, walls.velocity)
        kernels.add_loads(
            self._near_facets(_NO_ROWS), self._new.counts, self._room.found(self._new), walls.facet_wall,
            self._room.force, loaded, walls.surfaces.now, window, limbs,
        )  # fmt: skip

    def acting(self) -> ActingOnWalls:
        """Return the contacts of the last evaluation with their forces, particle by particle (copies)."""
        (owner, rows), found = self._contact_rows(), self._room.found(self._new)
        lifted = ((1.0 - self._shortened) * found.overlap[rows])[:, None]
        return ActingOnWalls(
            owner, self._new.facet[rows], found.point[rows] + lifted * found.normal[rows], found.normal[rows],
            found.overlap[rows], self._room.force[rows, :3], self._new.history[rows + 1],
        )  # fmt: skip

    def rows(self, owned: int) -> Integers:
        """Return the number of candidate facets of each owned particle."""
        rows = np.zeros(owned, np.int64)
        rows[self._near] = np.diff(self._start[: len(self._near) + 1])
        return rows

    def loaded(self, particles: Particles, parameters: ContactParameters) -> dict[str, NDArray[Any]]:
        """Return the contacts and their forces on the walls, particle by particle; patches by their features.

        Columns are listed in `pdem.contact.walls.nodal_loads.LOADED`; `parameters` belong to the evaluated step.
        """
        owner, rows = self._contact_rows()
        room, found, walls = self._room, self._room.found(self._new), self.walls
        point, normal, overlap = found.point[rows], found.normal[rows], found.overlap[rows]
        weight, match, force = found.weight[rows], room.match[rows], room.force[rows]
        column = self.law.place("sliding")
        slid = self._new.history[rows + 1, column] - self._old.history[match, column]
        columns = {
            "id": particles.column("id")[owner], "kind": self._new.kind[rows],
            "feature": self._new.feature[rows], "facet": self._new.facet[rows], "features": weight,
            "nearest": point + (1.0 - self._shortened) * overlap[:, None] * normal, "point": point,
            "force": -force[:, :3],
            "moment": -force[:, 3:], "push": exact_math.inner(force[:, :3], normal),
            "sliding": slid / parameters.step.dt if self.law.has("sliding") else np.zeros(len(rows)),
            "surface_power": walls.surfaces.powers(walls.facet_wall[self._new.facet[rows]], (point, normal), force),
        }  # fmt: skip
        if not self._signed:
            return columns

        def features_of(contact: int) -> tuple[dict[str, NDArray[Any]], bool]:
            p = int(owner[contact])
            q = self.total_row[p] - 1
            pair = int(particles.column("material")[p]) * len(parameters.density)
            wall = self._materials[walls.facet_wall[columns["facet"][contact]]]
            x, y, z = particles.column("position")[p].tolist()
            sphere = Sphere(x, y, z, float(particles.column("radius")[p]))
            near = self._candidates[self._start[q] : self._end[q]]
            powers = Powers(parameters.powers, pair)
            found = signed_features(sphere, near, walls.mesh, self._surface, powers)
            return found, bool(parameters.powers[pair + wall] > 1.25)

        return with_features(columns, normal, features_of)

    def evaluated(self, packed: Floats, materials: int) -> Evaluated:
        """Return the contacts of the last two evaluations as arguments of kernels; views."""
        now, before, room = self._new, self._old, self._room
        return Evaluated(
            self._near_facets(packed), now.record, before.record, room.found(now), room.match, self.walls.facet_wall,
            materials,
        )  # fmt: skip

    def driven_loads(self, particles: Particles, parameters: ContactParameters) -> Integers:
        """Return the loads of particles of this rank on driven walls, see `pdem.contact.walls.driven_loads`."""
        contacts = self.evaluated(np.empty(0), len(parameters.density))
        return sums_of_driven(self.law, self.walls, self._materials, contacts, self._room.force, particles, parameters)
