"""In the pytest that the user has started: run marked tests through mpirun and report each for itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from rank_harness import FOLDER_VARIABLE, RANKS_VARIABLE, WAITING_RANKS_YIELD, time_limit
from rank_harness.events import Event, EventReader, dump_file, tail_of

# From the start of mpirun to its first test, and from the last test to its end: imports on a busy machine.
START_SECONDS = 120.0
_POLL_SECONDS = 0.02
AT_ONCE = 8
"""Most ranks of two jobs that run at a time: the second keeps cores busy that the first leaves."""


def mpirun() -> str:
    """Return the mpirun that belongs to this python's MPI: the one beside it, else the first on the path."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        pytest.fail("no mpirun beside python or on the path: pip install mpich", pytrace=False)
    return found


class Job:
    """One mpirun that works through a list of tests."""

    def __init__(self, ranks, limits, folder, root):
        self.results = {}
        self.over = False
        self.any_started = False
        self._ranks = ranks
        self._limits = dict(limits)
        self._last = list(limits)[-1]
        self._folder = folder
        self._readers = [EventReader(folder, rank) for rank in range(ranks)]
        self._pids = {}
        self._ended = {test: {} for test in limits}
        self._current = None
        self._since = time.monotonic()
        self._output = folder / "output.txt"
        tests = folder / "tests.txt"
        tests.write_text("\n".join(limits), encoding="utf-8")
        command = [mpirun(), "-n", str(ranks), sys.executable, "-m", "pytest", "-q", "--no-header"]
        command += ["-m", ""]  # the tests are chosen: those that are slow as well
        command += ["-p", "no:cacheprovider", "-o", "faulthandler_timeout=0", f"--rootdir={root}", f"@{tests}"]
        environment = dict(os.environ)
        # pytest rewrites hypothesis' modules; if it may not keep the result, each rank spends seconds on it
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment[RANKS_VARIABLE] = str(ranks)
        environment[FOLDER_VARIABLE] = str(folder)
        environment.setdefault(WAITING_RANKS_YIELD, "1")  # another job may need the core
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def advance(self):
        """Take in what the ranks have reported; notice the end of the job or of a test's time."""
        code = self._process.poll()
        self._read()
        if code is not None:
            self._finish(code, f"mpirun ended with exit code {code}")
        elif time.monotonic() - self._since > self._patience():
            self.stop()
            what = "did not end in time" if self._current else "did nothing"
            self._finish(None, f"{what}: stopped after {self._patience():g} s")

    def stop(self):
        """End mpirun and every rank, whatever they are doing."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pid in self._pids.values():  # ranks have process groups of their own
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _patience(self):
        return self._limits[self._current] if self._current else START_SECONDS

    def _read(self):
        for rank, reader in enumerate(self._readers):
            for event in reader.new():
                self._take(rank, event)

    def _take(self, rank: int, event: Event):
        if event.kind == "hello":
            self._pids[rank] = int(event.test)
        elif event.kind == "start":
            self.any_started = True
            if self._current != event.test:
                self._current, self._since = event.test, time.monotonic()
        else:
            ended = self._ended[event.test]
            ended[rank] = event
            if len(ended) == self._ranks:
                self._current, self._since = None, time.monotonic()
                if event.test != self._last:  # the last one has to wait: mpirun may still crash
                    self.results[event.test] = self._verdict(event.test, "")

    def _finish(self, code, reason):
        self.over = True
        for test, ended in self._ended.items():
            if test in self.results:
                continue
            if ended or test == self._current or not self.any_started:
                self.results[test] = self._verdict(test, "" if code == 0 else reason)

    def _verdict(self, test, reason):
        ended = self._ended[test]
        failed = {rank: event for rank, event in ended.items() if event.outcome == "failed"}
        if failed:
            return Event("end", test, "failed", self._failure_text(ended, failed))
        if len(ended) < self._ranks or reason:
            return Event("end", test, "failed", self._crash_text(ended, reason or "not every rank ran this test"))
        return ended[min(ended)]

    def _failure_text(self, ended, failed):
        first, *others = sorted(failed)
        notes = [f"rank {first} of {self._ranks}:", failed[first].text]
        if others:
            notes.append(f"[failed as well: {_named(others)}]")
        waiting = [rank for rank in range(self._ranks) if rank not in ended]
        if waiting:
            notes.append(f"[had not finished: {_named(waiting)}]")
        return "\n".join(notes)

    def _crash_text(self, ended, reason):
        waiting = [rank for rank in range(self._ranks) if rank not in ended]
        notes = [f"{self._ranks} ranks: {reason}; not finished: {_named(waiting) or 'none'}"]
        for rank in waiting:
            stacks = tail_of(dump_file(self._folder, rank))
            if stacks:
                notes.append(f"--- stack of rank {rank} ---\n{stacks}")
        if len(notes) == 1:
            notes.append(tail_of(self._output))
        return "\n".join(notes)


class Batch:
    """All tests on one number of ranks, run by as many jobs, one after the other, as it takes.

    While somebody waits for one of them those of `beside` run as well, if there is such a batch.
    """

    def __init__(self, ranks, folder, root):
        self.limits = {}
        self.beside = None
        self.ranks = ranks
        self._folder = folder
        self._root = root
        self._results = {}
        self._job = None
        self._jobs = 0

    def result(self, test) -> Event:
        """Return how `test` ended, once it has."""
        while test not in self._results:
            self._advance()
            if self.beside is not None:
                self.beside._advance()
            if test not in self._results:
                time.sleep(_POLL_SECONDS)
        return self._results[test]

    def _advance(self):
        """Take in what the present job has reported; begin one if tests are left."""
        if self._job is None and len(self._results) < len(self.limits):
            self._job = self._start()
        if self._job is not None:
            self._job.advance()
            self._results.update(self._job.results)
            if self._job.over:
                self._job = None

    def stop(self):
        """End what is still running."""
        if self._job is not None:
            self._job.stop()
            self._job = None

    def _start(self):
        remaining = {test: limit for test, limit in self.limits.items() if test not in self._results}
        self._jobs += 1
        folder = self._folder / f"ranks-{self.ranks}-job-{self._jobs}"
        folder.mkdir(parents=True)
        return Job(self.ranks, remaining, folder, self._root)


class RankItem(pytest.Item):
    """Stands for a test that runs elsewhere, in all ranks of an mpirun."""

    def __init__(self, *, original, batch, **keywords):
        super().__init__(**keywords)
        self._batch = batch
        self._location = original.reportinfo()
        # the ranks have already heeded the markers that change an outcome
        self.own_markers = [m for m in original.iter_markers() if m.name not in {"skip", "skipif", "xfail"}]
        self.keywords.update({marker.name: marker for marker in self.own_markers})

    def runtest(self):
        result = self._batch.result(self.nodeid)
        if result.outcome == "failed":
            raise RankFailure(result.text)
        if result.outcome == "xfailed":
            pytest.xfail(result.text)
        if result.outcome == "skipped":
            pytest.skip(result.text)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, RankFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self._location


class RankFailure(Exception):
    """A test has failed in at least one rank; the text is that rank's."""


class Parent:
    """Plugin: put tests on several ranks last, ordered by their number, and run them through `Batch`."""

    def __init__(self):
        self._batches = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session, config, items):
        marked = [item for item in items if item.get_closest_marker("ranks")]
        if not marked or config.option.collectonly:
            return
        folder = config._tmp_path_factory.mktemp("mpirun")
        stand_ins = []
        for item in sorted(marked, key=_ranks_of):
            ranks = _ranks_of(item)
            batch = self._batches.setdefault(ranks, Batch(ranks, folder, config.rootpath))
            stand_in = RankItem.from_parent(item.parent, name=item.name, original=item, batch=batch)
            batch.limits[stand_in.nodeid] = time_limit(item)
            stand_ins.append(stand_in)
        items[:] = [item for item in items if item not in marked] + stand_ins
        for first, second in pairwise(self._batches.values()):
            if first.ranks + second.ranks <= AT_ONCE:
                first.beside = second

    def pytest_sessionfinish(self):
        for batch in self._batches.values():
            batch.stop()

    def pytest_report_header(self):
        return f"mpirun: {mpirun()}"


def _ranks_of(item):
    return item.callspec.params["ranks"]


def _named(ranks):
    return ", ".join(f"rank {rank}" for rank in ranks)
