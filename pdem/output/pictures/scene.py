"""Scenes to draw: particles and walls of a run at its snapshots, as plain arrays."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pdem.foundation.errors import InputError
from pdem.foundation.fields import FIELDS
from pdem.output.checkpoints.checkpoint import Checkpoint, read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import latest_checkpoint
from pdem.output.compare import step_index
from pdem.output.contact_table import UNITS
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.contact_snapshots import CONTACT_FILE, read_contacts
from pdem.output.snapshots.formats import BOND_FILE
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, PRESENT, WALL_FILE, WALL_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

_SPEED = "speed"
_POLYGONS = "Polygons"
_TITLE = "title"
_OF_MATERIALS = ("material", "first_material", "second_material")
_NO_FIELDS = WALL_INDEX.name, PRESENT.name


@dataclass(frozen=True)
class Walls:
    """The wall surface at one time.

    Attributes
    ----------
    vertices : (v, 3) array
        Positions of nodes [m].
    facet_start, facet_vertices : int64 arrays
        First index of each facet, and the facets as loops of nodes, one after the other.
    facet_wall : (f,) int32 array
        Wall of each facet.
    fields : dict of (f, ...) arrays
        Loads, wear and further fields of facets, by name.
    units : dict of str to str
        Their SI units.
    """

    vertices: Floats
    facet_start: Integers
    facet_vertices: Integers
    facet_wall: Int32s
    fields: dict[str, NDArray[Any]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    def only(self, facets: Booleans) -> Walls:
        """Return the surface of some of the facets, with all vertices."""
        sides = np.diff(self.facet_start)
        loops = self.facet_vertices[np.repeat(facets, sides)]
        start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[facets])))
        fields = {name: column[facets] for name, column in self.fields.items()}
        return Walls(self.vertices, start, loops, self.facet_wall[facets], fields, self.units)

    def faces(self) -> Integers:
        """Return the facets as pyvista takes them: the number of nodes of each, followed by its nodes."""
        sides = np.diff(self.facet_start)
        return np.insert(self.facet_vertices, self.facet_start[:-1], sides)

    def values(self, name: str) -> Floats:
        """Return a number per facet (f,): a field, or the length of a vector field.

        Raises
        ------
        InputError
            If the walls have no such field.
        """
        if name not in self.fields:
            names = ", ".join(sorted(self.fields))
            raise InputError(f"no field {name!r} to colour walls by; they have {names}{_hint(name)}")
        return _lengths(self.fields[name])


@dataclass(frozen=True)
class SceneFrame:
    """Particles and walls at one time.

    Attributes
    ----------
    time : float
        Simulated time (s).
    title : str
        Title of the case; may be empty.
    columns : dict of ndarray
        Particle fields by name, including ``position (n, 3)`` and ``radius (n,)``.
    walls : Walls or None
        The walls, if the run wrote any.
    contacts : dict of ndarray or None
        Contacts or bonds from `pdem.output.snapshots.contact_snapshots.read_contacts`, if they are to be drawn.
    units : dict of str to str
        SI units of the fields of particles, or of contacts if these are drawn.
    names : dict of str to tuple of str
        Class names for fields with class indices: names of materials.
    wall_names : tuple of str
        Names of the walls, by index; empty if they are not known.
    total : int or None
        Number of bodies of the whole scene; None if all of them are in the frame.
    """

    time: float
    title: str
    columns: dict[str, NDArray[Any]]
    walls: Walls | None
    contacts: dict[str, NDArray[Any]] | None = None
    units: dict[str, str] = field(default_factory=dict)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    wall_names: tuple[str, ...] = ()
    total: int | None = None

    def has(self, name: str) -> bool:
        """Return whether particles, or contacts if these are drawn, have a field of this name."""
        return _field_of(name) in (self.columns if self.contacts is None else self.contacts)

    def is_whole(self, name: str) -> bool:
        """Return whether a field consists of integers."""
        columns = self.columns if self.contacts is None else self.contacts
        return np.issubdtype(columns[_field_of(name)].dtype, np.integer)

    def unit(self, name: str) -> str:
        """Return the SI unit of a field, ``"1"`` without dimension."""
        name = _field_of(name)
        return self.units.get(name, FIELDS[name].unit if name in FIELDS else "1")

    def values(self, name: str) -> Floats:
        """Return a number per particle, or per contact if these are drawn (n,).

        It is a field, the length of a vector field, or ``speed``. A cluster is one body and has one number.

        Raises
        ------
        InputError
            When the snapshot has no such field.
        """
        columns = self.columns if self.contacts is None else self.contacts
        if not self.has(name):
            what = "snapshot has" if self.contacts is None else "contacts have"
            text = f"no field {name!r} to colour by; the {what} {', '.join(sorted(columns))}"
            if self.walls is not None and self.walls.fields:
                text += f"; walls have {', '.join(sorted(self.walls.fields))}{_hint(name)}"
            raise InputError(text)
        column = np.asarray(columns[_field_of(name)])
        if self.contacts is None and "cluster" in columns:
            column = mean_of_bodies(column, columns["cluster"])
        return _lengths(column)

    def outline(self, *, particles: bool = True) -> Floats:
        """Return points (k, 3) with a hull that contains the frame (m): vertices of walls, corners of a box, or both.

        Without `particles` the frame contains only the walls, if there are any.
        """
        if not particles and self.walls is not None and len(self.walls.vertices):
            return self.walls.vertices
        radius = self.columns["radius"][:, None]
        box = _bounding_box(np.concatenate([self.columns["position"] - radius, self.columns["position"] + radius]))
        if self.walls is None or not len(self.walls.vertices):
            return _corners(box)
        wall_box = _bounding_box(self.walls.vertices)
        slack = 0.01 * np.ptp(wall_box, axis=0)
        if not len(radius) or ((box[0] > wall_box[0] - slack) & (box[1] < wall_box[1] + slack)).all():
            return self.walls.vertices
        return np.concatenate([_corners(box), self.walls.vertices])


def _hint(name: str) -> str:
    """Return the option that adds an optional field to walls."""
    return "; give the walls the key wear" if name == "wear" else ""


def _field_of(name: str) -> str:
    """Return the field to which a name of numbers or lengths refers."""
    return "velocity" if name == _SPEED else name


def _lengths(column: NDArray[Any]) -> Floats:
    """Return a column (n,) of numbers: the column itself, or the lengths of vectors (n, k)."""
    column = np.asarray(column, np.float64)
    return np.linalg.norm(column, axis=1) if column.ndim > 1 else column


def mean_of_bodies(column: NDArray[Any], cluster: Integers) -> NDArray[Any]:
    """Return a column (n,) or (n, k) with one value per cluster: the mean of its members, or the least of integers."""
    members = np.flatnonzero(cluster > 0)
    _, body = np.unique(cluster[members], return_inverse=True)
    if not len(members):
        return column
    whole, flat = column.copy(), column[members].reshape(len(members), -1)
    if np.issubdtype(column.dtype, np.integer):
        least = np.full((int(body.max()) + 1, flat.shape[1]), flat.max())
        np.minimum.at(least, body, flat)
        found = least[body]
    else:
        sums = np.stack([np.bincount(body, values) for values in flat.T], axis=1)
        found = (sums / np.bincount(body)[:, None])[body]
    whole[members] = found.reshape(whole[members].shape)
    return whole


def _bounding_box(points: Floats) -> Floats:
    """Return lower and upper corner of the finite rows of `points`, or a box of 2 m if there are none."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return np.array([[-1.0] * 3, [1.0] * 3])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _corners(box: Floats) -> Floats:
    return np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


class Scene(Protocol):
    """Frames of a run, which are read one at a time."""

    times: Sequence[float]

    def frame(self, index: int) -> SceneFrame:
        """Return one frame."""
        ...


class SnapshotScene:
    """The snapshots of a particle file, of the wall file in its folder, and optionally of a file of contacts."""

    def __init__(self, particles: Path, walls: Path, contacts: Path | None = None) -> None:
        self._particles = particles
        self._walls = walls
        self._contacts = contacts
        self.times: Sequence[float] = vtkhdf.read_times(particles).tolist()
        step_index(particles, None)

    def frame(self, index: int) -> SceneFrame:
        """Return the frame of one snapshot."""
        step = vtkhdf.read_step(self._particles, index)
        columns = {"position": step.points, **step.point_data}
        units, contacts = step.units["point_data"], None
        if self._contacts is not None:
            contacts, units = _contacts_at(self._contacts, step.time)
        title, walls = str(step.attributes.get(_TITLE, "")), walls_at(self._walls, step.time)
        materials, wall_names = _names_in_case(step.attributes)
        return SceneFrame(step.time, title, columns, walls, contacts, units, materials, wall_names)


class CheckpointScene:
    """The state of a checkpoint, with the walls of the nearest snapshot."""

    def __init__(self, checkpoint: Checkpoint, walls: Path) -> None:
        self._checkpoint = checkpoint
        self._walls = walls
        self.times: Sequence[float] = [float(checkpoint.attributes.get("time", 0.0))]

    def frame(self, index: int) -> SceneFrame:
        """Return the only frame."""
        time = self.times[index]
        attributes = self._checkpoint.attributes
        materials, wall_names = _names_in_case(attributes)
        columns, walls = self._checkpoint.groups["particles"], walls_at(self._walls, time)
        title = str(attributes.get(_TITLE, ""))
        return SceneFrame(time, title, columns, walls, names=materials, wall_names=wall_names)


def _names_in_case(attributes: Mapping[str, Any]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the names of the materials, for each field of their indices, and of the walls, from the case in a file."""
    try:
        case = tomllib.loads(str(attributes.get("case", "")))
    except tomllib.TOMLDecodeError:
        return {}, ()
    walls = tuple(str(wall.get("name", "")) for wall in case.get("walls", ()))
    return dict.fromkeys(_OF_MATERIALS, tuple(case["materials"])) if "materials" in case else {}, walls


def _contacts_at(path: Path, time: float) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the contacts or bonds at the written time nearest to `time` (s), and the units of their columns."""
    index = int(np.argmin(np.abs(vtkhdf.read_times(path) - time)))
    return read_contacts(path, index), UNITS | vtkhdf.read_step(path, index).units["cell_data"]


def walls_at(path: Path, time: float) -> Walls | None:
    """Return the walls of the snapshot nearest to `time` (s), or None when there is no such file."""
    if not path.exists():
        return None
    times = vtkhdf.read_times(path)
    if not len(times):
        return None
    step = vtkhdf.read_step(path, int(np.argmin(np.abs(times - time))))
    facets = step.cells.get(_POLYGONS)
    if facets is None:
        return None
    fields = {name: column for name, column in step.cell_data.items() if name not in _NO_FIELDS}
    walls = Walls(
        step.points, facets.offsets, facets.connectivity, step.cell_data[WALL_INDEX.name], fields,
        step.units["cell_data"],
    )  # fmt: skip
    present = step.cell_data.get(PRESENT.name)
    return walls if present is None else walls.only(present.astype(np.bool_))


def open_scene(source: Path | str, *, contacts: bool = False, bonds: bool = False) -> Scene:
    """Return the scene of a folder or file.

    Parameters
    ----------
    source : path
        An output folder, a particle snapshot file or a checkpoint.
    contacts, bonds : bool
        Whether contacts or bonds are to be drawn instead of particles.

    Raises
    ------
    CheckpointError
        When a file cannot be read.
    InputError
        When it contains no snapshot.
    """
    source = Path(source)
    if contacts:
        return _scene_of_lines(source, CONTACT_FILE, "contacts", "with output.contacts_every, an interval in s")
    if bonds:
        return _scene_of_lines(source, BOND_FILE, "bonds", "with [bonds.NAME]")
    if source.suffix == ".vtkhdf":
        return SnapshotScene(source, source.with_name(WALL_FILE))
    if not source.is_dir():
        return CheckpointScene(read_checkpoint(source), source.with_name(WALL_FILE))
    if (source / PARTICLE_FILE).exists():
        return SnapshotScene(source / PARTICLE_FILE, source / WALL_FILE)
    if any(source.glob("checkpoint-*.h5")):
        return CheckpointScene(latest_checkpoint(source), source / WALL_FILE)
    raise InputError(f"{source}: holds neither {PARTICLE_FILE} nor a checkpoint; name the output folder of a run")


def _scene_of_lines(source: Path, file: str, things: str, remedy: str) -> SnapshotScene:
    """Return the scene of contacts or bonds, from a file in the folder of a run."""
    folder = source if source.is_dir() else source.parent
    path = folder / file
    if not path.exists() or not len(vtkhdf.read_times(path)):
        raise InputError(f"{folder}: holds no {things} to draw; run the case {remedy}")
    return SnapshotScene(folder / PARTICLE_FILE, folder / WALL_FILE, path)


def nearest_frame(scene: Scene, time: float | None) -> int:
    """Return the index of the frame nearest to `time` (s); None gives the last."""
    if time is None:
        return len(scene.times) - 1
    return int(np.argmin(np.abs(np.asarray(scene.times) - time)))
