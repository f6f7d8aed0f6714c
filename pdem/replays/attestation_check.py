"""Verification of an attestation: its own digest, the digests of its files, and intervals computed again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.engine.ranks import on_first
from pdem.features.registry import OBSERVING
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import CaseError, InputError
from pdem.foundation.texts import read_text
from pdem.output.provenance import changes_since
from pdem.output.saving import reason
from pdem.replays.attestation import (
    FORMAT,
    KIND,
    SEAL,
    Again,
    chosen_intervals,
    computed_again,
    described,
    intervals_of,
    seal_of,
)
from pdem.replays.origin import Origin, states_in
from pdem.replays.run_again import Ranks, RunAgain, RunRecipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Document = dict[str, Any]

_KEYS = {
    "case": str, "inputs": dict, "inputs_in": str, "made_under": dict, "time_step": float, "begin": int, "reached": int,
    "states": dict, "data": dict, "date": str, "title": str, "particles": int,
}  # fmt: skip
"""Required keys of the file, with the types of their values."""


@dataclass(frozen=True)
class Files:
    """Comparison of attested files with the files present.

    Attributes
    ----------
    same, changed, missing : tuple of str
        Names of the files.
    """

    same: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the number of files that agree, and the names of changed and missing files."""
        parts = [f"{len(self.same)} as attested"]
        parts += [f"CHANGED: {', '.join(self.changed)}"] if self.changed else []
        parts += [f"not here: {', '.join(self.missing)}"] if self.missing else []
        return "; ".join(parts)


@dataclass(frozen=True)
class Verification:
    """The outcome of the verification of an attestation.

    Attributes
    ----------
    head : str
        Description of the attested run.
    data, inputs : Files
        Results beside the attestation file, and input files of the case.
    again : tuple of Again
        The intervals computed again.
    notes : tuple of str
        Checkpoints with states that differ from the attested states.
    change : str
        Differences of versions and processor from the attested run; empty if there are none.
    """

    head: str
    data: Files
    inputs: Files
    again: tuple[Again, ...]
    notes: tuple[str, ...] = ()
    change: str = ""

    @property
    def verified(self) -> bool:
        """Whether no file has changed, and all intervals computed again agree with the run, bit for bit."""
        return not (self.data.changed or self.inputs.changed or self.notes) and all(one.same for one in self.again)

    def __str__(self) -> str:
        """Return the comparisons and the verdict as lines of text."""
        lines = [self.head, f"data: {self.data}", f"inputs: {self.inputs}", *map(str, self.again), *self.notes]
        if self.change:
            lines.append(f"made under {self.change}: bits may differ here, the motion is as valid")
        return "\n".join([*lines, self._verdict()])

    def _verdict(self) -> str:
        if self.verified:
            return "verified"
        files = self.data.changed or self.inputs.changed or self.notes
        if self.change and not files:
            return "not decided: other bits, under other versions or on another processor; use those of the run"
        return "NOT verified"


def verify_attestation(
    path: Path | str,
    *,
    inputs: Path | str | None = None,
    intervals: int = 1,
    observers: Sequence[Callable[..., Any]] = (),
    comm: Any = None,
    threads: int | None = None,
) -> Verification:
    """Verify an attestation: compare its files, and compute random intervals again. Collective.

    An interval starts from a checkpoint beside the file that has an attested state, or from the begin of the case, and
    ends at the next attested state.

    Parameters
    ----------
    path : path
        The attestation file.
    inputs : path, optional
        Folder to which paths in the case are relative; by default their folder relative to the output folder at the
        time of attestation, or the folder of the attestation file.
    intervals : int
        Number of intervals.
    observers, comm, threads
        As for `attest`.

    Raises
    ------
    InputError
        If the file cannot be read or was altered, or a required input file is missing.
    """
    number = whole_number("intervals", intervals, 1)
    folder = Path(path).parent
    document = on_first(comm, lambda: read_attestation(path))
    base = on_first(comm, lambda: _inputs_of(document, folder, inputs))
    files = on_first(comm, lambda: compared(document["inputs"], base))
    data = on_first(comm, lambda: compared(document["data"], folder))
    change = changes_since(document["made_under"], word="here")
    head = _head(document)
    if files.changed:
        return Verification(head, data, files, (), (), change)
    on_first(comm, lambda: _require_inputs(files, base))
    origin = on_first(comm, lambda: attested_origin(document, folder))
    chosen = on_first(comm, lambda: chosen_intervals(intervals_of(origin), number, str(path)))
    again = []
    for begin, end in chosen:
        file = origin.checkpoints.get(begin)
        recipe = RunRecipe(document["case"], str(base), begin, file, max(origin.digests), change, ())
        again.append(computed_again(RunAgain(origin, Ranks(comm, threads), recipe, observers), end))
    return Verification(head, data, files, tuple(again), origin.notes, change)


def read_attestation(path: Path | str) -> Document:
    """Read the document in an attestation file.

    Raises
    ------
    InputError
        If the file cannot be read, is no attestation, or was altered.
    """
    try:
        document = json.loads(read_text(Path(path)))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason(error)}); pdem attest OUTPUT writes such a file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no attestation ({reason(error)}); pdem attest OUTPUT writes one") from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InputError(f"{path}: is no attestation; pdem attest OUTPUT writes one")
    if document.get("format") != FORMAT:
        raise InputError(f"{path}: has format {document.get('format')!r}; this version of pdem reads {FORMAT}")
    if document.get(SEAL) != seal_of(document):
        raise InputError(f"{path}: was altered after it had been written: its digest is another one")
    odd = [key for key, kind in _KEYS.items() if not isinstance(document.get(key), kind)]
    if odd or not all(step.isdecimal() for step in document["states"]):
        raise InputError(f"{path}: lacks {', '.join(odd) or 'steps of states'}; it was not written by pdem attest")
    return document


def _head(document: Document) -> str:
    title, under = document["title"] or "a run", document["made_under"]
    end = document["reached"] * document["time_step"]
    return (
        f"{title}: {document['particles']} particles, {document['reached']} steps to {end:.9g} s; attested "
        f"{document['date']}, made with pdem {under.get('pdem', '?')} (sources {under.get('sources', '?')}) on "
        f"{under.get('processor', '?')}"
    )


def _inputs_of(document: Document, folder: Path, given: Path | str | None) -> Path:
    """Return the folder with the input files of the case."""
    if given is not None:
        return Path(given)
    places = [Path(os.path.normpath(folder / document["inputs_in"])), folder]
    counts = [sum((place / name).is_file() for name in document["inputs"]) for place in places]
    return places[counts.index(max(counts))]


def compared(attested: Mapping[str, Any], base: Path) -> Files:
    """Compare files below a folder with their attested sizes and digests."""
    here = [name for name in attested if (base / name).is_file()]
    found = described([base / name for name in here], base)
    by_name = dict(zip(here, found.values(), strict=True))
    same = tuple(name for name in here if by_name[name] == attested[name])
    changed = tuple(name for name in here if by_name[name] != attested[name])
    return Files(same, changed, tuple(name for name in attested if name not in here))


def _require_inputs(files: Files, base: Path) -> None:
    if files.missing:
        raise InputError(
            f"{base}: the case needs {', '.join(files.missing)}, and nothing can be computed without; name the folder "
            "that it is in by --inputs"
        )


def attested_origin(document: Document, folder: Path) -> Origin:
    """Return the run of an attestation, with the checkpoints beside the file that have attested states.

    Raises
    ------
    InputError
        If the attested case is not valid in this version of pdem.
    """
    try:
        Case.from_text(document["case"])
    except CaseError as error:
        raise InputError(f"the attested case is none of this version of pdem: {error}") from None
    states = {int(step): str(digest) for step, digest in document["states"].items()}
    there = {step: reader for step, reader in states_in(folder)[0].items() if step in states}
    changed = {step: reader for step, reader in there.items() if reader.digest(OBSERVING) != states[step]}
    good = {step: reader.path for step, reader in there.items() if step not in changed}
    bad = tuple(f"{one.path.name}: CHANGED: holds another state than that attested" for one in changed.values())
    return Origin(folder, good, states, states, document["time_step"], document["reached"], document["begin"], bad)
