"""Scenes to draw: particles and walls of a run at its snapshots, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pdem.foundation.errors import InputError
from pdem.foundation.fields import FIELDS
from pdem.output import vtkhdf
from pdem.output.checkpoint import Checkpoint, read_checkpoint
from pdem.output.checkpoint_folder import latest_checkpoint
from pdem.output.compare import step_index
from pdem.output.contact_snapshots import CONTACT_FILE, contact_fields, read_contacts
from pdem.output.snapshots import PARTICLE_FILE, PRESENT, WALL_FILE, WALL_INDEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SPEED = "speed"
_POLYGONS = "Polygons"
_TITLE = "title"


@dataclass(frozen=True)
class Walls:
    """The wall surface at one time: vertices (v, 3) in m, facets as loops of vertices, wall of each facet."""

    vertices: NDArray[np.float64]
    facet_start: NDArray[np.int64]
    facet_vertices: NDArray[np.int64]
    facet_wall: NDArray[np.int32]

    def only(self, facets: NDArray[np.bool_]) -> Walls:
        """Return the surface of some of the facets; vertices stay."""
        sides = np.diff(self.facet_start)
        loops = self.facet_vertices[np.repeat(facets, sides)]
        start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[facets])))
        return Walls(self.vertices, start, loops, self.facet_wall[facets])


@dataclass(frozen=True)
class Frame:
    """Particles and walls at one time.

    Attributes
    ----------
    time : float
        Simulated time (s).
    title : str
        Title of the case; may be empty.
    columns : dict of ndarray
        Particle fields by name, ``position (n, 3)`` and ``radius (n,)`` among them.
    walls : Walls or None
        The walls, if the run wrote any.
    contacts : dict of ndarray or None
        Contacts, as `pdem.output.contact_snapshots.read_contacts` returns them, if these are to be drawn.
    """

    time: float
    title: str
    columns: dict[str, NDArray[Any]]
    walls: Walls | None
    contacts: dict[str, NDArray[Any]] | None = None

    def values(self, name: str) -> NDArray[np.float64]:
        """Return a number per particle, or per contact if these are drawn (n,).

        It is a field, the length of a vector field, or ``speed``. A cluster is one body and has one number.

        Raises
        ------
        InputError
            When the snapshot has no such field.
        """
        field = "velocity" if name == _SPEED else name
        columns = self.columns if self.contacts is None else self.contacts
        if field not in columns:
            what = "snapshot has" if self.contacts is None else "contacts have"
            raise InputError(f"no field {name!r} to colour by; the {what} {', '.join(sorted(columns))}")
        column = np.asarray(columns[field])
        if self.contacts is None and "cluster" in columns:
            column = _of_bodies(column, columns["cluster"])
        column = column.astype(np.float64)
        return np.linalg.norm(column, axis=1) if column.ndim > 1 else column

    def outline(self) -> NDArray[np.float64]:
        """Return points (k, 3) whose hull holds the frame (m): vertices of walls, corners of a box, or both."""
        radius = self.columns["radius"][:, None]
        box = _bounding_box(
            np.concatenate([self.columns["position"] - radius, self.columns["position"] + radius])
        )
        if self.walls is None or not len(self.walls.vertices):
            return _corners(box)
        wall_box = _bounding_box(self.walls.vertices)
        slack = 0.01 * np.ptp(wall_box, axis=0)
        if not len(radius) or ((box[0] > wall_box[0] - slack) & (box[1] < wall_box[1] + slack)).all():
            return self.walls.vertices
        return np.concatenate([_corners(box), self.walls.vertices])


def _of_bodies(column: NDArray[Any], cluster: NDArray[np.int64]) -> NDArray[Any]:
    """Return a column (n,) or (n, k) with the mean over its members for a whole cluster; of whole numbers the least."""
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


def _bounding_box(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lower and upper corner of the finite ones of `points`, a box of 2 m when there are none."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return np.array([[-1.0] * 3, [1.0] * 3])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _corners(box: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


class Scene(Protocol):
    """Frames of a run, read one at a time."""

    times: Sequence[float]

    def frame(self, index: int) -> Frame:
        """Return one frame."""
        ...


class SnapshotScene:
    """The snapshots of a particle file, of the wall file beside it, and maybe of a file of contacts."""

    def __init__(self, particles: Path, walls: Path, contacts: Path | None = None) -> None:
        self._particles = particles
        self._walls = walls
        self._contacts = contacts
        self.times: Sequence[float] = vtkhdf.read_times(particles).tolist()
        step_index(particles, None)

    def frame(self, index: int) -> Frame:
        """Return the frame of one snapshot."""
        step = vtkhdf.read_step(self._particles, index)
        columns = {"position": step.points, **step.point_data}
        contacts = None if self._contacts is None else _contacts_at(self._contacts, step.time)
        title, walls = str(step.attributes.get(_TITLE, "")), walls_at(self._walls, step.time)
        return Frame(step.time, title, columns, walls, contacts)


class CheckpointScene:
    """The state of a checkpoint, with the walls of the nearest snapshot."""

    def __init__(self, checkpoint: Checkpoint, walls: Path) -> None:
        self._checkpoint = checkpoint
        self._walls = walls
        self.times: Sequence[float] = [float(checkpoint.attributes.get("time", 0.0))]

    def frame(self, index: int) -> Frame:
        """Return the only frame."""
        time = self.times[index]
        title = str(self._checkpoint.attributes.get(_TITLE, ""))
        return Frame(time, title, self._checkpoint.groups["particles"], walls_at(self._walls, time))


def _contacts_at(path: Path, time: float) -> dict[str, NDArray[Any]]:
    """Return the contacts that were written nearest to `time` (s)."""
    return read_contacts(path, int(np.argmin(np.abs(vtkhdf.read_times(path) - time))))


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
    walls = Walls(step.points, facets.offsets, facets.connectivity, step.cell_data[WALL_INDEX.name])
    present = step.cell_data.get(PRESENT.name)
    return walls if present is None else walls.only(present.astype(np.bool_))


def open_scene(source: Path | str, *, contacts: bool = False) -> Scene:
    """Return the scene of a folder or file.

    Parameters
    ----------
    source : path
        An output folder, a particle snapshot file or a checkpoint.
    contacts : bool
        Contacts are to be drawn in place of particles.

    Raises
    ------
    CheckpointError
        When a file cannot be read.
    InputError
        When there is no snapshot in it.
    """
    source = Path(source)
    if contacts:
        return _scene_of_contacts(source)
    if source.suffix == ".vtkhdf":
        return SnapshotScene(source, source.with_name(WALL_FILE))
    if not source.is_dir():
        return CheckpointScene(read_checkpoint(source), source.with_name(WALL_FILE))
    if (source / PARTICLE_FILE).exists():
        return SnapshotScene(source / PARTICLE_FILE, source / WALL_FILE)
    if any(source.glob("checkpoint-*.h5")):
        return CheckpointScene(latest_checkpoint(source), source / WALL_FILE)
    raise InputError(
        f"{source}: holds neither {PARTICLE_FILE} nor a checkpoint; name the output folder of a run"
    )


def _scene_of_contacts(source: Path) -> SnapshotScene:
    folder = source if source.is_dir() else source.parent
    path = folder / CONTACT_FILE
    if not path.exists() or not len(vtkhdf.read_times(path)):
        raise InputError(
            f"{folder}: holds no contacts to draw; run the case with output.contacts_every, an interval in s"
        )
    return SnapshotScene(folder / PARTICLE_FILE, folder / WALL_FILE, path)


def nearest_frame(scene: Scene, time: float | None) -> int:
    """Return the index of the frame nearest to `time` (s); None gives the last."""
    if time is None:
        return len(scene.times) - 1
    return int(np.argmin(np.abs(np.asarray(scene.times) - time)))


def field_label(name: str) -> str:
    """Return a field with its unit, for a scale: ``speed [m/s]``."""
    of_contacts = {one.name: one for one in contact_fields(energies=True, ages=True)}
    field = FIELDS.get("velocity" if name == _SPEED else name) or of_contacts.get(name)
    words = name.replace("_", " ")
    return f"{words} [{field.unit}]" if field is not None and field.unit != "1" else words
