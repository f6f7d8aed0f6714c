"""The study of the NBS paper: its exact numbers, that it tells what is off, and that its jet runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pdem.case.explain.example_cases import write_example
from pdem.detection.find_pairs import find_pairs
from pdem.run.reading.results import Results
from pdem.run.run import run as run_to_end
from pdem.run.simulation import Simulation
from pdem.verification.study import Notebook
from validation import nbs

COUNTS = ("discs", "pairs", "tests", "lists")
EXAMPLES = ("I", "II", "III", "IV")


def counts(one):
    return {name: getattr(one, name) for name in COUNTS}


@pytest.fixture
def small(monkeypatch):
    """Return packings of few discs in place of 10,000."""
    monkeypatch.setattr(nbs, "SIDE", 10)
    monkeypatch.setattr(nbs, "REPETITIONS", 1)


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("side", [4, 10, 32])
def test_the_exact_pairs_are_those_of_brute_force(example, side):
    for spacing in (1, 2, 5, 200):
        places = nbs.packing(example, side, spacing)[:, :2]
        found = find_pairs(places, 0.5, method="brute-force").pairs
        assert len(found) == nbs.exact(example, side, spacing).pairs


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("side", [4, 10, 100])
def test_what_is_counted_is_exact(example, side):
    for spacing in nbs.SPACINGS:
        (found,) = nbs.detect([nbs.packing(example, side, spacing)], 1)
        assert counts(found) == counts(nbs.exact(example, side, spacing))
        assert found.seconds > 0.0


def test_the_widest_packing_has_the_density_of_the_paper():
    dense, loose = (nbs.packing("III", nbs.SIDE, spacing) for spacing in (1, nbs.SPACINGS[-1]))
    assert len(dense) == len(loose) == 10_000
    ratio = np.prod(np.ptp(dense, axis=0)[:2]) / np.prod(np.ptp(loose, axis=0)[:2])
    assert ratio == pytest.approx(1.0 / 40_000, rel=1e-8)


def test_every_table_of_packings_passes(small, tmp_path):
    sizes = nbs.detect([nbs.packing("I", side, 1) for side in (10, 20, 100)], 1)
    assert nbs.example_one(sizes).failed == 0
    for example in EXAMPLES[1:]:
        measured = nbs.detect([nbs.packing(example, nbs.SIDE, one) for one in nbs.SPACINGS], 1)
        assert nbs.spaced_example(example, measured).failed == 0
    assert nbs.other_methods().failed == 0


def test_a_wrong_number_is_off(small):
    right = nbs.exact("I", 10, 1)
    assert nbs.example_one([right]).failed == 0
    for name in ("pairs", "tests", "lists"):
        wrong = replace(right, **{name: getattr(right, name) + 1})
        table = nbs.example_one([wrong])
        assert table.failed == 1
        assert "OFF" in str(table)


@pytest.mark.parametrize("name", ["pairs", "tests", "lists"])
def test_a_wrong_number_at_one_spacing_is_off(small, name):
    exact = [nbs.exact("IV", nbs.SIDE, spacing) for spacing in nbs.SPACINGS]
    assert nbs.spaced_example("IV", exact).failed == 0
    for place in range(len(exact)):
        changed = list(exact)
        changed[place] = replace(exact[place], **{name: getattr(exact[place], name) + 1})
        assert nbs.spaced_example("IV", changed).failed == 1


def test_a_pair_that_another_method_misses_is_off(small, monkeypatch):
    def careless(*arguments, method):
        found = find_pairs(*arguments, method=method)
        return replace(found, pairs=found.pairs[1:]) if method == "sorting" else found

    monkeypatch.setattr(nbs, "find_pairs", careless)
    table = nbs.other_methods()
    assert [one.name for one in table.findings if one.passed is False] == [
        "sorting: pairs that differ from the pairs of nbs"
    ]


def timed(seconds):
    return [nbs.Detection(side**2, 0, 0, 0, seconds(side**2)) for side in nbs.SIDES]


def test_time_has_to_grow_in_proportion(tmp_path):
    notebook = Notebook(tmp_path)
    assert nbs.exponent(timed(lambda number: 1e-7 * number)) == pytest.approx(1.0)
    assert nbs.exponent(timed(lambda number: 1e-9 * number**1.5)) == pytest.approx(1.5)
    assert nbs.time_against_number(notebook, timed(lambda number: 1e-4 + 1e-7 * number)).failed == 0
    assert nbs.time_against_number(notebook, timed(lambda number: 1e-9 * number**1.5)).failed == 1
    assert [path.name for path in notebook.plots] == ["time_against_number.png"] * 2


def test_time_must_not_depend_on_the_spacing(tmp_path):
    notebook = Notebook(tmp_path)
    same = [nbs.Detection(100, 0, 0, 0, 1e-4)] * len(nbs.SPACINGS)
    slower = [*same[:-1], replace(same[-1], seconds=2e-4)]
    assert nbs.time_against_spacing(notebook, dict.fromkeys(EXAMPLES[1:], same)).failed == 0
    assert nbs.time_against_spacing(notebook, {"II": same, "III": slower, "IV": same}).failed == 1
    assert notebook.plots[0].stat().st_size > 10_000


def test_the_fastest_of_several_counts():
    calls = []
    ((first, one), (second, other)) = nbs.shortest_times([lambda: calls.append("a"), lambda: calls.append("b") or 7], 3)
    assert calls == ["a", "b"] * 3
    assert (first, second) == (None, 7)
    assert min(one, other) >= 0.0


def jet(folder, *settings):
    case = nbs.jet_case(folder)
    for setting in settings:
        case.override(setting)
    return case


def test_the_jet_begins_as_described(tmp_path):
    case = jet(tmp_path)
    assert case.domain.dimension == 2
    assert case.detection.method == "nbs"
    full = nbs.jet_case(tmp_path, full=True)
    assert full.particles[0].radius == pytest.approx(case.particles[0].radius / 10.0)
    particles = Simulation(case, threads=1).gather()
    assert len(particles["id"]) == 5000
    assert np.all(particles["velocity"] == [0.0, -1.0, 0.0])


def test_the_jet_replaces_an_older_one(tmp_path):
    write_example("disc_jet", tmp_path)
    (tmp_path / "disc_jet.toml").write_text("something else")
    assert jet(tmp_path).title == "Jet of discs"


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    """Return momentum before and after, and the series, of the first hits of a jet of 180 discs."""
    folder = tmp_path_factory.mktemp("jet")
    case = jet(
        folder, "particles[0].radius=0.025", "time.end=0.04", "time.step_fraction=0.1", "output.series_every=1e-9"
    )
    simulation = Simulation(case, threads=1)
    before = nbs.momentum(case, simulation.particles)
    run_to_end(simulation, quiet=True)
    results = Results(case.output.folder)
    assert np.all(nbs.momentum(case, results[0]) == before)
    return before, nbs.momentum(case, simulation.particles), results.series.rows


def test_a_small_jet_keeps_what_it_should(short_run):
    before, after, rows = short_run
    findings = nbs.jet_findings(before, after, rows)
    assert rows["wall_contacts"].max() > 0
    assert [str(one) for one in findings if one.passed is False] == []
    impulse = next(one for one in findings if one.name.startswith("impulse"))
    assert impulse.computed == pytest.approx(1.0, abs=1e-9)  # with loads of every step it is the same sum


def test_what_a_jet_loses_is_off(short_run):
    before, after, rows = short_run
    lost, leaking, sideways = rows.copy(), rows.copy(), after.copy()
    lost["particles"][-1] -= 1
    leaking["residual"][-1] = 0.01 * rows["translation"][0]
    sideways[0] = 1e-3 * abs(before[1])
    for arguments in ((before, after, lost), (before, after, leaking), (before, sideways, rows)):
        assert sum(one.passed is False for one in nbs.jet_findings(*arguments)) == 1
