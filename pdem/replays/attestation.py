"""Attestation of a run: digests of its case, inputs, states and data, and intervals computed again as proof."""

from __future__ import annotations

import hashlib
import json
import os
import random
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.differences import differences_text, physical_differences
from pdem.case.input_files import input_files
from pdem.engine.ranks import on_first
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import InputError
from pdem.foundation.files import write_file
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.provenance import PROVENANCE_LABELS, changes_since, provenance
from pdem.output.run_folder import data_files
from pdem.output.saving import reason, saving
from pdem.replays.origin import case_in, origin_of
from pdem.replays.run_again import Ranks, RunAgain, RunRecipe
from pdem.run.files.folder_use import UserCommands
from pdem.run.files.output_folder import is_same_folder, writing_into

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pdem.replays.origin import Origin

    Interval = tuple[int, int]
    Document = dict[str, Any]

ATTEST_FILE = "attest.json"
"""Default name of the attestation file, in the output folder of the run."""

_ATTESTING = UserCommands("", "", "--output FILE")

KIND, FORMAT = "pdem attestation", 1
SEAL = "digest"
"""Key of the digest of all other entries."""


@dataclass(frozen=True)
class Again:
    """An interval of a run that was computed again.

    Attributes
    ----------
    begin, end : int
        First and last step.
    same : bool
        Whether the state at `end` has the digest of the original run.
    problem : str
        Reason of a failure other than different bits, such as a blow-up.
    """

    begin: int
    end: int
    same: bool
    problem: str = ""

    def __str__(self) -> str:
        """Return the interval and its outcome in words."""
        found = "the same state, bit for bit" if self.same else self.problem or "another state"
        return f"computed again from step {self.begin} to step {self.end}: {found}"


@dataclass(frozen=True)
class Attestation:
    """The outcome of an attempt to attest a run.

    Attributes
    ----------
    path : Path
        The attestation file, which exists if `attested`.
    again : tuple of Again
        The intervals computed again.
    notes : tuple of str
        Remarks, such as other versions or changes of the case.
    """

    path: Path
    again: tuple[Again, ...]
    notes: tuple[str, ...] = ()

    @property
    def attested(self) -> bool:
        """Whether all intervals computed again agree with the run, bit for bit."""
        return all(one.same for one in self.again)

    def __str__(self) -> str:
        """Return the intervals, the remarks and the file as lines of text."""
        end = f"attested in {self.path}" if self.attested else "NOT attested: what is computed here is not the run"
        return "\n".join([*map(str, self.again), *self.notes, end])


def attest(
    folder: Path | str,
    *,
    output: Path | str | None = None,
    intervals: int = 1,
    observers: Sequence[Callable[..., Any]] = (),
    comm: Any = None,
    threads: int | None = None,
) -> Attestation:
    """Compute random intervals of a finished run again and, if they agree, write an attestation file. Collective.

    The file contains the case, digests of its input files, of the states and of the data, and the versions and
    processor. It is published beside the data of a paper; `verify_attestation` checks it.

    Parameters
    ----------
    folder : path
        Output folder of the run; it is not changed.
    output : path, optional
        The attestation file; by default ``attest.json`` in the folder.
    intervals : int
        Number of intervals, each from a stored state to the next state with a digest. They are drawn at random, with
        probabilities proportional to their lengths.
    observers : sequence of callable
        The observers of the run that wrote to particles.
    comm, threads
        As for `pdem.Simulation`.

    Raises
    ------
    InputError
        If the folder has no interval that can be computed again, the file cannot be written, or the run is still
        writing into the folder of the file.
    """
    number = whole_number("intervals", intervals, 1)
    path = Path(folder) / ATTEST_FILE if output is None else Path(output)
    beside = on_first(comm, lambda: is_same_folder(path.parent, folder))
    with writing_into(folder, comm, _ATTESTING) if beside else nullcontext():
        return _attest(folder, path, number, Ranks(comm, threads), observers)


def _attest(
    folder: Path | str, path: Path, number: int, ranks: Ranks, observers: Sequence[Callable[..., Any]]
) -> Attestation:
    comm = ranks.comm
    origin = on_first(comm, lambda: origin_of(folder))
    chosen = on_first(comm, lambda: chosen_intervals(intervals_of(origin), number, str(folder)))
    again = [_again(origin, one, ranks, observers) for one in chosen]
    done = Attestation(path, tuple(again), on_first(comm, lambda: _notes(origin)))
    if done.attested:
        on_first(comm, lambda: _write(path, document_of(origin, again, ranks)))
    return done


def _again(origin: Origin, interval: Interval, ranks: Ranks, observers: Sequence[Any]) -> Again:
    begin, end = interval
    recipe = on_first(ranks.comm, lambda: RunRecipe.of(origin, begin))
    return computed_again(RunAgain(origin, ranks, recipe, observers), end)


def intervals_of(origin: Origin) -> list[Interval]:
    """Return the intervals of a run that can be verified: from each stored state to the next step with a digest."""
    starts = {*origin.checkpoints, *((0,) if origin.begin == 0 else ())}
    found = ((start, origin.proof_after(start + 1)) for start in sorted(starts))
    return [(start, end) for start, end in found if end is not None]


def chosen_intervals(intervals: Sequence[Interval], number: int, where: str) -> list[Interval]:
    """Return `number` random intervals in ascending order, longer intervals with higher probability; or all of them.

    Raises
    ------
    InputError
        If there is no interval.
    """
    if not intervals:
        raise InputError(
            f"{where}: there is no state from which a later one that is known could be computed again; "
            "a run needs two checkpoints, or one and its begin"
        )
    draw, left = random.SystemRandom(), list(intervals)
    found: list[Interval] = []
    while left and len(found) < number:
        one = draw.choices(left, [end - begin for begin, end in left])[0]
        left.remove(one)
        found.append(one)
    return sorted(found)


def computed_again(run: RunAgain, end: int) -> Again:
    """Compute a run from its present state to a step with a digest, and compare the digests. Collective."""
    begin = run.step
    if not run.advance_to(end):
        return Again(begin, end, same=False, problem=f"blew up: {run.blow_up}")
    run.check()
    return Again(begin, end, same=end in run.same)


def _notes(origin: Origin) -> tuple[str, ...]:
    reader = origin.reader_after(origin.reached)
    notes = list(origin.notes)
    if changes := changes_since(reader.attributes):
        notes.append(f"the run was made under {changes}: bits may differ, the motion is as valid")
    if changed := cases_differ(origin):
        notes.append(f"the run continued with a different case: {changed}; the file has the last one")
    return tuple(notes)


def cases_differ(origin: Origin) -> str:
    """Return the differences between the cases of the first and the last state of a folder, empty if there are none."""
    paths = list(origin.checkpoints.values())
    first, last = (case_in(CheckpointReader(path)) for path in (paths[0], paths[-1]))
    changed = physical_differences(first, last)
    return differences_text(changed) if changed else ""


def document_of(origin: Origin, again: Sequence[Again], ranks: Ranks) -> Document:
    """Return the content of the attestation file of a run."""
    reader = origin.reader_after(origin.reached)
    case, attributes = case_in(reader), reader.attributes
    inputs = {str(path.resolve()): path for path in input_files(case).values()}
    document = {
        "kind": KIND, "format": FORMAT, "title": case.title, "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "case": case.to_toml(), "inputs": described(inputs.values(), case.directory),
        "inputs_in": os.path.relpath(case.directory.resolve(), origin.folder.resolve()),
        "made_under": {key: str(attributes[key]) for key in PROVENANCE_LABELS if key in attributes},
        "time_step": origin.step, "begin": origin.begin, "reached": origin.reached,
        "particles": int(reader.layout["particles"]["id"].shape[0]),
        "states": {str(step): digest for step, digest in {**origin.digests, **origin.written}.items()},
        "data": described(data_files(origin.folder), origin.folder),
        "again": [
            {"from": one.begin, "to": one.end, "ranks": 1 if ranks.comm is None else ranks.comm.size} for one in again
        ],
        "again_under": provenance(),
    }  # fmt: skip
    return document | {SEAL: seal_of(document)}


def described(paths: Iterable[Path], base: Path) -> dict[str, dict[str, Any]]:
    """Return size and SHA-256 of files, by path relative to a folder.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    found = {}
    for path in paths:
        try:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            name = os.path.relpath(path.resolve(), base.resolve())
            found[name] = {"bytes": path.stat().st_size, "sha256": content}
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({reason(error)}), and an attestation names it") from None
    return found


def seal_of(document: Mapping[str, Any]) -> str:
    """Return the digest (SHA-256, hexadecimal) of all entries of a file except the entry of the digest itself."""
    others = {key: value for key, value in document.items() if key != SEAL}
    return hashlib.sha256(json.dumps(others, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _write(path: Path, document: Document) -> None:
    with saving(path, "name another file by --output"):
        write_file(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
