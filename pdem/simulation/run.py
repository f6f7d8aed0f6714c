"""A run with all its output: what `pdem run` and `pdem restart` do once the simulation stands."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.continued import check_end
from pdem.foundation.errors import BlowUpError, Interrupted
from pdem.foundation.signals import SignalFlag, signal_name
from pdem.output.summary import end_report
from pdem.simulation.claim import SCRIPT
from pdem.simulation.engine import Beginning
from pdem.simulation.forecast import keep_speed
from pdem.simulation.outputs import Outputs
from pdem.simulation.state import local_groups, tables_of
from pdem.simulation.step import allreduce_status_or_stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.simulation.claim import Words
    from pdem.simulation.engine import Engine
    from pdem.simulation.state import Groups
    from pdem.simulation.trace import Trace

WARM_UP = 0.02
"""Part of a run's steps that does not count for its speed: lists grow, caches warm."""

GOOD_EVERY = 200
"""Steps after which a copy of the state is kept again, for the checkpoint of a run that blows up."""


class Schedule:
    """After which steps what is due.

    Attributes
    ----------
    last : int
        Step at which the run ends.
    fields, series, checkpoint : int
        Steps between outputs.
    """

    def __init__(self, simulation: Engine) -> None:
        output, step = simulation.case.output, simulation.system.constants.step
        self.last = round(simulation.case.time.end / step)
        self.fields = max(1, round(output.fields_every / step))
        self.series = max(1, round(output.series_every / step))
        self.checkpoint = max(1, round(output.checkpoint_every / step))

    def next_stop(self, step: int) -> int:
        """Return the next step after `step` at which anything is due."""
        intervals = (self.fields, self.series, self.checkpoint)
        return min(self.last, *((step // every + 1) * every for every in intervals))


def run(
    simulation: Engine,
    *,
    quiet: bool = False,
    findings: Sequence[object] = (),
    flag: SignalFlag | None = None,
    trace: Trace | None = None,
    overwrite: bool = False,
    words: Words = SCRIPT,
) -> int:
    """Run a simulation to the end of its case, with all output; return the number of steps taken.

    Parameters
    ----------
    simulation : Engine
        At its beginning or continued from a checkpoint.
    quiet : bool
        No progress line and no report on the terminal.
    findings : sequence
        Of the checks before the run, for the log.
    flag : SignalFlag, optional
        Entered already, and so listening for longer than the run; by default it listens during the run.
    trace : Trace, optional
        Records the first steps.
    overwrite : bool
        See `Simulation.run`.
    words : Words
        How the user would say what is to become of a run in the folder.

    Raises
    ------
    InputError, CaseError
        If the output folder holds a run or cannot be made, or the case ends before its first step.
    Interrupted
        If a signal asked for it; the state is in a checkpoint.
    BlowUpError
        If results would mean nothing any more; the last good state is in a checkpoint.
    """
    check_end(simulation.case, simulation.step)
    outputs = Outputs(simulation, quiet=quiet, findings=findings, overwrite=overwrite, words=words)
    simulation.begins = Beginning(Path(simulation.case.output.folder), simulation.case, simulation.step)
    try:
        with (
            SignalFlag() if flag is None else nullcontext(flag) as listening,
            nullcontext() if trace is None else trace.recording(simulation),
        ):
            simulation.system.stop_requested = lambda: listening.requested
            return _Run(simulation, outputs, trace).to_the_end()
    finally:
        outputs.close()


class _Run:
    """The loop over steps and what is due between them."""

    def __init__(self, simulation: Engine, outputs: Outputs, trace: Trace | None) -> None:
        self.simulation = simulation
        self.outputs = outputs
        self.trace = trace
        self.schedule = Schedule(simulation)
        self.first = simulation.step
        self.good: Groups = {}
        self.saved: tuple[int, Path] | None = None
        self.counted_from = (self.first, time.perf_counter())

    def to_the_end(self) -> int:
        """Take all steps."""
        simulation = self.simulation
        simulation.phases.count_anew()
        if simulation.step == 0:
            self._output(first=True)
        else:
            self.good = local_groups(simulation.system)
        try:
            while simulation.step < self.schedule.last:
                self._advance()
        except BlowUpError as error:
            raise BlowUpError(f"{error}; {self._save_good()}") from None
        self._finish()
        return simulation.step - self.first

    def _advance(self) -> None:
        simulation, schedule = self.simulation, self.schedule
        stop = schedule.next_stop(simulation.step)
        stop = stop if self.trace is None else self.trace.next_stop(stop)
        requested = simulation.advance(stop - simulation.step)
        if requested:
            allreduce_status_or_stop(simulation.system, False)
            path = self._checkpoint(local_groups(simulation.system))
            raise Interrupted(
                f"{signal_name(requested)} at step {simulation.step}, the state is in {path}; "
                f"continue with pdem restart {simulation.case.output.folder}"
            )
        self._output()
        if self.trace is not None:
            self.trace.end_if_due(simulation)
        warm = self.first + WARM_UP * (schedule.last - self.first)
        if self.counted_from[0] < warm <= simulation.step:
            self.counted_from = (simulation.step, time.perf_counter())
            simulation.phases.count_anew()
            simulation.phases.start()

    def _output(self, *, first: bool = False) -> None:
        step, schedule = self.simulation.step, self.schedule
        last = step >= schedule.last
        if step % schedule.series == 0 or last:
            self._measure()
        if step % schedule.fields == 0 or last:
            self.outputs.fields()
        if not first and (step % schedule.checkpoint == 0 or last):
            self.outputs.flush()
            self._checkpoint(local_groups(self.simulation.system))
        self.simulation.phases.lap("output")

    def _measure(self) -> None:
        step, clock = self.counted_from
        self.outputs.series(self.simulation.step - step, time.perf_counter() - clock)
        if not self.good or self.simulation.step >= int(self.good["counters"]["step"]) + GOOD_EVERY:
            self.good = local_groups(self.simulation.system)

    def _checkpoint(self, local: Groups) -> Path:
        counters = {**local["counters"], "balance": np.array(self.simulation.first_balance)}
        path = self.outputs.checkpoint(tables_of(self.simulation.system, {**local, "counters": counters}))
        self.saved = int(counters["step"]), path
        return path

    def _save_good(self) -> str:
        if not self.good:
            return "nothing was saved, it happened in the first steps"
        step = int(self.good["counters"]["step"])
        if (
            self.saved is None or self.saved[0] < step
        ):  # a later checkpoint would go if an earlier one were written
            self._checkpoint(self.good)
        assert self.saved is not None
        return f"the last good state (step {self.saved[0]}) is in {self.saved[1]}"

    def _copies(self) -> list[str]:
        """Return what crosses ranks, for the log; nothing where there is one. Collective."""
        system = self.simulation.system
        owned, ghosts = system.exchange.add(np.array(system.numbers_by_size()))
        received = int(system.exchange.add(np.array([system.exchange.traffic().received]))[0])
        if system.exchange.size == 1:
            return []
        shares = ", ".join(
            f"{many} of {all_} up to {r:.4g} m"
            for r, many, all_ in zip(system.skins.radii, ghosts, owned, strict=True)
        )
        return [
            f"ghosts: {ghosts.sum() / max(owned.sum(), 1):.3g} per particle, {received} bytes a step; "
            f"by size {shares}",
            f"particles divided anew among ranks {system.divisions} times",
        ]

    def _finish(self) -> None:
        simulation = self.simulation
        exchange = simulation.system.exchange
        step, clock = self.counted_from
        seconds = time.perf_counter() - clock
        measured = simulation.measures()
        search = simulation.system.search
        work = exchange.add(np.array([[search.checks], [search.accesses]], np.int64))
        copies = self._copies()
        spent = simulation.phases.seconds
        names = sorted(spent)
        mine = {"seconds": np.array([spent[name] for name in names])}
        joined = exchange.collect(mine)
        if joined is None:
            return
        keep_speed(measured.particles, simulation.step - step, seconds, exchange.size * exchange.threads)
        rows = joined["seconds"].reshape(exchange.size, -1)
        table: dict[str, Any] = {name: rows[:, column].tolist() for column, name in enumerate(names)}
        self.outputs.report(
            end_report(
                table, measured.particles * (simulation.step - step), seconds,
                exchange.size * exchange.threads, measured.energies,
                measured.balance - simulation.first_balance
                if simulation.system.constants.law.has_ledger
                else None,
                [
                    f"{simulation.system.detections} detections, the last with "
                    f"{work[0, 0] / max(measured.particles, 1):.3g} distance tests and "
                    f"{work[1, 0] / max(measured.particles, 1):.3g} visits of cells per particle, "
                    f"skin {simulation.system.skins.fraction:.3g}; "
                    f"{simulation.system.trials.value('chunk')} candidates evaluated at a time, on "
                    f"{simulation.system.trials.value('threads')} of {exchange.threads} threads",
                    *copies,
                    f"results in {simulation.case.output.folder}",
                ],
            )
        )  # fmt: skip
