"""Loops by hand: observers, output, and particles that a script moves."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.watched import STEP, case_in, fastest, run_with
from pdem.foundation.errors import InputError


def test_a_loop_by_hand_with_observers_and_output(tmp_path):
    """Files that are opened by hand are those with which a run goes on."""
    through = run_with(tmp_path / "through", [pdem.every(steps=10)(fastest)])
    run = pdem.Simulation(case_in(tmp_path / "out"))
    calls = pdem.every(steps=10)(fastest)
    run.advance(20, observers=[calls])
    run.write()
    run.write()
    run.advance(13, observers=[calls])
    run.write(checkpoint=True)
    assert pdem.Results(tmp_path / "out").series["step"].tolist() == [20, 33]
    run.run(observers=[calls])
    results = pdem.Results(tmp_path / "out")
    assert results.series["step"].tolist() == [20, 33, *range(35, 101, 5)]
    np.testing.assert_allclose(results.times, np.array([20, 33, 50, 100]) * STEP)
    assert run.gather()["position"].tobytes() == through.gather()["position"].tobytes()
    taken = pdem.Simulation(case_in(tmp_path / "out"))
    with pytest.raises(InputError, match="goes on with it"):
        taken.write()
    taken.write(overwrite=True)
    taken.advance(3, observers=[calls])
    with pytest.raises(InputError, match=r"begun without the columns that observers have now \(fastest, many\)"):
        taken.write()
    taken.close()


def test_an_observer_ends_a_loop_by_hand(tmp_path):
    run = pdem.Simulation(case_in(tmp_path / "out"))
    run.advance(50, observers=[pdem.every(steps=10)(lambda s: s.stop() if s.step == 30 else None)])
    assert run.step == 30
    run.close()


def test_positions_may_be_written_if_lists_are_told(tmp_path):
    """As if the particles had been there: forces at the new places, wrapped into the box."""
    run, other = (pdem.Simulation(case_in(tmp_path / name)) for name in "ab")
    shift = np.array([0.1, 0.0, 0.03])
    run.advance(5)
    other.advance(5)
    run.particles.position[:] += shift
    run.rebuild_lists()
    assert (run.particles.position < 0.1).all()
    before = run.gather()["image"].copy()
    run.advance(20)
    other.advance(20)
    found, expected = run.gather(), other.gather()
    unwrapped = [one["position"] + 0.1 * one["image"] for one in (found, expected)]
    np.testing.assert_allclose(unwrapped[0] - shift, unwrapped[1], atol=1e-9)
    assert before.max() >= 1
    assert run.measures().pair_contacts == other.measures().pair_contacts > 0
    run.particles.position[0] = np.nan
    with pytest.raises(InputError, match=r"the position of particle \d+ is not finite"):
        run.rebuild_lists()


def test_radii_may_be_written_if_lists_are_told(tmp_path):
    run = pdem.Simulation(case_in(tmp_path / "a"))
    mass = run.sum(run.masses)
    run.particles.radius[:] *= 1.02
    run.rebuild_lists()
    assert run.sum(run.masses) == pytest.approx(mass * 1.02**3)
    run.advance(20)
    assert run.system.lists.skins.radii[-1] == pytest.approx(0.012 * 1.02)
    run.particles.radius[0] = 0.0
    with pytest.raises(InputError, match=r"the radius of particle \d+ is not positive"):
        run.rebuild_lists()
