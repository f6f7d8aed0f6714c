"""``pdem plot`` and ``pdem export``: plots of the series, and snapshots for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pdem.cli.common import serial
from pdem.cli.result_paths import require_results
from pdem.foundation.errors import InputError, name_hint


@click.command(short_help="Plot columns of the time series of a run, or sizes of particles.")
@click.argument("output", metavar="OUTPUT", type=click.Path())
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--with", "others", multiple=True, metavar="OUTPUT", help="Another run in the same plot; may be repeated."
)
@click.option(
    "-o", "--file", help="Picture to write (.png, .pdf, .svg); by default plot.png, with --sizes sizes.png, in OUTPUT."
)
@click.option("--list", "listed", is_flag=True, help="Show the columns with their units.")
@click.option("--from", "begin", type=float, help="First time to plot, in s; by default that of the first line.")
@click.option("--to", "end", type=float, help="Last time to plot, in s.")
@click.option("--mean", "means", is_flag=True, help="Draw the mean over the plotted time, with its value.")
@click.option("--title", help="Title; by default that of the case.")
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=TEXT",
    help="Words in the legend for a column or an OUTPUT; may be repeated. By default the meaning of the column.",
)  # fmt: skip
@click.option("--sizes", is_flag=True, help="Plot passing curves of the particles in snapshots, in place of columns.")
@click.option(
    "--time", "times", type=float, multiple=True,
    help="With --sizes: time of a snapshot, in s; may be repeated. By default the first and the last.",
)  # fmt: skip
@click.option("--material", help="With --sizes: particles of one material; by default all.")
def plot(output: str, names: tuple[str, ...], others: tuple[str, ...], listed: bool, **options: Any) -> int:
    """Plot columns of the time series, one panel for each unit: pdem plot OUTPUT 'gate_*' translation.

    With --sizes the curves are the percent by mass of the particles up to each diameter.
    """
    if options.pop("sizes"):
        return serial(lambda: _plot_sizes((output, *others), names, listed=listed, **options))
    times, material = options.pop("times"), options.pop("material")
    if times or material is not None:
        raise click.UsageError("--time and --material choose the particles of --sizes; add it, or leave them out")
    return serial(lambda: _list(output) if listed or not names else _plot((output, *others), names, **options))


def _list(output: str) -> None:
    from pdem.report.table import Table
    from pdem.run.reading.results import Results

    require_results(output, "plot")
    units = Results(output).series.units
    click.echo(Table((), list(units.items())).text(None))


def _plot(
    outputs: tuple[str, ...], names: tuple[str, ...], *, file: str | None, title: str | None, labels: tuple[str, ...],
    **options: Any,
) -> None:  # fmt: skip
    from pdem.output.pictures.plots import PlotStyle, chosen_columns, plot_series
    from pdem.run.reading.results import Results
    from pdem.watch.columns import legend_words

    for one in outputs:
        require_results(one, "plot")
    results = {one: Results(one) for one in outputs}
    series = {one: each.series for one, each in results.items()}
    for table in series.values():  # each run must have all columns
        columns = chosen_columns(table.names, names)
    runs = {run: {name: one[name] for name in ("time", *columns)} for run, one in series.items()}
    path = Path(outputs[0]) / "plot.png" if file is None else Path(file)
    case = results[outputs[0]].case
    words = legend_words(columns, case) | _own_words(labels, (*columns, *outputs))
    style = PlotStyle(case.title if title is None else title, words, **options)
    plot_series(path, runs, columns, series[outputs[0]].units, style)
    click.echo(f"wrote {path}")


def _plot_sizes(
    outputs: tuple[str, ...], names: tuple[str, ...], *, times: tuple[float, ...], material: str | None,
    file: str | None, title: str | None, labels: tuple[str, ...], **unused: Any,
) -> None:  # fmt: skip
    from pdem.output.pictures.size_plots import plot_passing
    from pdem.run.reading.results import Results

    if names or any(one not in (None, False) for one in unused.values()):
        raise InputError(
            "--sizes draws snapshots, not columns against time; leave out NAME, --list, --from, --to, --mean"
        )
    for one in outputs:
        require_results(one, "plot")
    words, curves = _own_words(labels, outputs), {}
    for one in outputs:
        results = Results(one)
        for snapshot in [results.at(time) for time in times] or [*results[:1], *results[1:][-1:]]:
            sizes = snapshot.sizes(material)
            run = f" ({words.get(one, one)})" if len(outputs) > 1 else ""
            curves[f"{snapshot.time:.6g} s{run}"] = sizes.diameter, sizes.passing
    if not curves:
        raise InputError(f"{outputs[0]}: has no snapshot yet")
    path = Path(outputs[0]) / "sizes.png" if file is None else Path(file)
    plot_passing(path, curves, Results(outputs[0]).case.title if title is None else title)
    click.echo(f"wrote {path}")


def _own_words(labels: tuple[str, ...], names: tuple[str, ...]) -> dict[str, str]:
    """Return the words of the option --label by the names that they replace."""
    words = {}
    for label in labels:
        name, sign, text = label.partition("=")
        if not sign:
            raise InputError(f"--label {label!r} has no '='; give NAME=TEXT")
        if name not in names:
            raise InputError(f"--label {name!r} is no column or run of the plot; {name_hint(name, names)}")
        words[name] = text
    return words


@click.command(short_help="Write snapshots for other programs.")
@click.argument("output", metavar="OUTPUT", type=click.Path())
@click.option("--format", "kind", type=click.Choice(["extxyz", "csv", "vtu"]), default="extxyz", show_default=True)
@click.option("--time", type=float, help="Simulated time of one snapshot, in s; by default all are written.")
@click.option("-o", "--folder", help="Folder to write to; by default export in OUTPUT.")
def export(output: str, kind: str, time: float | None, folder: str | None) -> int:
    """Write snapshots of particles for other programs: extended XYZ for OVITO, CSV, VTU.

    CSV and VTU also write the bonds of cases with bonds, in files of their own.
    """
    return serial(lambda: _export(output, kind, time, folder))


def _export(output: str, kind: str, time: float | None, folder: str | None) -> None:
    from pdem.features.bonds.results.bond_lines import UNITS_OF_BONDS
    from pdem.features.registry import PARTICLE_FIELDS
    from pdem.output.saving import saving
    from pdem.output.snapshots.exports import EXPORTS, LINE_EXPORTS, SnapshotBox
    from pdem.run.reading.results import Results

    require_results(output, "export")
    results = Results(output)
    suffix, write = EXPORTS[kind]
    target = Path(output) / "export" if folder is None else Path(folder)
    with saving(target):
        target.mkdir(parents=True, exist_ok=True)
    snapshots = results if time is None else [results.at(time)]
    paths = []
    for snapshot in snapshots:
        paths.append(target / f"particles-{snapshot.step:09d}{suffix}")
        box = SnapshotBox(*snapshot.box, results.case.domain.periodic)
        write(paths[-1], snapshot.time, snapshot.columns, box, PARTICLE_FIELDS)
        if kind in LINE_EXPORTS and snapshot.bonds:
            paths.append(target / f"bonds-{snapshot.step:09d}{suffix}")
            LINE_EXPORTS[kind](paths[-1], snapshot.bonds, UNITS_OF_BONDS)
    for path in paths if len(paths) < 3 else (paths[0], paths[-1]):
        click.echo(f"wrote {path}")
