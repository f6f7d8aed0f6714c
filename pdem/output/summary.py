"""Texts for the end of a run: times of phases, speed, energy balance. Pure functions from numbers to text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def duration(seconds: float) -> str:
    """Return `seconds` as ``mm:ss``, ``h:mm:ss`` or ``3d 04h``; ``?`` when it is not a finite time."""
    if not 0 <= seconds < float("inf"):
        return "?"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE:02d}:{whole % _MINUTE:02d}"
    if whole < _DAY:
        return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02d}:{whole % _MINUTE:02d}"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR:02d}h"


def quantity(value: float) -> str:
    """Return a large number with a word for its magnitude: ``12.3 million``."""
    for factor, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {word}"
    return f"{value:.3g}"


def counted(count: int, thing: str) -> str:
    """Return a count with its noun, singular or plural: ``1 particle``, ``12,345 particles``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


class OverRanks(NamedTuple):
    """Smallest, mean and largest time over the ranks [s]."""

    least: float
    mean: float
    most: float


def phase_table(seconds: Mapping[str, OverRanks]) -> str:
    """Return a table of phases, largest first.

    Parameters
    ----------
    seconds : mapping of OverRanks
        Time (s) of each phase.

    Returns
    -------
    str
        The times, and the mean in per cent of the sum of all means.
    """
    total = sum(times.mean for times in seconds.values())
    rows = [
        (phase, *(f"{one:.3f}" for one in times), f"{100 * times.mean / total if total else 0.0:.1f}")
        for phase, times in sorted(seconds.items(), key=lambda item: -item[1].mean)
    ]
    head = ("phase", "min[s]", "avg[s]", "max[s]", "%")
    return Table(head, [*rows, ("total", "", f"{total:.3f}", "", "")]).text()


def body_count(columns: Mapping[str, NDArray[Any]]) -> int:
    """Return the number of bodies from the columns of spheres: all spheres of a cluster are one body."""
    if "cluster" not in columns:
        return len(columns["radius"])
    clusters = np.unique(columns["cluster"])
    return int(np.count_nonzero(columns["cluster"] == 0) + np.count_nonzero(clusters))


def throughput(particle_steps: float, seconds: float, threads: int) -> str:
    """Return the speed of a run in one line: particle-steps per second, in total and per thread."""
    if seconds <= 0 or threads < 1:
        return "no steps were taken"
    rate = particle_steps / seconds
    return (
        f"{quantity(rate)} particle-steps/s, {quantity(rate / threads)} per thread on "
        f"{counted(threads, 'thread')}, {duration(seconds)} in all"
    )


class EnergyReport(NamedTuple):
    """The energy balance at the end of a run.

    Attributes
    ----------
    energies : mapping of float
        Energy (J) by name, in the order to show.
    residual : float or None
        Residual of the energy balance (J); also shown relative to the largest energy.
    heat : tuple of str
        Names of amounts of heat, which are exact and do not count as the largest energy.
    """

    energies: Mapping[str, float]
    residual: float | None = None
    heat: tuple[str, ...] = ()


def energy_table(balance: EnergyReport) -> str:
    """Return the energy balance as a table."""
    energies, residual, heat = balance
    rows = [(name.replace("_", " "), f"{value:.6e}") for name, value in energies.items()]
    relative = ""
    if residual is not None:
        rows.append(("residual", f"{residual:.6e}"))
        largest = max((abs(value) for name, value in energies.items() if name not in heat), default=0.0)
        relative = f"  ({residual / largest:.1e} of the largest)" if largest else ""
    return Table(("energy", "J"), rows).text() + relative


def end_report(
    seconds: Mapping[str, OverRanks],
    particle_steps: float,
    wall_time: float,
    cores: int,
    balance: EnergyReport,
    notes: Sequence[str] = (),
) -> str:
    """Return the report at the end of a run: phases, speed, energy balance, notes; see the functions above."""
    parts = [phase_table(seconds), throughput(particle_steps, wall_time, cores), energy_table(balance)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])
