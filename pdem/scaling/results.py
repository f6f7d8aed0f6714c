"""Result files of measured runs: medians of repeats, speed-up and efficiency."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median_low
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.foundation.files import write_file
from pdem.scaling.measure import FORMAT, GROUPS

if TYPE_CHECKING:
    from collections.abc import Sequence

RUN_FILES = "run-*.json"
PLAN_FILE = "plan.json"
REHEARSAL_FILE = "rehearsal.json"
SERIES_FILE = "series.json"
REPORTED_GROUPS = tuple(group for group in GROUPS if group != "output")

_REQUIRED_KEYS = (
    "case", "weak", "ranks", "threads", "steps", "seconds_per_step", "particles", "pair_contacts", "wall_contacts",
    "phases", "imbalance", "radii", "start", "end", "output_seconds", "environment", "detections_per_1000_steps",
)  # fmt: skip


def run_file(folder: Path, ranks: int, threads: int, repeat: int) -> Path:
    """Return the path of the file for one measured run."""
    return folder / f"run-{ranks:05d}x{threads:03d}-{repeat:02d}.json"


def prepare_folder(folder: Path, kind: dict[str, Any]) -> None:
    """Create a folder for runs with the same options, or check that its existing runs have these options.

    Parameters
    ----------
    folder : Path
        Folder for results.
    kind : dict
        Options that all runs in the folder share: strings, numbers and lists.

    Raises
    ------
    InputError
        If the folder contains runs with other options, or cannot be written.
    """
    path = folder / SERIES_FILE
    text = json.dumps(kind, indent=1) + "\n"
    try:
        if path.exists():
            existing = path.read_text(encoding="utf-8")
            if existing != text:
                raise InputError(
                    f"{folder}: holds runs of another kind ({' '.join(existing.split())}); give another --output"
                )
            return
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, text)
    except OSError as error:
        raise InputError(f"{folder}: cannot be used ({error.strerror}); give another --output") from None


@dataclass(frozen=True)
class ScalingPoint:
    """All repeats of one combination of ranks and threads.

    Attributes
    ----------
    ranks, threads : int
        Number of ranks, and number of threads per rank.
    particles : int
        Number of particles after the last step.
    seconds : tuple of float
        Elapsed time per step in each repeat, sorted [s].
    phases : dict of dict of float
        Seconds per step of each group in the median repeat: ``min``, ``mean`` and ``max`` over the ranks.
    imbalance : float
        Largest compute time of a rank over the mean, in the median repeat.
    ghosts : tuple of float
        Ghosts per particle of each size at the end.
    radii : tuple of float
        Largest radius of each size [m].
    sent : tuple of float
        Bytes sent per step and rank: mean and maximum.
    neighbours : tuple of float
        Messages sent per step and rank: mean and maximum.
    contacts : float
        Contacts per particle.
    detections : float
        Detections per 1000 steps.
    output : dict of float
        Time of one output [s], ``min``, ``mean`` and ``max`` over the ranks.
    """

    ranks: int
    threads: int
    particles: int
    seconds: tuple[float, ...]
    phases: dict[str, dict[str, float]]
    imbalance: float
    ghosts: tuple[float, ...]
    radii: tuple[float, ...]
    sent: tuple[float, float]
    neighbours: tuple[float, float]
    contacts: float
    detections: float
    output: dict[str, float]

    @property
    def cores(self) -> int:
        """Total number of threads of all ranks."""
        return self.ranks * self.threads

    @property
    def time(self) -> float:
        """Median time of a step [s], the lower of both middle values."""
        return median_low(self.seconds)

    @property
    def rate(self) -> float:
        """Particle-steps per second."""
        return self.particles / self.time


@dataclass(frozen=True)
class ScalingResults:
    """All measured runs of a folder.

    Attributes
    ----------
    case : str
        Name of the case.
    weak : bool
        Whether the case grows with the ranks.
    points : list of ScalingPoint
        Points ordered by ranks, then threads.
    steps : int
        Number of timed steps.
    environment : dict of str
        Processor and versions.
    """

    case: str
    weak: bool
    points: list[ScalingPoint]
    steps: int
    environment: dict[str, str]

    @property
    def base(self) -> ScalingPoint:
        """The point with the fewest cores, the reference for speed-up and efficiency."""
        return min(self.points, key=lambda point: (point.cores, point.ranks))

    def speed_up(self, point: ScalingPoint) -> float:
        """Return the particle-steps per second relative to the base."""
        return point.rate / self.base.rate

    def efficiency(self, point: ScalingPoint) -> float:
        """Return the speed-up divided by the ratio of the cores."""
        return self.speed_up(point) * self.base.cores / point.cores

    def series(self) -> dict[int, list[ScalingPoint]]:
        """Return the points grouped by number of threads."""
        threads = sorted({point.threads for point in self.points})
        return {count: [point for point in self.points if point.threads == count] for count in threads}


def has_results(folder: Path) -> bool:
    """Return whether a folder has measured runs."""
    return any(folder.glob(RUN_FILES))


def read_results(folder: Path) -> ScalingResults:
    """Read all measured runs of a folder.

    Raises
    ------
    InputError
        If the folder does not exist or has no runs, a file is damaged, or its runs are of different cases.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one that pdem scaling run has written")
    runs = [_read(path) for path in sorted(folder.glob(RUN_FILES))]
    if not runs:
        raise InputError(f"{folder}: holds no results ({RUN_FILES}); pdem scaling run writes them")
    kinds = {(run["case"], run["weak"], run["steps"]) for run in runs}
    if len(kinds) > 1:
        shown = ", ".join(f"{case}{' (weak)' if weak else ''} {steps} steps" for case, weak, steps in sorted(kinds))
        raise InputError(f"{folder}: holds runs that cannot be compared: {shown}; keep each in a folder of its own")
    case, weak, steps = kinds.pop()
    keys = sorted({(run["ranks"], run["threads"]) for run in runs})
    points = [_median_point([run for run in runs if (run["ranks"], run["threads"]) == key]) for key in keys]
    return ScalingResults(case, weak, points, steps, runs[0]["environment"])


def with_measured_ranks(folder: Path, case: str, weak: bool, threads: int, ranks: Sequence[int]) -> list[int]:
    """Return `ranks` merged with the numbers of ranks of measured runs of the same case in a folder, sorted.

    Raises
    ------
    InputError
        If the file of a run is damaged.
    """
    if not has_results(folder):
        return list(ranks)
    results = read_results(folder)
    same = (results.case, results.weak) == (case, weak)
    measured = {point.ranks for point in results.points if same and point.threads == threads}
    return sorted(measured | set(ranks))


def _read(path: Path) -> dict[str, Any]:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no result of a run ({error}); remove it, or measure again") from None
    missing = [key for key in _REQUIRED_KEYS if not isinstance(run, dict) or key not in run]
    if missing or run.get("format") != FORMAT:
        what = f"has no {missing[0]!r}" if missing else f"is of format {run.get('format')}, not {FORMAT}"
        raise InputError(f"{path}: {what}; remove it, or measure again")
    seconds = run["seconds_per_step"]
    if not isinstance(seconds, int | float) or not (math.isfinite(seconds) and seconds > 0.0):
        raise InputError(f"{path}: seconds_per_step is {seconds}, not a positive time; measure again")
    return run


def _median_point(runs: Sequence[dict[str, Any]]) -> ScalingPoint:
    """Return the point for repeats of the same run; all values except `seconds` are from the median repeat."""
    by_time = sorted(runs, key=lambda run: run["seconds_per_step"])
    run = by_time[(len(by_time) - 1) // 2]
    end, particles = run["end"], max(run["particles"], 1)
    ghosts = [sum(column) / particles for column in zip(*end["ghosts"], strict=True)]
    return ScalingPoint(
        ranks=run["ranks"],
        threads=run["threads"],
        particles=run["particles"],
        seconds=tuple(one["seconds_per_step"] for one in by_time),
        phases={group: run["phases"][group] for group in REPORTED_GROUPS},
        imbalance=run["imbalance"],
        ghosts=tuple(ghosts),
        radii=tuple(run["radii"]),
        sent=(fmean(end["sent"]), float(max(end["sent"]))),
        neighbours=(fmean(end["sends"]), float(max(end["sends"]))),
        contacts=(2 * run["pair_contacts"] + run["wall_contacts"]) / particles,
        detections=run["detections_per_1000_steps"],
        output=run["output_seconds"],
    )


def read_plan(folder: Path) -> dict[str, Any] | None:
    """Read the plan in a folder; return None without a plan.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    keys = {"rows", "case", "threads", "costs", "network", "radii", "particles"}
    return _read_document(folder / PLAN_FILE, keys, "is no plan", "plan again")


def read_rehearsal(folder: Path) -> dict[str, Any] | None:
    """Read the rehearsal in a folder; return None without a rehearsal.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    keys = {"rows", "case", "threads", "network", "seconds_per_particle", "weak"}
    return _read_document(folder / REHEARSAL_FILE, keys, "is no rehearsal", "rehearse again")


def _read_document(path: Path, keys: set[str], fact: str, remedy: str) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = keys - set(document)
        if missing:
            raise KeyError(*sorted(missing))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {fact} ({error!r}); remove it, or {remedy}") from None
    return document
