"""The trace of several ranks: one process for each, clocks aligned, the same bits as without."""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pytest

import pdem
from helpers.planted import CLOCK
from helpers.traces import require_order, seconds_of
from pdem.engine.state import gather_groups, local_groups
from pdem.foundation.errors import Interrupted
from pdem.run.run import run
from pdem.run.trace import Trace

pytestmark = pytest.mark.skipif(CLOCK in os.environ, reason="clocks that jump are not the same on all ranks")

CLOUD = """
[time]
step = 2e-5
end = 1e-3
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.12, 0.08, 0.08]
periodic = [true, true, false]
[materials.glass]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.glass-glass]
friction = 0.5
restitution = 0.6
[[particles]]
material = "glass"
radius = {{distribution = "power-law", exponent = -3.0, min = 0.002, max = 0.012}}
fill = {{volume_fraction = 0.25, seed = 7}}
velocity = {{random = 1.0, seed = 3}}
[output]
folder = {folder!r}
snapshots_every = 1e-3
series_every = 1e-3
checkpoint_every = 1e-3
"""

STEPS = 50  # all there are
PHASES = (
    "integrate", "wait", "detect", "migrate", "exchange", "detect facets", "pairs", "sum", "output",
)  # fmt: skip
TOLERANCE = 0.05  # s: of clocks that are compared by messages, some of which wait on a machine with other work


@pytest.mark.ranks(2, timeout=120)
def test_ranks_are_traced_together(ranks, communicator, shared_path):
    states = []
    for steps in (0, STEPS):
        case = pdem.Case.from_text(CLOUD.format(folder=str(shared_path / str(steps))))
        simulation = pdem.Simulation(case, communicator)
        before = {name: simulation.phases.spent(name) for name in PHASES}
        trace = Trace(shared_path / "trace.json", steps) if steps else None
        run(simulation, quiet=True, trace=trace)
        assert simulation.system.exchange.traffic().received > 0
        states.append(gather_groups(simulation.system, local_groups(simulation.system)))
    spent = {name: simulation.phases.spent(name) - before[name] for name in PHASES}
    spent = communicator.gather(spent)
    origins = communicator.allgather(trace._origin)  # ranks of one node have one clock
    assert max(origins) - min(origins) < TOLERANCE
    if communicator.rank == 0:
        for name, columns in states[0].items():
            for key, column in columns.items():
                assert column.tobytes() == states[1][name][key].tobytes(), f"{name}/{key}"
        _require_both(json.loads((shared_path / "trace.json").read_text())["traceEvents"], spent)
    communicator.Barrier()


@pytest.mark.ranks(2, timeout=120)
def test_no_rank_goes_on_before_the_trace_is_written(ranks, communicator, shared_path, monkeypatch):
    """The first rank that ends after a signal ends the others, and with them the writing."""
    moments, write = [], Trace._write

    def slow(*arguments):
        time.sleep(0.3)
        write(*arguments)
        moments.append(time.perf_counter())

    monkeypatch.setattr(Trace, "_write", slow)
    case = pdem.Case.from_text(CLOUD.format(folder=str(shared_path / "unused")))
    simulation = pdem.Simulation(case, communicator)

    def stopped():
        with Trace(shared_path / "trace.json", 20).recording(simulation):
            simulation.advance(3)
            raise Interrupted("as by a signal, on all ranks")

    with pytest.raises(Interrupted):
        stopped()
    ended = communicator.allgather(time.perf_counter())
    assert min(ended) >= communicator.bcast(moments)[0]


def _require_both(found, spent):
    names = [event["args"]["name"] for event in found if event["name"] == "process_name"]
    assert names == ["rank 0", "rank 1"]
    begun = []
    for rank in range(2):
        own = [event for event in found if event["pid"] == rank and event["ph"] == "X"]
        steps = require_order(own)
        assert list(steps) == list(range(1, STEPS + 1))
        begun.append([event["ts"] for event in steps.values()])
        sums = seconds_of(own)
        assert {"exchange", "wait", "pairs"} <= set(sums)
        for name, seconds in sums.items():
            assert seconds == pytest.approx(spent[rank][name], rel=1e-3, abs=1e-6), name
    # ranks agree in every step: none can have begun the next before the other has begun this one
    for here, there in ((0, 1), (1, 0)):
        assert (np.array(begun[here][1:]) > np.array(begun[there][:-1]) - 1e6 * TOLERANCE).all()
