"""A run with all its output: the main loop of `pdem run` and `pdem restart`."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import on_first_rank
from pdem.engine.blow_up import BlowUp
from pdem.engine.feature import features_of
from pdem.engine.protocol import RestartPoint
from pdem.engine.schedule import OutputSchedule
from pdem.engine.state import local_groups
from pdem.engine.step import allreduce_status_or_stop
from pdem.foundation.errors import Interrupted, ObserverError
from pdem.foundation.signals import SignalFlag, signal_name
from pdem.output.run_folder import keep_files
from pdem.output.summary import EnergyReport, OverRanks, end_report
from pdem.preflight.restart_checks import check_end
from pdem.run.files.folder_use import FOLDER_USE, FolderUse
from pdem.run.files.output_folder import begins_elsewhere
from pdem.run.files.outputs import Outputs
from pdem.run.forecast import record_speed
from pdem.run.observation import Observation
from pdem.run.run_end import telling_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.containers.exchange import Exchange
    from pdem.engine.protocol import Engine
    from pdem.engine.schedule import OutputWindow
    from pdem.engine.state import Groups
    from pdem.run.trace import Trace

WARM_UP = 0.02
"""Initial share of the steps that is excluded from the measured speed: lists grow, caches fill."""

STATE_COPY_EVERY = 200
"""Minimum number of steps between two copies of the state, for the checkpoint after a blow-up."""


def run(
    simulation: Engine,
    *,
    quiet: bool = False,
    findings: Sequence[object] = (),
    flag: SignalFlag | None = None,
    trace: Trace | None = None,
    use: FolderUse = FOLDER_USE,
    observers: Sequence[Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    window: OutputWindow | None = None,
) -> int:
    """Run a simulation to the end of its case, with all output; return the number of steps taken.

    Parameters
    ----------
    simulation : Engine
        The simulation, at its beginning or continued from a checkpoint.
    quiet : bool
        Suppress the progress line and the report on the terminal.
    findings : sequence
        Findings of the checks before the run, for the log.
    flag : SignalFlag, optional
        Active flag of the caller, which also catches signals before the run; by default a new flag for the run.
    trace : Trace, optional
        Records the first steps.
    use : FolderUse
        Use of the output folder.
    observers : sequence of callable or Observer, optional
        See `Simulation.run`.
    files : mapping of str to bytes, optional
        Additional files for the output folder, by name.
    window : OutputWindow, optional
        The interval with output, and the last step; by default the whole run.

    Raises
    ------
    InputError, CaseError
        If the output folder contains a run, is in use or cannot be created, or the case ends before its first step.
    CheckpointError
        If a file cannot be written; the last checkpoint remains.
    ObserverError
        If an observer fails; the state before the call is in a checkpoint.
    Interrupted
        After a stop signal; the state is in a checkpoint.
    BlowUpError
        If the results are not meaningful any more; the last good state is in a checkpoint.
    """
    check_end(simulation.case, simulation.step)
    for feature in simulation.system.features:
        feature.before_steps(simulation.system)
    observation = Observation(simulation, observers)
    observation.call_due()
    outputs, simulation.outputs = simulation.outputs, None
    if outputs is None:
        outputs = Outputs(simulation, quiet=quiet, findings=findings, use=use)
    else:
        outputs.begin_run(quiet=quiet)
    with outputs:
        begins = window is None and begins_elsewhere(simulation)
        folder = simulation.case.output.folder
        simulation.restart_point = RestartPoint(Path(folder), simulation.case, simulation.step)
        on_first_rank(simulation.system.exchange, lambda: keep_files(folder, files or {}))
        with (
            SignalFlag() if flag is None else nullcontext(flag) as listening,
            nullcontext() if trace is None else trace.recording(simulation),
        ):
            simulation.system.progress.stop_when(lambda: listening.requested)
            schedule = OutputSchedule(simulation, window)
            return _Run(simulation, outputs, trace, observation, schedule).run_to_end(begins=begins)


class _Run:
    """The loop over steps and outputs."""

    def __init__(
        self,
        simulation: Engine,
        outputs: Outputs,
        trace: Trace | None,
        observation: Observation,
        schedule: OutputSchedule,
    ) -> None:
        self.simulation = simulation
        self.outputs = outputs
        self.trace = trace
        self.observation = observation
        self.schedule = schedule
        self.last = schedule.last
        self._note_stop()
        self.first = simulation.step
        self.good_state: Groups = {}
        self.last_checkpoint: tuple[int, Path] | None = None
        self.timed_from = (self.first, time.perf_counter())

    def run_to_end(self, *, begins: bool) -> int:
        """Take all steps; with `begins`, first write the initial state, which is from a different folder."""
        with telling_status(self.simulation, self.last):
            return self._take_all(begins=begins)

    def _take_all(self, *, begins: bool) -> int:
        simulation = self.simulation
        simulation.phases.reset_seconds()
        if simulation.step == 0:
            self._write_due_output(first=True)
        else:
            self.good_state = local_groups(simulation.system)
            if begins:
                self.outputs.write_state(self.good_state, begins=True)
            if any(self.observation.asked) or self.schedule.begins_at(simulation.step):
                self._write_due_output()
        try:
            self._keep_stage(only_missing=True)
            while simulation.step < self.schedule.last and not simulation.system.stages.finished:
                self._advance()
        except BlowUp as error:
            self.outputs.note(str(error))
            raise error.with_note(self._save_good_state()) from None
        self._finish()
        return simulation.step - self.first

    def _advance(self) -> None:
        simulation, schedule = self.simulation, self.schedule
        stop = min(
            schedule.next_stop(simulation.step), simulation.system.stages.next_step_after(simulation.step),
            self.observation.next_step(simulation.step),
        )  # fmt: skip
        stop = stop if self.trace is None else self.trace.next_stop(stop)
        requested = simulation.advance(stop - simulation.step)
        if requested:
            allreduce_status_or_stop(simulation.system, False)
        self._observe()
        self._write_due_output()
        if requested:
            path = self._checkpoint_here()
            self._keep_stage(only_missing=True)
            folder = simulation.case.output.folder
            again = f"Simulation.restart('{folder}') and its observers"
            raise Interrupted(
                f"{signal_name(requested)} at step {simulation.step}, the state is in {path}; "
                f"continue with {again if self.observation.observers else f'pdem restart {folder}'}"
            )
        if self.trace is not None:
            self.trace.end_if_due(simulation)
        warm = self.first + WARM_UP * (schedule.last - self.first)
        if self.timed_from[0] < warm <= simulation.step:
            self.timed_from = (simulation.step, time.perf_counter())
            simulation.phases.reset_seconds()
            simulation.phases.start()

    def _observe(self) -> None:
        """Call the observers that are due; if one fails, write a checkpoint of the state before the call."""
        if not self.observation.observers:
            return
        try:
            self.observation.call_due()
        except ObserverError as error:
            path = self._write_checkpoint(self.observation.before)
            raise ObserverError(
                f"{error}; the state before is in {path}; Simulation.restart('{path.parent}') goes on"
            ) from error.__cause__
        self._note_stop()
        self.simulation.phases.lap("observers")

    def _note_stop(self) -> None:
        """End the run at the present step, if an observer requested it."""
        if self.observation.asked.stop:
            self.schedule.last = self.simulation.step

    def _write_due_output(self, *, first: bool = False) -> None:
        step, schedule, asked = self.simulation.step, self.schedule, self.observation.asked
        stages = self.simulation.system.stages
        last, shown = schedule.is_edge(step) or stages.finished, schedule.is_shown(step)
        if shown and (step % schedule.series == 0 or last or asked.snapshot):
            self._write_series_row()
        elif step % schedule.progress == 0:
            self.outputs.show_progress(*self._since_warm_up())
        if shown and (step % schedule.snapshots == 0 or last or asked.snapshot):
            self.outputs.write_snapshot()
        if shown and (schedule.has_contacts(step) or last or asked.snapshot):
            self.outputs.write_contacts()
        if shown:
            self.outputs.write_fields()
        due = schedule.has_checkpoint(step) or stages.finished or stages.is_over
        if asked.checkpoint or (not first and due):
            self._write_checkpoint(local_groups(self.simulation.system))
            self._keep_stage()
        self.simulation.phases.lap("output")

    def _since_warm_up(self) -> tuple[int, float]:
        """Return the number of steps since the warm-up, and their elapsed time [s]."""
        step, clock = self.timed_from
        return self.simulation.step - step, time.perf_counter() - clock

    def _write_series_row(self) -> None:
        self.outputs.write_series_row(*self._since_warm_up())
        if not self.good_state or self.simulation.step >= int(self.good_state["counters"]["step"]) + STATE_COPY_EVERY:
            self.good_state = local_groups(self.simulation.system)

    def _write_checkpoint(self, local: Groups) -> Path:
        path = self.outputs.write_state(local)
        self.last_checkpoint = int(local["counters"]["step"]), path
        return path

    def _keep_stage(self, *, only_missing: bool = False) -> None:
        """Store the checkpoint of a stage that ends at the present step. Collective."""
        system = self.simulation.system
        is_there = only_missing and self.outputs.has_stage(system.stages.present_name)
        if system.stages.is_over and system.stages.state.end == system.progress.step and not is_there:
            self.outputs.keep_stage(self._checkpoint_here(), system.stages.present_name)

    def _checkpoint_here(self) -> Path:
        """Return the checkpoint of the present step, after writing it if necessary. Collective."""
        if self.last_checkpoint is not None and self.last_checkpoint[0] == self.simulation.step:
            return self.last_checkpoint[1]
        return self._write_checkpoint(local_groups(self.simulation.system))

    def _save_good_state(self) -> str:
        if not self.good_state:
            return "nothing was saved, it happened in the first steps"
        step = int(self.good_state["counters"]["step"])
        # an earlier checkpoint would replace a later one
        if self.last_checkpoint is None or self.last_checkpoint[0] < step:
            self._write_checkpoint(self.good_state)
        assert self.last_checkpoint is not None
        step, path = self.last_checkpoint
        return (
            f"the last good state (step {step}) is in {path}; pdem replay {path.parent} --blow-up 20 shows how it "
            "came about"
        )

    def _exchange_report(self) -> list[str]:
        """Return lines on ghosts and load balance for the report, an empty list for a single rank. Collective."""
        system = self.simulation.system
        owned, ghosts = system.exchange.add(np.array(system.lists.counts_by_level()))
        received = int(system.exchange.add(np.array([system.exchange.traffic().received]))[0])
        if system.exchange.size == 1:
            return []
        shares = ", ".join(
            f"{of_ghosts} of {of_owned} up to {r:.4g} m"
            for r, of_ghosts, of_owned in zip(system.lists.skins.radii, ghosts, owned, strict=True)
        )
        return [
            f"ghosts: {ghosts.sum() / max(owned.sum(), 1):.3g} per particle, {received} bytes a step; by size {shares}",
            f"particles redistributed among ranks {system.lists.rebalances} times",
        ]

    def _finish(self) -> None:
        """Show and log the final report of the run. Collective."""
        simulation, exchange = self.simulation, self.simulation.system.exchange
        step, clock = self.timed_from
        seconds = time.perf_counter() - clock
        measured, system = simulation.measures(), simulation.system
        first_lines = [self._settings_line(measured.particles), *self._exchange_report()]
        folder = Path(simulation.case.output.folder)
        lines = [line for feature in features_of(system) for line in feature.finish(system, folder)]
        self.outputs.flush()
        table = _over_ranks(simulation.phases.seconds, exchange)
        if exchange.rank:
            return
        moved = max(simulation.step - step - system.progress.frozen, 0)
        if not system.progress.frozen:
            record_speed(measured.particles, moved, seconds, exchange.workers)
        has_ledger, steps = system.constants.law.has_ledger, measured.particles * moved
        residual = measured.balance - simulation.first_balance if has_ledger else None
        last_lines = [*lines, f"results in {simulation.case.output.folder}"]
        balance = EnergyReport(measured.energies, residual, system.features.terms.heat)
        lines = first_lines + last_lines
        self.outputs.report(end_report(table, steps, seconds, exchange.workers, balance, lines))

    def _settings_line(self, particles: int) -> str:
        """Return a line on the cost of the last detection per particle, and on the tuned settings. Collective."""
        system, exchange = self.simulation.system, self.simulation.system.exchange
        work = exchange.add(np.array([[system.lists.search.checks], [system.lists.search.accesses]], np.int64))
        tests, visits = (work[:, 0] / max(particles, 1)).tolist()
        return (
            f"{system.lists.detections} detections, the last with {tests:.3g} distance tests and {visits:.3g} visits "
            f"of cells per particle, skin {system.lists.skins.fraction:.3g}; {system.tuners.chunks.chunk} candidates "
            f"evaluated at a time, on {system.tuners.threads.number} of {exchange.threads} threads"
        )


def _over_ranks(seconds: Mapping[str, float], exchange: Exchange) -> dict[str, OverRanks]:
    """Return the times of phases over all ranks, which must have the same phases. Collective."""
    names = sorted(seconds)
    mine = np.array([seconds[name] for name in names])
    extremes = exchange.largest(np.concatenate((-mine, mine))).reshape(2, -1)
    mean = exchange.add(np.rint(mine * 1e9).astype(np.int64)) / (1e9 * exchange.size)
    times = zip((-extremes[0]).tolist(), mean.tolist(), extremes[1].tolist(), strict=True)
    return {name: OverRanks(*each) for name, each in zip(names, times, strict=True)}
