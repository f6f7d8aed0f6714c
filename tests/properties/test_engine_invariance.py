"""The same bits, however contacts are found, whenever lists are made, and across a restart."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains, box, simulate, state_of
from pdem.contact.pairs.history_kernels import CHUNKS
from pdem.detection import skins
from pdem.engine.tuning import skin_tuner
from pdem.engine.tuning.chunk_tuner import ChunkTuner
from pdem.engine.tuning.thread_tuner import ThreadTuner

R = 1.0 / 256.0
LAW = {"friction": 0.5, "restitution": 0.6, "rolling_friction": 0.02}
STEPS = 250


def options(walls=True):
    """Return a shaken box of grains of ratio 8, the box turning."""
    rng = np.random.default_rng(11)
    sites = np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3) - 2.0
    radius = np.minimum(R * rng.pareto(2.0, len(sites)) * 0.2 + R / 8.0, R)
    position = 2.1 * R * sites
    grains = Grains(position, radius, rng.uniform(-4.0, 4.0, position.shape))
    half = 5.3 * R
    motion = {"rotation": {"rate": 30.0, "axis": [1.0, 0.2, 0.1]}}
    return grains, {
        "law": LAW, "step": 1e-5, "largest_overlap": 1.0, "gravity": (0.0, 0.0, -9.81), "lower": [-2 * half] * 3,
        "upper": [2 * half] * 3,
        "walls": ({"mesh": box([-half] * 3, [half] * 3)} | motion,) if walls else (),
    }  # fmt: skip


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    grains, given = options()
    run = simulate(tmp_path_factory.mktemp("expected"), grains, **given)
    run.advance(STEPS)
    energies = run.energies()
    assert energies["sliding"] > 0.0
    assert energies["wall_work"] != 0.0
    return run.gather(), energies


@pytest.mark.parametrize(
    "detection",
    [
        {"skin": 0.0}, {"skin": 0.05}, {"skin": 0.5}, {"levels": 1}, {"levels": 4}, {"direction": "bottom-up"},
        {"cell_sizes": [2.0 * R / 5, 3.0 * R, 40.0 * R]}, {"method": "linked-cell"}, {"method": "nbs"},
        {"method": "sorting"}, {"method": "screening"}, {"method": "brute-force"},
    ],
    ids=str,
)  # fmt: skip
def test_how_contacts_are_found_changes_no_bit(tmp_path, detection, expected):
    grains, given = options()
    run = simulate(tmp_path, grains, detection=detection, **given)
    run.advance(STEPS)
    same(run, expected)


@pytest.mark.parametrize("places", [(10, 40), (0, 47, 20)])
def test_a_skin_that_changes_while_running_changes_no_bit(tmp_path, monkeypatch, places, expected):
    seen = []

    def next_place(*_):
        seen.append(places[len(seen) % len(places)])
        return seen[-1]

    monkeypatch.setattr(skin_tuner, "WINDOW", 7)
    monkeypatch.setattr(skin_tuner, "best_fraction_index", next_place)
    grains, given = options()
    run = simulate(tmp_path, grains, **given)
    run.advance(STEPS)
    assert len(seen) > 5
    same(run, expected)


def test_skins_of_fast_and_slow_particles_change_no_bit(tmp_path, monkeypatch, expected):
    monkeypatch.setattr(skins, "AT_REST", 0.01)
    monkeypatch.setattr(skins, "WIDEST", 4.0)
    grains, given = options()
    run = simulate(tmp_path, grains, **given)
    run.advance(STEPS)
    skin = run.system.lists.skin
    assert skin.max() > 5.0 * skin.min()
    same(run, expected)


def test_two_threads_change_no_bit(tmp_path, expected):
    grains, given = options()
    run = simulate(tmp_path, grains, threads=2, **given)
    run.advance(STEPS)
    same(run, expected)


def test_settings_that_are_tried_while_running_change_no_bit(tmp_path, monkeypatch, expected):
    """Chunks change with the lists, the threads that run at any step."""
    rng, tried, ran = np.random.default_rng(3), [], []

    def any_size(self):
        tried.append(int(rng.choice(CHUNKS)))
        return tried[-1]

    def any_number(self, step, spent):
        self.next_look, self._tried, self._moves = step + 1, int(rng.integers(2)), [0]
        self._index = self._tried
        ran.append((self.number, self.division))

    monkeypatch.setattr(ChunkTuner, "chunk", property(any_size))
    monkeypatch.setattr(ThreadTuner, "look", any_number)
    grains, given = options()
    run = simulate(tmp_path, grains, threads=2, detection={"skin": 0.05}, **given)
    run.system.tuners.threads.look(0, 0.0)
    run.advance(STEPS)
    assert len(ran) > STEPS // 2
    assert set(ran) == {(1, 2), (2, 2)}
    assert len(set(tried)) > 2
    same(run, expected)


def same(run, expected):
    held = run.gather()
    for name, column in expected[0].items():
        np.testing.assert_array_equal(held[name], column, err_msg=name)
    energies = run.energies()
    assert {name: energies[name] for name in expected[1]} == expected[1]


@pytest.mark.parametrize("stop", [1, 37, 120])
def test_a_restart_changes_no_bit(tmp_path, stop, expected):
    grains, given = options()
    first = simulate(tmp_path, grains, **given)
    first.advance(stop)
    again = simulate(tmp_path, grains, state=state_of(first), **given)
    again.first_balance = first.first_balance
    again.advance(STEPS - stop)
    same(again, expected)


@pytest.mark.parametrize("stop", [1, 90])
def test_walls_that_swing_and_shake_are_where_they_were_after_a_restart(tmp_path, stop):
    grains, given = options()
    shaken = {
        "mesh": given["walls"][0]["mesh"],
        "swing": {"amplitude": 0.4, "frequency": 60.0, "phase": 0.3, "axis": [0.0, 1.0, 0.5]},
        "oscillation": {"amplitude": [R, 0.0, 2.0 * R], "frequency": 110.0},
        "translation_table": {"times": [0.0, 1.1e-3, 5.0], "displacements": [[0.0] * 3, [0.0, R, 0.0], [0.0] * 3]},
    }
    given["walls"] = (shaken,)
    through = simulate(tmp_path, grains, **given)
    through.advance(stop)
    again = simulate(tmp_path, grains, state=state_of(through), **given)
    again.first_balance = through.first_balance
    narrow = simulate(tmp_path, grains, detection={"skin": 0.02}, **given)
    narrow.advance(stop)
    for run in (through, again, narrow):
        run.advance(STEPS - stop)
    same(again, (through.gather(), through.energies()))
    same(narrow, (through.gather(), through.energies()))


def test_asking_for_results_changes_none(tmp_path, expected):
    grains, given = options()
    run = simulate(tmp_path, grains, **given)
    for _ in range(STEPS // 10):
        run.advance(10)
        run.gather(), run.energies(), run.wall_loads(), run.measures(), state_of(run)
    same(run, expected)


def test_a_periodic_face_is_no_place(tmp_path):
    """A pair across faces, corners and edges has the bits of the same pair in the middle (dyadic shifts)."""
    length, low = 0.5, 1.25  # all places in [1, 2), where doubles are equally dense
    position = 1.5 + np.array([[0.0, 0.0, 0.0], [2 * R - 2.0**-14, 2.0**-12, 2.0**-11]])
    velocity = np.array([[0.5, 0.25, -0.125], [-0.25, 0.0, 0.0625]])
    spin = np.array([[30.0, 10.0, 0.0], [0.0, -20.0, 5.0]])
    held = []
    for shift in ([0.0, 0.0, 0.0], [0.25, 0.0, 0.0], [0.25, -0.25, 0.25]):
        place = (position + shift - low) % length + low
        run = simulate(
            tmp_path, Grains(place, R, velocity, spin), law=LAW, step=2.0**-17, lower=[low] * 3,
            upper=[low + length] * 3, periodic=[True] * 3,
        )  # fmt: skip
        run.advance(300)
        now = run.gather()
        now["position"] = (now["position"] - shift - low) % length + low
        held.append(now)
        assert run.energies()["sliding"] > 0.0
    for other in held[1:]:
        for name in ("position", "velocity", "angular_velocity", "force", "torque"):
            np.testing.assert_array_equal(other[name], held[0][name], err_msg=name)


def test_images_count_the_way_and_gravity_works_along_it(tmp_path):
    """A grain that falls through a periodic box again and again keeps kinetic plus potential energy."""
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 0.1]], R, [1.0, 0.0, -20.0]), step=1e-4, gravity=(0.0, 0.0, -9.81),
        lower=(-0.125,) * 3, upper=(0.125,) * 3, periodic=(True, False, True),
        law=LAW,
    )  # fmt: skip
    run.advance(500)
    held = run.gather()
    time = run.time
    way = [time, 0.0, 0.1 - 20.0 * time - 0.5 * 9.81 * time**2]
    np.testing.assert_allclose(held["position"][0] + 0.25 * held["image"][0], way, atol=1e-10)
    assert np.abs(held["position"]).max() <= 0.125
    assert held["image"][0].tolist() == [0, 0, -4]
    energies = run.energies()
    assert abs(energies["residual"]) < 1e-11 * energies["translation"]
