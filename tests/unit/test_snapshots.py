"""Snapshots read back exactly, by our reader and by the one ParaView uses."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.foundation.errors import CheckpointError, InputError
from pdem.foundation.fields import Field, written_fields
from pdem.output.hdf5 import growing_datasets
from pdem.output.snapshots import snapshot_files as snapshots
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.snapshot_files import ParticleSnapshots, WallSnapshots

FACET_START = np.array([0, 4, 7, 12])
FACET_VERTICES = np.array([0, 1, 2, 3, 0, 1, 4, 0, 1, 2, 5, 6])
FACET_WALL = np.array([0, 0, 1])


def particles(count: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    columns = {}
    for field in written_fields():
        values = random.normal(size=(count, *field.shape)) * 1e3
        columns[field.name] = values.astype(field.dtype)
    columns["id"] = random.permutation(count) + 10**12
    return columns


def walls(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    return random.normal(size=(7, 3)), {name: random.normal(size=(2, 3)) for name in ("force", "torque")}


class VtkReader:
    """vtkHDFReader with numpy out."""

    def __init__(self, path: Path) -> None:
        reader_module = pytest.importorskip("vtkmodules.vtkIOHDF")
        from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

        self.reader = reader_module.vtkHDFReader()
        assert self.reader.CanReadFile(str(path))
        self.reader.SetFileName(str(path))
        self.reader.UpdateInformation()
        self.times = self.reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS()) or ()

    def at(self, time: float) -> Any:
        self.reader.UpdateTimeStep(time)
        return self.reader.GetOutputDataObject(0)


def arrays(data: Any) -> dict[str, np.ndarray]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return {data.GetArrayName(i): vtk_to_numpy(data.GetArray(i)) for i in range(data.GetNumberOfArrays())}


def points_of(surface: Any) -> np.ndarray:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    if not surface.GetNumberOfPoints():
        return np.zeros((0, 3))
    return vtk_to_numpy(surface.GetPoints().GetData())


def cells_of(cell_array: Any) -> list[list[int]]:
    from vtkmodules.util.numpy_support import vtk_to_numpy

    offsets = vtk_to_numpy(cell_array.GetOffsetsArray())
    ids = vtk_to_numpy(cell_array.GetConnectivityArray())
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


def assert_particles(columns: dict[str, np.ndarray], points: np.ndarray, data: dict[str, np.ndarray]) -> None:
    assert points.tobytes() == columns["position"].tobytes()
    for field in written_fields():
        if field.name != "position":
            assert data[field.name].dtype == field.dtype
            assert data[field.name].tobytes() == columns[field.name].tobytes(), field.name


@pytest.mark.parametrize(
    "counts",
    [(5, 5, 3, 0, 7, 5, 3, 0), (0, 4), (0,), (1,), (2, 0, 0, 1, 0, 3)],
    ids=lambda counts: "-".join(map(str, counts)),
)
def test_vtk_reads_varying_particle_counts_exactly(tmp_path: Path, counts: tuple[int, ...]) -> None:
    path = tmp_path / snapshots.PARTICLE_FILE
    series = ParticleSnapshots(path, attributes={"case": "title = 'ä'\n"})
    for index, count in enumerate(counts):
        series.write(0.1 * index, 100 * index, particles(count, index))
    reader = VtkReader(path)
    if len(counts) > 1:  # VTK gives no times for a single step
        assert list(reader.times) == [0.1 * index for index in range(len(counts))]
    for index in reversed(range(len(counts))):
        surface = reader.at(0.1 * index)
        expected = particles(counts[index], index)
        assert surface.GetNumberOfVerts() == counts[index]
        assert surface.GetNumberOfCells() == counts[index]
        assert cells_of(surface.GetVerts()) == [[i] for i in range(counts[index])]
        data = arrays(surface.GetPointData())
        if counts[index]:
            assert_particles(expected, points_of(surface), data)
        assert all(len(column) == counts[index] for column in data.values())


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=6))
def test_own_reader_returns_what_was_written(tmp_path_factory: pytest.TempPathFactory, counts: list[int]) -> None:
    path = tmp_path_factory.mktemp("own") / "p.vtkhdf"
    series = ParticleSnapshots(path, attributes={"case": "x", "seed": 3, "step_length": 1e-5})
    series.write(-1.0, -1, particles(2, 99))
    for index, count in enumerate(counts):
        series.write(float(index), index, particles(count, index))
    assert vtkhdf.read_times(path).tolist() == [-1.0, *map(float, range(len(counts)))]
    for index, count in enumerate(counts):
        step = vtkhdf.read_step(path, index + 1)
        assert (step.time, step.step) == (float(index), index)
        assert step.attributes == {"case": "x", "seed": 3, "step_length": 1e-5}
        assert_particles(particles(count, index), step.points, step.point_data)


def test_vtk_reads_moving_walls_loads_and_polygons(tmp_path: Path) -> None:
    path = tmp_path / snapshots.WALL_FILE
    nodal = Field("nodal_force", np.float64, (3,), "N", "force on each vertex")
    series = WallSnapshots(path, FACET_START, FACET_VERTICES, FACET_WALL, vertex_fields=(nodal,))
    for index in range(4):
        vertices, loads = walls(index)
        series.write(0.5 * index, index, vertices, loads, {"nodal_force": -vertices})
    reader = VtkReader(path)
    for index in (3, 0, 2, 1):
        vertices, loads = walls(index)
        surface = reader.at(0.5 * index)
        assert points_of(surface).tobytes() == vertices.tobytes()
        assert cells_of(surface.GetPolys()) == [[0, 1, 2, 3], [0, 1, 4], [0, 1, 2, 5, 6]]
        assert arrays(surface.GetCellData())["wall"].tolist() == FACET_WALL.tolist()
        assert arrays(surface.GetPointData())["nodal_force"].tobytes() == (-vertices).tobytes()
        found = arrays(surface.GetFieldData())
        assert found["force"].tobytes() == loads["force"].tobytes()
        assert found["torque"].tobytes() == loads["torque"].tobytes()
    series.close()
    with h5py.File(path) as file:
        assert len(file["VTKHDF/Polygons/Connectivity"]) == len(FACET_VERTICES), "facets are stored once"


def test_vtk_reads_walls_without_facets(tmp_path: Path) -> None:
    path = tmp_path / "walls.vtkhdf"
    series = WallSnapshots(path, np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))
    none = np.zeros((0, 3))
    for index in range(2):
        series.write(float(index), index, none, {"force": none, "torque": none})
    assert VtkReader(path).at(1.0).GetNumberOfCells() == 0
    assert vtkhdf.read_step(path).step_data["force"].shape == (0, 3)


def test_files_are_whole_after_each_step_while_they_are_written(tmp_path: Path) -> None:
    """A viewer may look at any time, and sees what is there."""
    points, surface = tmp_path / snapshots.PARTICLE_FILE, tmp_path / snapshots.WALL_FILE
    series = ParticleSnapshots(points)
    wall_series = WallSnapshots(surface, FACET_START, FACET_VERTICES, FACET_WALL)
    for index, count in enumerate((3, 200, 70, 0, 200)):
        series.write(float(index), index, particles(count, index))
        wall_series.write(float(index), index, *walls(index))
        for path in (points, surface):
            assert vtkhdf.read_times(path).tolist() == list(range(index + 1))
        for earlier in range(index + 1):
            assert len(vtkhdf.read_step(points, earlier).points) == (3, 200, 70, 0, 200)[earlier]
        own = vtkhdf.read_step(points, index)
        assert_particles(particles(count, index), own.points, own.point_data)
        seen = VtkReader(points).at(float(index))
        if count:
            assert_particles(particles(count, index), points_of(seen), arrays(seen.GetPointData()))
        assert cells_of(seen.GetVerts()) == [[i] for i in range(count)]
        assert points_of(VtkReader(surface).at(float(index))).tobytes() == walls(index)[0].tobytes()


KILLED = """
import os, signal, sys
sys.path[:0] = [{tests!r}]
from unit.test_snapshots import FACET_START, FACET_VERTICES, FACET_WALL, particles, walls
from pdem.output.snapshots.snapshot_files import ParticleSnapshots, WallSnapshots
points = ParticleSnapshots("p.vtkhdf")
surface = WallSnapshots("w.vtkhdf", FACET_START, FACET_VERTICES, FACET_WALL)
for index in range(3):
    points.write(float(index), index, particles(100 * index, index))
    surface.write(float(index), index, *walls(index))
{last}
os.kill(os.getpid(), signal.SIGKILL)
"""
IN_A_STEP = "points.commit = lambda step: os.kill(os.getpid(), signal.SIGKILL)\npoints.write(3.0, 3, particles(9, 3))"


@pytest.mark.parametrize("last", ["", IN_A_STEP], ids=["between", "in a step"])
def test_files_of_a_killed_run_are_whole_and_go_on(tmp_path: Path, last: str) -> None:
    root = Path(__file__).resolve().parents[2]
    program = KILLED.format(tests=str(root / "tests"), last=last)
    path = os.pathsep.join((str(root), str(root / "tests")))
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    for name in ("p.vtkhdf", "w.vtkhdf"):
        assert vtkhdf.read_times(tmp_path / name).tolist() == [0, 1, 2]
    ParticleSnapshots(tmp_path / "p.vtkhdf", resume_step=1).write(5.0, 5, particles(7, 5))
    for time, index, count in ((1.0, 1, 100), (5.0, 5, 7)):
        seen = VtkReader(tmp_path / "p.vtkhdf").at(time)
        assert_particles(particles(count, index), points_of(seen), arrays(seen.GetPointData()))


def test_steps_that_wait_are_committed_together(tmp_path: Path) -> None:
    points = ParticleSnapshots(tmp_path / "p.vtkhdf")
    surface = WallSnapshots(tmp_path / "w.vtkhdf", FACET_START, FACET_VERTICES, FACET_WALL)

    def write(*steps: int) -> None:
        for step in steps:
            points.write(float(step), step, particles(step % 3, step))
            surface.write(float(step), step, *walls(step))

    def seen() -> list[list[float]]:
        return [vtkhdf.read_times(file.path).tolist() for file in (points, surface)]

    points.commit_every = surface.commit_every = 3600.0
    write(0, 1, 2)
    assert seen() == [[0], [0]]
    for file in (points, surface):
        file.flush()
    assert seen() == [[0, 1, 2]] * 2
    write(3, 4, 5)
    with pytest.raises(InputError):
        points.write(6.0, 6, {"position": np.zeros((2, 3))})
    points.close()
    surface.close()
    assert seen() == [[0, 1, 2, 3, 4, 5]] * 2
    for step in range(6):
        assert_particles(
            particles(step % 3, step), *attrgetter("points", "point_data")(vtkhdf.read_step(points.path, step))
        )
        assert vtkhdf.read_step(surface.path, step).points.tobytes() == walls(step)[0].tobytes()


def test_a_write_that_fails_loses_no_step_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = ParticleSnapshots(tmp_path / "p.vtkhdf")
    points.commit_every = 3600.0
    for step in range(3):
        points.write(float(step), step, particles(5, step))
    with monkeypatch.context() as broken:
        broken.setattr(snapshots, "write_rows", failing)
        with pytest.raises(CheckpointError, match="snapshots before are untouched"):
            points.write(3.0, 3, particles(5, 3))
    assert vtkhdf.read_times(points.path).tolist() == [0, 1, 2]
    points.write(4.0, 4, particles(5, 4))
    points.close()
    assert vtkhdf.read_times(points.path).tolist() == [0, 1, 2, 4]
    last = vtkhdf.read_step(points.path)
    assert_particles(particles(5, 4), last.points, last.point_data)


def failing(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_restart_drops_later_steps_and_continues(tmp_path: Path) -> None:
    whole, restarted = tmp_path / "whole.vtkhdf", tmp_path / "restarted.vtkhdf"
    counts = (4, 2, 4, 0, 3, 2)
    series = ParticleSnapshots(whole)
    for index, count in enumerate(counts):
        series.write(float(index), index, particles(count, index))
    series = ParticleSnapshots(restarted)
    for index, count in enumerate((*counts[:3], 9, 9)):
        series.write(float(index), index, particles(count, index if index < 3 else 77))
    series = ParticleSnapshots(restarted, resume_step=2)
    series.open()
    assert vtkhdf.read_times(restarted).tolist() == [0, 1, 2]
    for index in range(2, 6):
        series.write(float(index), index, particles(counts[index], index))
    assert list(VtkReader(restarted).times) == [0, 1, 2, 3, 4, 5]
    for index in range(6):
        one, other = vtkhdf.read_step(whole, index), vtkhdf.read_step(restarted, index)
        assert one.points.tobytes() == other.points.tobytes()
        assert_particles(particles(counts[index], index), other.points, other.point_data)


def test_restart_of_walls_from_before_the_first_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "walls.vtkhdf"
    for resume in (None, -1, 0):
        series = WallSnapshots(path, FACET_START, FACET_VERTICES, FACET_WALL, resume_step=resume)
        for index in range(3):
            series.write(float(index), index, *walls(index))
    surface = VtkReader(path).at(2.0)
    assert arrays(surface.GetCellData())["wall"].tolist() == FACET_WALL.tolist()
    assert arrays(surface.GetFieldData())["force"].tobytes() == walls(2)[1]["force"].tobytes()
    assert vtkhdf.read_times(path).tolist() == [0, 1, 2]


def test_rows_behind_the_last_whole_step_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "p.vtkhdf"
    series = ParticleSnapshots(path)
    series.write(0.0, 0, particles(3, 0))
    series.write(1.0, 1, particles(3, 1))
    series.close()
    with h5py.File(path, "r+") as file:  # as if the run had died just before the step counted
        file["VTKHDF/Steps"].attrs["NSteps"] = 1
    assert vtkhdf.read_times(path).tolist() == [0]
    ParticleSnapshots(path, resume_step=0).write(2.0, 2, particles(4, 2))
    assert list(VtkReader(path).times) == [0, 2]
    assert points_of(VtkReader(path).at(2.0)).tobytes() == particles(4, 2)["position"].tobytes()


def test_a_file_without_rooms_made_early_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pdem made them before ranks wrote rows themselves."""
    path = tmp_path / "p.vtkhdf"
    with monkeypatch.context() as patch:
        patch.setattr(
            vtkhdf,
            "create_growing_dataset",
            lambda *given, early=False, **named: growing_datasets.create_growing_dataset(*given, **named),
        )
        ParticleSnapshots(path).write(0.0, 0, particles(100, 0))
    series = ParticleSnapshots(path, resume_step=0)
    for step, count in enumerate((100, 230, 1), start=1):
        series.write(float(step), step, particles(count, step))
    for step, count in enumerate((100, 100, 230, 1)):
        surface = VtkReader(path).at(float(step))
        assert_particles(particles(count, step), points_of(surface), arrays(surface.GetPointData()))


@pytest.mark.parametrize("spoil", ["torn", "other fields"])
def test_a_file_that_cannot_be_continued_is_kept_aside(
    tmp_path: Path, spoil: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "p.vtkhdf"
    ParticleSnapshots(path, () if spoil == "other fields" else None).write(0.0, 0, particles(3, 0))
    if spoil == "torn":
        path.write_bytes(path.read_bytes()[:500])
    before = path.read_bytes()
    ParticleSnapshots(path, resume_step=5).write(1.0, 6, particles(3, 0))
    assert path.with_name("p.vtkhdf.torn-1").read_bytes() == before
    assert vtkhdf.read_times(path).tolist() == [1.0]
    assert "p.vtkhdf.torn-1" in caplog.text


def test_missing_columns_and_files_are_named(tmp_path: Path) -> None:
    columns = particles(3, 0)
    del columns["radius"]
    with pytest.raises(InputError, match="radius"):
        ParticleSnapshots(tmp_path / "p.vtkhdf").write(0.0, 0, columns)
    with pytest.raises(CheckpointError, match=r"nothing\.vtkhdf"):
        vtkhdf.read_step(tmp_path / "nothing.vtkhdf")
    (tmp_path / "text.vtkhdf").write_text("hello")
    with pytest.raises(CheckpointError, match=r"text\.vtkhdf"):
        vtkhdf.read_times(tmp_path / "text.vtkhdf")


def test_units_and_attributes_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.vtkhdf"
    ParticleSnapshots(path, attributes={"case": "x" * 200_000}).write(0.0, 0, particles(1, 0))
    with h5py.File(path) as file:
        assert len(file.attrs["case"]) == 200_000
        assert file["VTKHDF/PointData/velocity"].attrs["unit"] == "m/s"
