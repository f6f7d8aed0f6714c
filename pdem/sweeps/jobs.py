"""Jobs of a sweep: its runs, and the shared beginnings (common first stages) that they start from."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.input_files import contents_of, files_in
from pdem.foundation.errors import CaseError, InputError
from pdem.output.checkpoints.checkpoint_folder import STAGE_PREFIX
from pdem.output.provenance import decisive_provenance
from pdem.output.saving import save_file
from pdem.preflight.before_stage import before_stage, digest_before
from pdem.replays.branch import check_shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pdem.case.model import Case

RUNS, BEGINNINGS = "runs", "beginnings"
"""Subfolders of the folder of a sweep."""

JOBS_FILE = "jobs.json"
"""Name of the file in the folder of a sweep that lists its jobs."""

_DIGITS = 16


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


@dataclass(frozen=True)
class Job:
    """A run of a sweep, or a beginning that several runs share.

    Attributes
    ----------
    name : str
        Name of the job, equal to its path in the folder of the sweep.
    text, directory : str
        Text of the case, and base folder of the paths in it.
    start : str
        State file to start from, relative to the folder of the sweep; empty to start from the initial state.
    until : str
        The job stops at the end of this stage; empty to run to the end of the case.
    after : str
        Name of the job that writes `start`; empty without `start`.
    """

    name: str
    text: str
    directory: str
    start: str = ""
    until: str = ""
    after: str = ""


def settings_of(values: Mapping[str, Any], keys: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the settings ``key=value`` of a case for the values of the varied quantities.

    Raises
    ------
    InputError
        If a value is of a type that a case file cannot have.
    """
    found = []
    for name, value in values.items():
        try:
            text = toml_value(value)
        except TypeError as error:
            raise InputError(f"{name}: {error}; give numbers, texts, lists or tables") from None
        found += [f"{key}={text}" for key in keys[name]]
    return found


def digest_of_run(case: Case, made_under: Mapping[str, str]) -> str:
    """Return a hexadecimal digest of everything that determines the results of a run, its folder excluded."""
    output = {key: value for key, value in case.output.model_dump().items() if key != "folder"}
    document = before_stage(case, len(case.stages)) | {
        "output": output, "limits": case.limits.model_dump(), "end": case.time.end,
        "sensors": [one.model_dump() for one in case.sensors],
    }  # fmt: skip
    files = contents_of(files_in(case, document))
    text = json.dumps([document, files, dict(made_under)], sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()[:_DIGITS]


def jobs_of(cases: Sequence[Case], at: str | None = None, there: Iterable[str] = ()) -> tuple[list[Job], list[str]]:
    """Return the jobs of a sweep, each beginning before its dependents, and the job name of each case.

    Parameters
    ----------
    cases : sequence of Case
        The cases of all runs.
    at : str, optional
        Stage that begins the differences: up to it, all cases with the same perturbation must agree.
    there : iterable of str
        Names of finished beginnings, which are used even for a single run.

    Raises
    ------
    CaseError
        If two cases differ before stage `at`.
    """
    made_under = decisive_provenance()
    if at is not None:
        _check_at(cases, at)
    names = [f"{RUNS}/{digest_of_run(case, made_under)}" for case in cases]
    unique = dict(zip(names, cases, strict=True))
    paths = {name: _path_of(case, at, made_under) for name, case in unique.items()}
    shared = _shared(paths) | set(there)
    jobs: dict[str, Job] = {}
    for name, case in unique.items():
        before = ("", "")  # name of a beginning, and its final state file
        for number, node in paths[name]:
            if node not in shared:
                continue
            stage = case.stages[number - 1].name
            if node not in jobs:
                jobs[node] = _job(node, case, before, stage)
            before = node, f"{node}/{STAGE_PREFIX}{stage}.h5"
        jobs[name] = _job(name, case, before, "")
    order = [one for one in jobs.values() if one.until] + [one for one in jobs.values() if not one.until]
    return order, names


def _job(name: str, case: Case, before: tuple[str, str], until: str) -> Job:
    return Job(name, case.to_toml(), str(case.directory.resolve()), before[1], until, before[0])


def _path_of(case: Case, at: str | None, made_under: dict[str, str]) -> list[tuple[int, str]]:
    """Return index and beginning name of each stage of a case except the first, or of stage `at` only."""
    names = [stage.name for stage in case.stages]
    numbers = range(1, len(names)) if at is None else [names.index(at)]
    return [(number, f"{BEGINNINGS}/{digest_before(case, number, made_under)[:_DIGITS]}") for number in numbers]


def _shared(paths: Mapping[str, list[tuple[int, str]]]) -> set[str]:
    """Return the beginnings with at least two different successors (runs or other beginnings)."""
    following: dict[str, set[str]] = defaultdict(set)
    for name, path in paths.items():
        nodes = [*(node for _, node in path), name]
        for node, after in pairwise(nodes):
            following[node].add(after)
    return {node for node, after in following.items() if len(after) > 1}


def _check_at(cases: Sequence[Case], at: str) -> None:
    """Check that all cases with the same perturbation agree before a stage."""
    first: dict[str, Case] = {}
    for case in cases:
        names = [stage.name for stage in case.stages]
        if at not in names[1:]:
            known = f"give one of {', '.join(names[1:])}" if names[1:] else "it has no two stages"
            raise CaseError(f"at = {at!r}: is no stage of the case that has one before it; {known}")
        one = first.setdefault(repr(case.perturbation), case)
        if one is not case:
            check_shared(one, case, at, f"at = {at!r}")


def write_jobs(base: Path, jobs: Sequence[Job]) -> None:
    """Write the list of jobs into the folder of a sweep.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    save_file(base / JOBS_FILE, json.dumps([asdict(job) for job in jobs]))


def read_jobs(base: Path) -> list[Job]:
    """Read the list of jobs from the folder of a sweep.

    Raises
    ------
    InputError
        If the folder has no valid list of jobs.
    """
    path = base / JOBS_FILE
    try:
        return [Job(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path}: no list of jobs ({error}); start with pdem sweep CASE") from None


def toml_value(value: Any) -> str:
    """Return a value as TOML, with inline tables.

    Raises
    ------
    TypeError
        If TOML has no type for the value.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        entries = (f"{key if _BARE_KEY.match(key) else _quoted(key)} = {toml_value(one)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return toml_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{value!r} is a {type(value).__name__}, which TOML does not have")


def _quoted(text: str) -> str:
    """Return a quoted TOML string: JSON's notation, with the one control character escaped that only JSON allows."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
