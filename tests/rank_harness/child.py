"""Inside a rank: run the tests like any other, and keep the ranks together.

After a test that passed, ranks wait for each other. After one that failed, what the ranks have sent each
other no longer pairs up: the job ends, and with it the ranks that wait for a message that will not come.
"""

from __future__ import annotations

import faulthandler
import os
import time
from pathlib import Path

import pytest

from decomposition.mpi import abort, load_mpi, start_world
from rank_harness import FOLDER_VARIABLE, RANKS_VARIABLE, time_limit
from rank_harness.events import Event, EventWriter, dump_file

# A failed rank waits this long for the others to finish, or fail, as well.
GRACE_SECONDS = 1.0
_SEVERITY = ("passed", "skipped", "xfailed", "failed")


class KeepTogether:
    """Plugin: end the job when any rank has failed, for runs under any mpirun."""

    def __init__(self):
        self.communicator = load_mpi().COMM_WORLD.Dup()
        self.outcome = "passed"
        self.text = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if item.get_closest_marker("ranks") is None:
            return (yield)
        self.outcome, self.text = "passed", ""
        self.begin(item)
        result = yield
        self.end(item)
        if not self._all_passed():
            abort(1)
        return result

    def begin(self, item):
        """Called before each test on several ranks."""

    def end(self, item):
        """Called after each test on several ranks."""

    def pytest_runtest_logreport(self, report):
        outcome = "xfailed" if report.outcome == "skipped" and hasattr(report, "wasxfail") else report.outcome
        if _SEVERITY.index(outcome) <= _SEVERITY.index(self.outcome):
            return
        self.outcome = outcome
        if outcome == "failed":
            captured = [f"--- {name} ---\n{content}" for name, content in report.sections]
            self.text = "\n".join([report.longreprtext, *captured])
        elif outcome == "xfailed":
            self.text = report.wasxfail
        elif isinstance(report.longrepr, tuple):
            self.text = report.longrepr[2]

    def _all_passed(self):
        failed = self.outcome == "failed"
        request = self.communicator.Ibarrier()
        deadline = time.monotonic() + GRACE_SECONDS
        while not request.Test():
            if failed and time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return not self.communicator.allreduce(failed, op=load_mpi().LOR)


class Report(KeepTogether):
    """Plugin for ranks that the harness has started: tell the parent about every test."""

    def __init__(self, folder):
        super().__init__()
        rank = self.communicator.rank
        self._events = EventWriter(folder, rank)
        self._events.write(Event("hello", str(os.getpid())))
        self._stacks = dump_file(folder, rank).open("w")
        faulthandler.enable(self._stacks)

    def begin(self, item):
        limit = time_limit(item)
        faulthandler.dump_traceback_later(max(0.7 * limit, limit - 2), file=self._stacks)
        self._events.write(Event("start", item.nodeid))

    def end(self, item):
        faulthandler.cancel_dump_traceback_later()
        self._events.write(Event("end", item.nodeid, self.outcome, self.text))


def register(config):
    """Prepare this rank of a job that the harness has started."""
    expected = int(os.environ[RANKS_VARIABLE])
    folder = Path(os.environ[FOLDER_VARIABLE])
    start_world()
    communicator = load_mpi().COMM_WORLD
    if communicator.size != expected:
        raise pytest.UsageError(f"mpirun started {expected} ranks, but the communicator has {communicator.size}")
    config.option.basetemp = folder / f"tmp-{communicator.rank}"
    config.pluginmanager.register(Report(folder))
