"""Runs and measures of the processes in bulk of the gallery."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.foundation.errors import InputError
from pdem.numerics.random import keyed_uniform, keyed_vectors
from pdem.verification.study import Notebook
from validation.gallery import (
    beverloo,
    bulk_runs,
    dam_break,
    dosta_drum,
    dosta_impact,
    dosta_silo,
    janssen,
    mixer,
    sandpile,
)
from validation.gallery.points import points
from validation.studies import STUDIES


def test_constants_of_beverloo_are_found_again():
    slots = np.array(beverloo.SLOTS)
    rates = beverloo.law(slots, 1.04, 1.35, 0.6)
    assert beverloo.fit(slots, rates, 0.6) == pytest.approx((1.04, 1.35))
    wide = 1.04 * 0.6 * 2500.0 * math.sqrt(9.81) * 0.006 * ((8 - 1.35) * 0.002) ** 1.5
    assert rates[0] == pytest.approx(wide)


def test_depth_of_janssen_is_found_again():
    depth = np.linspace(0.01, 0.2, 12)
    stress = janssen.law(depth, 0.04, 1500.0)
    assert janssen.decay(depth, stress, 1500.0) == pytest.approx(0.04, rel=1e-4)
    assert stress[0] == pytest.approx(1500.0 * 9.81 * 0.01, rel=0.15)
    assert stress[-1] == pytest.approx(1500.0 * 9.81 * 0.04, rel=0.01)


def test_the_surface_of_a_bed_is_found():
    """A wedge of 20 degrees: its highest grains, a radius above their centres."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.0, 1.0, 40_000)
    z = (0.3 - 0.25 * x) * rng.random(x.size) ** 0.2
    found = bulk_runs.surface(np.column_stack([x, z]), 0.005, np.array([0.2, 0.6]), 0.03)
    np.testing.assert_allclose(found, [0.255, 0.155], atol=2e-3)
    assert bulk_runs.surface(np.zeros((1, 2)), 0.005, np.array([0.8]), 0.03) == 0.0


def test_rates_and_halves_of_a_silo_are_found():
    time = np.linspace(0.0, 4.0, 401)
    left = np.maximum(100_000.0 - 24_500.0 * np.maximum(time - 0.01, 0.0), 0.0)
    rate = dosta_silo.emptying_rate(time, left)
    assert rate == pytest.approx(24_500.0, rel=1e-3)
    found = {one.name: one for one in dosta_silo.findings_of(time, left, rate)}
    assert found["large orifice, M1: half is left after [s], LIGGGHTS"].computed == pytest.approx(2.0508, abs=0.02)


def test_what_a_code_found_in_the_silo_agrees_with_itself_and_with_the_mean_of_all():
    """The end of the discharge, 1,000 grains left after 4.168 s, is not in the table."""
    known = {0.0: 100_000, **dosta_silo.LIGGGHTS_SILO, 4.168: 1000, 4.3: 0}
    time = np.linspace(0.0, 4.3, 431)
    left = np.interp(time, list(known), list(known.values()))
    rate = dosta_silo.emptying_rate(time, left)
    found = dosta_silo.findings_of(time, left, rate)
    assert all(one.passed for one in found)
    assert found[0].computed == pytest.approx(99_000.0 / 4.168, rel=1e-3)
    assert rate == pytest.approx(24_504.0, rel=5e-3)
    fast = dosta_silo.findings_of(time / 1.2, left, 1.2 * rate)
    assert not any(one.passed for one in fast[:4])
    unfinished = dosta_silo.findings_of(time[:300], left[:300], rate)
    assert np.isnan([one.computed for one in unfinished[:2]]).all()


def test_curves_of_the_drum_are_those_of_the_codes():
    curves = dosta_drum.curves()
    assert {len(one) for one in curves.values()} == {26}
    times = np.linspace(0.0, 5.0, 26)
    assert all(one.passed for one in dosta_drum.findings_of(times, curves, curves))
    late = {name: np.interp(0.9 * times - 0.2, times, one) for name, one in curves.items()}
    off = [one.name for one in dosta_drum.findings_of(times, late, curves) if one.passed is False]
    assert "z2_m1: mean distance of the numbers, to 3 s" in off
    assert {"z2_m1: first peak [s]", "z2_m1: first period [s]"} <= set(off)


@pytest.mark.parametrize("peak", [0.95, 1.0, 1.08])
def test_peaks_between_samples_are_found(peak):
    times = np.arange(0.0, 2.0, 0.2)
    assert dosta_drum.peak_time(times, 5.0 - (times - peak) ** 2) == pytest.approx(peak)
    assert dosta_drum.peak_time(times, np.ones(10)) == pytest.approx(0.2)


def test_impacts_are_judged_beside_the_codes():
    times = np.arange(0.0, 0.1, 5e-4)
    path = np.interp(
        times, [0.0, *dosta_impact.MERCURY_HEIGHTS, 0.031], [0.06, *dosta_impact.MERCURY_HEIGHTS.values(), -0.0784]
    )
    flight = times <= 0.02
    path[flight] = 0.06 - 5.0 * times[flight] - 0.5 * 9.81 * times[flight] ** 2
    path[times == 0.031] = -0.0784
    order = {**dosta_impact.MERCURY_HEIGHTS, 0.031: -0.0784}
    late = ~flight
    path[late] = np.interp(times[late], sorted(order), [order[one] for one in sorted(order)])
    deepest = np.array([dosta_impact.deepest_point(times, path)] * 2)
    assert deepest[0] == pytest.approx((-0.0784, 0.031))
    findings = dosta_impact.findings_of(times, np.array([path, path]), deepest)
    assert [one.name for one in findings if one.passed is False] == []
    assert [one.computed for one in findings[-2:]] == [0.0, 0.0]
    higher = dosta_impact.findings_of(times, np.array([path]) + 1e-3, np.add(deepest[:1], (1e-3, 0.0)))
    assert sum(one.passed is False for one in higher) >= 2


def test_heights_and_slopes_of_a_heap_are_found():
    """A triangle of 22 degrees on the floor, and a disc that falls."""
    number = np.arange(20_000)
    x = 1.2 * (keyed_uniform(1, 1, number) - 0.5)
    y = (0.24 - math.tan(math.radians(22.0)) * np.abs(x)) * keyed_vectors(1, 2, number, 1)[:, 0]
    places = np.column_stack([x, y + sandpile.FLOOR, 0.0 * x])[y > 0.0]
    places = np.concatenate([places, [[0.0, -0.3, 0.0]]])
    now = SimpleNamespace(position=places, velocity=np.zeros_like(places), radius=np.full(len(places), 1e-3))
    now.velocity[-1] = (0.0, -1.0, 0.0)

    class Results:
        def at(self, _):
            return now

        def __getitem__(self, _):
            return now

    assert sandpile.height(Results(), 1.0) == pytest.approx(0.241, abs=3e-3)
    places[-1] = (0.0, sandpile.FLOOR, 0.0)
    assert sandpile.slope_of(Results()) == pytest.approx(22.0, abs=1.0)


def test_cases_of_both_lengths_are_valid(tmp_path):
    assert dam_break.case_of(full=True).particles[0].fill.count == 60_000
    assert dam_break.case_of(full=False).domain.periodic[1]
    for slot in beverloo.SLOTS:
        assert beverloo.case_of(slot, full=False).stages[1].until.below == beverloo.COUNT // 2
    heap = sandpile._case(Notebook(tmp_path), "spring", 4e-5, 15.0)
    assert sum(group.fill.count for group in heap.particles) == 3000
    assert all(study.parameters for study in STUDIES if study.group == "bulk")
    assert points("thornton_hertz").shape == (2, 10)


_CASE = """
time = {step = 1e-4, end = 0.01}
[domain]
lower = [-1, -1, -1]
upper = [1, 1, 1]
gravity = [0, 0, -9.81]
[materials]
grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
[interactions.default]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0, 0, 0]]
"""


def test_a_run_goes_on_and_is_not_repeated(tmp_path, monkeypatch):
    notebook = Notebook(tmp_path)
    first = bulk_runs.case_run(notebook, "fall", Case.from_text(_CASE))
    assert first.series["time"][-1] == pytest.approx(0.01)
    folder = bulk_runs.own_folder(notebook, "fall")
    (folder / "finished").unlink()  # as after a stop
    for path in sorted(folder.glob("checkpoint-*.h5"))[-2:]:
        path.unlink()
    again = bulk_runs.case_run(notebook, "fall", Case.from_text(_CASE))
    assert (again.series["time"] == first.series["time"]).all()
    assert (again[-1].position == first[-1].position).all()
    spent = float((tmp_path / "fall" / "seconds").read_text())
    assert 0.0 < notebook.earlier < spent
    monkeypatch.setattr(bulk_runs, "run_to_end", None)
    again = bulk_runs.case_run(notebook, "fall", Case.from_text(_CASE))
    assert again.series["time"][-1] == first.series["time"][-1]
    with pytest.raises(InputError, match="remove the folder, or name another"):
        bulk_runs.case_run(notebook, "fall", Case.from_text(_CASE.replace("1e7", "2e7")))


def test_cells_of_the_mixer_fill_the_drum():
    corners = np.array([[-0.174, -0.129, -0.129], [0.174, 0.129, 0.129], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    cells = mixer.cells_of(corners)
    assert cells[0] == 0
    assert cells[1] == np.prod(mixer.CELLS) - 1
    assert cells[2] == np.ravel_multi_index((5, 3, 3), mixer.CELLS)
    assert cells[3] == np.ravel_multi_index((9, 3, 3), mixer.CELLS)


def test_the_mixing_of_halves_is_found():
    """Apart at the begin, at random a second later."""
    begin = 0.12 * (2.0 * keyed_vectors(1, 3, np.arange(20_000), 3) - 1.0)
    later = 0.12 * (2.0 * keyed_vectors(2, 4, np.arange(20_000), 3) - 1.0)
    results = SimpleNamespace(
        times=np.array([0.0, 0.5, 1.5]), at=lambda time: SimpleNamespace(position=begin if time < 1.0 else later)
    )
    for name, (times, index) in mixer.mixing(results).items():
        assert list(times) == [0.5, 1.5], name
        assert index[0] < 0.1
        assert index[1] == pytest.approx(1.0, abs=0.05)


def test_both_silos_hold_their_grains(tmp_path):
    """No grain begins in a wall, and the sensor ends at the lip."""
    case = Case.read(next(iter(write_example("dosta_silo", tmp_path))))
    for settings, lip in (((), -0.0554222), (dosta_silo.SMALL_ORIFICE, -0.0593008)):
        for setting in settings:
            case.override(setting)
        region, cone, gate = case.sensors[0].region, case.walls[1], case.walls[2]
        assert region.centre[2] - 0.5 * region.length == pytest.approx(lip)
        assert cone.centre[2] - 0.5 * cone.length == pytest.approx(lip)
        assert gate.point[2] == pytest.approx(lip)
        assert cone.radii[1] - cone.radii[0] == pytest.approx(cone.length)  # 45 degrees
        fill, shell = case.particles[0].fill, case.walls[0]
        assert fill.centre[2] - 0.5 * fill.length > cone.centre[2] + 0.5 * cone.length
        assert fill.radius < shell.radius
        assert fill.centre[2] + 0.5 * fill.length < case.domain.upper[2]
