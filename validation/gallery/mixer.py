"""The rotary mixer of the double hierarchy paper for 20 s: torque, power, and quality of mixing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.features.sensors.report import lacey_index
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.bulk_runs import example_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.run.reading.results import Results, SeriesTable
    from pdem.verification.study import Notebook

START, RATE = 0.5, 18.85
"""Start of the rotor [s], and its angular velocity [rad/s]."""

CELLS = (10, 6, 6)
"""Cells for Lacey's index along the axes of the drum."""

LEAST = 10
_HALF = np.array([0.175, 0.13, 0.13])


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield torque and power of the rotor, the energy balance, and mixing indices of halves of the bed."""
    settings = ["output.snapshots_every=0.1", "output.series_every=0.005", "output.checkpoint_every=0.1"]
    results = example_run(notebook, "mixer", "h2_mixer", settings)
    series = results.series
    turning = series["time"] > START + 1.0
    time, torque, power = series["time"], series["h2_rotor_torque_x"], series["h2_rotor_power"]
    mixed = mixing(results)
    with notebook.plot("mixer", 3) as (first, second, third):
        first.plot(time, torque, linewidth=0.5)
        second.plot(time, power, linewidth=0.5)
        for name, values in mixed.items():
            third.plot(*values, label=name)
        for axes, label in zip((first, second, third), ("torque [N m]", "power [W]", "Lacey's index"), strict=True):
            axes.set(xlabel="time [s]", ylabel=label)
        third.legend()
    turned_over = np.abs(series["wall_work"][-1]) + series["translation"][-1]
    residual = float(np.abs(series["residual"]).max() / turned_over)
    findings = [
        StudyFinding("mean torque on the rotor [N m]", float(torque[turning].mean())),
        StudyFinding("its deviation [N m]", float(torque[turning].std())),
        StudyFinding("mean power [W]", float(power[turning].mean()), -RATE * float(torque[turning].mean()), 1e-3),
        StudyFinding("work of the rotor over mean power times time", _work_over_power(series, turning), 1.0, 0.05),
        at_most("residual of the energy balance over the energy that is converted", residual, 0.01),
    ]  # fmt: skip
    for name, values in mixed.items():
        findings.append(StudyFinding(f"{name}: Lacey's index at the end", float(values[1, -1])))
        half = np.flatnonzero(values[1] > 0.5)
        if len(half):
            findings.append(StudyFinding(f"{name}: above 0.5 after [s]", float(values[0, half[0]] - START)))
    yield FindingTable(f"The mixer to {time[-1]:.1f} s", "exact", findings)


def _work_over_power(series: SeriesTable, turning: Booleans) -> float:
    """Return the work of walls over the integral of the sampled power of the rotor."""
    time, work, power = (series[name][turning] for name in ("time", "wall_work", "h2_rotor_power"))
    return float((work[-1] - work[0]) / np.trapezoid(power, time))


def mixing(results: Results) -> dict[str, Floats]:
    """Return times [s] and Lacey's indices (2, n) of the halves of the bed: along the axis, across it, by height."""
    times = results.times[results.times >= START]
    begin = results.at(START).position
    labels = {
        name: begin[:, axis] < np.median(begin[:, axis])
        for axis, name in enumerate(("halves along the axis", "halves across it", "halves by height"))
    }
    found: dict[str, list[float]] = {name: [] for name in labels}
    for time in times:
        cell = cells_of(results.at(time).position)
        for name, label in labels.items():
            counts = [np.bincount(cell[side], minlength=int(np.prod(CELLS))) for side in (label, ~label)]
            found[name].append(lacey_index(np.array(counts), LEAST))
    return {name: np.array([times, values]) for name, values in found.items()}


def cells_of(position: Floats) -> Integers:
    """Return the number of the cell of each particle."""
    place = (position + _HALF) / (2.0 * _HALF) * CELLS
    cell = np.clip(place.astype(np.int64), 0, np.array(CELLS) - 1)
    return np.ravel_multi_index(tuple(cell.T), CELLS)


STUDY = Study(
    "mixer", "The rotary mixer for 20 s: torque, power, mixing", run, "bulk",
    "Santasusana et al., Comput. Part. Mech. 3 (2016) 407-428, sect. 6.2; it has no torques",
    {
        "spheres": "29,559 of 7 mm, 1000 kg/m3, 10 MPa, friction 0.5, restitution 0.4", "rotor": "18.85 rad/s for 20 s",
        "time step": "50 us, as published", "case": "pdem new h2_mixer",
    },
    long=True,
)  # fmt: skip
