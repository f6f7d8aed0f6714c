"""Observers of a run: when they are called, their columns, what they may change, and what happens when they fail."""

from __future__ import annotations

import functools
import os
import re
import signal

import numpy as np
import pytest

import pdem
from helpers.watched import STEP, Calls, case_in, fastest, run_with, series
from pdem.features.observers.observer import column_of, named, observer_of
from pdem.foundation.errors import InputError, Interrupted, ObserverError


def test_observers_are_called_at_time_or_steps_or_with_the_series_and_at_first(tmp_path):
    order = []
    one, two, three = (Calls(name, lambda s, name=name: order.append((s.step, name))) for name in "abc")
    run = pdem.Simulation(case_in(tmp_path / "out"))
    run.run(observers=[pdem.every(30 * STEP)(one), pdem.every(steps=7)(two), three])
    assert one.steps == [0, 30, 60, 90]
    assert two.steps == list(range(0, 100, 7))
    assert three.steps == list(range(0, 101, 5))
    assert order == sorted(order)


def test_columns_have_units_and_keep_their_value_between_calls(tmp_path):
    run = pdem.Simulation(case_in(tmp_path / "out"))
    run.run(observers=[pdem.every(steps=10)(fastest)])
    found = pdem.Results(tmp_path / "out").series
    rows = series(tmp_path / "out")
    assert rows["many_[1]"].tolist() == [40.0] * 21
    values = rows["fastest_[m/s]"]
    assert np.array_equal(values[0:20:2], values[1:21:2])
    assert len(set(values)) > 5
    assert np.array_equal(found["fastest"], values)


def damp(simulation):
    """Steer: take speed from the fast ones, and remember how often."""
    fast = np.abs(simulation.particles.velocity[:, 0]) > 0.5
    simulation.particles.velocity[fast] *= 0.8
    return {"damped": simulation.observed.get("damped", 0.0) + simulation.sum(1.0, fast)}


def test_a_restart_calls_at_the_same_steps_and_gives_the_same_bits(tmp_path):
    """From a checkpoint between two calls, and one at a call; what steers is part of the state."""
    watched = [pdem.every(steps=10)(damp), pdem.every(steps=25)(fastest)]
    through = run_with(tmp_path / "through", watched)
    run_with(tmp_path / "parts", watched, until=50)
    calls = Calls("fastest", fastest)
    again = pdem.Simulation.restart(tmp_path / "parts" / "checkpoint-000000050.h5")
    again.case.override(f"time.end={100 * STEP}")
    again.run(observers=[watched[0], pdem.every(steps=25)(calls)])
    assert calls.steps == [75, 100]
    for name, column in through.gather().items():
        assert column.tobytes() == again.gather()[name].tobytes(), name
    expected, found = series(tmp_path / "through"), series(tmp_path / "parts")
    for name in ("damped_[1]", "fastest_[m/s]", "translation_[J]", "outflow_[J]"):
        assert np.array_equal(expected[name], found[name]), name
    energies = through.energies()
    assert expected["damped_[1]"][-1] > 0
    assert abs(energies["residual"]) < 0.05 * energies["outflow"]


def test_a_signal_at_a_step_with_output_loses_no_line_and_no_call(tmp_path):
    """Sent at step 14, it ends the run one step later, at a line of the series."""
    through = run_with(tmp_path / "through", [pdem.every(steps=7)(fastest)], until=35)

    def kill(simulation):
        if simulation.step == 14:
            os.kill(os.getpid(), signal.SIGUSR1)
        return fastest(simulation)

    kill.__name__ = "fastest"
    with pytest.raises(Interrupted, match=r"and its observers"):
        run_with(tmp_path / "parts", [pdem.every(steps=7)(kill)])
    again = pdem.Simulation.restart(tmp_path / "parts")
    assert again.step == 15
    again.case.override(f"time.end={35 * STEP}")
    calls = Calls("fastest", fastest)
    again.run(observers=[pdem.every(steps=7)(calls)])
    assert calls.steps == [21, 28, 35]
    assert again.gather()["position"].tobytes() == through.gather()["position"].tobytes()
    expected, found = series(tmp_path / "through"), series(tmp_path / "parts")
    assert found["step_[1]"].tolist() == expected["step_[1]"].tolist()
    assert np.array_equal(found["fastest_[m/s]"], expected["fastest_[m/s]"])


def test_a_continued_run_asks_for_the_observers_it_had(tmp_path):
    run_with(tmp_path / "out", [fastest], until=50)
    again = pdem.Simulation.restart(tmp_path / "out")
    again.case.override(f"time.end={100 * STEP}")
    with pytest.raises(InputError, match="had the observers fastest: continue it in a script"):
        again.run()
    with pytest.raises(InputError, match="had the observers fastest"):
        again.run(observers=[damp])
    with pytest.raises(InputError, match=r"series.h5: holds other columns"):
        again.run(observers=[])
    again = pdem.Simulation.restart(tmp_path / "out")
    again.case.override(f"time.end={100 * STEP}")
    again.case.override(f'output.folder="{tmp_path / "other"}"')
    assert again.run(observers=[]) == 50


def failing(simulation):
    simulation.particles.velocity[:] = 100.0
    simulation.remove([3])
    if simulation.step == 30:
        raise ValueError("no such luck")
    return None


def test_the_state_before_a_failing_observer_is_kept(tmp_path):
    """It names the function, its file and line; nothing it wrote or took out is in the checkpoint."""
    calm = pdem.Simulation(case_in(tmp_path / "calm"))
    calm.advance(30)
    run = pdem.Simulation(case_in(tmp_path / "out"))

    @pdem.every(steps=30)
    def late(simulation):
        return failing(simulation) if simulation.step else None

    with pytest.raises(ObserverError) as caught:
        run.run(observers=[fastest, late])
    said = str(caught.value)
    assert re.search(r"observer late failed at step 30 \(0.003 s\): .*test_observers.py, line \d+: ValueError", said)
    assert "no such luck; the state before is in" in said
    assert isinstance(caught.value.__cause__, ValueError)
    again = pdem.Simulation.restart(tmp_path / "out")
    assert again.step == 30
    for name, column in calm.gather().items():
        assert column.tobytes() == again.gather()[name].tobytes(), name
    assert again.energies() == calm.energies()
    mended = Calls("late")
    again.run(observers=[fastest, pdem.every(steps=30)(mended)])
    assert mended.steps == [30, 60, 90]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([1.0], "it returned a list; return a mapping"),
        ({"a,b": 1.0}, "a name is a text without commas"),
        ({3: 1.0}, "a name is a text"),
        ({"x" * 200: 1.0}, "of up to 128"),
        ({"a": "high"}, "the column a is 'high'; return a number"),
        ({"a": ("kg,", 1.0)}, "leave out commas"),
        ({"a": (1.0, "kg")}, "return a number, or a unit and a number"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_are_named(tmp_path, returned, said):
    run = pdem.Simulation(case_in(tmp_path / "out"))
    with pytest.raises(ObserverError, match=re.escape(said)):
        run.run(observers=[lambda simulation: returned])
    assert not (tmp_path / "out").exists()


def test_columns_do_not_take_names_of_others_or_change(tmp_path):
    with pytest.raises(InputError, match="the column translation of observer a: the series has one of this name"):
        run_with(tmp_path / "a", [Calls("a", lambda s: {"translation": 1.0})])
    with pytest.raises(ObserverError, match="the name of the column x is taken by the observer a"):
        run_with(tmp_path / "b", [Calls(name, lambda s: {"x": 1.0}) for name in "ab"])
    with pytest.raises(ObserverError, match=r"its columns are others than at its first call \(late\)"):
        run_with(tmp_path / "c", [lambda s: {"late": 1.0} if s.step else None])
    with pytest.raises(ObserverError, match="had the unit kg, and now 1"):
        run_with(tmp_path / "d", [lambda s: {"m": 1.0 if s.step else ("kg", 1.0)}])


def test_a_number_that_is_none_is_one_of_its_own(tmp_path):
    run_with(tmp_path / "out", [lambda s: {"m": ("kg", float("nan"))}])
    assert np.isnan(series(tmp_path / "out")["m_[kg]"]).all()
    assert column_of("a", True) == ("1", 1.0)
    assert column_of("a", np.float32(0.5)) == ("1", 0.5)


def test_an_observer_ends_the_run_with_its_last_output(tmp_path):
    def enough(simulation):
        if simulation.step >= 30:
            simulation.stop()

    run = pdem.Simulation(case_in(tmp_path / "out"))
    assert run.run(observers=[enough]) == 30
    results = pdem.Results(tmp_path / "out")
    assert results.times[-1] == pytest.approx(30 * STEP)
    assert results.series["step"][-1] == 30
    assert (tmp_path / "out" / "checkpoint-000000030.h5").exists()
    again = pdem.Simulation.restart(tmp_path / "out")
    assert again.run(observers=[]) == 70


def test_an_observer_writes_now_and_what_is_written_is_after_all_observers(tmp_path):
    @pdem.every(steps=33)
    def look(simulation):
        if simulation.step == 33:
            simulation.write(checkpoint=True)

    def halve(simulation):
        simulation.particles.velocity[:] = 0.0

    run_with(tmp_path / "out", [look, pdem.every(steps=33)(halve)], until=40)
    results = pdem.Results(tmp_path / "out")
    np.testing.assert_allclose(results.times, np.array([0, 33, 40]) * STEP)
    assert not results.at(33 * STEP).velocity.any()
    assert 33 in results.series["step"]
    assert pdem.Simulation.restart(tmp_path / "out" / "checkpoint-000000033.h5").step == 33


def test_observers_take_no_steps(tmp_path):
    for said, call in {
        "advance": lambda s: s.advance(1),
        "run": lambda s: s.run(),
        "force": lambda s: s.force(lambda *given: (0.0, 0.0, 0.0)),
    }.items():
        with pytest.raises(ObserverError, match=f"simulation.{said} is not for observers"):
            run_with(tmp_path / said, [call])
    run = pdem.Simulation(case_in(tmp_path / "out"))
    with pytest.raises(InputError, match="from within an observer"):
        run.stop()


def test_observers_insert_and_remove(tmp_path):
    @pdem.every(steps=20)
    def exchange(simulation):
        ids = simulation.particles.id
        simulation.particles.velocity[:] *= 0.5
        simulation.remove([int(simulation.minimum(ids))])
        return {"kept": simulation.sum()}

    run = run_with(tmp_path / "out", [exchange])
    assert series(tmp_path / "out")["kept_[1]"][-1] == 40 - 6
    assert run.sum() == 34
    energies = run.energies()
    assert abs(energies["residual"]) < 0.05 * energies["outflow"]


def test_observers_of_a_run_without_particles(tmp_path):
    @pdem.every(steps=20)
    def nothing(simulation):
        simulation.remove(simulation.particles.id)
        return {"kept": simulation.sum()}

    run = run_with(tmp_path / "out", [nothing])
    assert run.particles.count == 0
    assert series(tmp_path / "out")["kept_[1]"][-1] == 0


@pytest.mark.parametrize(
    ("arguments", "keys"), [((), {}), ((1.0,), {"steps": 2}), ((0.0,), {}), ((), {"steps": 0}), (("often",), {})]
)
def test_intervals_are_checked(arguments, keys):
    with pytest.raises(InputError, match=r"pdem\.every"):
        pdem.every(*arguments, **keys)


def test_names_of_observers():
    class Thing:
        def look(self, simulation):
            return None

        def __call__(self, simulation):
            return None

    given = [fastest, functools.partial(fastest), Thing().look, Thing(), fastest]
    observers = named([observer_of(one) for one in given])
    assert list(observers) == ["fastest", "fastest#2", "look", "Thing", "fastest#3"]
    files = [one.code.co_filename.rpartition("/")[2] for one in observers.values()]
    assert files == ["watched.py", "watched.py", "test_observers.py", "test_observers.py", "watched.py"]
    with pytest.raises(InputError, match="give a function of the simulation"):
        observer_of(3)
    assert pdem.every(steps=3)(pdem.every(0.1)(fastest)).steps == 3
    assert pdem.every(steps=3)(fastest)(pdem_like()) == {"fastest": ("m/s", 0.0), "many": 0.0}


def pdem_like():
    """Return something to call an observer with by hand."""

    class Like:
        particles = type("Particles", (), {"velocity": np.zeros((1, 3))})

        def maximum(self, values):
            return 0.0

        def sum(self):
            return 0.0

    return Like()
