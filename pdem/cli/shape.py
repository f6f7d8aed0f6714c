"""``pdem shape``: the spheres of a shape, and its mass properties."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pdem.cli.common import echo_to_stderr, overwrite_option, require_free, serial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.containers.meshes.solid import Solid
    from pdem.containers.sphere_lists import SphereList
    from pdem.particles.clusters.shape_files import ShapeFile

_ROWS = {"union": "union", "sum": "sum of the spheres", "mesh": "the mesh", "file": "the file", "given": "given"}


@click.command(short_help="Fill a shape with spheres, and show its mass properties.")
@click.argument("file", type=click.Path())
@click.option("--spheres", type=click.IntRange(min=1), help="Fill a closed mesh with at most this number of spheres.")
@click.option(
    "--error",
    type=click.FloatRange(min=0.0),
    default=0.02,
    show_default=True,
    help="Relative error of the inertia below which no more spheres are added.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0.0, min_open=True),
    default=1.0,
    show_default=True,
    help="Metres per unit of the file: 0.001 for mm.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Write the spheres to this CSV file: x, y, z, r in m about the centre of mass.",
)
@overwrite_option("Replace the file if it exists.")
def shape(
    file: str, spheres: int | None, error: float, scale: float, output: str | None, overwrite: bool
) -> int:  # fmt: skip
    """Read the spheres of a shape, or fill a closed mesh with spheres, and show the mass properties of the shape.

    FILE is a list of spheres (a line with x, y, z and radius for each; CSV with names; a cluster of Kratos, .clu;
    points with radii, .vtk), or a closed mesh (STL, OBJ, PLY, VTK, Gmsh) together with --spheres. pdem uses the mass
    properties of the union of the spheres. For comparison, the command also shows the mass properties of the sum of the
    spheres, of the mesh and of the file.
    """
    return serial(lambda: _shape(Path(file), spheres, error, scale, output, overwrite))


def _shape(
    path: Path, most: int | None, error: float, scale: float, output: str | None, overwrite: bool
) -> None:  # fmt: skip
    from pdem.particles.clusters.cluster_shapes import shape_warnings
    from pdem.particles.clusters.shape_files import mass_rules

    if output is not None:
        require_free(Path(output), overwrite=overwrite)
    found = _read(path, most, error, scale)
    listed, rules = found.spheres, mass_rules(found)
    for line in mass_table(rules):
        click.echo(line)
    for text in shape_warnings(listed.centre, listed.radius, rules):
        echo_to_stderr(f"warning: {path}: {text}")
    if output is not None:
        _write(Path(output), listed._replace(centre=listed.centre - rules["union"].centre))


def _read(path: Path, most: int | None, error: float, scale: float) -> ShapeFile:
    """Read the shape in a file, and print a summary of it."""
    from pdem.case.sections.shapes import MESH_ENDINGS, names_mesh
    from pdem.foundation.errors import InputError
    from pdem.particles.clusters.shape_files import read_shape

    is_mesh = names_mesh(path.name, most)
    if is_mesh and most is None:
        raise InputError(f"{path}: is a mesh; say with how many spheres it may be filled: --spheres 20")
    if not is_mesh and most is not None:
        raise InputError(
            f"{path}: --spheres fills a mesh ({', '.join(MESH_ENDINGS)}), and this is a list of spheres: leave it out"
        )
    found = read_shape(path, scale, most, error)
    many = len(found.spheres.radius)
    text = f"{path}: {many} sphere{'s' if many != 1 else ''}"
    if found.fit is not None:
        text += f", inertia within {100.0 * found.fit.inertia_error:.2g} % of the mesh's, surface within "
        text += f"{found.fit.gap:.3g} m of it"
    click.echo(text)
    return found


def mass_table(rules: Mapping[str, Solid]) -> Iterator[str]:
    """Yield the lines of a table of mass properties, a row per rule."""
    import numpy as np

    from pdem.containers.principal_axes import principal_axes

    yield f"{'':<20}{'volume [m3]':>14}   {'centre of mass [m]':<36}moments over mass [m2]"
    for name, solid in rules.items():
        moments = principal_axes(solid.inertia)[0] / solid.volume
        noise = 1e-13 * solid.volume ** (1.0 / 3.0)
        middle = np.where(np.abs(solid.centre) < noise, 0.0, solid.centre)
        centre, inertia = ("".join(f"{value:<12.5g}" for value in values) for values in (middle, moments))
        yield f"{_ROWS[name]:<20}{solid.volume:>14.7g}   {centre}{inertia}".rstrip()


def _write(path: Path, listed: SphereList) -> None:
    from pdem.foundation.files import write_file
    from pdem.output.saving import saving

    lines = [
        ",".join(repr(value) for value in (*centre, radius))
        for centre, radius in zip(listed.centre.tolist(), listed.radius.tolist(), strict=True)
    ]
    with saving(path, "name another file"):
        write_file(path, "\n".join(("x,y,z,r", *lines, "")))
    click.echo(f"wrote {path}")
