"""Whatever does not fit on the disk, an HDF5 file is as it was after the last flush that has succeeded."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_disks import Disk, failing, largest_file
from pdem.output.hdf5.recoverable_file import RecoverableFile, WritableHDF5, _Pieces
from pdem.output.storage import open_hdf5

ROOT = Path(__file__).resolve().parents[2]

places = st.integers(0, 40)
writes = st.lists(st.tuples(places, st.binary(min_size=1, max_size=12)), max_size=12)


@given(writes, st.none() | places)
def test_pieces_are_what_was_written_last(given_writes, end):
    pieces, expected = _Pieces(), {}
    for begin, data in given_writes:
        pieces.add(begin, data)
        expected.update({begin + number: byte for number, byte in enumerate(data)})
    if end is not None:
        pieces.cut(end)
        expected = {place: byte for place, byte in expected.items() if place < end}
    found = list(pieces)
    assert {begin + number: byte for begin, data in found for number, byte in enumerate(data)} == expected
    assert all(one + len(data) < other for (one, data), (other, _) in itertools.pairwise(found)), "pieces touch"
    content = bytearray(b"-" * 60)
    pieces.read_over(0, content)
    assert content == bytes(expected.get(place, ord("-")) for place in range(60))


@given(
    st.lists(st.tuples(st.sampled_from(["write", "cut", "flush", "read"]), places, st.binary(max_size=12))), st.data()
)
@settings(max_examples=60)
def test_a_file_is_like_one_in_memory_and_keeps_what_was_flushed(tmp_path_factory, steps, data):
    path = tmp_path_factory.mktemp("file") / "file"
    path.write_bytes(b"0123456789" * 2)
    model, kept = bytearray(path.read_bytes()), path.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, 0)
        file = RecoverableFile(path, new=False)
        for what, place, content in steps:
            disk.room = data.draw(st.sampled_from([0, 5, 1000]))
            file.seek(place)
            if what == "write" and content:
                file.write(content)
                model.extend(bytes(max(place - len(model), 0)))
                model[place : place + len(content)] = content
            elif what == "cut":
                file.truncate(place)
                del model[place:]
                model.extend(bytes(place - len(model)))
            elif what == "flush":
                file.flush()
                kept = bytes(model) if file.problem is None else kept
                assert path.read_bytes()[: len(kept)] == kept
            elif place + len(content) <= len(model):
                assert file.read(len(content)) == model[place : place + len(content)]
        if file.problem is None:
            file.close()
        else:
            with pytest.raises(OSError, match="No space left"):
                file.close()
    assert path.read_bytes() == kept


def grown(file, step):
    """Change a file as outputs do: rows, a compressed column, a new group, attributes."""
    rows, packed = file["rows"], file["packed"]
    rows.resize(len(rows) + 7 * step, axis=0)
    rows[-7:] = step
    packed.resize(len(packed) + 300, axis=0)
    packed[-300:] = np.random.default_rng(step).random(300)
    group = file.create_group(f"step-{step}")
    group.attrs["text"] = "x" * 100 * step
    group["numbers"] = np.arange(20 * step)
    file.attrs["last"] = step


def made(path):
    with open_hdf5(path, "w") as file:
        file.create_dataset("rows", (0, 3), "f8", maxshape=(None, 3), chunks=(64, 3))
        packed = {"maxshape": (None,), "chunks": (256,), "compression": "gzip"}
        file.create_dataset("packed", (0,), "f8", **packed)


def content(path):
    found = {}

    def add(name, node):
        found[name] = (node[()].tobytes() if isinstance(node, h5py.Dataset) else b"", dict(node.attrs))

    with h5py.File(path, "r") as file:
        file.visititems(add)
        found[""] = (b"", dict(file.attrs))
    return found


@pytest.mark.parametrize("stays_open", [False, True])
def test_hdf5_files_are_as_before_or_as_after(tmp_path, monkeypatch, stays_open):
    """At whichever byte the disk is full."""
    made(tmp_path / "whole")
    expected = [content(tmp_path / "whole")]
    for step in range(1, 5):
        with open_hdf5(tmp_path / "whole", "r+") as file:
            grown(file, step)
        expected.append(content(tmp_path / "whole"))
    outcomes = set()
    for room in [*range(0, 12_000, 450), 100_000]:
        path = tmp_path / "file"
        made(path)
        with monkeypatch.context() as patch:
            disk = Disk(patch, room)
            fitted = _grow_open(path) if stays_open else _grow_anew(path)
            assert content(path) == expected[fitted]
            disk.room = 1 << 20
            with open_hdf5(path, "r+") as file:
                for step in range(fitted + 1, 5):
                    grown(file, step)
        assert content(path) == expected[-1]
        outcomes.add(fitted)
    assert outcomes == {0, 1, 2, 3, 4}, "the disk was not full at each step"


def _grow_anew(path):
    """Return how many steps fit, each with the file opened for it."""
    for step in range(1, 5):
        before = path.read_bytes()
        with failing() as full, open_hdf5(path, "r+") as file:
            grown(file, step)
        if full:
            assert "No space left" in full[0]
            assert path.read_bytes() == before
            return step - 1
    return 4


def _grow_open(path):
    """Return how many steps fit, with a file that stays open and is flushed after each."""
    file, fitted = open_hdf5(path, "r+"), 0
    with failing() as full:
        for step in range(1, 5):
            grown(file, step)
            file.flush()
            fitted = step
        file.close()
    if full:
        with pytest.raises(OSError, match="No space left"):
            file.close()
    return fitted


def test_a_flush_that_failed_succeeds_when_there_is_room(tmp_path, monkeypatch):
    path = tmp_path / "file"
    made(path)
    with open_hdf5(path, "r+") as file:
        with monkeypatch.context() as patch:
            Disk(patch, 0)
            grown(file, 1)
            with pytest.raises(OSError, match="No space left"):
                file.flush()
        file.flush()
    made(tmp_path / "other")
    with open_hdf5(tmp_path / "other", "r+") as file:
        grown(file, 1)
    assert content(path) == content(tmp_path / "other")


def test_an_exception_leaves_a_file_as_it_was(tmp_path):
    path = tmp_path / "file"
    made(path)
    before = path.read_bytes()
    with suppress(KeyError), open_hdf5(path, "r+") as file:
        grown(file, 1)
        file["none"]
    assert path.read_bytes() == before


def test_a_new_file_for_which_there_is_no_room_is_not_there(tmp_path):
    with largest_file(300), pytest.raises(OSError, match="File too large"):
        made(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_what_is_no_hdf5_file_stays_as_it_is(tmp_path):
    path = tmp_path / "text"
    path.write_text("no HDF5")
    with pytest.raises(OSError, match=r"signature|truncated"):
        open_hdf5(path, "r+")
    assert path.read_text() == "no HDF5"


CRASH = """
import resource, sys
from pathlib import Path
from pdem.output.storage import open_hdf5
path = Path(sys.argv[1])
with open_hdf5(path, "w") as file:
    file.create_dataset("rows", data=[1.0], maxshape=(None,), chunks=(100_000,))
file = open_hdf5(path, "r+")
file["rows"].resize(10, axis=0)
file["rows"][:] = 2.0
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
file["rows"].resize(300_000, axis=0)
file["rows"][:] = 3.0
{end}
"""
ENDS = {
    "closed": "try: file.close()\nexcept OSError as error: sys.exit(error.errno)",
    "left open": "sys.exit(27)",
    "dropped": "del file; sys.exit(27)",
    "by an exception": "try: 1 / 0\nfinally: sys.exit(27)",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_whose_file_found_no_room_ends_as_it_wants(tmp_path, end):
    """Not by a segmentation fault, when HDF5 closes what it could not close before."""
    path = tmp_path / "file"
    command = [sys.executable, "-c", CRASH.format(end=ENDS[end]), str(path)]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (errno.EFBIG, "")
    with h5py.File(path, "r") as file:
        assert file["rows"][:].tolist() == [1.0]


def test_a_forked_process_writes_nothing(tmp_path):
    path = tmp_path / "file"
    made(path)
    file = open_hdf5(path, "r+")
    grown(file, 1)
    child = os.fork()
    if child == 0:
        try:
            grown(file, 2)
            file.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with h5py.File(path, "r") as seen:
        assert list(seen) == ["packed", "rows"]
    file.close()
    assert isinstance(file, WritableHDF5)
    assert "step-1" in content(path)
    assert "step-2" not in content(path)
