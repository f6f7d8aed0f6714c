"""How long a run takes and what it writes: what is kept, what is guessed, and what is said of it."""

from __future__ import annotations

import pytest

from helpers.cases import quad
from pdem.case.model import Case
from pdem.run import forecast as module
from pdem.run.forecast import forecast, record_speed

TEXT = """
time = {step = 1e-3, end = 10.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1]}
[output]
folder = "FOLDER"
snapshots_every = 1.0
series_every = 0.1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "cache_directory", lambda: tmp_path)
    return tmp_path


def told(folder, particles, *, workers=1, meshes=(), **changes):
    case = Case.from_text(TEXT.replace("FOLDER", str(folder / "out")))
    for key, value in changes.items():
        case.override(f"{key.replace('__', '.')}={value}")
    return {one.subject: one for one in forecast(case, particles, meshes, 1, workers)}


def test_without_a_run_it_is_a_guess_and_says_so(folder):
    text = told(folder, 1000)["duration"].message
    assert text.startswith("10,000 steps take 00:0")
    assert text.endswith("within a factor of five, since no run has been timed on this machine yet")


def test_the_nearest_run_is_what_counts(folder):
    record_speed(1000, 500, 1.0, 1)  # 2 ms a step
    record_speed(100_000, 100, 20.0, 1)  # 200 ms a step
    assert (
        "take about 00:20, within a factor of two, by the latest run here of 1,000 part"
        in told(folder, 1000)["duration"].message
    )
    assert "take about 00:40" in told(folder, 2000)["duration"].message
    assert "take about 1:06:40" in told(folder, 200_000)["duration"].message
    assert "within a factor of four" in told(folder, 10_000_000)["duration"].message
    few = told(folder, 1)["duration"].message
    assert "take about 00:01" in few  # not a thousandth of the time of a thousand
    assert "take about 00:10, within a factor of four" in told(folder, 1000, workers=2)["duration"].message


def test_a_run_of_very_few_particles_is_not_scaled_by_their_number(folder):
    record_speed(2, 2000, 1.0, 1)  # 0.5 ms a step, of which hardly anything is for the two
    seconds = 10_000 * 0.5e-3 * (2e-5 + 4e-7 * 10_000) / (2e-5 + 4e-7 * 2)
    minutes, rest = divmod(round(seconds), 60)
    assert f"take about {minutes:02d}:{rest:02d}, within a factor of four" in told(folder, 10_000)["duration"].message


def test_a_newer_run_of_the_same_kind_replaces_the_older(folder):
    record_speed(1000, 500, 1.0, 1)
    record_speed(1100, 1000, 1.0, 1)
    record_speed(1000, 500, 9.0, 2)
    assert (
        "take about 00:10, within a factor of two, by the latest run here of 1,100"
        in told(folder, 1100)["duration"].message
    )
    for number in range(100):
        record_speed(2 ** (number % 50), 10, 1.0, 1 + number)
    assert len(module._recorded_speeds()) <= 40


def test_one_run_on_a_busy_machine_hardly_counts_and_several_do(folder):
    record_speed(1000, 500, 1.0, 1)
    record_speed(1000, 500, 100.0, 1)
    assert "take about 00:25" in told(folder, 1000)["duration"].message
    for _ in range(25):
        record_speed(1000, 500, 100.0, 1)
    assert "take about 33:20" in told(folder, 1000)["duration"].message


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '[{"particles": 0, "seconds": 1, "workers": 1}]', '{"a": 2}', "\x00"]
)
def test_a_spoilt_file_is_as_none(folder, content):
    (folder / "speeds.json").write_text(content)
    assert "no run has been timed" in told(folder, 1000)["duration"].message
    record_speed(1000, 500, 1.0, 1)
    assert "take about 00:20" in told(folder, 1000)["duration"].message


def test_what_says_nothing_is_not_kept(folder):
    for nothing in ((0, 10, 1.0), (10, 0, 1.0), (10, 10, 0.0), (10, 1000, 0.9)):
        record_speed(*nothing, 1)
    assert not (folder / "speeds.json").exists()


def test_disk_space_is_told_and_compared_with_what_is_free(folder, monkeypatch):
    one = told(folder, 1_000_000)["disk"]
    assert one.level == "info"
    assert "11 snapshots of 156 MB, 101 lines of the series, 7 checkpoints of " in one.message
    assert " are free there" in one.message
    monkeypatch.setattr(module, "_free", lambda _: 10**8)
    short = told(folder, 1_000_000)["disk"]
    assert short.level == "warning"
    assert (
        "only 100 MB are free there: lengthen output.snapshots_every, or choose another output.folder" in short.message
    )
    monkeypatch.setattr(module, "_free", lambda _: None)
    assert "free" not in told(folder, 1_000_000)["disk"].message


def test_free_space_is_that_of_the_nearest_folder_there_is(folder):
    assert module._free(folder / "a" / "b") == pytest.approx(module._free(folder), rel=0.1)


def test_walls_are_written_as_well(folder):
    lines = [told(folder, 0, meshes=meshes)["disk"].message for meshes in ([], [quad()] * 1000)]
    assert "snapshots of 0 MB" in lines[0]
    assert "snapshots of 0.232 MB" in lines[1]


def test_files_have_a_row_for_each_sphere_of_a_cluster(folder):
    case = Case.from_text(TEXT.replace("FOLDER", str(folder / "out")))
    found = {
        spheres: {one.subject: one.message for one in forecast(case, 100_000, (), spheres=spheres)}
        for spheres in (None, 100_000, 400_000)
    }
    assert found[None] == found[100_000]
    assert found[400_000]["duration"] == found[None]["duration"]  # speeds are counted by bodies
    sizes = [float(one["disk"].split("snapshots of ")[1].split()[0]) for one in found.values()]
    assert sizes[2] == pytest.approx(4.0 * sizes[1], rel=0.01)
