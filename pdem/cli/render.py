"""``pdem render``: pictures and films of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pdem.cli.common import echo_to_stderr, serial
from pdem.cli.result_paths import require_results

_PIXELS = click.IntRange(16, 20000)


@click.command(short_help="Draw pictures and films of a run.")
@click.argument("source", metavar="OUTPUT", type=click.Path())
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="File to write: .png for a picture, .gif or .mp4 for a film; by default picture.png in OUTPUT.",
)
@click.option("--time", type=float, help="Simulated time of the snapshot, in s; by default the last.")
@click.option("--every", is_flag=True, help="Draw a numbered picture of every snapshot.")
@click.option(
    "--view",
    help="three-quarter, isometric, front, back, side, left, top, bottom, or the direction x,y,z towards the camera.",
)
@click.option(
    "--cut",
    multiple=True,
    metavar="PLANE",
    help="Cut the scene open: y=0 leaves out the part between this plane and the camera, 'y<0' and 'y>0' keep this "
    "side; 1,1,0=0.1 has a normal vector. Lengths in m. May be repeated.",
)
@click.option("--hide", multiple=True, metavar="WALL", help="Leave out walls of this name or pattern; may be repeated.")
@click.option("--contacts", is_flag=True, help="Draw force chains in place of particles (needs output.contacts_every).")
@click.option("--bonds", is_flag=True, help="Draw bonds in place of particles (needs a case with bonds).")
@click.option(
    "--colour-by",
    help="Field to colour by; by default speed, for contacts normal_force, for bonds tensile_stress; fragment gives "
    "each fragment a colour. A field of walls (wear, pressure, "
    "sliding_power) colours these, and particles have one colour.",
)
@click.option("--colour-map", default="viridis", show_default=True, help="Colour map of matplotlib.")
@click.option("--limits", type=(float, float), help="Values at the ends of the colour map.")
@click.option("--colour-walls-by", help="Field to colour walls by, beside the colours of particles.")
@click.option("--wall-colour-map", default="plasma", show_default=True, help="Colour map of --colour-walls-by.")
@click.option("--wall-limits", type=(float, float), help="Values at its ends.")
@click.option("--particles/--no-particles", default=True, help="Draw particles, or leave them out.")
@click.option(
    "--size", type=(_PIXELS, _PIXELS), default=(1280, 960), show_default=True, help="Width and height in pixels."
)
@click.option(
    "--wall-opacity",
    type=click.FloatRange(0.0, 1.0),
    help="0 is invisible, 1 is opaque; by default 0.15, for walls that are coloured by a field 1.",
)
@click.option("--axes/--no-axes", default=True, help="Draw the directions of x, y and z, or leave them out.")
@click.option("--rate", type=click.FloatRange(0.1), default=20.0, show_default=True, help="Frames per second of films.")
def render(source: str, output: str | None, rate: float, view: str | None, **options: Any) -> int:
    """Draw a run. OUTPUT is its folder, a snapshot file or a checkpoint."""
    return serial(lambda: _render(source, output, _direction(view), frames_per_second=rate, **options))


def _render(source: str, output: str | None, view: Any, **options: Any) -> None:
    from pdem.output.pictures.render import render as draw

    require_results(source, "render")
    paths = draw(source, output or _default_output(Path(source)), view=view, say=echo_to_stderr, **options)
    for path in paths if len(paths) < 3 else (paths[0], paths[-1]):
        click.echo(f"wrote {path}")


def _default_output(source: Path) -> Path:
    from pdem.output.run_folder import PICTURE_FILE

    return source / PICTURE_FILE if source.is_dir() else source.with_suffix(".png")


def _direction(view: str | None) -> str | tuple[float, ...] | None:
    """Return a direction written as x,y,z as a tuple of numbers, and any other text unchanged."""
    if view is None or view.count(",") != 2:
        return view
    try:
        return tuple(float(number) for number in view.split(","))
    except ValueError:
        return view
