"""Long runs of the gallery: each has its own folder, from which an interrupted run continues."""

from __future__ import annotations

import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.output.run_folder import find_run
from pdem.output.saving import save_file
from pdem.output.storage import open_hdf5
from pdem.run.files.folder_use import FolderUse
from pdem.run.files.output_folder import require_same_physics
from pdem.run.reading.results import Results
from pdem.run.run import run as run_to_end
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

_FINISHED = "finished"
_SECONDS = "seconds"


def example_run(notebook: Notebook, name: str, example: str, settings: Sequence[str] = ()) -> Results:
    """Run an example of ``pdem new`` with settings in a folder of the notebook; return its results."""
    files = notebook.folder.resolve() / name
    return case_run(notebook, name, Case.read(next(iter(write_example(example, files)))), settings)


def case_run(
    notebook: Notebook, name: str, case: Case, settings: Sequence[str] = (), observers: Sequence[Any] = ()
) -> Results:
    """Run a case with settings in a folder of the notebook, or continue the run there; return its results.

    A run that was interrupted, by a signal or a power failure, continues from its newest checkpoint.

    Raises
    ------
    InputError
        If the folder contains the run of a different case.
    Interrupted
        After a stop signal.
    """
    folder = notebook.folder.resolve() / name / "run"
    case.override(f"output.folder={str(folder)!r}")
    for setting in settings:
        case.override(setting)
    with _timed(notebook, folder.parent / _SECONDS):
        _finish(case, folder, notebook.threads, observers)
    return Results(folder)


def _finish(case: Case, folder: Path, threads: int, observers: Sequence[Any]) -> None:
    """Run a case to its end in a folder, from the beginning or from the newest checkpoint."""
    found = find_run(folder)
    if found is None or found.checkpoint is None:
        run_to_end(Simulation(case, threads=threads), quiet=True, use=FolderUse(overwrite=True), observers=observers)
    else:
        other = Results(folder).case
        require_same_physics(other, case, str(found), "remove the folder, or name another with --folder")
        if (folder / _FINISHED).exists():
            return
        simulation = Simulation.restart(folder, threads=threads)
        run_to_end(simulation, quiet=True, use=FolderUse(overwrite=True), observers=observers)
    (folder / _FINISHED).touch()


@contextmanager
def _timed(notebook: Notebook, file: Path) -> Iterator[None]:
    """Store the total time of a run in a file, and report earlier times to the notebook."""
    before = float(file.read_text(encoding="utf-8")) if file.exists() else 0.0
    notebook.earlier += before
    begin = time.perf_counter()
    try:
        yield
    finally:
        save_file(file, f"{before + time.perf_counter() - begin:.1f}")


def begin_of_stage(results: Results, number: int) -> float:
    """Return the time at which a stage of a run begins [s], from the checkpoint at the end of the previous stage."""
    if not number:
        return 0.0
    with open_hdf5(results.folder / f"stage-{results.case.stages[number - 1].name}.h5", "r") as file:
        return float(file.attrs["time"])


def steady_rate(time: Floats, amount: Floats) -> float:
    """Return the slope of a straight line through amounts over time."""
    return float(np.polyfit(time, amount, 1)[0])


def surface(places: Floats, radius: float, at: Floats, half_width: float) -> Floats:
    """Return the surface height of a bed at positions along x [m]: the mean of its highest grains in thin slices.

    Parameters
    ----------
    places : (n, 2) array
        Positions along x and upwards [m].
    radius : float
        Radius of the grains [m].
    at : (k,) array
        Positions along x [m].
    half_width : float
        Half width of the slice about each position [m].
    """
    heights = []
    for x in at:
        edges = np.arange(x - half_width, x + half_width + radius, 2.0 * radius)
        tops = []
        for low, high in pairwise(edges):
            inside = places[(places[:, 0] >= low) & (places[:, 0] < high), 1]
            tops.append(inside.max() + radius if len(inside) else 0.0)
        heights.append(np.mean(tops))
    return np.array(heights)


def own_folder(notebook: Notebook, name: str) -> Path:
    """Return the folder of a run of the notebook."""
    return notebook.folder.resolve() / name / "run"
