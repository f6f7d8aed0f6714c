"""Wherever a file of a run meets a full disk, what was there before is read as before, and the run goes on."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from helpers.small_disks import Disk, failing, largest_file
from pdem.foundation import files
from pdem.foundation.errors import CheckpointError, InputError
from pdem.foundation.fields import Field
from pdem.foundation.files import replace_file, whole_file, write_file
from pdem.output.saving import save_file
from pdem.output.series import Series, read_series
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.contact_snapshots import ENDS, ContactSnapshots, contact_fields
from pdem.output.snapshots.image_series import ImageSeries, Lattice, read_image, read_image_times
from pdem.output.snapshots.snapshot_files import ParticleSnapshots, WallSnapshots

STEPS = 6
IDS = Field("id", np.int64, (), "1", "id")
CONTACTS = contact_fields(energies=False, ages=True)
LATTICE = Lattice((5, 6, 7), (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
CELLS = (Field("a", np.float64, (), "1", "one"),)


def numbers(step, *shape):
    return np.random.default_rng(step).normal(size=shape)


class Particles:
    name = "particles.vtkhdf"

    def open(self, path, step):
        return ParticleSnapshots(path, (IDS,), {"title": "x" * 500}, resume_step=step)

    def write(self, file, step):
        count = 900 + 40 * (step % 3)
        file.write(float(step), step, {"position": numbers(step, count, 3), "id": np.arange(count)})


class Walls(Particles):
    name = "walls.vtkhdf"
    start, corners, wall = np.arange(0, 303, 3), np.arange(300) % 200, np.zeros(100, np.int32)

    def open(self, path, step):
        return WallSnapshots(path, self.start, self.corners, self.wall, resume_step=step)

    def write(self, file, step):
        loads = {"force": numbers(step, 1, 3), "torque": numbers(step + 1, 1, 3)}
        file.write(float(step), step, numbers(step, 200, 3), loads)


class Contacts(Particles):
    name = "contacts.vtkhdf"

    def open(self, path, step):
        return ContactSnapshots(path, CONTACTS, {}, resume_step=step)

    def write(self, file, step):
        columns = {one.name: numbers(step, 400 + step, *one.shape).astype(one.dtype) for one in CONTACTS}
        file.write(float(step), step, {**columns, ENDS: numbers(step, 400 + step, 2, 3)})


class Images(Particles):
    name = "fields-x.vtkhdf"

    def open(self, path, step):
        return ImageSeries(path, LATTICE, CELLS, {}, resume_step=step)

    def write(self, file, step):
        file.write(float(step), step, {"a": numbers(step, 5, 6, 7)})


KINDS = {kind.name: kind() for kind in (Particles, Walls, Contacts, Images)}


def content(path):
    """Return all steps of a file."""
    if not path.exists():
        return []
    if path.name.startswith("fields"):
        return [read_image(path, step).columns["a"].tobytes() for step in range(len(read_image_times(path)))]
    found = (vtkhdf.read_step(path, number) for number in range(len(vtkhdf.read_times(path))))
    return [
        b"".join(
            [np.ascontiguousarray(one.points).tobytes()]
            + [column.tobytes() for part in (one.point_data, one.cell_data, one.step_data) for column in part.values()]
        )
        for one in found
    ]  # fmt: skip


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_snapshots_that_were_written_stay_and_others_are_written_later(kind, waits, tmp_path, monkeypatch):
    kind = KINDS[kind]
    whole = kind.open(tmp_path / f"whole-{kind.name}", None)
    for step in range(STEPS):
        kind.write(whole, step)
    whole.close()
    expected = content(whole.path) if kind.name != "fields-x.vtkhdf" else []
    if not expected:
        whole.path.rename(tmp_path / "fields-whole.vtkhdf")
        expected = content(tmp_path / "fields-whole.vtkhdf")
    sizes = sum(path.stat().st_size for path in tmp_path.iterdir())
    reached = set()
    for room in np.linspace(0, 1.1 * sizes, 12).astype(int).tolist():
        path = tmp_path / kind.name
        path.unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            disk = Disk(patch, room)
            file, step = kind.open(path, None), 0
            file.commit_every = 3600.0 if waits else 0.0
            with failing(CheckpointError) as texts:
                while step < STEPS:
                    kind.write(file, step)
                    step += 1
                file.flush()
            said = f"{path}: cannot be written (No space left on device); the snapshots"
            assert all(said in text for text in texts)
            reached |= {step} if texts else set()
            kept = content(path)
            assert kept == expected[: len(kept)]
            assert waits or len(kept) == step
            disk.room = 1 << 30
            again = kind.open(path, len(kept) - 1)
            for step in range(len(kept), STEPS):
                kind.write(again, step)
            again.close()
        assert content(path) == expected
    assert len(reached) > 1, "the disk was not full at several steps"


COLUMNS = [("step", "1", "i8"), ("time", "s"), *((f"column_{number}", "J") for number in range(60))]


def row(step):
    return {name: float(step + number) for number, (name, *_) in enumerate(COLUMNS)} | {"step": step}


def rows(folder):
    """Return the steps in both files."""
    lines = (folder / "series.csv").read_text().splitlines()[1:]
    assert all(len(line.split(",")) == len(COLUMNS) for line in lines), "a torn row"
    return read_series(folder / "series.h5")["step"].tolist(), [int(line.split(",")[0]) for line in lines]


@pytest.mark.parametrize("kind", ["file", "disk"])
def test_a_series_is_whole_and_loses_no_row(kind, tmp_path, monkeypatch):
    """A chunk of a thousand rows is more than the rows that are written: the first ones find no room for it."""
    limits = [0, 20_000, 508_000, 510_000, 520_000, 530_000]
    reached = set()
    for limit in limits:
        folder = tmp_path / f"{limit}"
        series = Series(folder, COLUMNS)
        with monkeypatch.context() as patch, failing(CheckpointError) as texts:
            Disk(patch, limit if kind == "disk" else 1 << 30)
            with largest_file(limit if kind == "file" else 1 << 40):
                for step in range(40):
                    series.append(row(step))
                    series.flush()
        if texts:
            assert "rows not yet written are kept" in texts[0]
            stored = rows(folder)
            assert stored[1] in (stored[0], [*stored[0], len(stored[0])])
            step = len(stored[0])
            reached.add(step)
        for later in range(step + 1, 40):
            series.append(row(later))
        series.close()
        assert rows(folder) == (list(range(40)), list(range(40)))
    assert 0 in reached
    assert kind == "file" or len(reached) > 2


@pytest.mark.parametrize("limit", [0, 100])
def test_whole_files_are_the_old_or_the_new_one(limit, tmp_path):
    path = tmp_path / "file.txt"

    def library(new):
        new.write_bytes(b"n" * 1000)

    def with_ending():
        with whole_file(path) as new:
            assert new.suffix == ".txt"
            library(new)

    ways = (lambda: write_file(path, "n" * 1000), lambda: replace_file(path, library, sync=True), with_ending)
    for write in ways:
        for old in (None, "old"):
            path.unlink(missing_ok=True)
            if old is not None:
                path.write_text(old)
            with largest_file(limit), pytest.raises(OSError, match="File too large"):
                write()
            assert [one.read_text() for one in tmp_path.iterdir()] == ([] if old is None else [old])
        write()
        assert path.read_text() == "n" * 1000


def test_the_error_names_the_file_and_the_remedy(tmp_path):
    path = tmp_path / "no" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write_file(path, b"x")
    assert caught.value.filename == str(path)
    with largest_file(10), pytest.raises(InputError) as refused:
        save_file(path, "x" * 100)
    assert str(refused.value) == f"{path}: cannot be written (File too large); make room, or name another place"


def test_links_and_pipes_are_written_to(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    write_file(link, "text")
    assert (target.read_text(), link.is_symlink()) == ("text", True)
    with whole_file(link) as new:
        new.write_text("more")
    assert (target.read_text(), link.is_symlink()) == ("more", True)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert pipe.is_fifo()


def test_two_processes_do_not_share_a_temporary_file(tmp_path, monkeypatch):
    names = []
    for number in (1, 2):
        monkeypatch.setattr(files.os, "getpid", lambda number=number: number)
        replace_file(tmp_path / "file", lambda new: (names.append(new.name), new.touch()))
        with whole_file(tmp_path / "file.png") as new:
            names.append(new.name)
            new.touch()
    assert len(set(names)) == 4


def test_paths_may_be_texts(tmp_path):
    write_file(str(tmp_path / "a"), b"x")
    with whole_file(str(tmp_path / "b")) as new:
        new.touch()
    assert {path.name for path in Path(tmp_path).iterdir()} == {"a", "b"}
