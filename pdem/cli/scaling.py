"""``pdem scaling``: runs over ranks and threads, reports, and predictions for larger machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import (
    collective,
    echo_to_stderr,
    load_kernels,
    require_sources,
    serial,
    settings_option,
    threads_option,
)
from pdem.cli.scaling_options import (
    counts_option,
    network_of,
    network_options,
    number_option,
    output_option,
    plots_option,
    warm_up_option,
    weak_option,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.planning.network import Network
    from pdem.benchmark.cases import Start
    from pdem.report.section import ReportSection


@click.group(short_help="Measure, report and predict how a case scales.")
def scaling() -> None:
    """Measure how a case scales over ranks and threads, report it, and predict it for larger machines."""


@scaling.command(short_help="Measure the speed over ranks and threads.")
@click.argument("case")
@counts_option("--ranks", "1,2,4", "Numbers of ranks")
@counts_option("--threads", "1", "Threads of each rank")
@weak_option
@number_option("--steps", 1, 500, "Number of steps that are timed.")
@warm_up_option(300)
@number_option("--repeats", 1, 3, "How often every combination is measured, in turn.")
@click.option(
    "--launcher", help="Command that starts ranks, for example 'srun -n {ranks}'; by default mpirun -n {ranks}."
)
@output_option("results/scaling", "Folder for results.")
@settings_option
def run(case: str, settings: tuple[str, ...], output: Path, **options: Any) -> int:
    """Run a case on every combination of ranks and threads, several times in turn, and store the measurements.

    CASE is a case file, a checkpoint or output folder, or a case of pdem bench. All runs begin from the same
    checkpoint, which is stored in the folder. Existing results are not repeated, so that the same command continues an
    interrupted series.
    """
    return serial(lambda: _run(case, settings, output, **options))


def _run(
    case: str, settings: Sequence[str], folder: Path, ranks: Sequence[int], threads: Sequence[int], weak: bool,
    steps: int, warm_up: int, repeats: int, launcher: str | None,
) -> int:  # fmt: skip
    from pdem.benchmark import launch
    from pdem.output.summary import counted
    from pdem.scaling.results import prepare_folder, run_file
    from pdem.scaling.starts import enlarged_start, load_start, require_size, settings_for_one_rank, write_start

    launch.require_no_launcher()
    launcher_words = launch.check_launcher(launcher or launch.default_launcher())
    require_size(case, settings, weak)
    if warning := launch.oversubscription_warning(ranks, threads):
        echo_to_stderr(f"warning: {warning}")
    kind = {"case": case, "settings": list(settings), "weak": weak, "steps": steps, "warm_up": warm_up}
    prepare_folder(folder, kind)
    missing = [one for one in launch.combinations(ranks, threads, repeats) if not run_file(folder, *one).exists()]
    sizes = sorted({one[0] for one in missing}) if weak else [1] * bool(missing)
    if missing:
        load_kernels(None, None, 1)
    start = load_start(case, settings_for_one_rank(settings), 1) if missing else None
    for size in sizes:
        path = folder / f"start-{size}.h5"
        if start is not None and not path.exists():
            write_start(path, enlarged_start(case, size, start, settings))
    for count, each, repeat in missing:
        path = run_file(folder, count, each, repeat)
        arguments = [
            "scaling", "measure", str(folder / f"start-{count if weak else 1}.h5"), "--steps", str(steps),
            "--warm-up", str(warm_up), "--file", str(path), "--name", case, *(["--weak"] if weak else []),
        ]  # fmt: skip
        launch.run_on_ranks(launcher_words, count, each, arguments)
        seconds = json.loads(path.read_text(encoding="utf-8"))["seconds_per_step"]
        label = f"{counted(count, 'rank')} x {counted(each, 'thread')}"
        click.echo(f"{label}, repeat {repeat + 1}: {1e3 * seconds:.4g} ms per step")
    click.echo(f"next: pdem scaling report {folder}")
    return 0


@scaling.command(hidden=True)
@click.argument("start", type=click.Path(path_type=Path))
@click.option("--steps", type=click.IntRange(min=1), required=True)
@click.option("--warm-up", type=click.IntRange(min=0), default=0)
@click.option("--file", type=click.Path(path_type=Path), required=True)
@click.option("--name", default="")
@click.option("--weak", is_flag=True)
@threads_option
def measure(start: Path, steps: int, warm_up: int, file: Path, name: str, weak: bool, threads: int | None) -> int:
    """Measure one run from a checkpoint on the present ranks; started by ``pdem scaling run``."""

    def work(communicator: Any, own: int) -> int:
        from pdem.output.saving import write_json
        from pdem.run.simulation import Simulation
        from pdem.scaling.measure import measure_run, read_start

        case, state = read_start(start, communicator)
        load_kernels(communicator, case, own)
        simulation = Simulation(case, communicator, threads=own, state=state)
        measured = measure_run(simulation, steps, warm_up)
        if measured is not None:
            write_json(file, {"case": name or str(start), "weak": weak, **measured})
        return 0

    return collective(work, threads)


@scaling.command(short_help="Show the measurements as tables and pictures.")
@click.argument("folder", type=click.Path(path_type=Path))
@plots_option
def report(folder: Path, plots: bool) -> int:
    """Print the results of pdem scaling run; write report.html (one file) and report.md into the folder.

    If the folder also contains a plan, the report compares both; a plan alone is shown as well.
    """
    return serial(lambda: _report(folder, plots))


def _report(folder: Path, plots: bool) -> int:
    from pdem.scaling.figures import evidence_figure
    from pdem.scaling.report import measured_sections, plan_sections, rehearsal_section
    from pdem.scaling.results import has_results, read_plan, read_rehearsal, read_results

    plan, rehearsal, later = read_plan(folder), read_rehearsal(folder), []
    found = read_results(folder) if has_results(folder) or not (plan or rehearsal) else None
    if rehearsal is not None:
        later.append(rehearsal_section(rehearsal))
        later[-1].picture = evidence_figure(found, plan, rehearsal) if plots else b""
    if plan is not None:
        later += plan_sections(plan, plots=plots)
    if found is None:
        name, kind = (plan or rehearsal or {})["case"], "plan" if plan else "rehearsal"
        click.echo(f"{folder} holds a {kind} and no measured runs; pdem scaling run {name} adds them\n")
        title = f"{kind.capitalize()} of {name}"
        return _write_report(folder, "report", title, later)
    sections = [*measured_sections(found, plan, plots=plots), *later]
    return _write_report(folder, "report", f"Scaling of {found.case}", sections)


@scaling.command(short_help="Predict the time of a step on many ranks.")
@click.argument("case")
@counts_option("--ranks", "16,256,4096,65536", "Numbers of ranks")
@weak_option
@network_options
@number_option(
    "--steps", 0, 500, "Number of steps that are timed on one rank; with 0 only particles and bytes are counted."
)
@warm_up_option(500)
@number_option("--threads", 1, 1, "Threads of each rank.")
@plots_option
@output_option(None, "Folder for plan.json, plan.html and plan.md; by default only the tables are printed.")
@settings_option
def plan(
    case: str, settings: tuple[str, ...], output: Path | None, plots: bool, **options: Any,
) -> int:  # fmt: skip
    """Divide the particles of a case among many ranks, within one process, and predict the time of a step.

    Owned particles, ghosts, neighbours and bytes are the numbers at the begin of a run on this many ranks. Computing
    times are measured on one rank here, and combined with the given properties of the network. --weak enlarges the case
    with the number of ranks. If the folder --output contains measured runs of the case, their numbers of ranks are
    planned as well, so that pdem scaling report compares predicted with measured times. Needs the sources of pdem.
    """

    def work() -> int:
        document = _plan(case, settings, output, network_of(options), **options)
        return _show_plan(output, document, plots)

    return serial(work)


@scaling.command(short_help="Make and time a few ranks of a very large run.")
@click.argument("case")
@counts_option("--ranks", "64,1024,16384,65536", "Numbers of ranks")
@click.option(
    "--particles-per-rank",
    type=click.FloatRange(min=1.0),
    help="Weak scaling: number of particles of each rank; by default 15000.",
)
@click.option(
    "--particles", type=click.FloatRange(min=1.0), help="Strong scaling: number of particles of all ranks together."
)
@number_option("--made", 2, 3, "Number of ranks that are made.")
@network_options
@number_option("--steps", 1, 200, "Number of steps that are timed.")
@warm_up_option(100)
@number_option("--threads", 1, 1, "Threads of each rank.")
@number_option(
    "--beside",
    0,
    0,
    "Number of processes that take the same steps at the same time, as the other ranks of a node would.",
)
@output_option(None, "Folder for rehearsal.json, .html and .md; by default only the table is printed.")
@settings_option
def rehearse(
    case: str, settings: tuple[str, ...], output: Path | None,
    particles_per_rank: float | None, particles: float | None, ranks: Sequence[int], made: int, **options: Any,
) -> int:  # fmt: skip
    """Make and time a few ranks of a very large run, which consists of many copies of a periodic case side by side.

    Only these ranks are made, not the whole run: their own particles and the particles around them, with neighbours,
    ghosts and lists as in the whole run. Their steps are timed here, and the time of messages is added from the given
    properties of the network. Needs the sources of pdem.
    """
    if particles is not None and particles_per_rank is not None:
        raise click.UsageError("--particles is strong scaling and --particles-per-rank weak scaling: give one")
    each = None if particles is not None else particles_per_rank or 15_000.0

    def work() -> int:
        require_sources("benchmarks")
        from benchmarks.planning.rehearsal import Rehearsal
        from benchmarks.planning.rehearsal import rehearse as make
        from pdem.output.saving import write_json
        from pdem.scaling.report import rehearsal_section
        from pdem.scaling.results import REHEARSAL_FILE

        start, network = _load_start(case, settings, options["threads"], weak=False), network_of(options)
        rehearsal = Rehearsal(case, start, **options)
        found = make(rehearsal, ranks, network, per_rank=each, total=particles, made=made)
        document = {"case": case, **found}
        if output is not None:
            write_json(output / REHEARSAL_FILE, document)
        return _write_report(output, "rehearsal", f"Rehearsal of {case}", [rehearsal_section(document)])

    return serial(work)


@scaling.command(short_help="Write a page for an application for computing time.")
@click.argument("case")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="Number of ranks of a run.")
@number_option("--threads", 1, 1, "Threads of each rank.")
@number_option("--runs", 1, 1, "Number of runs.")
@click.option(
    "--particles", type=click.IntRange(min=1), help="Number of particles of a run; by default that of the case."
)
@plots_option
@settings_option
def proposal(
    case: str, folder: Path, settings: tuple[str, ...], plots: bool, particles: int | None, **numbers: int
) -> int:
    """Write proposal.html and proposal.md into a folder with measured runs, a plan or a rehearsal.

    The page contains the core hours, memory and storage that the case needs on this number of ranks, and the scaling
    data that support these numbers. Needs the sources of pdem.
    """

    def work() -> int:
        require_sources("benchmarks")
        from benchmarks.planning.proposal import Evidence, Request, proposal_sections
        from pdem.case.groups.initial import initial_particles
        from pdem.case.wall_files import read_walls
        from pdem.cli.common import read_case

        wanted, evidence = read_case(case, settings), Evidence.of(folder)
        meshes = read_walls(wanted)
        count = particles or len(initial_particles(wanted, meshes, progress=True)["id"])
        request = Request(particles=count, **numbers)
        sections = proposal_sections(wanted, meshes, request, evidence, plots=plots)
        return _write_report(folder, "proposal", f"Computing time for {wanted.title or case}", sections)

    return serial(work)


def _plan(
    case: str, settings: Sequence[str], folder: Path | None, network: Network, ranks: Sequence[int], weak: bool,
    steps: int, warm_up: int, threads: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the plan of a case, and write it into the folder, if one is given."""
    require_sources("benchmarks")
    from benchmarks.planning.plan import plan as make_plan
    from pdem.output.saving import write_json
    from pdem.scaling.results import PLAN_FILE, with_measured_ranks
    from pdem.scaling.starts import enlarged_start

    start = _load_start(case, settings, threads, weak)
    counts = ranks if folder is None else with_measured_ranks(folder, case, weak, threads, ranks)
    larger = (lambda count: enlarged_start(case, count, start, settings)) if weak else None
    document = make_plan(case, start, counts, network, threads, steps, warm_up, larger)
    if folder is not None:
        write_json(folder / PLAN_FILE, document)
    return document


def _load_start(case: str, settings: Sequence[str], threads: int, weak: bool) -> Start:
    from pdem.benchmark.launch import require_no_launcher
    from pdem.numerics.thread_pool import set_threads
    from pdem.scaling.starts import load_start, require_size, settings_for_one_rank

    require_no_launcher()
    require_size(case, settings, weak)
    set_threads(threads)
    load_kernels(None, None, threads)
    return load_start(case, settings_for_one_rank(settings), threads)


def _show_plan(folder: Path | None, document: dict[str, Any], plots: bool) -> int:
    from pdem.scaling.report import plan_sections

    sections = plan_sections(document, plots=plots and folder is not None)
    return _write_report(folder, "plan", f"Plan of {document['case']}", sections)


def _write_report(folder: Path | None, stem: str, title: str, sections: Sequence[ReportSection]) -> int:
    from pdem.scaling.report import write_report

    for section in sections:
        click.echo(f"{section.plain()}\n")
    if folder is not None:
        for path in write_report(folder, stem, title, sections):
            click.echo(f"wrote {path}")
    return 0
