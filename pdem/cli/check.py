"""``pdem check``: checks of a case before the first step."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pdem.cli.common import read_case, serial, settings_option, threads_option
from pdem.cli.law_checks import findings_on_laws, law_reports, laws_option
from pdem.foundation.errors import Interrupted
from pdem.foundation.signals import SignalFlag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.preflight.findings import Finding

_WRONG_INPUT = 2


@click.command(short_help="Check a case without running it.")
@click.argument("case", type=click.Path())
@settings_option
@laws_option
@click.option(
    "--report",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Write the report on the contact laws to this folder: laws.md, laws.json, laws.png.",
)
@threads_option
def check(case: str, settings: tuple[str, ...], laws: bool | None, report: Path | None, threads: int | None) -> int:
    """Check a case without running it: time step, particles, walls, contact laws, units, duration, memory, disk.

    The exit code is 2 if the case cannot run.
    """

    def work() -> int:
        with SignalFlag() as flag:
            code = flag.unless_stopped(lambda: _check(case, settings, (laws, report), threads))
            if flag.requested:
                raise Interrupted("the check was stopped before its end; nothing has been run or written")
        return _WRONG_INPUT if code is None else code

    return serial(work)


def _check(path: str, settings: Sequence[str], of_laws: tuple[bool | None, Path | None], threads: int | None) -> int:
    from pdem.case.groups.initial import initial_particles
    from pdem.case.wall_files import read_walls
    from pdem.engine.ranks import launch_layout
    from pdem.foundation.machine import default_threads
    from pdem.output.summary import body_count, counted
    from pdem.preflight.contact_table import contact_table
    from pdem.preflight.estimates.impacts import expected_impact
    from pdem.preflight.population import Population
    from pdem.preflight.preflight import preflight
    from pdem.run.files.output_folder import folder_findings
    from pdem.run.forecast import forecast

    case = read_case(path, settings)
    meshes = read_walls(case)
    particles = initial_particles(case, meshes, progress=True)
    _, ranks, on_node = launch_layout()
    own = default_threads(ranks_on_node=on_node) if threads is None else threads
    findings = [
        *preflight(case, particles, meshes, ranks, own),
        *forecast(case, body_count(particles), meshes, ranks, own, spheres=len(particles["radius"])),
        *folder_findings(case),
    ]
    findings += _prove_laws(case, *of_laws) if not any(one.level == "error" for one in findings) else []
    impact = expected_impact(case, Population(particles), meshes)
    if table := contact_table(case, impact.speed):
        click.echo(table)
    for line in _shape_tables(case):
        click.echo(line)
    for finding in findings:
        click.echo(str(finding))
    count = Counter(finding.level for finding in findings)
    numbers = ", ".join(counted(count[level], level) for level in ("error", "warning"))
    click.echo(f"{counted(body_count(particles), 'particle')}: {numbers}")
    return _WRONG_INPUT if count["error"] else 0


def _shape_tables(case: Case) -> Iterator[str]:
    """Yield the mass properties of all shapes of particles, as tables with a row per rule."""
    from pdem.case.groups.shapes import shape_masses, shapes_of
    from pdem.cli.shape import mass_table

    for name in shapes_of(case):
        yield f"shape {name}:"
        yield from mass_table(shape_masses(case, name))


def _prove_laws(case: Case, wanted: bool | None, folder: Path | None) -> list[Finding]:
    """Prove the contact laws, show their rebounds, write the report, and return the findings."""
    reports = law_reports(case, wanted)
    for report in reports:
        click.echo(report.rebound_table())
    if folder is not None and reports:
        from pdem.output.run_folder import keep_files, make_folder
        from pdem.verification.law_report import law_files

        make_folder(folder)
        keep_files(folder, law_files(case.source, reports))
    return findings_on_laws(reports)
