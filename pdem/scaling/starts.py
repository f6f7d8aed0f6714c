"""Starts of measured runs: a case, a checkpoint or a benchmark case, written as one checkpoint for all runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.benchmark.cases import DETECTION, ENLARGEABLE, MODELS, SkipCase, Start, find_case, names_of_cases, scaled_case
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.sections.walls import MeshWall
from pdem.case.wall_files import read_walls
from pdem.engine.state import gather_groups, local_groups
from pdem.foundation.errors import InputError, name_hint
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import latest_checkpoint
from pdem.preflight.given_particles import CheckedParticles
from pdem.run.inputs import case_of
from pdem.run.simulation import Simulation
from pdem.scaling.batch_scripts import setting_for_ranks, settings_with_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.engine.state import Groups


def is_bench_case(name: str) -> bool:
    """Return whether a name denotes a benchmark case rather than a file."""
    return name in _cases_with_steps() and not Path(name).exists()


def _cases_with_steps() -> list[str]:
    """Return the names of the benchmark cases that are simulations."""
    return [name for name in names_of_cases() if name not in (DETECTION, MODELS)]


def load_start(name: str, settings: Sequence[str] = (), threads: int = 1) -> Start:
    """Load a case with its initial state.

    Parameters
    ----------
    name : str
        A case file, a checkpoint, an output folder with checkpoints, or a case of ``pdem bench``.
    settings : sequence of str
        Changes of the case, ``key=value``.
    threads : int
        Number of threads for the preparatory steps of a benchmark case.

    Raises
    ------
    CaseError, MeshError, CheckpointError, InputError
        If the case cannot be read or prepared.
    """
    start = _read_start(name, threads)
    for assignment in settings:
        start.case.override(assignment)
    if start.state is None and start.particles is None:
        start.meshes = read_walls(start.case)
        start.particles = CheckedParticles(initial_particles(start.case, start.meshes))
    return start


def _read_start(name: str, threads: int) -> Start:
    if is_bench_case(name):
        try:
            return find_case(name).prepare(None, threads)
        except SkipCase as reason:
            raise InputError(f"{name}: {reason}") from None
    path = Path(name)
    if _is_checkpoint(name):
        checkpoint = latest_checkpoint(path) if path.is_dir() else read_checkpoint(path)
        case = case_of(checkpoint)
        return Start(case, read_walls(case), state=checkpoint.groups)
    if not path.suffix and not path.exists():
        hint = name_hint(name, _cases_with_steps())
        raise InputError(f"{name}: neither a file nor a case of the benchmark; {hint}")
    return Start(Case.read(name), [])


def _is_checkpoint(name: str) -> bool:
    return Path(name).is_dir() or Path(name).suffix in (".h5", ".hdf5")


def require_size(name: str, settings: Sequence[str], weak: bool) -> None:
    """Check that a case can be enlarged for weak scaling, and that without weak scaling no setting enlarges it.

    Raises
    ------
    InputError
        If it cannot be enlarged, or settings contain the number of ranks without `weak`.
    """
    growing = settings_with_ranks(settings)
    if growing and not weak:
        raise InputError(f"--set {growing[0]}: only with --weak a case grows with the ranks; give a number")
    by_itself = is_bench_case(name) and name in ENLARGEABLE and not growing
    by_settings = growing and not is_bench_case(name) and not _is_checkpoint(name)
    if weak and not (by_itself or by_settings):
        raise InputError(
            f"{name} cannot be enlarged with the ranks: name a case of the benchmark, {', '.join(ENLARGEABLE)}, or a "
            "case file with something that grows, such as --set 'domain.upper=[0.1, 0.1, {0.1*ranks}]'; "
            "or leave --weak away"
        )


def settings_for_one_rank(settings: Sequence[str]) -> list[str]:
    """Return the settings for one rank."""
    return [setting_for_ranks(text, 1) for text in settings]


def enlarged_start(name: str, times: int, start: Start, settings: Sequence[str] = ()) -> Start:
    """Return a start enlarged by a factor, by its settings or by `pdem.benchmark.cases.scaled_case`."""
    if times == 1:
        return start
    if not is_bench_case(name):
        return load_start(name, [setting_for_ranks(text, times) for text in settings])
    large = scaled_case(name, times, start)
    for assignment in settings:
        large.case.override(assignment)
    return large


def simulation_of(start: Start, threads: int) -> Simulation:
    """Return a simulation of a start on one rank."""
    return Simulation(start.case, threads=threads, state=start.state, particles=start.particles, meshes=start.meshes)


def write_start(path: Path, start: Start, threads: int = 1) -> None:
    """Write a start as a checkpoint, so that all runs begin with the same bits.

    Meshes without a file are written into the same folder.

    Raises
    ------
    CheckpointError, MeshError
        If a file cannot be written.
    """
    case, directory = start.case, start.case.directory.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [case.file(wall.mesh) for wall in case.walls if isinstance(wall, MeshWall)]
    if not all(file.is_file() for file in files):
        directory = path.parent.resolve()
        for number, mesh in enumerate(start.meshes):
            name = f"{path.stem}-wall-{number}.vtk"
            if isinstance(case.walls[number], MeshWall):
                mesh.write(directory / name)
                for value in (f'mesh="{name}"', "scale=1.0", "rotate=[]", "offset=[0.0, 0.0, 0.0]"):
                    case.override(f"walls.{number}.{value}")
    groups = start.state
    if groups is None:
        system = simulation_of(start, threads).system
        groups = gather_groups(system, local_groups(system))
    write_checkpoint(path, groups or {}, _attributes(case, directory, groups or {}))


def _attributes(case: Case, directory: Path, groups: Groups) -> dict[str, str | int | float]:
    step = int(groups["counters"]["step"])
    time = step * case.resolved_step()
    return {
        "title": case.title, "case": case.to_toml(), "directory": str(directory), "step": step, "time": time
    }  # fmt: skip
