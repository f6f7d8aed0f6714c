"""Steps at which outputs are due: contacts and snapshots are of the same steps where intervals are multiples."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import pdem
from helpers.cases import Grains, make_case
from pdem.engine.schedule import OutputSchedule
from pdem.foundation.errors import InputError
from pdem.motion.time_step import TimeStep

STEP = 1e-5


def schedule(snapshots, contacts, end=1.0):
    output = SimpleNamespace(snapshots_every=snapshots, contacts_every=contacts, series_every=end, checkpoint_every=end)
    case = SimpleNamespace(output=output, time=SimpleNamespace(end=end))
    system = SimpleNamespace(constants=SimpleNamespace(time_step=TimeStep.of(STEP)), features=[])
    return OutputSchedule(SimpleNamespace(case=case, system=system))


def due(plan, last):
    return [step for step in range(last + 1) if plan.has_contacts(step)]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_contacts_divide_the_interval_of_snapshots(parts):
    plan = schedule(103 * STEP, 103 * STEP / parts)
    assert due(plan, 515) == [n * 103 + round(103 * k / parts) for n in range(5) for k in range(parts)] + [515]


@pytest.mark.parametrize(("ratio", "every"), [(3.0, 30), (1.4, 14), (0.7, 7), (1e-3, 1)])
def test_other_intervals(ratio, every):
    """Multiples of the interval of snapshots, no multiples, more often than steps."""
    assert due(schedule(10 * STEP, ratio * 10 * STEP), 90) == list(range(0, 91, every))


def test_no_contacts():
    assert due(schedule(10 * STEP, None), 30) == []


def test_the_next_stop_is_the_next_contacts_or_the_next_snapshot():
    plan, stops, step = schedule(103 * STEP, 103 * STEP / 3, end=515 * STEP), [], 0
    while step < 300:
        step = plan.next_stop(step)
        stops.append(step)
    progress = range(25, 301, 25)
    assert stops == sorted({*due(plan, 309)[1:], *progress} - {309})[: len(stops)]


def test_snapshots_have_contacts_whatever_the_step_is(tmp_path):
    """A tenth of the interval is 10.3 steps: 10 and 103 have no multiple in common for a long time."""
    output = {"folder": str(tmp_path / "out"), "snapshots_every": 103e-5, "contacts_every": 10.3e-5}
    group = Grains([[0.0, 0.0, 0.0], [0.019, 0.0, 0.0]], 0.01)
    pdem.Simulation(make_case(tmp_path, group, step=STEP, end=3e-3, more={"output": output}), threads=1).run()
    results = pdem.Results(tmp_path / "out")
    assert [len(one.contacts["first"]) for one in results][:1] == [1]
    assert set(results.times) <= set(results.contact_times)
    output |= {"folder": str(tmp_path / "other"), "contacts_every": 2.2 * 103e-5}
    pdem.Simulation(make_case(tmp_path, group, step=STEP, end=3e-3, more={"output": output}), threads=1).run()
    fields = pdem.coarse_grain(pdem.Results(tmp_path / "other")[1])
    with pytest.raises(InputError, match=r"no contacts at 0.00103 s: the nearest are those at 0 s; let output"):
        _ = fields.stress
