"""Comparing two states finds every difference and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.foundation.errors import CheckpointError, InputError
from pdem.foundation.fields import state_fields
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.output.compare import Comparison, compare
from pdem.output.snapshots.snapshot_files import ParticleSnapshots, WallSnapshots

Groups = dict[str, dict[str, np.ndarray]]


def state() -> Groups:
    random = np.random.default_rng(5)
    particles = {field.name: random.normal(size=(6, *field.shape)).astype(field.dtype) for field in state_fields()}
    particles["id"] = np.array([3, 9, 4, 100, 7, 1])
    particles["velocity"][2] = [np.nan, 0.0, np.inf]
    contacts = {
        "lower_id": np.array([1, 3, 3]),
        "upper_id": np.array([4, 4, 9]),
        "tangential_force": random.normal(size=(3, 3)),
    }
    walls = {
        "id": np.array([3, 3, 3]),
        "kind": np.array([0, 0, 1], np.int8),
        "feature": np.array([10, 11, 10]),
        "tangential_force": random.normal(size=(3, 3)),
    }
    return {"particles": particles, "contacts": contacts, "wall_contacts": walls, "counters": {"rebuilds": np.array(5)}}


def compared(folder: Path, change: Callable[[Groups], None], **attributes: str | float) -> Comparison:
    changed = state()
    change(changed)
    write_checkpoint(folder / "a.h5", state(), {"step": 5, "time": 0.5, "ranks": 1})
    write_checkpoint(folder / "b.h5", changed, {"step": 5, "time": 0.5, "ranks": 1, **attributes})
    return compare(folder / "a.h5", folder / "b.h5")


def test_the_same_state_is_equal(tmp_path: Path) -> None:
    found = compared(tmp_path, lambda _: None)
    assert found.equal
    assert str(found) == "equal: the same bits in 3 contacts, 1 counters, 6 particles, 3 wall_contacts"


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    def shuffle(groups: Groups) -> None:
        random = np.random.default_rng(seed)
        for group in ("particles", "contacts", "wall_contacts"):
            order = random.permutation(len(next(iter(groups[group].values()))))
            groups[group] = {name: column[order] for name, column in groups[group].items()}

    assert compared(tmp_path_factory.mktemp("order"), shuffle).equal


def test_one_other_bit_is_found_with_its_id_and_size(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["particles"]["position"][4, 1] = np.nextafter(groups["particles"]["position"][4, 1], 9)

    found = compared(tmp_path, change)
    (column,) = found.columns
    value = state()["particles"]["position"][4, 1]
    assert (column.group, column.column, column.differing, column.rows) == ("particles", "position", 1, 6)
    assert column.first == "id 7"
    assert column.largest_absolute == abs(np.spacing(value))
    assert 1e-17 < column.largest_relative < 3e-16
    assert not found.equal
    assert "particles/position: 1 of 6 rows differ, first id 7, largest difference" in str(found)


def test_the_first_difference_is_the_one_of_lowest_id_and_the_largest_is_reported(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["particles"]["radius"][[0, 3]] += [0.5, 8.0]

    (column,) = compared(tmp_path, change).columns
    assert column.first == "id 3"
    assert column.differing == 2
    assert column.largest_absolute == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("value", "expected"), [(-0.0, "sign of zero"), (np.nan, "1 entries not finite"), (np.inf, "1 entries not finite")]
)
def test_zero_signs_and_not_finite_values_are_told_apart(tmp_path: Path, value: float, expected: str) -> None:
    def change(groups: Groups) -> None:
        groups["particles"]["velocity"][2, 1] = value

    found = compared(tmp_path, change)
    assert not found.equal
    assert expected in str(found)


def test_nan_of_other_bits_differs(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["particles"]["velocity"][2, 0] = -np.nan

    assert not compared(tmp_path, change).equal


def test_missing_rows_columns_and_groups_are_named(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["particles"]["id"][3] = 101
        del groups["particles"]["torque"]
        groups["contacts"] = {name: column[:1] for name, column in groups["contacts"].items()}
        groups["wall_contacts"]["feature"] = groups["wall_contacts"]["feature"].astype(np.int32)
        groups["extra"] = groups.pop("counters")

    text = str(compared(tmp_path, change))
    for line in (
        "particles: 1 rows only in A (id 100)",
        "particles: 1 rows only in B (id 101)",
        "particles/torque: only in A",
        "contacts: 2 rows only in A (lower_id/upper_id 3-4, 3-9)",
        "wall_contacts/feature: int64 () in A, int32 () in B",
        "counters: only in A",
        "extra: only in B",
    ):
        assert f"  {line}\n" in f"{text}\n"


def test_wall_contacts_are_matched_by_all_their_keys(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["wall_contacts"]["tangential_force"][2] += 1

    (column,) = compared(tmp_path, change).columns
    assert column.first == "id/kind/feature 3-1-10"


def test_repeated_keys_are_matched_one_by_one(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["contacts"] = {name: np.repeat(column, [2, 1, 1], axis=0) for name, column in groups["contacts"].items()}

    assert compared(tmp_path, change).missing == ("contacts: 1 rows only in B (lower_id/upper_id 1-4)",)


def test_groups_without_ids_are_compared_row_by_row(tmp_path: Path) -> None:
    def change(groups: Groups) -> None:
        groups["counters"]["rebuilds"] = np.array(6)

    (column,) = compared(tmp_path, change).columns
    assert column.first == "row 0"
    assert column.largest_absolute == 1


def test_time_and_step_count_and_other_attributes_do_not(tmp_path: Path) -> None:
    same = compared(tmp_path, lambda _: None, ranks=4, case="x" * 100)
    assert same.equal
    assert "(not counted) ranks: 1 in A, 4 in B" in str(same)
    later = compared(tmp_path, lambda _: None, time=0.6)
    assert not later.equal
    assert "time: 0.5 in A, 0.6 in B" in str(later)


@pytest.mark.parametrize(("length", "place"), [(30, 3), (200, 150), (200, 5), (60, 59)])
def test_long_texts_are_shown_where_they_begin_to_differ(tmp_path: Path, length: int, place: int) -> None:
    text = ("abc" * length)[:length]
    for name, case in (("a.h5", text), ("b.h5", f"{text[:place]}Z{text[place + 1 :]}")):
        write_checkpoint(tmp_path / name, state(), {"step": 5, "time": 0.5, "case": case})
    found = str(compare(tmp_path / "a.h5", tmp_path / "b.h5"))
    line = next(line for line in found.splitlines() if "case: " in line)
    first, _, second = line.partition("case: ")[2].partition(" in A, ")
    assert "Z" not in first
    assert "Z" in second
    assert len(line) < 120


def snapshot(path: Path, shift: float = 0.0) -> Path:
    series = ParticleSnapshots(path)
    for index in range(3):
        columns = state()["particles"]
        columns["velocity"] = columns["velocity"] + (shift if index == 1 else 0.0)
        series.write(0.1 * index, index, columns)
    return path


def test_snapshots_are_compared_at_the_last_or_a_given_time(tmp_path: Path) -> None:
    a, b = snapshot(tmp_path / "a.vtkhdf"), snapshot(tmp_path / "b.vtkhdf", shift=1.0)
    assert compare(a, b).equal
    assert not compare(a, b, time=0.1).equal
    with pytest.raises(InputError, match=r"no snapshot at 0\.15 s"):
        compare(a, b, time=0.15)


def test_a_snapshot_is_compared_with_a_checkpoint(tmp_path: Path) -> None:
    snapshot(tmp_path / "a.vtkhdf")
    write_checkpoint(tmp_path / "b.h5", state(), {"step": 2, "time": 0.2})
    assert compare(tmp_path / "a.vtkhdf", tmp_path / "b.h5").equal


def test_wall_snapshots_are_compared(tmp_path: Path) -> None:
    for name, load in (("a", 0.0), ("b", 1.0)):
        series = WallSnapshots(tmp_path / f"{name}.vtkhdf", np.array([0, 3]), np.arange(3), np.zeros(1, np.int32))
        series.write(0.0, 0, np.eye(3), {"force": np.full((1, 3), load), "torque": np.zeros((1, 3))})
    (column,) = compare(tmp_path / "a.vtkhdf", tmp_path / "b.vtkhdf").columns
    assert (column.group, column.column) == ("loads", "force")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"a\.h5"):
        compare(tmp_path / "a.h5", tmp_path / "b.h5")
