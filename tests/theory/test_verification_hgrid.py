"""The study of the hierarchical grid: its quick parts, and that a wrong number is reported."""

from __future__ import annotations

from functools import partial, partialmethod
from pathlib import Path

import numpy as np
import pytest

from pdem.detection import overhead
from pdem.detection.occupancy import local_density
from pdem.detection.overhead import SearchTimes
from pdem.foundation.errors import InputError
from pdem.verification.study import FindingTable, Notebook, StudyFinding
from validation import cooling, hgrid
from validation.studies import find_study


def test_the_published_levels_are_found() -> None:
    table = hgrid.levels_of_the_example()
    assert table.failed == 0
    assert sum(one.passed is True for one in table.findings) == 7


@pytest.mark.parametrize(
    ("dimension", "ratio", "exponent", "fraction", "direction"),
    [
        (2, 20.0, -3.0, 0.4, "top-down"),
        (2, 20.0, -2.0, 0.4, "bottom-up"),
        (3, 10.0, -3.0, 0.55, "top-down"),
        (3, 10.0, 0.0, 0.55, "top-down"),
        (3, 10.0, -3.0, 1e-5, "top-down"),
        (3, 50.0, -3.0, 0.55, "top-down"),
    ],
)
def test_counted_work_is_the_predicted_one(
    dimension: int, ratio: float, exponent: float, fraction: float, direction: str
) -> None:
    """Many levels, some of them hashed; at a fraction of 1e-5 there is hardly anything to test."""
    checks, visits = hgrid.count_system(20_000, dimension, ratio, exponent, fraction, direction)
    assert visits.passed
    if fraction > 0.01:
        assert checks.passed
    else:
        assert checks.computed == pytest.approx(checks.expected, abs=0.01)


def test_levels_do_not_change_the_cooling() -> None:
    case, meshes = cooling.cooling_case(200)
    sizes = cooling.levels_of(cooling.initial_particles(case, meshes)["radius"])
    assert 2 <= len(sizes) <= 5
    text = f"cell_sizes = {[float(size) for size in sizes]}"
    runs = []
    for detection in ("skin = 0.0", f"skin = 0.0\n{text}", ""):
        case, meshes = cooling.cooling_case(200, detection)
        runs.append(cooling.Simulation(case, meshes=meshes))
        runs[-1].advance(100)
    assert [cooling._differing_particles(runs[0], one) for one in runs] == [0, 0, 0]
    energies = runs[0].energies()
    assert abs(energies["residual"]) < 1e-3 * energies["translation"]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cool 200 discs in place of 10,000."""
    made = partial(cooling.cooling_case, 200)
    monkeypatch.setattr(cooling, "cooling_case", lambda detection: made(detection))
    discs = cooling.initial_particles(*made())
    monkeypatch.setattr(cooling, "_discs", lambda: discs)


@pytest.mark.usefixtures("few")
def test_a_long_cooling_that_is_interrupted_goes_on_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops in the second block of the second run; no block is computed twice."""
    monkeypatch.setattr(cooling, "_FULL_BLOCKS", 3)
    detections, blocks, advance = {"searched": "skin = 0.0", "lists": ""}, [], cooling.TimedRun.advance

    def counted(run: cooling.TimedRun, steps: int, stops: int = 3) -> None:
        if len(blocks) == stops:
            raise KeyboardInterrupt
        blocks.append(steps)
        advance(run, steps)

    whole = cooling.alternate(detections, Notebook(tmp_path / "whole", full=True), 90)
    monkeypatch.setattr(cooling.TimedRun, "advance", counted)
    with pytest.raises(KeyboardInterrupt):
        cooling.alternate(detections, Notebook(tmp_path / "parts", full=True), 90)
    monkeypatch.setattr(cooling.TimedRun, "advance", partialmethod(counted, stops=9))
    notebook = Notebook(tmp_path / "parts", full=True)
    runs = cooling.alternate(detections, notebook, 90)
    assert blocks == [30] * 6
    assert notebook.earlier > 0.0
    for name in detections:
        assert len(runs[name].seconds) == 3
        assert cooling._differing_particles(runs[name].simulation, whole[name].simulation) == 0


def test_findings_know_what_is_off() -> None:
    table = FindingTable(
        "t",
        "published",
        [StudyFinding("a", 1.0, 1.1, 0.05), StudyFinding("b", 2.0, 1.0, 0.0, True), StudyFinding("c", 3.0)],
    )
    assert [one.passed for one in table.findings] == [False, False, None]
    assert table.failed == 2
    text = str(table)
    assert text.count("OFF") == 2
    assert "-9.09 %" in text
    assert "<= 1" in text
    assert FindingTable("numpy", "", [StudyFinding("a", np.float64(2.0), 1.0, 0.1)]).failed == 1
    assert StudyFinding("limit", 0.5, 1.0, 0.0, True).passed
    assert StudyFinding("exact", 0.0, 0.0, 0.0).passed


def test_unknown_studies_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'hgrid'"):
        find_study("hgird")


def test_plots_are_written(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "plots")
    with notebook.plot("line") as axes:
        axes.plot([1, 2], [3, 4])
    assert [path.name for path in notebook.plots] == ["line.png"]
    assert notebook.plots[0].stat().st_size > 1000


def test_the_overhead_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "cache_directory", lambda: tmp_path)
    overhead.search_times.cache_clear()
    try:
        first = overhead.search_times()
        assert first.check > 0.0
        assert 1.0 <= first.overhead <= 200.0
        overhead.search_times.cache_clear()
        monkeypatch.setattr(overhead, "measure", lambda: pytest.fail("measured again"))
        assert overhead.search_times() == first
        (tmp_path / "search_times.json").write_text("torn {")
        overhead.search_times.cache_clear()
        monkeypatch.setattr(overhead, "measure", lambda: SearchTimes(1e-9, 2e-8))
        assert overhead.search_times().overhead == pytest.approx(20.0)
    finally:
        overhead.search_times.cache_clear()


def test_density_is_that_of_the_clusters() -> None:
    generator = np.random.default_rng(1)
    box = np.zeros(3), np.full(3, 100.0), (False, False, False)
    even = local_density(100.0 * generator.random((50_000, 3)), 5.0, *box)
    assert even == pytest.approx(0.05, rel=0.15)
    clustered = local_density(10.0 * generator.random((50_000, 3)), 1.0, *box)
    assert clustered == pytest.approx(50.0, rel=0.15)
