"""Where measured runs begin: a case, a checkpoint or a case of the benchmark, kept as one checkpoint for all runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.case.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import InputError
from pdem.output.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoint_folder import latest_checkpoint
from pdem.simulation.bench_cases import (
    DETECTION,
    ENLARGEABLE,
    Prepared,
    Skipped,
    find_case,
    names_of_cases,
    scaled_case,
)
from pdem.simulation.simulation import Simulation, case_of
from pdem.simulation.state import gather_groups, local_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.simulation.state import Groups


def is_bench_case(name: str) -> bool:
    """Tell whether this is a case of the benchmark, and no file."""
    return name in names_of_cases() and name != DETECTION and not Path(name).exists()


def load_start(name: str, settings: Sequence[str] = (), threads: int = 1) -> Prepared:
    """Return where runs of a case begin.

    Parameters
    ----------
    name : str
        A case file, a checkpoint, an output folder with checkpoints, or a case of ``pdem bench``.
    settings : sequence of str
        Changes ``key=value`` of the case.
    threads : int
        To prepare it on.

    Raises
    ------
    CaseError, MeshError, CheckpointError, InputError
        If it cannot be had.
    """
    start = _loaded(name, threads)
    for assignment in settings:
        start.case.override(assignment)
    if start.state is None and start.particles is None:
        start.meshes = read_walls(start.case)
        start.particles = initial_particles(start.case, start.meshes)
    return start


def _loaded(name: str, threads: int) -> Prepared:
    if is_bench_case(name):
        try:
            return find_case(name).prepare(None, threads)
        except Skipped as reason:
            raise InputError(f"{name}: {reason}") from None
    path = Path(name)
    if path.is_dir() or path.suffix in (".h5", ".hdf5"):
        held = latest_checkpoint(path) if path.is_dir() else read_checkpoint(path)
        case = case_of(held)
        return Prepared(case, read_walls(case), state=held.groups)
    return Prepared(Case.read(name), [])


def require_enlargeable(name: str) -> None:
    """Require that a case can be enlarged with the number of ranks.

    Raises
    ------
    InputError
        If it cannot.
    """
    if not (is_bench_case(name) and name in ENLARGEABLE):
        raise InputError(
            f"{name} cannot be enlarged with the ranks: --weak is for cases of the benchmark, "
            f"{', '.join(ENLARGEABLE)}; name one of them, or leave --weak away"
        )


def enlarged(name: str, times: int, start: Prepared, settings: Sequence[str] = ()) -> Prepared:
    """Return a start that is `times` as large; see `pdem.simulation.bench_cases.scaled_case`."""
    large = scaled_case(name, times, start)
    if times > 1:
        for assignment in settings:
            large.case.override(assignment)
    return large


def begin(start: Prepared, threads: int) -> Simulation:
    """Return a simulation of a start on this rank alone."""
    return Simulation(
        start.case, threads=threads, state=start.state, particles=start.particles, meshes=start.meshes
    )


def keep_start(path: Path, start: Prepared, threads: int = 1) -> None:
    """Write a start as a checkpoint, so that every run begins from the same bits at once.

    Meshes that are in memory only are written beside it.

    Raises
    ------
    CheckpointError, MeshError
        If a file cannot be written.
    """
    case, directory = start.case, start.case.directory.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if any(not case.file(wall.mesh).is_file() for wall in case.walls):
        directory = path.parent.resolve()
        for number, mesh in enumerate(start.meshes):
            name = f"{path.stem}-wall-{number}.vtk"
            mesh.write(directory / name)
            case.override(f'walls.{number}.mesh="{name}"')
    groups = start.state
    if groups is None:
        system = begin(start, threads).system
        groups = gather_groups(system, local_groups(system))
    write_checkpoint(path, groups or {}, _attributes(case, directory, groups or {}))


def _attributes(case: Case, directory: Path, groups: Groups) -> dict[str, str | int | float]:
    step = int(groups["counters"]["step"])
    time = step * case.resolved_step()
    return {
        "title": case.title, "case": case.to_toml(), "directory": str(directory), "step": step, "time": time
    }  # fmt: skip
