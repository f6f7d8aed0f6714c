"""Series lose no row and continue where a restart begins."""

from __future__ import annotations

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.small_disks import largest_file
from pdem.foundation.errors import CheckpointError, InputError
from pdem.output import series as module
from pdem.output.series import Series, read_series

COLUMNS = [("step", "1", "i8"), ("time", "s"), ("kinetic_energy", "J"), ("power", "W")]


def row(step: int) -> dict[str, float]:
    return {"step": step, "time": 0.1 * step, "kinetic_energy": np.pi * step, "power": -(1e-300**step)}


def csv_rows(folder: Path) -> list[list[float]]:
    with (folder / "series.csv").open() as file:
        _, *lines = csv.reader(file)
    return [[float(value) for value in line] for line in lines]


def stored_steps(folder: Path) -> list[int]:
    table = read_series(folder / "series.h5")
    assert [list(line) for line in table.tolist()] == csv_rows(folder), "both files hold the same rows"
    for line in table:
        assert {name: line[name] for name, *_ in COLUMNS} == row(int(line["step"]))
    return [int(step) for step in table["step"]]


def fill(folder: Path, steps: range, resume_time: float | None = None) -> None:
    with Series(folder, COLUMNS, resume_time=resume_time) as series:
        for step in steps:
            series.append(row(step))


def test_both_files_hold_every_row_exactly(tmp_path: Path) -> None:
    with Series(tmp_path / "new", COLUMNS, {"case": "x"}) as series:
        for step in range(5):
            series.append(row(step))
            if step == 2:
                series.flush()
    assert stored_steps(tmp_path / "new") == [0, 1, 2, 3, 4]
    header = (tmp_path / "new" / "series.csv").read_text().splitlines()[0]
    assert header == "step [1],time [s],kinetic_energy [J],power [W]"
    with h5py.File(tmp_path / "new" / "series.h5") as file:
        assert list(file["series"].attrs["unit"]) == ["1", "s", "J", "W"]
        assert file.attrs["case"] == "x"
        assert file["series"].dtype["step"] == np.int64


def test_rows_reach_the_files_without_close_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_BUFFER", 3)
    series = Series(tmp_path, COLUMNS)
    for step in range(7):
        series.append(row(step))
    assert stored_steps(tmp_path) == list(range(6))
    series.close()
    assert stored_steps(tmp_path) == list(range(7))


def test_an_exception_loses_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with Series(tmp_path, COLUMNS) as series:
            series.append(row(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert stored_steps(tmp_path) == [1]


@pytest.mark.parametrize("resume", [-1.0, 0.0, row(3)["time"], row(7)["time"], 99.0])
def test_restart_drops_later_rows(tmp_path: Path, resume: float) -> None:
    fill(tmp_path, range(8))
    kept = [step for step in range(8) if row(step)["time"] <= resume]
    Series(tmp_path, COLUMNS, resume_time=resume).close()
    assert stored_steps(tmp_path) == kept
    first = len(kept)
    fill(tmp_path, range(max(first - 1, 0), first + 3), resume_time=resume)  # one row comes again
    assert stored_steps(tmp_path) == list(range(first + 3))


@settings(max_examples=20, deadline=None)
@given(cut=st.integers(1, 200))
def test_a_torn_csv_loses_no_row_of_the_hdf5(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("torn")
    fill(folder, range(6))
    path = folder / "series.csv"
    path.write_bytes(path.read_bytes()[:-cut] + b"\xff")
    fill(folder, range(6, 8), resume_time=99.0)
    assert stored_steps(folder) == list(range(8))


@pytest.mark.parametrize("spoil", ["torn", "missing", "behind"])
def test_rows_come_from_the_csv_when_the_hdf5_has_fewer(tmp_path: Path, spoil: str) -> None:
    fill(tmp_path, range(6))
    path = tmp_path / "series.h5"
    if spoil == "torn":
        path.write_bytes(path.read_bytes()[:300])
    elif spoil == "missing":
        path.unlink()
    else:
        with h5py.File(path, "r+") as file:
            file["series"].resize(2, axis=0)
    with (tmp_path / "series.csv").open("a") as file:
        file.write("6,0.6000000000000001,18.8")
    fill(tmp_path, range(6, 8), resume_time=99.0)
    assert stored_steps(tmp_path) == list(range(8))


def test_a_new_run_begins_anew(tmp_path: Path) -> None:
    fill(tmp_path, range(6))
    fill(tmp_path, range(2))
    assert stored_steps(tmp_path) == [0, 1]


def test_a_full_disk_keeps_rows_for_a_later_flush(tmp_path: Path) -> None:
    series = Series(tmp_path, COLUMNS)
    for step in range(3):
        series.append(row(step))
    series.flush()
    series.append(row(3))
    with largest_file(100), pytest.raises(CheckpointError, match=r"series.*free space"):
        series.flush()
    series.append(row(4))
    series.close()
    assert stored_steps(tmp_path) == [0, 1, 2, 3, 4]


def test_other_columns_are_refused_on_restart(tmp_path: Path) -> None:
    fill(tmp_path, range(3))
    with pytest.raises(CheckpointError, match="power"):
        Series(tmp_path, COLUMNS[:-1], resume_time=1.0)
    assert stored_steps(tmp_path) == [0, 1, 2], "nothing was touched"


@pytest.mark.parametrize("columns", [[("step", "1")], [("time", "s"), ("time", "s")], [("time", "s"), ("a,b", "1")]])
def test_impossible_columns_are_refused(tmp_path: Path, columns: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError):
        Series(tmp_path, columns)


@pytest.mark.parametrize(("change", "odd"), [({"extra": 1.0}, "extra"), ({}, "power")])
def test_a_row_with_other_names_is_refused(tmp_path: Path, change: dict[str, float], odd: str) -> None:
    wrong = {**row(1), **change}
    if not change:
        del wrong["power"]
    with Series(tmp_path, COLUMNS) as series, pytest.raises(InputError, match=odd):
        series.append(wrong)


def test_read_series_names_what_is_no_series(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nothing\.h5"):
        read_series(tmp_path / "nothing.h5")
