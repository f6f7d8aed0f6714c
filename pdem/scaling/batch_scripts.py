"""Batch scripts for Slurm, made from templates for ``pdem slurm``."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from pdem.case.model import Case
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KINDS = ("mpi", "hybrid", "strong", "weak", "requeue")
"""Kinds of batch scripts: one rank per core; ranks with threads; strong scaling; weak scaling; a chain of jobs."""

_TIME = re.compile(r"(?:(?P<days>\d+)-)?(?P<first>\d+)(?::(?P<second>\d+))?(?::(?P<third>\d+))?")
_RANKS_IN_BRACES = re.compile(r"\{(?:(?P<factor>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?) ?\* ?)?ranks\}")


@dataclass(frozen=True)
class BatchJob:
    """Resources that a job requests from Slurm.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    nodes, tasks, threads : int
        Number of nodes, number of ranks on all nodes together, and number of threads per rank.
    time : str
        Time limit of a job in the format of Slurm, such as ``12:00:00`` or ``2-00``.
    warning : int
        For ``requeue``: seconds before the end at which the ranks receive the signal to write a checkpoint.
    """

    kind: str
    nodes: int
    tasks: int
    threads: int
    time: str
    warning: int = 300

    def check(self) -> None:
        """Check that Slurm accepts the counts and times, and that they fit the kind of the job.

        Raises
        ------
        InputError
            With the option, its limit and the remedy.
        """
        if self.kind not in KINDS:
            raise InputError(f"--kind {self.kind}: there is no such batch script; give one of {', '.join(KINDS)}")
        for option, count in (("nodes", self.nodes), ("tasks", self.tasks), ("threads", self.threads)):
            if count < 1:
                raise InputError(f"--{option} {count}: must be at least 1")
        if self.tasks % self.nodes:
            raise InputError(
                f"--tasks {self.tasks} on --nodes {self.nodes}: nodes would have different numbers of ranks; "
                f"give a multiple of {self.nodes}, such as {-(-self.tasks // self.nodes) * self.nodes}"
            )
        self._check_kind()

    def _check_kind(self) -> None:
        seconds = seconds_of(self.time)
        if self.kind == "mpi" and self.threads > 1:
            raise InputError(f"--kind mpi has one thread per rank and --threads is {self.threads}; give --kind hybrid")
        if self.kind == "hybrid" and self.threads < 2:
            raise InputError("--kind hybrid has at least 2 threads per rank and --threads is 1; give --kind mpi")
        if self.kind in ("strong", "weak") and self.tasks < 2:
            raise InputError(f"--kind {self.kind} compares numbers of ranks and --tasks is 1; give at least 2")
        if self.kind == "requeue" and not 1 <= self.warning < seconds:
            raise InputError(
                f"--warning {self.warning} s: must be at least 1 and less than --time, {seconds} s; a job needs time "
                "to begin before its warning, and to write a checkpoint after it"
            )

    def rank_counts(self) -> list[int]:
        """Return the numbers of ranks of a scaling series: doubled within a node, then on 1, 2, 4, ... full nodes."""
        on_node = self.tasks // self.nodes
        return [*_doubled_counts(on_node), *(on_node * nodes for nodes in _doubled_counts(self.nodes) if nodes > 1)]


def _doubled_counts(last: int) -> list[int]:
    """Return 1, 2, 4, ... below `last`, and `last`."""
    return [2**power for power in range((last - 1).bit_length())] + [last]


def seconds_of(time: str) -> int:
    """Return the time limit in seconds, from the format of Slurm.

    Raises
    ------
    InputError
        If the text is not a time limit, or the limit is zero.
    """
    match = _TIME.fullmatch(time)
    if match is None:
        raise InputError(
            f"--time {time}: not a time limit; give minutes, hours:minutes:seconds or days-hours, such as 12:00:00"
        )
    numbers = [int(match[name]) for name in ("first", "second", "third") if match[name] is not None]
    if match["days"] is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    total = ((int(match["days"] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 1:
        raise InputError(f"--time {time}: no time at all; Slurm would take it for unlimited, give at least 1 minute")
    return total


def batch_script(path: str | Path, job: BatchJob, settings: Sequence[str] = ()) -> str:
    """Return a batch script that runs a case.

    Parameters
    ----------
    path : path
        Case file, relative to the folder in which the script will be submitted.
    job : BatchJob
        Resources and kind of the script.
    settings : sequence of str
        Changes of the case, ``key=value``. For ``weak``, ``{ranks}`` in a value is replaced by the number of ranks, and
        ``{0.1*ranks}`` by its multiple.

    Raises
    ------
    InputError
        If counts, times and kind of the job are not consistent.
    CaseError
        If the case with these changes is not valid.
    """
    job.check()
    with_ranks = settings_with_ranks(settings)
    if with_ranks and job.kind != "weak":
        raise InputError(f"--set {with_ranks[0]}: only a case of --kind weak grows with the ranks; give a number")
    if job.kind == "weak" and not with_ranks:
        raise InputError(
            "--kind weak needs something that grows with the ranks, such as "
            "--set 'domain.upper=[0.1, 0.1, {0.1*ranks}]'; for one case on more and more ranks give --kind strong"
        )
    constant = [text for text in settings if text not in with_ranks]
    grown = {ranks: [setting_for_ranks(text, ranks) for text in with_ranks] for ranks in job.rank_counts()}
    folders = [_folder(path, [*constant, *changes]) for changes in (grown.values() if with_ranks else [[]])]
    values = _values(Path(path), job, constant, folders[0])
    values["grown"] = "\n".join(f"{ranks}) settings=({_options(changes)}) ;;" for ranks, changes in grown.items())
    return template_text(job.kind, values)


def template_text(name: str, values: Mapping[str, str]) -> str:
    """Return a batch script from a template; all scripts share the part that starts the ranks."""
    launch = _read_template("launch.part").rstrip("\n")
    return _ScriptTemplate(_read_template(f"{name}.sbatch")).substitute({"launch": launch, **values})


class _ScriptTemplate(Template):
    """Template with placeholders ``%%name``, because the shell uses ``$`` and Slurm uses ``%``."""

    delimiter = "%%"


def _read_template(name: str) -> str:
    return (resources.files("pdem.scaling") / "batch" / name).read_text(encoding="utf-8")


def _values(path: Path, job: BatchJob, constant: Sequence[str], folder: str) -> dict[str, str]:
    """Return the values of the placeholders."""
    counts, on_node = job.rank_counts(), job.tasks // job.nodes
    arguments = " ".join(word for word in (shlex.quote(str(path)), _options(constant)) if word)
    return {
        "name": re.sub(r"[^\w.+-]", "_", path.stem), "nodes": str(job.nodes), "tasks_per_node": str(on_node),
        "threads": str(job.threads), "time": job.time, "warning": str(job.warning),
        "arguments": arguments, "folder": shlex.quote(folder),
        "last": str(len(counts) - 1), "last_on_one_node": str(counts.index(on_node)),
        "all_ranks": " ".join(map(str, counts)),
        "all_nodes": " ".join(str(-(-ranks // on_node)) for ranks in counts),
    }  # fmt: skip


def _options(settings: Sequence[str]) -> str:
    return " ".join(f"--set {shlex.quote(text)}" for text in settings)


def settings_with_ranks(settings: Sequence[str]) -> list[str]:
    """Return the settings with a placeholder for the number of ranks, ``{ranks}`` or ``{0.1*ranks}``."""
    return [text for text in settings if _RANKS_IN_BRACES.search(text)]


def setting_for_ranks(text: str, ranks: int) -> str:
    """Return a setting with its placeholder replaced by the number of ranks or its multiple."""
    return _RANKS_IN_BRACES.sub(lambda match: str(Decimal(match["factor"] or "1") * ranks), text)


def _folder(path: str | Path, settings: Sequence[str]) -> str:
    """Return the output folder of a case after a check of the case."""
    case = Case.read(path)
    for assignment in settings:
        case.override(assignment)
    return case.output.folder
