"""What a folder holds of a run that is to be replayed: checkpoints to begin from, digests to compare with, the case."""

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
    """A run in a folder, as it can be replayed.

    Attributes
    ----------
    folder : Path
        Where it is.
    checkpoints : dict of int to Path
        Readable ones by step, in ascending order.
    digests : dict of int to str
        Of the states of all checkpoints that were ever written, by step, as far as they are known.
    written : dict of int to str
        The same as the run wrote them down: not what a checkpoint holds that was altered afterwards.
    step : float
        Time step [s].
    reached : int
        Last step of which there is something.
    begin : int
        Step at which it begins: 0, unless it went on from a state of another folder.
    notes : tuple of str
        Checkpoints that cannot be read, or contradict each other.
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
        """Return the step of the newest checkpoint that is not after a step, None if the run's begin is nearer."""
        return max((one for one in self.checkpoints if one <= step), default=None)

    def proof_after(self, step: int) -> int | None:
        """Return the first step, not before this one, of which the digest is known; None if there is none."""
        return min((one for one in self.digests if one >= step), default=None)

    def reader_after(self, step: int) -> CheckpointReader:
        """Return the checkpoint whose case ruled the steps behind `step`: the next one, or else the newest."""
        later = [path for one, path in self.checkpoints.items() if one > step]
        return CheckpointReader(later[0] if later else self.checkpoints[max(self.checkpoints)])


def origin_of(folder: Path | str) -> Origin:
    """Return what a folder holds of a run.

    Raises
    ------
    InputError
        If it is no folder, or has no readable checkpoint.
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
    """Return the readable states in a folder by step, and what is wrong with others, or contradicts itself."""
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
    """Return a simulation of a case from a checkpoint, or from its begin. Collective."""
    if start is None:
        return Simulation(case, comm, threads=threads)
    return Simulation(case, comm, threads=threads, state=checkpoint_at(start, group_of(comm)).groups)


def _length_of(attributes: Mapping[str, Any], folder: Path) -> float:
    """Return the time step [s] that is stored in a checkpoint."""
    if "time_step" not in attributes:
        raise InputError(
            f"{folder}: its checkpoints are of a version that did not store the time step; go on from one by pdem "
            "restart, the next one has it"
        )
    return float(attributes["time_step"])
