"""Computation of the jobs of a sweep, sequentially in this process or several at a time in worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import FolderInUseError, InputError, Interrupted, WriteError
from pdem.foundation.machine import available_cores
from pdem.foundation.signals import SignalFlag, signal_name
from pdem.run.kernels.helper_process import helper_environment
from pdem.sweeps.jobs import read_jobs
from pdem.sweeps.play import FAILED, FINISHED, JobOutcome, outcome_of, play

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.sweeps.jobs import Job

    Report = Callable[[Job, JobOutcome], object]

STOPPED, REFUSED = "stopped", "refused"
"""States of a job stopped by a signal, and of a job with unwritable files: the next call continues both."""

_PROGRAM = "from pdem.sweeps.workers import serve; serve({!r}, {!r})"
_STDERR_LINES = 15


def play_all(
    base: Path, jobs: Sequence[Job], at_once: int, report: Report, comm: Any = None, threads: int | None = None
) -> dict[str, JobOutcome]:
    """Compute all jobs without an outcome, and return the outcomes of all jobs. Collective.

    Parameters
    ----------
    base : Path
        Folder of the sweep, with the list of these jobs.
    jobs : sequence of Job
        Jobs, with each beginning before its dependents.
    at_once : int
        Number of jobs at a time; more than one requires a single rank.
    report : callable
        Called with each computed job and its outcome.
    comm, threads
        As for `pdem.Simulation`; `threads` applies to each job.

    Raises
    ------
    Interrupted
        After a stop signal.
    """
    found = {job.name: outcome_of(base, job.name) for job in jobs}
    done = {name: one for name, one in found.items() if one is not None}
    if at_once == 1 or len(jobs) - len(done) < 2:
        _in_turn(base, jobs, done, report, comm, threads)
    else:
        share = max(1, available_cores() // at_once) if threads is None else threads
        _Workers(base, jobs, done, report).play(at_once, share)
    return done


def _in_turn(
    base: Path, jobs: Sequence[Job], done: dict[str, JobOutcome], report: Report, comm: Any, threads: int | None
) -> None:
    """Compute jobs one after the other on the ranks of this process. Collective."""
    for job in jobs:
        if job.name in done:
            continue
        outcome = _of_beginning(job, done)
        done[job.name] = play(base, job, comm, threads) if outcome is None else outcome
        report(job, done[job.name])


def _of_beginning(job: Job, done: dict[str, JobOutcome]) -> JobOutcome | None:
    """Return a failure for a job with a failed beginning, None if the job can be computed."""
    before = done.get(job.after)
    if before is None or before.state == FINISHED:
        return None
    return JobOutcome(FAILED, f"its shared beginning failed: {before.message}")


class _Workers:
    """Worker processes for jobs, each driven by a thread of this process."""

    def __init__(self, base: Path, jobs: Sequence[Job], done: dict[str, JobOutcome], report: Report) -> None:
        self._base, self._jobs, self._done, self._report = base, list(jobs), done, report
        self._waiting = [number for number, job in enumerate(jobs) if job.name not in done]
        self._change = threading.Condition()
        self._processes: list[subprocess.Popen[str]] = []
        self._stops = False
        self._refused = ""

    def play(self, at_once: int, threads: int) -> None:
        """Compute all jobs, at most `at_once` at a time.

        Raises
        ------
        Interrupted
            After a stop signal.
        InputError
            If files of a job cannot be written.
        """
        count = min(at_once, len(self._waiting))
        with SignalFlag() as flag:
            drivers = [threading.Thread(target=self._drive, args=(threads,)) for _ in range(count)]
            for one in drivers:
                one.start()
            while any(one.is_alive() for one in drivers):
                time.sleep(0.05)
                if (flag.requested or self._refused) and not self._stops:
                    self._stop()
        if self._refused:
            raise InputError(f"{self._refused}; the same command again continues")
        if flag.requested:
            state = f"{signal_name(flag.requested)}: the runs under way have kept their state"
            raise Interrupted(f"{state}; the same command again continues")

    def _stop(self) -> None:
        """Start no further job, and make running jobs stop with a checkpoint."""
        with self._change:
            self._stops = True
            for one in self._processes:
                if one.poll() is None:
                    one.send_signal(signal.SIGTERM)
            self._change.notify_all()

    def _next(self) -> int | None:
        """Return the next job that can be computed, after waiting if necessary; None if no job remains."""
        with self._change:
            while self._waiting and not self._stops:
                for number in self._waiting:
                    job = self._jobs[number]
                    if not job.after or job.after in self._done:
                        self._waiting.remove(number)
                        return number
                self._change.wait()
        return None

    def _finish(self, number: int, outcome: JobOutcome) -> None:
        with self._change:
            job = self._jobs[number]
            if outcome.state == REFUSED:
                self._refused = self._refused or outcome.message
            elif outcome.state != STOPPED:
                self._done[job.name] = outcome
                self._report(job, outcome)
            self._change.notify_all()

    def _drive(self, threads: int) -> None:
        """Pass jobs to a process until none remains; replace the process if it dies."""
        process: _Process | None = None
        while (number := self._next()) is not None:
            outcome = _of_beginning(self._jobs[number], self._done)
            if outcome is None:
                if process is None:
                    process = _Process(self._base, threads)
                    with self._change:
                        self._processes.append(process.popen)
                outcome = process.play(number)
                if outcome is None:  # the process died
                    outcome = JobOutcome(STOPPED) if self._stops else JobOutcome(FAILED, process.stderr_tail())
                    process.close()
                    process = None
            self._finish(number, outcome)
        if process is not None:
            process.close()


class _Process:
    """A worker process that computes jobs by their numbers."""

    def __init__(self, base: Path, threads: int) -> None:
        self._stderr: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        variables = {"PDEM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM.format(str(base.resolve()), threads)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._stderr, text=True, env={**helper_environment(), **variables},
        )  # fmt: skip

    def play(self, number: int) -> JobOutcome | None:
        """Compute a job; return its outcome, None if the process has ended."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        try:
            self.popen.stdin.write(f"{number}\n")
            self.popen.stdin.flush()
            return JobOutcome(**json.loads(self.popen.stdout.readline()))
        except (OSError, ValueError):
            return None

    def stderr_tail(self) -> str:
        """Return the exit code of the process and the last lines of its standard error."""
        code = self.popen.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()[-_STDERR_LINES:]
        return "\n".join([f"its process ended with exit code {code}", *lines])

    def close(self) -> None:
        """End the process, and close its streams."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.popen.stdin.close()
        self.popen.wait()
        self.popen.stdout.close()
        self._stderr.close()


def serve(base: str, threads: int) -> None:
    """Compute the jobs with the numbers from standard input until its end; write each outcome to standard output."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # output of user functions must not mix with the replies
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives the signal as well, and decides
    threading.Thread(target=_stop_with_parent, args=(os.getppid(),), daemon=True).start()
    jobs = read_jobs(Path(base))
    for line in sys.stdin:
        try:
            outcome = play(Path(base), jobs[int(line)], None, threads)
        except Interrupted:
            outcome = JobOutcome(STOPPED)
        except (FolderInUseError, WriteError) as error:
            outcome = JobOutcome(REFUSED, str(error))
        except Exception:
            outcome = JobOutcome(FAILED, traceback.format_exc())
        replies.write(json.dumps(asdict(outcome)) + "\n")
        replies.flush()
        if outcome.state == STOPPED:
            return


def _stop_with_parent(parent: int) -> None:
    """Stop with a checkpoint, as after a signal, when the parent process has died."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
