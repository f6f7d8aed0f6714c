"""Dosta et al., first process: discharge of a silo through two orifices, with two materials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.bulk_runs import begin_of_stage, example_run, steady_rate
from validation.gallery.dosta import MATERIALS, SOFT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.run.reading.results import Results
    from pdem.verification.study import Notebook

SMALL_ORIFICE = (
    "walls.1.radii=[0.02, 0.1]", "walls.1.length=0.08", "walls.1.centre=[0.0, 0.0, -0.0193008]",
    "walls.0.centre=[0.0, 0.0, 0.1706992]", "walls.2.point=[0.0, 0.0, -0.0593008]",
    "sensors.1.plane={point=[0.0, 0.0, -0.0593008], normal=[0.0, 0.0, -1.0]}",
    "sensors.0.region.centre=[0.0, 0.0, 0.1303496]", "sensors.0.region.length=0.3793008",
    "particles.0.fill.centre=[0.0, 0.0, 0.173]",
)  # fmt: skip
SHORT = 'stages.1={name="discharge", end=2.0, walls={gate={remove=true}}}'
"""Setting of the discharge in runs that only measure a rate."""

PUBLISHED_RATE, PUBLISHED_RATIO = 23_200.0, 3.10
"""Grains per second through the large orifice, M1, until the silo is empty, and its ratio to the small orifice.

The rate corresponds to 100,000 grains in the 4.2 to 4.4 s of the codes. Fits from 0.5 s to 3.5 s are steeper: LIGGGHTS,
one of these codes, has 24,504.
"""

EMPTY = 1000
"""Number of remaining grains at which a silo counts as empty: that of LIGGGHTS after 4.168 s."""

LIGGGHTS_SILO = {0.5: 88542, 1.0: 76015, 1.5: 63550, 2.0: 51271, 2.5: 39070, 3.0: 27007, 3.5: 15080, 4.0: 3953}
"""Remaining grains in the silo by time [s], large orifice, M1."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield rates of both orifices and materials, their ratios, and the remaining grains in the silo over time."""
    rates, findings = {}, []
    with notebook.plot("silo") as axes:
        for material in ("m1", "m2"):
            for orifice, settings in (("large", ()), ("small", SMALL_ORIFICE)):
                whole = (material, orifice) == ("m1", "large")
                given = [*SOFT, f'particles.0.material="{material}"', *settings, *(() if whole else (SHORT,))]
                results = example_run(notebook, f"{orifice}_{material}", "dosta_silo", given)
                time, left = emptying(results)
                rates[material, orifice] = rate = emptying_rate(time, left)
                axes.plot(time, left, label=f"{orifice} orifice, {material.upper()}: {rate:.0f} / s")
                if whole:
                    findings += findings_of(time, left, rate)
        axes.plot(LIGGGHTS_SILO.keys(), LIGGGHTS_SILO.values(), "k+", label="LIGGGHTS, large orifice, M1")
        axes.set(xlabel="time since the gate opened [s]", ylabel="grains in the silo")
        axes.legend()
    findings.append(StudyFinding("small orifice, M1: rate [1/s], MUSEN", rates["m1", "small"], 7737.0, 0.05))
    for material in ("m1", "m2"):
        ratio = rates[material, "large"] / rates[material, "small"]
        findings.append(
            StudyFinding(f"{material.upper()}: large over small orifice", ratio, PUBLISHED_RATIO, 0.0, margin=0.15)
        )
        findings.append(StudyFinding(f"{material.upper()}, large orifice: rate [1/s]", rates[material, "large"]))
    yield FindingTable("Silo", "codes", findings, _REMARK)


_REMARK = (
    "Moduli are a hundredth of the published ones. The bed is one of pdem's own, so that the first tenths of a second "
    "do not compare."
)


def findings_of(time: Floats, left: Floats, rate: float) -> list[StudyFinding]:
    """Compare the discharge of M1 through the large orifice with that of other codes."""
    half, empty = (float(np.interp(-number, -left, time, right=np.nan)) for number in (50_000.0, EMPTY))
    mean = (left[0] - EMPTY) / empty
    return [
        StudyFinding("large orifice, M1: mean rate until it is empty [1/s], mean of the codes", mean, PUBLISHED_RATE,
        0.05), StudyFinding("large orifice, M1: empty after [s], LIGGGHTS", empty, 4.168, 0.05),
        StudyFinding("large orifice, M1: rate [1/s], LIGGGHTS", rate, 24_504.0, 0.05),
        StudyFinding("large orifice, M1: half is left after [s], LIGGGHTS", half, 2.052, 0.05),
        *(
            StudyFinding(f"large orifice, M1: left after {when:g} s", float(found), number, 0.0, margin=3000.0)
            for when, number in list(LIGGGHTS_SILO.items())[::2]
            if not np.isnan(found := np.interp(when, time, left, right=np.nan))
        ),
    ]  # fmt: skip


def emptying(results: Results) -> tuple[Floats, Floats]:
    """Return times since the gate opened [s] and numbers of grains in the silo."""
    series = results.series
    time = series["time"] - begin_of_stage(results, 1)
    return time[time >= 0.0], series["silo_count"][time >= 0.0].astype(float)


def emptying_rate(time: Floats, left: Floats) -> float:
    """Return the rate between 0.5 s and 3.5 s, or the end of the run [1/s]."""
    steady = (time >= 0.5) & (time <= 3.5)
    return -steady_rate(time[steady], left[steady])


STUDY = Study(
    "dosta-silo", "Dosta et al.: discharge of a silo", run, "bulk", SOURCE,
    {**MATERIALS, "modulus": "a hundredth of that", "grains": "100,000 of 4 mm", "case": "pdem new dosta_silo"},
    long=True,
)  # fmt: skip
