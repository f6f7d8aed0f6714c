"""Checkpoints come back exactly or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from helpers.small_disks import largest_file
from pdem.case.sections.general import OUTPUT_SHARES, Output
from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.checkpoints.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import (
    CHECKPOINTS_TO_KEEP,
    CheckpointFolder,
    latest_checkpoint,
    steps_to_keep,
)
from pdem.output.checkpoints.checksum import SEAL_BYTES
from pdem.output.checkpoints.content_digest import content_digest
from pdem.output.hdf5 import parallel_hdf5

OLD = Path(__file__).parent / "data" / "format-1.h5"  # written by pdem before ranks wrote files together

ATTRIBUTES: dict[str, str | int | float] = {
    "time": 0.1 + 0.2,
    "step": 2**53 + 1,
    "case": "title = 'Mühle'\n",
    "negative_zero": -0.0,
    "empty": "",
}


def state() -> dict[str, dict[str, np.ndarray]]:
    random = np.random.default_rng(1)
    return {
        "particles": {
            "id": np.arange(5, dtype=np.int64) + 2**60,
            "material": np.array([0, 1, 0, 1, 2], dtype=np.int32),
            "position": random.normal(size=(5, 3)),
            "velocity": np.array([[np.nan, -0.0, np.inf]] * 5),
        },
        "contacts": {"lower_id": np.zeros(0, np.int64), "force": np.zeros((0, 3))},
        "counters": {"detections": np.array(7), "flags": np.array([True, False])},
        "nothing": {},
    }


def assert_same(found: Checkpoint, groups: dict[str, dict[str, np.ndarray]], attributes: dict[str, Any]) -> None:
    assert found.groups.keys() == groups.keys()
    for group, columns in groups.items():
        assert found.groups[group].keys() == columns.keys()
        for name, column in columns.items():
            other = found.groups[group][name]
            assert (other.dtype, other.shape) == (column.dtype, column.shape), (group, name)
            assert np.asarray(other).tobytes() == column.tobytes(), (group, name)
    assert {name: (type(value), repr(value)) for name, value in found.attributes.items()} == {
        name: (type(value), repr(value)) for name, value in attributes.items()
    }


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint-000000007.h5"
    write_checkpoint(path, {"particles": {"id": np.arange(3), "radius": np.linspace(1, 2, 3)}}, {"step": 7})
    return path


def test_every_dtype_shape_and_attribute_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "c.h5"
    digest = write_checkpoint(path, state(), ATTRIBUTES)
    found = read_checkpoint(path)
    assert_same(found, state(), ATTRIBUTES)
    assert found.content == digest
    assert [other.name for other in path.parent.iterdir()] == ["c.h5"], "no temporary file stays"


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.text("abc_é", min_size=1, max_size=4),
        st.sampled_from(["<i8", "<i4", "<f8", "<f4", ">f8", "|u1", "|b1", "<f2"]).flatmap(
            lambda dtype: arrays.arrays(np.dtype(dtype), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0))
        ),
        max_size=4,
    )
)
def test_any_columns_come_back(tmp_path_factory: pytest.TempPathFactory, columns: dict[str, np.ndarray]) -> None:
    path = tmp_path_factory.mktemp("any") / "c.h5"
    write_checkpoint(path, {"group": columns}, {})
    assert_same(read_checkpoint(path), {"group": columns}, {})


def test_the_file_is_plain_hdf5_for_other_tools(small: Path) -> None:
    with h5py.File(small) as file:
        assert file["particles/radius"][:].tolist() == [1.0, 1.5, 2.0]


def test_content_ignores_the_order_of_mappings_and_nothing_else() -> None:
    one = {"a": {"x": np.arange(3), "y": np.zeros(3)}, "b": {}}
    other = {"b": {}, "a": {"y": np.zeros(3), "x": np.arange(3)}}
    base = content_digest(one, {"t": 1.0, "n": 1})
    assert base == content_digest(other, {"n": 1, "t": 1.0})
    changed: list[tuple[Any, Any]] = [
        ({"a": {"x": np.arange(3), "y": np.array([0, 0, -0.0])}, "b": {}}, {"t": 1.0, "n": 1}),
        ({"a": {"x": np.arange(3, dtype=np.int32), "y": np.zeros(3)}, "b": {}}, {"t": 1.0, "n": 1}),
        ({"a": {"x": np.arange(3).reshape(3, 1), "y": np.zeros(3)}, "b": {}}, {"t": 1.0, "n": 1}),
        ({"a": {"x": np.arange(3)}, "b": {"y": np.zeros(3)}}, {"t": 1.0, "n": 1}),
        (one, {"t": 1.0, "n": 1.0}),
        (one, {"t": 1.0}),
    ]
    digests = {content_digest(groups, attributes) for groups, attributes in changed}
    assert len(digests) == len(changed)
    assert base not in digests


def test_truncation_at_any_byte_is_refused(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    torn = tmp_path / "torn.h5"
    for length in (*range(SEAL_BYTES + 100), *range(SEAL_BYTES + 100, len(whole), 7), len(whole) - 1):
        torn.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"torn\.h5"):
            read_checkpoint(torn)
    torn.write_bytes(whole + b"\0")
    with pytest.raises(CheckpointError, match="torn"):
        read_checkpoint(torn)


def test_a_flipped_bit_in_any_byte_is_refused(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    random = np.random.default_rng(3)
    damaged = tmp_path / "damaged.h5"
    for position in (*range(SEAL_BYTES), *range(SEAL_BYTES, len(whole), 5), len(whole) - 1):
        content = bytearray(whole)
        content[position] ^= 1 << int(random.integers(0, 8))
        damaged.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"damaged\.h5"):
            read_checkpoint(damaged)


def test_a_flipped_bit_in_any_block_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_hdf5, "BLOCK_ROWS", 16)
    path, random = tmp_path / "c.h5", np.random.default_rng(5)
    columns = {"position": random.normal(size=(1001, 3)), "kind": random.integers(0, 9, 1001).astype(np.int8)}
    write_checkpoint(path, {"particles": columns}, {})
    monkeypatch.setattr(parallel_hdf5, "BLOCK_ROWS", 64)  # the file says what its blocks are
    whole = path.read_bytes()
    assert np.array_equal(read_checkpoint(path).groups["particles"]["position"], columns["position"])
    for position in random.integers(SEAL_BYTES, len(whole), 100):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(random.integers(0, 8))
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="altered"):
            read_checkpoint(path)


def test_another_format_is_refused_and_named(small: Path) -> None:
    small.write_bytes(small.read_bytes().replace(b"format 2\n", b"format 3\n", 1))
    with pytest.raises(CheckpointError, match=r"format 3 .* reads formats 1 and 2"):
        read_checkpoint(small)


def test_a_file_of_format_1_is_still_read_whole_or_refused(tmp_path: Path) -> None:
    found = read_checkpoint(OLD)
    assert_same(found, state(), ATTRIBUTES)
    whole, spoilt = OLD.read_bytes(), tmp_path / "spoilt.h5"
    for position in range(0, len(whole), 61):
        spoilt.write_bytes(whole[:position])
        with pytest.raises(CheckpointError, match=r"spoilt\.h5"):
            read_checkpoint(spoilt)
        spoilt.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(CheckpointError, match=r"spoilt\.h5"):
            read_checkpoint(spoilt)


def test_changes_by_other_tools_are_refused(small: Path) -> None:
    with h5py.File(small, "r+") as file:
        file["particles/radius"][0] = 5.0
    with pytest.raises(CheckpointError, match="altered"):
        read_checkpoint(small)


@pytest.mark.parametrize("kind", ["missing", "empty", "text", "foreign hdf5", "a folder"])
def test_what_is_no_checkpoint_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "c.h5"
    if kind == "empty":
        path.touch()
    elif kind == "text":
        path.write_text("title = 'mixer'\n" * 100)
    elif kind == "foreign hdf5":
        with h5py.File(path, "w") as file:
            file["particles/id"] = [1, 2]
    elif kind == "a folder":
        path.mkdir()
    with pytest.raises(CheckpointError, match=r"c\.h5") as caught:
        read_checkpoint(path)
    assert "\n" not in str(caught.value)
    assert ("HDF5 but no checkpoint" in str(caught.value)) == (kind == "foreign hdf5")


@pytest.mark.parametrize(
    ("columns", "attributes"),
    [
        ({"x": np.array(["a"])}, {}),
        ({"x": np.array([object()])}, {}),
        ({"x": np.zeros(2, np.longdouble)}, {}),
        ({"a/b": np.zeros(2)}, {}),
        ({"": np.zeros(2)}, {}),
        ({}, {"n": 2**63}),
        ({}, {"n": [1, 2]}),
        ({}, {"n": "nul\0"}),
    ],
)
def test_what_hdf5_would_not_give_back_is_refused(tmp_path: Path, columns: Any, attributes: Any) -> None:
    with pytest.raises(InputError):
        write_checkpoint(tmp_path / "c.h5", {"group": columns}, attributes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", [0, 511, 1000, 3000, 50_000, 240_000])
def test_a_full_disk_leaves_the_checkpoint_before(small: Path, limit: int) -> None:
    before = small.read_bytes()
    with largest_file(limit), pytest.raises(CheckpointError, match="one before is untouched; free space") as caught:
        write_checkpoint(small, {"particles": {"position": np.ones((10_000, 3))}}, {})
    assert "\n" not in str(caught.value)
    assert small.read_bytes() == before
    assert [path.name for path in small.parent.iterdir()] == [small.name]
    write_checkpoint(small, {"particles": {"position": np.ones((10_000, 3))}}, {})
    assert read_checkpoint(small).groups["particles"]["position"].sum() == 30_000


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"file/c\.h5"):
        write_checkpoint(tmp_path / "file" / "c.h5", {}, {})


def test_folder_keeps_the_last_ones(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path / "run", keep=2)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint-000000001.h5.tmp").touch()
    for step in (1, 2, 10, 1_000_000_000, 999):
        path = folder.write(step, state(), {"time": 0.5})
        assert path == tmp_path / "run" / f"checkpoint-{step:09d}.h5"
        assert folder.latest().attributes == {"time": 0.5, "step": step}
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "checkpoint-000000010.h5",
        "checkpoint-000000999.h5",
    ], "the checkpoint behind the restart is gone, and the temporary file of a killed run"


def test_latest_falls_back_with_a_warning(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path)
    with pytest.raises(CheckpointError, match="no readable checkpoint"):
        folder.latest()
    older = folder.write(5, state(), {})
    newer = folder.write(6, state(), {})
    assert folder.latest().warnings == ()
    newer.write_bytes(newer.read_bytes()[: SEAL_BYTES + 50])
    found = latest_checkpoint(tmp_path)
    assert found.path == older
    assert len(found.warnings) == 1
    assert "checkpoint-000000006.h5" in found.warnings[0]
    shutil.copy(newer, older)
    with pytest.raises(CheckpointError, match=r"no readable checkpoint.*000000006.*000000005"):
        folder.latest()


def test_keeping_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="keep = 0"):
        CheckpointFolder(tmp_path, keep=0)


def test_small_columns_do_not_each_wait_for_the_disk(tmp_path, monkeypatch):
    calls, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append(sync(descriptor)))
    columns = {f"column{number}": np.arange(100.0) for number in range(40)}
    write_checkpoint(tmp_path / "small.h5", {"particles": columns}, {})
    assert 2 <= len(calls) <= 4, "the data, and the name of the file"
    calls.clear()
    write_checkpoint(tmp_path / "large.h5", {"particles": {"a": np.zeros(1 << 20), "b": np.zeros(1 << 20)}}, {})
    assert len(calls) >= 4, "the disk begins while there is more to write"


def test_the_gap_between_checkpoints_that_stay_is_a_fifth_of_the_run():
    """Ten are written, six stay: what a replay has to compute besides its interval."""
    kept = []
    for tenth in range(1, OUTPUT_SHARES["checkpoint_every"] + 1):
        kept = steps_to_keep([*kept, tenth], CHECKPOINTS_TO_KEEP)
        assert max(np.diff([0, *kept])) <= 2
    assert Output.model_fields["checkpoints_kept"].default == CHECKPOINTS_TO_KEEP
