"""Data of a folder for a replay: checkpoints to start from, digests to compare with, and the case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.engine.ranks import group_of
from pdem.features.observers.observed import OBSERVED, OBSERVERS, ObservedState
from pdem.features.registry import OBSERVING
from pdem.foundation.errors import CheckpointError, InputError
from pdem.output.checkpoints.checkpoint import Checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.checkpoints.content_digest import read_digests
from pdem.output.series import read_series_head
from pdem.run.inputs import case_of, checkpoint_at
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.model import Case


@dataclass(frozen=True)
class Origin:
    """A run in an output folder, prepared for a replay.

    Attributes
    ----------
    folder : Path
        The output folder.
    checkpoints : dict of int to Path
        Readable checkpoints by step, in ascending order.
    digests : dict of int to str
        Available digests of the states of all checkpoints ever written, by step.
    written : dict of int to str
        Digests recorded by the run itself; a checkpoint altered afterwards has a different digest.
    step : float
        Time step [s].
    reached : int
        Last step with any output.
    begin : int
        First step: 0, unless the run continued from a state of a different folder.
    notes : tuple of str
        Checkpoints that are unreadable or contradictory.
    """

    folder: Path
    checkpoints: Mapping[int, Path]
    digests: Mapping[int, str]
    written: Mapping[int, str]
    step: float
    reached: int
    begin: int = 0
    notes: tuple[str, ...] = ()

    def before(self, step: int) -> int | None:
        """Return the step of the newest checkpoint at or before a step, None if there is none."""
        return max((one for one in self.checkpoints if one <= step), default=None)

    def proof_after(self, step: int) -> int | None:
        """Return the first step at or after `step` with a digest, None if there is none."""
        return min((one for one in self.digests if one >= step), default=None)

    def reader_after(self, step: int) -> CheckpointReader:
        """Return the checkpoint with the case of the steps after `step`: the next checkpoint, or else the newest."""
        later = [path for one, path in self.checkpoints.items() if one > step]
        return CheckpointReader(later[0] if later else self.checkpoints[max(self.checkpoints)])


def origin_of(folder: Path | str) -> Origin:
    """Collect the data of the run in a folder.

    Raises
    ------
    InputError
        If the path is no folder, or has no readable checkpoint.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name the output folder of a run")
    readers, notes = states_in(folder)
    if not readers:
        detail = f" ({'; '.join(notes)})" if notes else ""
        raise InputError(
            f"{folder}: holds no readable checkpoint{detail}; a replay needs one, be it only for the case: run it again"
        )
    written = read_digests(folder)
    digests = written | {step: reader.digest(OBSERVING) for step, reader in readers.items()}
    length = _length_of(next(iter(readers.values())).attributes, folder)
    rows = read_series_head(folder).last_time or 0.0
    reached = max(round(rows / length), *digests)
    return Origin(
        folder, {step: reader.path for step, reader in sorted(readers.items())}, dict(sorted(digests.items())), written,
        length, reached, CheckpointFolder(folder).begin, tuple(notes),
    )  # fmt: skip


def states_in(folder: Path) -> tuple[dict[int, CheckpointReader], list[str]]:
    """Return the readable states in a folder by step, and messages about unreadable or contradictory files."""
    readers, notes = dict[int, CheckpointReader](), list[str]()
    paths = CheckpointFolder(folder)
    for path in (*paths.of_stages(), *paths.paths()):
        try:
            reader = CheckpointReader(path)
        except CheckpointError as error:
            notes.append(str(error))
            continue
        step = int(str(reader.attributes["step"]))
        before = readers.get(step)
        if before is not None and before.digest(OBSERVING) != reader.digest(OBSERVING):
            notes.append(f"{path.name} and {before.path.name}, of the same step {step}, hold different states")
        readers[step] = reader
    return readers, notes


def case_in(reader: CheckpointReader) -> Case:
    """Return the case in a checkpoint, with its time step."""
    groups = reader.read(groups=("counters",))
    return case_of(Checkpoint(reader.path, groups, reader.attributes, reader.content))


def observers_in(reader: CheckpointReader) -> list[str]:
    """Return the names of the observers of the run that wrote a checkpoint."""
    if OBSERVERS not in reader.layout:
        return []
    return list(ObservedState.of(reader.read(groups=(OBSERVERS, OBSERVED))).last)


def begun(case: Case, start: Path | None, comm: Any, threads: int | None) -> Simulation:
    """Return a simulation of a case, from a checkpoint or from its initial state. Collective."""
    if start is None:
        return Simulation(case, comm, threads=threads)
    return Simulation(case, comm, threads=threads, state=checkpoint_at(start, group_of(comm)).groups)


def _length_of(attributes: Mapping[str, Any], folder: Path) -> float:
    """Return the time step [s] stored in a checkpoint."""
    if "time_step" not in attributes:
        raise InputError(
            f"{folder}: its checkpoints are of a version that did not store the time step; go on from one by pdem "
            "restart, the next one has it"
        )
    return float(attributes["time_step"])
