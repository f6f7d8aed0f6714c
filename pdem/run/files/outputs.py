"""Output of a run: snapshots, series, checkpoints, log, progress.

All ranks write snapshots of particles, and checkpoints; rank 0 writes everything else.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from tqdm import tqdm

from pdem.case.columns import balance_columns
from pdem.case.groups.fixed_groups import fixed_columns
from pdem.containers.group import on_first_rank
from pdem.engine.energy import terms_of_run
from pdem.engine.feature import features_of
from pdem.engine.state import local_groups, tables_of
from pdem.engine.views.series_line import SeriesLine
from pdem.engine.walls.fixed_loads import fixed_values
from pdem.features.observers.feature import observed
from pdem.features.registry import OBSERVING
from pdem.foundation.errors import InputError
from pdem.foundation.terminal import ERRORS, OUTPUT, open_closed_streams
from pdem.foundation.version import VERSION
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.content_digest import record_digest
from pdem.output.log import RunLog, environment, header, table_heading
from pdem.output.progress import Progress
from pdem.output.series import TABLE, Series, continues, read_series_head
from pdem.output.summary import counted
from pdem.run.files.folder_use import FOLDER_USE, FolderUse
from pdem.run.files.output_folder import prepare_output_folder
from pdem.run.files.run_files import RunFiles
from pdem.run.files.wall_columns import driven_columns, load_columns, load_values
from pdem.run.thin_walls import warn_of_thin_walls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from pdem.engine.energy import Measures
    from pdem.engine.protocol import Engine
    from pdem.engine.state import Groups

_LOG_ROWS = 200
_FIRST_COLUMNS = (
    ("step", "1", "i8"), ("time", "s"), ("particles", "1", "i8"), ("pair_contacts", "1", "i8"),
    ("wall_contacts", "1", "i8"), ("contacts_per_particle", "1"), ("largest_overlap", "1"),
)  # fmt: skip
_LAST_COLUMNS = ("detections", "1", "i8"), ("particle_steps_per_second", "1/s")


class Outputs:
    """All outputs of a run.

    Parameters
    ----------
    simulation : Engine
        The run; it is continued if it is not at its first step.
    quiet : bool
        Suppress the progress line and the report on the terminal.
    findings : sequence
        Findings of the checks before the run, for the log.
    use : FolderUse
        Use of the output folder; a lock acquired here is held until `close`.

    Raises
    ------
    InputError
        On all ranks, if the folder contains a run, is in use or cannot be created, or two columns have the same name.
    CheckpointError
        On all ranks, if a file cannot be written.
    """

    def __init__(
        self, simulation: Engine, *, quiet: bool, findings: Sequence[object], use: FolderUse = FOLDER_USE
    ) -> None:
        self._simulation = simulation
        self._quiet = quiet
        self._root = simulation.system.exchange.rank == 0
        self._folder = Path(simulation.case.output.folder)
        self._written_step = -1
        self._loads: dict[str, dict[str, Any]] = {}
        self._observed = tuple(observed(simulation.system).columns)
        self._added = [name for name, *_ in balance_columns(simulation.case)]  # since version 0.2
        self._has_ledger = simulation.system.constants.law.has_ledger
        self._check_names()
        self._attributes = self._file_attributes() if self._root else {}
        self._files = RunFiles(simulation, self._folder, self._attributes)
        self._checkpoints = CheckpointFolder(self._folder, simulation.case.output.checkpoints_kept)
        self._progress = Progress(simulation.time, simulation.case.time.end, enabled=False)
        open_closed_streams()
        notes, own_lock = prepare_output_folder(simulation, use=use, conflict=self._conflicting_file)
        if own_lock is not None:
            self._files.close_last(own_lock.release)
        try:
            self._files.agree(lambda: self._open([*findings, *(note for note in notes if note not in findings)]))
        except BaseException:
            self.close(quietly=True)
            raise

    def _check_names(self) -> None:
        """Check that the column names of observers are unique."""
        names = [name for name, *_ in self._columns()]
        known = observed(self._simulation.system).columns
        for name in self._observed:
            if names.count(name) > 1:
                raise InputError(
                    f"the column {name} of observer {known[name].observer}: the series has one of this name; give "
                    "it another"
                )

    def _conflicting_file(self) -> str | None:
        """Return the name of a file in the folder that this run cannot continue, None if there is none."""
        columns = read_series_head(self._folder).columns
        if columns and not continues(columns, [name for name, *_ in self._columns()], self._added):
            return f"{TABLE}.h5"
        return self._files.conflict()

    def _file_attributes(self) -> dict[str, Any]:
        """Return the attributes of all output files."""
        case, exchange = self._simulation.case, self._simulation.system.exchange
        return {
            "title": case.title, "case": case.to_toml(), "directory": str(case.directory.resolve()),
            "pdem": VERSION, "ranks": exchange.size, "threads": exchange.threads, **environment(),
            **({"stages": ", ".join(stage.name for stage in case.stages)} if case.stages else {}),
        }  # fmt: skip

    def _open(self, findings: Sequence[object]) -> None:
        """Open the files of rank 0."""
        simulation, case = self._simulation, self._simulation.case
        exchange, step = simulation.system.exchange, simulation.step
        self._log = RunLog(self._folder, resume=step > 0, console=not self._quiet)
        self._files.add(self._log)
        details = [
            *([exchange.layout] if exchange.layout else []),
            f"{len(case.walls)} walls, time step {simulation.system.constants.time_step.dt:.4g} s, from step {step}",
            str(simulation.system.lists.skins),
            *(str(finding) for finding in findings),
        ]
        if not self._quiet:
            steps = round(case.time.end / simulation.system.constants.time_step.dt) - step
            tqdm.write(f"pdem: {counted(steps, 'step')} to {case.time.end:g} s; log in {self._log.path}", ERRORS)
        self._log.text(header(case.title or case.source, exchange.size, exchange.workers, details))
        self._log.text(case.to_toml())
        self._log.text(table_heading())
        self._files.open()
        self._series = Series(
            self._folder, self._columns(), self._attributes, resume_time=simulation.time if step else None,
            added=self._added,
        )  # fmt: skip
        self._files.add(self._series)
        self._progress = Progress(simulation.time, case.time.end, enabled=not self._quiet)
        self._next_log_step = 0

    def write_contacts(self) -> None:
        """Write all contacts, if the case requests them. Collective."""
        self._files.write_contacts()

    def _columns(self) -> list[tuple[str, ...]]:
        """Return names, units and types of all columns of the series."""
        driven = [(name, unit) for name, (_, unit) in driven_columns(self._simulation).items()]
        system = self._simulation.system
        residual = ["residual"] if self._has_ledger else []
        energies = [(name, "J") for name in (*terms_of_run(system), *residual)]
        return [
            *_FIRST_COLUMNS,
            *energies,
            *_LAST_COLUMNS,
            *load_columns(system.case),
            *fixed_columns(system.case),
            *driven,
            *(column for feature in features_of(system) for column in feature.columns(system)),
        ]

    def write_series_row(self, steps: int, seconds: float) -> None:
        """Measure, and write a row of the series; the last `steps` took `seconds` [s]. Collective."""
        simulation = self._simulation
        self._check_observed()
        measured = simulation.measures()
        self._loads = simulation.wall_loads()
        system = simulation.system
        line, values = SeriesLine(system, self._loads), dict[str, Any]()
        for feature in features_of(system):
            values |= feature.values(system, line)
        values |= fixed_values(system)
        rate = measured.particles * steps / seconds if seconds > 0 else 0.0
        self._files.agree(lambda: self._append(measured, rate, values))

    def _append(self, measured: Measures, rate: float, values: dict[str, Any]) -> None:
        """Append measured values to the series, the log and the terminal."""
        simulation, system = self._simulation, self._simulation.system
        for notice in system.progress.take_notices():
            self._log.text(notice)
        residual = measured.balance - simulation.first_balance if self._has_ledger else math.nan
        self._series.append(self._measured_row(measured, residual, rate) | self._row_of_parts() | values)
        self._show(measured, rate)
        self._log_row(measured, residual, rate)

    def _measured_row(self, measured: Measures, residual: float, rate: float) -> dict[str, Any]:
        """Return the series columns that are common to all runs."""
        simulation = self._simulation
        return {
            "step": simulation.step, "time": simulation.time, "particles": measured.particles,
            "pair_contacts": measured.pair_contacts, "wall_contacts": measured.wall_contacts,
            "contacts_per_particle": measured.contacts_per_particle,
            "largest_overlap": measured.largest_overlap, **measured.energies,
            **({"residual": residual} if self._has_ledger else {}),
            "detections": simulation.system.lists.detections, "particle_steps_per_second": rate,
        }  # fmt: skip

    def _row_of_parts(self) -> dict[str, Any]:
        """Return the series columns of walls."""
        driven = {name: value for name, (value, _) in driven_columns(self._simulation).items()}
        return load_values(self._simulation.case, self._loads) | driven

    def _check_observed(self) -> None:
        """Check that observers have the same columns as when the files were opened."""
        odd = set(self._observed) ^ set(observed(self._simulation.system).columns)
        if odd:
            raise InputError(
                f"the series was begun without the columns that observers have now ({', '.join(sorted(odd))}); call "
                "simulation.write after them"
            )

    def show_progress(self, steps: int, seconds: float) -> None:
        """Measure, and show the progress of the run; the last `steps` took `seconds` [s]. Collective."""
        measured = self._simulation.measures()
        if self._root:
            self._show(measured, measured.particles * steps / seconds if seconds > 0 else 0.0)

    def _show(self, measured: Measures, rate: float) -> None:
        simulation = self._simulation
        self._progress.update(
            simulation.time, measured.contacts_per_particle, measured.largest_overlap, measured.kinetic, rate,
            simulation.step,
        )  # fmt: skip

    def _log_row(self, measured: Measures, residual: float, rate: float) -> None:
        simulation = self._simulation
        steps = simulation.case.time.end / simulation.system.constants.time_step.dt
        exchange = simulation.system.exchange
        if simulation.step < self._next_log_step:
            return
        self._next_log_step = simulation.step + max(1, int(steps / _LOG_ROWS))
        left = steps - simulation.step
        self._log.row(
            {
                "step": simulation.step, "time": simulation.time, "particles": measured.particles,
                "contacts_per_particle": measured.contacts_per_particle,
                "largest_overlap": measured.largest_overlap, "kinetic_energy": measured.kinetic,
                "dissipated_energy": measured.dissipated, "ledger_residual": residual,
                "detections": simulation.system.lists.detections,
                "steps_per_second_per_core": rate / exchange.workers,
                **({"seconds_left": left * measured.particles / rate} if rate > 0 else {}),
            }
        )  # fmt: skip

    def write_snapshot(self) -> None:
        """Write a snapshot of particles, walls and bonds, and the files of features. Collective."""
        self._files.particles.write()
        self._files.bonds.write()
        self._files.walls.write()
        warn_of_thin_walls(self._simulation.system)
        for feature in features_of(self._simulation.system):
            feature.write(self._simulation.system, self._folder)

    def write_fields(self) -> None:
        """Write the continuum fields with averages that end at the present step."""
        self._files.fields.write()

    def write_present(self, *, checkpoint: bool) -> None:
        """Write a row of the series, a snapshot and optionally a checkpoint of the present step to disk. Collective."""
        if self._written_step != self._simulation.step:
            self._written_step = self._simulation.step
            self.write_series_row(0, 0.0)
            self.write_snapshot()
            self.write_contacts()
        self.flush()
        if checkpoint:
            self.write_state(local_groups(self._simulation.system))

    def begin_run(self, *, quiet: bool) -> None:
        """Continue with these open files in a run, which shows its progress unless `quiet`."""
        self._quiet = quiet
        if self._root and not quiet:
            self._log.show_warnings()
            self._progress = Progress(self._simulation.time, self._simulation.case.time.end)

    def write_state(self, local: Groups, *, begins: bool = False) -> Path:
        """Write a checkpoint of the state of all ranks; `local` is the state of this rank. Collective.

        `begins` marks the checkpoint as the initial state of the run in this folder.
        """
        counters = {**local["counters"], "balance": np.array(self._simulation.first_balance)}
        self.flush()  # a run that continues from this state does not write the earlier output again
        system = self._simulation.system
        tables, step = tables_of(system, {**local, "counters": counters}), int(counters["step"])
        length = system.constants.time_step.dt
        attributes = {**self._attributes, "time": step * length, "time_step": length}
        path, digests = self._checkpoints.write_tables(
            step, tables, attributes, system.exchange, begins=begins, no_state=OBSERVING
        )
        self._files.agree(lambda: record_digest(self._folder, step, digests.state))
        return path

    def has_stage(self, name: str) -> bool:
        """Return whether the final checkpoint of a stage exists. Collective."""
        kept = self._checkpoints.of_stage(name)
        return on_first_rank(self._simulation.system.exchange, kept.exists)

    def keep_stage(self, path: Path, name: str) -> None:
        """Store a checkpoint as the final checkpoint of a stage. Collective.

        Raises
        ------
        CheckpointError
            On all ranks, if the checkpoint cannot be stored.
        """
        self._files.agree(lambda: self._checkpoints.keep_as_stage(path, name))

    def flush(self) -> None:
        """Write buffered rows of the series, snapshots and log lines to disk. Collective.

        Raises
        ------
        CheckpointError
            On all ranks, if a file cannot be written.
        """
        self._files.flush()

    def note(self, text: str) -> None:
        """Write a line to the log."""
        if self._root:
            self._log.text(text)

    def report(self, text: str) -> None:
        """Show and log the final report of a run."""
        self._progress.close()
        self._log.text(text)
        if not self._quiet:
            OUTPUT.line(text)

    def __enter__(self) -> Self:
        """Return the outputs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all files; after an exception, further errors are ignored."""
        self.close(quietly=kind is not None)

    def close(self, *, quietly: bool = False) -> None:
        """Close all files, and release the lock on the folder if this object acquired it.

        Parameters
        ----------
        quietly : bool
            Ignore errors, because an earlier error is being handled.

        Raises
        ------
        CheckpointError
            If buffered rows, snapshots or lines cannot be written.
        """
        self._progress.close()
        self._files.close(quietly=quietly)
