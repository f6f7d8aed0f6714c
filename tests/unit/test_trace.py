"""Traces of runs: valid files whose events follow each other, add up to the report, and change no bit."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from helpers.cases import USUAL, Grains, make_case, quad, state_of
from helpers.traces import require_order, seconds_of
from pdem.foundation.errors import BlowUpError, InputError, Interrupted
from pdem.output.checkpoints.checkpoint_folder import latest_checkpoint
from pdem.run.run import run
from pdem.run.simulation import Simulation
from pdem.run.trace import Trace, events_of

pytestmark = pytest.mark.compiles

STEPS = 60


def grains(folder, steps=STEPS, **options):
    places = np.stack(np.meshgrid(*[np.arange(4) * 0.021 + 0.012] * 3), axis=-1).reshape(-1, 3)
    velocity = np.random.default_rng(1).normal(size=places.shape)
    case = make_case(
        folder, Grains(places, 0.01, velocity), law=USUAL, walls=({"mesh": quad()},), step=1e-4, end=steps * 1e-4,
        gravity=(0.0, 0.0, -9.81), **options,
    )  # fmt: skip
    case.override(f"output.folder={folder / 'results'}")
    for often in ("fields", "series", "checkpoint"):
        case.override(f"output.{often}_every={steps * 1e-4}")
    return Simulation(case, meshes=[quad()], threads=1)


def events(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    return [event for event in document["traceEvents"] if event["ph"] == "X"]


def test_a_trace_of_a_whole_run_adds_up_to_the_report(tmp_path):
    simulation, path = grains(tmp_path), tmp_path / "trace.json"
    before = {name: simulation.phases.spent(name) for name in simulation.phases.seconds}
    run(simulation, quiet=True, trace=Trace(path, 10 * STEPS))
    found = events(path)
    assert sorted(require_order(found)) == list(range(1, STEPS + 1))
    sums = seconds_of(found)
    assert {"integrate", "pairs", "sum", "walls", "wait", "output"} <= set(sums)
    for name, seconds in sums.items():
        expected = simulation.phases.spent(name) - before.get(name, 0.0)
        assert seconds == pytest.approx(expected, rel=1e-3, abs=1e-6), name


def test_only_the_first_steps_are_recorded_and_no_bit_changes(tmp_path):
    states = []
    for number, steps in enumerate((0, 7)):
        folder = tmp_path / str(number)
        folder.mkdir()
        simulation = grains(folder)
        run(simulation, quiet=True, trace=Trace(folder / "trace.json", steps) if steps else None)
        states.append(state_of(simulation))
    for name, columns in states[0].items():
        for key, column in columns.items():
            assert column.tobytes() == states[1][name][key].tobytes(), f"{name}/{key}"
    assert sorted(require_order(events(tmp_path / "1" / "trace.json"))) == list(range(1, 8))
    assert type(simulation.phases).__name__ == "Phases"


def test_a_continued_run_is_traced_from_its_step(tmp_path):
    run(grains(tmp_path), quiet=True)
    held = latest_checkpoint(tmp_path / "results")
    case = grains(tmp_path, 2 * STEPS).case
    path = tmp_path / "trace.json"
    run(Simulation(case, meshes=[quad()], state=held.groups, threads=1), quiet=True, trace=Trace(path, 3))
    assert sorted(require_order(events(path))) == [STEPS + 1, STEPS + 2, STEPS + 3]


class Flag:
    """Asks the run to stop at a step."""

    def __init__(self, simulation, step):
        self.simulation, self.step = simulation, step

    @property
    def requested(self):
        return int(signal.SIGTERM) if self.simulation.step >= self.step else 0


def test_a_trace_is_written_after_a_signal(tmp_path):
    simulation, path = grains(tmp_path), tmp_path / "trace.json"
    with pytest.raises(Interrupted):
        run(simulation, quiet=True, trace=Trace(path, 50), flag=Flag(simulation, 5))
    assert max(require_order(events(path))) == 5


def test_a_trace_is_written_after_a_blow_up(tmp_path):
    simulation, path = grains(tmp_path), tmp_path / "trace.json"
    advance, steps = simulation.advance, []

    def explode(count):
        steps.append(count)
        simulation.system.particles.velocity[3] = 1e6
        return advance(count)

    simulation.advance = explode
    with pytest.raises(BlowUpError):
        run(simulation, quiet=True, trace=Trace(path, 50))
    assert events(path)


def test_a_trace_is_written_after_any_error(tmp_path):
    simulation, path = grains(tmp_path), tmp_path / "trace.json"
    simulation.system.exchange.rank = 2  # as if others were there, which nobody asks any more

    def fail():
        with Trace(path, 50).recording(simulation):
            simulation.advance(4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(require_order(events(tmp_path / "trace.rank2.json"))) == 4
    assert not path.exists()


def test_a_file_that_cannot_be_written(tmp_path, caplog):
    trace = Trace(tmp_path / "missing" / "trace.json", 5)
    with pytest.raises(InputError, match=r"trace\.json: the trace cannot be written \(No such file.*; name another"):
        trace.check()
    run(grains(tmp_path), quiet=True, trace=trace)
    assert "the trace cannot be written (No such file" in caplog.text


def test_ranks_are_processes():
    columns = {
        "phase": np.array([b"pairs", b"output", b"pairs", b"sum"]),
        "clock": np.array([[0, 1500], [1500, 1600], [10, 1000], [1000, 2500]]),
        "step": np.array([4, 4, 4, 4]),
        "rank": np.array([0, 0, 1, 1]),
    }
    found = events_of(columns)
    assert [event["args"]["name"] for event in found if event["name"] == "process_name"] == ["rank 0", "rank 1"]
    spans = [(event["pid"], event["name"], event["ts"], event["dur"]) for event in found if event["ph"] == "X"]
    assert spans == [
        (0, "step 4", 0.0, 1.5), (0, "pairs", 0.0, 1.5), (0, "output", 1.5, 0.1),
        (1, "step 4", 0.01, 2.49), (1, "pairs", 0.01, 0.99), (1, "sum", 1.0, 1.5),
    ]  # fmt: skip
