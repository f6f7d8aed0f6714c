"""``pdem mesh``: export of the walls of a case to a mesh file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pdem.cli.common import echo_to_stderr, overwrite_option, read_case, require_free, serial, settings_option

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.containers.meshes.mesh_report import MeshReport


@click.command(short_help="Write the walls of a case into a file for ParaView.")
@click.argument("case", type=click.Path())
@settings_option
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(),
    help="File to write: .vtk (ParaView, all walls with their numbers) or .stl (a solid for each wall); also .ply, "
    ".obj, .msh, .vtu. By default CASE-walls.vtk in this folder.",
)
@overwrite_option("Replace the file if it is there with other content.")
def mesh(case: str, settings: tuple[str, ...], file: str | None, overwrite: bool) -> int:
    """Write the walls of a case, as they are at time 0, into one file, and print their areas and volumes.

    In ParaView colour the file by `wall`: 0, 1, ... in the order of the case.
    """
    return serial(lambda: _write(case, settings, file, overwrite))


def _write(path: str, settings: tuple[str, ...], file: str | None, overwrite: bool) -> None:
    from pdem.case.sections.wall_shapes import ShapeWall
    from pdem.case.wall_files import read_walls
    from pdem.output.wall_meshes import write_wall_meshes
    from pdem.preflight.wall_checks import mesh_warnings

    case = read_case(path, settings)
    target = Path(f"{Path(path).stem}-walls.vtk" if file is None else file)
    meshes = read_walls(case)
    _require_free(case, target, overwrite)
    write_wall_meshes(target, [wall.name for wall in case.walls], meshes)
    reports = [one.report(intersections=False) for one in meshes]
    for line in _table(case, reports):
        click.echo(line)
    for wall, report in zip(case.walls, reports, strict=True):
        for text in mesh_warnings(report, made=isinstance(wall, ShapeWall)):
            echo_to_stderr(f"warning: wall {wall.name}: {text}")
    click.echo(f"wrote {target}")


def _require_free(case: Case, target: Path, overwrite: bool) -> None:
    """Raise an error if the target is an input file of the case, or exists and must not be overwritten."""
    from pdem.case.input_files import input_files
    from pdem.foundation.errors import InputError

    for key, used in input_files(case).items():
        if target.exists() and used.exists() and target.samefile(used):
            raise InputError(f"{target}: is the file of {key} of the case; name another file")
    require_free(target, overwrite=overwrite)


def _table(case: Case, reports: list[MeshReport]) -> list[str]:
    """Return a line for each wall: facets, area, volume of a closed wall, and extent."""
    width = max((len(wall.name) for wall in case.walls), default=0)
    lines = []
    for wall, report in zip(case.walls, reports, strict=True):
        closed = "open" if not report.closed else "closed"
        closed += "" if report.volume is None else f", volume {report.volume:.6g} m3"
        extent = " x ".join(f"{low:.4g} to {high:.4g}" for low, high in zip(report.lower, report.upper, strict=True))
        facets = f"{report.facets:,} facet{'s' if report.facets != 1 else ''}"
        lines.append(f"{wall.name:<{width}}  {wall.shape}: {facets}, {report.area:.6g} m2, {closed}, {extent} m")
    return lines
