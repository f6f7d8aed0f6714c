"""A second pytest beside the one that the user has started: two processes share the tests on one rank.

Most of these tests keep one core busy. Whole modules of tests are taken by the first process from the front of the
list and by the second from its end, until they meet: a module belongs to who creates the file that stands for it.
Modules with a common law that is long to compile (`pytest.mark.shares_law`) are taken together: else both processes
may compile it at the same time.
The second process hands over its reports, and the first one shows them where their tests stand in the list, so that
there is one order and one summary. What the second one leaves undone, should it crash, the first one does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path

import pytest

from pdem.foundation.machine import available_cores
from rank_harness import BESIDE_VARIABLE
from rank_harness.events import Event, EventReader, EventWriter, tail_of

FEWEST_MODULES = 20
"""With fewer the second process would cost more than it brings."""
PATIENCE = 900.0
"""Seconds without news after which the second process is taken to hang: more than `faulthandler_timeout`."""
_POLL_SECONDS = 0.02


def module_of(item):
    """Return the file of a test, as its name has it."""
    return item.nodeid.partition("::")[0]


def group_of(item):
    """Return what is taken as one: the file of a test, or the law that it shares with others (`shares_law`)."""
    marker = item.get_closest_marker("shares_law")
    return marker.args[0] if marker else module_of(item)


class Claims:
    """Which modules, or groups of them, are taken; two processes see the same."""

    def __init__(self, folder):
        self._folder = folder / "claims"
        self._folder.mkdir(exist_ok=True)
        self._mine = {}

    def take(self, item):
        """Tell whether the module of a test belongs to this process, which takes it if nobody has."""
        group = group_of(item)
        if group not in self._mine:
            try:
                (self._folder / group.replace("/", "\\")).touch(exist_ok=False)
                self._mine[group] = True
            except FileExistsError:
                self._mine[group] = False
        return self._mine[group]


class First:
    """Plugin of the pytest that the user has started: begin another one, and report what that one has run."""

    def __init__(self, wanted):
        self._wanted = wanted
        self._second = None
        self._claims = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        tests = [item for item in session.items if item.get_closest_marker("ranks") is None]
        modules = list(dict.fromkeys(map(module_of, tests)))
        if session.testsfailed or not self._is_worth(session.config, len(modules)):
            return
        folder = session.config._tmp_path_factory.mktemp("beside")
        self._claims = Claims(folder)
        self._second = Process(folder, session.config.rootpath, modules, [item.nodeid for item in tests])

    def _is_worth(self, config, modules):
        option = config.option
        if option.collectonly or option.usepdb or option.capture == "no" or self._wanted == 1:
            return False
        return self._wanted == 2 or (modules >= FEWEST_MODULES and available_cores() > 1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if self._second is None or item.get_closest_marker("ranks"):
            return None
        if self._claims.take(item):
            return None
        reports = self._second.reports(item)
        if reports is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session._setupstate.teardown_exact(nextitem)  # what the test before has left for this one
        return True

    def pytest_sessionfinish(self):
        if self._second is not None:
            self._second.stop()


class Process:
    """The second pytest, as the first one sees it."""

    def __init__(self, folder, root, modules, tests):
        self._output = folder / "output.txt"
        self._reader = EventReader(folder, 0)
        self._reports, self._ended, self._done, self._current = {}, set(), set(), None
        (folder / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-m", ""]
        command += [f"--rootdir={root}", f"--basetemp={folder / 'tmp'}"]
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                [*command, *(str(root / module) for module in modules)],
                cwd=root,
                env=os.environ | {BESIDE_VARIABLE: str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._since = time.monotonic()

    def reports(self, item):
        """Return the reports of a test of a module that the second process has taken; None if it left the test out."""
        while not self._is_settled(item):
            time.sleep(_POLL_SECONDS)
        if item.nodeid in self._ended:
            return [
                item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
                for data in self._reports[item.nodeid]
            ]
        return [self._crash_of(item)] if self._current == item.nodeid else None

    def stop(self):
        """End the second process and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _is_settled(self, item):
        is_over = self._process.poll() is not None
        for event in self._reader.new():
            self._since = time.monotonic()
            self._take(event)
        if time.monotonic() - self._since > PATIENCE:
            self.stop()
        return is_over or item.nodeid in self._ended or module_of(item) in self._done

    def _take(self, event):
        if event.kind == "start":
            self._current = event.test
        elif event.kind == "report":
            data = json.loads(event.text)
            if isinstance(data["longrepr"], list):  # of a test that is skipped: JSON knows no tuples
                data["longrepr"] = tuple(data["longrepr"])
            self._reports.setdefault(event.test, []).append(data)
        elif event.kind == "end":
            self._ended.add(event.test)
            self._current = None
        else:
            self._done.add(event.test)

    def _crash_of(self, item):
        code = self._process.returncode
        text = f"the second pytest ended in this test with exit code {code}\n{tail_of(self._output)}"
        return pytest.TestReport(item.nodeid, item.location, dict(item.keywords), "failed", text, "call")


class Second:
    """Plugin of the second pytest: take modules from the end of the list, and tell the first about every test."""

    def __init__(self, config, folder):
        self._config = config
        self._tests = set((folder / "tests.txt").read_text(encoding="utf-8").split("\n"))
        self._claims = Claims(folder)
        self._events = EventWriter(folder, 0)
        self._parent = os.getppid()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self._tests]

    def pytest_runtestloop(self, session):
        for tests in self._in_order(session.items):
            if os.getppid() != self._parent:
                break  # the first process is gone
            if self._claims.take(tests[0]):
                self._run(tests)
        return True

    def _in_order(self, items):
        """Return the tests of each module from the last one on; those of a group follow each other."""
        modules = [list(tests) for _, tests in groupby(items, module_of)][::-1]
        groups = list(dict.fromkeys(group_of(tests[0]) for tests in modules))
        return sorted(modules, key=lambda tests: groups.index(group_of(tests[0])))

    def _run(self, tests):
        for item, following in zip(tests, [*tests[1:], None], strict=True):  # who takes the next module is not known
            self._events.write(Event("start", item.nodeid))
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._events.write(Event("end", item.nodeid))
        self._events.write(Event("module", module_of(tests[0])))

    def pytest_runtest_logreport(self, report):
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._events.write(Event("report", report.nodeid, report.outcome, json.dumps(data)))


def register(config):
    """Prepare the pytest that the first one has started."""
    folder = Path(os.environ.pop(BESIDE_VARIABLE))  # a pytest that a test starts is on its own
    config.pluginmanager.register(Second(config, folder))
