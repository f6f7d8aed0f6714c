"""Whole runs on disks that are too small: one error, nothing torn, and the same bits once there is room."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

import pdem
from helpers.everything import case_in
from helpers.small_disks import Disk, failing
from pdem.foundation import files
from pdem.foundation.errors import WriteError
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.content_digest import read_digests

pytestmark = pytest.mark.compiles

SETTINGS = (
    "output.snapshots_every=5e-4", "output.contacts_every=5e-4", "output.series_every=1e-4",
    "output.collision_energies={}", "output.checkpoint_every=5e-4", "sensors.1.residence=true",
    'fields=[{name="f", lower=[-0.008, -0.008, 0.0], upper=[0.008, 0.008, 0.016], cells=[4, 4, 4], width=0.002, '
    "every=5e-4}]",
    "stages.0.end=0.0006", "stages.1.end=0.0006", "stages.2.end=0.0006",
)  # fmt: skip


def started(folder):
    return pdem.Simulation(case_in(folder, *SETTINGS), threads=1)


def going_on(folder):
    """Return a simulation of what there is in a folder, from the last state that is there."""
    if CheckpointFolder(folder).paths():
        return pdem.Simulation.restart(folder, threads=1)
    return started(folder)


def content(folder):
    """Return all that a folder has of a run, read back."""
    results = pdem.Results(folder)
    tables = {
        path.name: path.read_text() for path in folder.glob("*.csv") if path.name not in ("series.csv", "digests.csv")
    }
    return {
        "digests": read_digests(folder), "times": results.times.tolist(), "steps": results.series["step"].tolist(),
        "kinetic": results.series["translation"].tolist(), "tables": tables,
        "positions": [snapshot.position.tobytes() for snapshot in results],
        "forces": [snapshot.contacts["force"].tobytes() for snapshot in results],
        "walls": [snapshot.walls["floor"].force.tobytes() for snapshot in results],
        "names": sorted(path.name for path in folder.iterdir()),
    }  # fmt: skip


def test_a_run_on_a_small_disk_goes_on_when_there_is_room(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        disk = Disk(patch, 1 << 40)
        started(tmp_path / "whole").run()
        total = (1 << 40) - disk.room
    expected = content(tmp_path / "whole")
    named = set()
    for number in range(1, 9):
        folder = tmp_path / f"small-{number}"
        with monkeypatch.context() as patch:
            Disk(patch, number * total // 9)
            simulation = started(folder)
            with failing(WriteError) as texts:
                simulation.run()
        assert len(texts) == 1, "there was room for all"
        assert "cannot be written (No space left on device)" in texts[0]
        named.add(texts[0].partition(":")[0].rpartition("/")[2])
        left = [path.name for path in folder.iterdir() if "tmp" in path.name or "lock" in path.name]
        assert left == []
        going_on(folder).run(overwrite=not CheckpointFolder(folder).paths())
        assert content(folder) == expected
    assert len(named) > 3, f"only {named} met the full disk"


@pytest.mark.parametrize("name", ["run.log", "digests.csv", "collisions.csv", "box_residence.csv", "stage-falling.h5"])
def test_each_small_file_ends_the_run_as_large_ones_do(tmp_path, monkeypatch, name):
    """The only file that finds no room; one that is written again and again finds none the second time."""
    again, seen = name in ("run.log", "digests.csv", "collisions.csv"), []
    write = files.write_at

    def full(descriptor, data, offset):
        if f"/{name}" in os.readlink(f"/proc/self/fd/{descriptor}"):
            seen.append(offset)
            if len(seen) > again:
                refuse()
        write(descriptor, data, offset)

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if name.startswith("stage"):
        monkeypatch.setattr(os, "link", refuse)
        monkeypatch.setattr(shutil, "copyfile", refuse)
    for module in ("recoverable_file", "parallel_hdf5"):
        monkeypatch.setattr(f"pdem.output.hdf5.{module}.write_at", full)
    for module in ("foundation.files", "output.series", "output.log"):
        monkeypatch.setattr(f"pdem.{module}.write_at", full)
    with pytest.raises(WriteError, match=rf"{name}: cannot be written \(No space left on device\)"):
        started(tmp_path / "out").run()
