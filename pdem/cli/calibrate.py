"""``pdem calibrate`` and ``pdem fit``: values of a case from measurements, by runs and without."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import collective, echo_to_stderr, is_root, quiet_option, serial, threads_option

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_FOUND = _UNKNOWN = 1


@click.command(short_help="Find values of a case that fit measurements.")
@click.argument("target", metavar="FILE|FOLDER", type=click.Path())
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of runs at the same time."
)
@threads_option
@quiet_option
def calibrate(target: str, jobs: int, threads: int | None, quiet: bool) -> int:
    """Find the values of a case for which measures meet given targets, with their errors.

    FILE names the case, ranges of values, measures and targets (pdem new repose_calibration, pdem explain calibrate).
    FOLDER is the folder of an earlier calibration, which is continued. A scan of the whole ranges is followed by runs
    at the most informative values. Runs that exist are not repeated. The exit code is 1 if the targets are not reached,
    or if they leave a value unknown.
    """
    return collective(partial(_calibrate, target, jobs, threads, quiet), threads)


def _calibrate(target: str, jobs: int, threads: int | None, quiet: bool, communicator: Any, own: int) -> int:
    from pdem.engine.ranks import on_first
    from pdem.foundation.errors import InputError
    from pdem.sweeps.calibration import play_calibration
    from pdem.sweeps.sections import CalibrationPlan
    from pdem.sweeps.setup import read_setup

    if communicator is not None and communicator.size > 1 and jobs > 1:
        raise InputError(f"--jobs {jobs} on {communicator.size} ranks: leave one of both away")
    setup = on_first(communicator, lambda: read_setup(CalibrationPlan, Path(target)))
    tell: Callable[[str], object] = echo_to_stderr if is_root(communicator) and not quiet else (lambda text: None)
    done = play_calibration(setup, jobs, communicator, threads if jobs > 1 else own, tell)
    if is_root(communicator):
        click.echo(str(done))
        click.echo(f"tables and report in {done.folder}")
    return 0 if done.converged else _NOT_FOUND


@click.group(short_help="Fit values of a case to tables of laboratory tests.")
def fit() -> None:
    """Fit values of a case to tables of laboratory tests, without runs."""


@fit.command(short_help="Fit fracture energies to drop-weight tests.")
@click.argument("table", metavar="TABLE", type=click.Path())
@click.option(
    "--greatest", type=float, default=4.0, show_default=True,
    help="Largest fracture energy of a size over its median, as in the case file.",
)  # fmt: skip
@click.option(
    "--fix", "fixed", multiple=True, metavar="KEY=VALUE",
    help="Value of fracture_energy (J/kg), size (m), exponent or spread that is known; may be repeated.",
)  # fmt: skip
@click.option("--material", default="NAME", show_default=True, help="Name of the material in the printed keys.")
@click.option("-o", "--file", help="Picture to write (.png, .pdf, .svg); by default TABLE_fit.png beside TABLE.")
@click.option("--no-picture", is_flag=True, help="Write no picture.")
def breakage(
    table: str, greatest: float, fixed: tuple[str, ...], material: str, file: str | None, no_picture: bool
) -> int:  # fmt: skip
    """Fit the keys of [materials.NAME.breakage] to drop-weight tests of single particles, by maximum likelihood.

    TABLE is a CSV file with a row for each size and energy: the columns size [mm], energy [J/kg], broken and tested
    (numbers of particles). The command prints the values with errors, how well the model fits, and the keys for the
    case file, and draws data and curves. The exit code is 1 if the table does not determine all keys.
    """
    return serial(lambda: _breakage(Path(table), greatest, fixed, material, None if no_picture else file or ""))


def _breakage(table: Path, greatest: float, fixed: tuple[str, ...], material: str, file: str | None) -> int:
    from pdem.laboratory.fracture_fit import fit_drop_weights
    from pdem.laboratory.fracture_picture import draw_fracture_fit
    from pdem.laboratory.fracture_report import report_lines
    from pdem.output.pictures.figure import can_draw

    found = fit_drop_weights(table, greatest=greatest, fixed=_values(fixed))
    for line in report_lines(found, material):
        click.echo(line)
    if file or (file is not None and can_draw()):
        picture = Path(file) if file else table.with_name(f"{table.stem}_fit.png")
        draw_fracture_fit(found, picture, table.name)
        click.echo(f"\nwrote {picture}")
    return _UNKNOWN if found.unknown else 0


def _values(fixed: tuple[str, ...]) -> dict[str, float]:
    """Return the values of the option --fix by key."""
    from pdem.foundation.errors import InputError
    from pdem.foundation.number_rows import number_of
    from pdem.foundation.texts import TextError

    values = {}
    for one in fixed:
        key, sign, value = one.partition("=")
        try:
            values[key.strip()] = number_of(value.strip())
        except TextError as error:
            fact = f"{error}" if sign else "has no '='"
            raise InputError(f"--fix {one!r}: {fact}; give KEY=VALUE, such as exponent=1.2") from None
    return values
