"""Dosta et al., third process: a steel ball hits a bed, on ten packings made by pdem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.bulk_runs import begin_of_stage, case_run, example_run, own_folder
from validation.gallery.dosta import MATERIALS, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.run.reading.results import Results
    from pdem.verification.study import Notebook

DEEPEST, DEEPEST_TIME = -0.0784, 0.031
"""Least height of the ball [m], and its time [s]."""

SPREAD = 2e-4
"""Spread of the least height over packings of one code [m]."""

CODES = {
    "MercuryDPM": -0.07848, "MUSEN": -0.07837, "MFiX": -0.07833, "Kratos": -0.07844,
    "BlazeDEM": -0.0784, "GranOO": -0.0786, "Yade": -0.0785,
}  # fmt: skip
MERCURY_HEIGHTS = {
    0.005: 0.03488, 0.01: 0.00951, 0.015: -0.0161, 0.02: -0.04196, 0.025: -0.0634, 0.03: -0.0767,
    0.04: -0.0645, 0.05: -0.049, 0.06: -0.0344, 0.08: -0.0082, 0.1: 0.014,
}  # fmt: skip
PACKINGS = 10
MODULI = {1e7: 0.3, 1e8: 0.08}
"""Moduli with which a bed settles before the published one [Pa], and the durations [s]."""

LAST_REST = 0.025
"""Time for the bed to come to rest with the published modulus [s]."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield depth and time of the deepest point, and later heights of the ball: means over packings made by pdem."""
    heights = []
    times = np.arange(0.0, 0.1, 2.5e-4)
    with notebook.plot("impact", 2) as (left, right):
        for packing in range(1, PACKINGS + 1):
            found = ball_heights(impact_run(notebook, packing), times)
            heights.append(found)
            left.plot(times, found, "C0", linewidth=0.7)
        left.plot(MERCURY_HEIGHTS.keys(), MERCURY_HEIGHTS.values(), "k+", label="MercuryDPM, mean of ten packings")
        left.set(xlabel="time [s]", ylabel="height of the ball [m]")
        left.legend()
        deepest = np.array([deepest_point(times, one) for one in heights])
        right.plot(1e3 * deepest[:, 0], "o", label="pdem, packings")
        for k, (code, value) in enumerate(CODES.items()):
            right.plot(k, 1e3 * value, "k+", label="codes, means" if not k else None)
            right.annotate(code, (k, 1e3 * value), (4, 4), textcoords="offset points", rotation=45, fontsize=8)
        right.set(xlabel="number of the packing or code", ylabel="lowest height of the ball [mm]")
        right.margins(0.15, 0.25)  # room for the names
        right.legend(loc="upper right")
    yield FindingTable(
        f"Impact on a bed, packings: {len(heights)}", "codes", findings_of(times, np.array(heights), deepest), _REMARK
    )


_REMARK = (
    "The spread of the codes over their packings is 0.0001 to 0.0002 m, that of z(0.1 s) 0.01 m. Packings settle with "
    "moduli of 10 MPa, 100 MPa and 1 GPa; then all is as published."
)


def findings_of(times: Floats, heights: Floats, deepest: Floats) -> list[StudyFinding]:
    """Return results of balls on packings (k, n) beside the codes; `deepest` (k, 2) has least heights and times."""
    mean, scatter = heights.mean(axis=0), 2.0 * SPREAD / np.sqrt(len(heights))
    findings = [
        StudyFinding("least height of the ball [m]", float(deepest[:, 0].mean()), DEEPEST, 0.0, margin=3e-4 + scatter),
        StudyFinding("reached after [s]", float(deepest[:, 1].mean()), DEEPEST_TIME, 0.0, margin=1e-3),
        StudyFinding(
            "free flight: height at 0.01 s [m]", float(np.interp(0.01, times, mean)), 0.0095095, 0.0, margin=1e-5
        ),
        StudyFinding("height at 0.025 s [m]", float(np.interp(0.025, times, mean)), -0.0633, 0.0, margin=1e-3),
        StudyFinding("height at 0.04 s [m]", float(np.interp(0.04, times, mean)), -0.066, 0.0, margin=4e-3),
        StudyFinding("height at the end [m]", float(mean[-1]), 0.009, 0.0, margin=0.02),
    ]
    if len(heights) > 1:
        findings.append(StudyFinding("spread of the least height over packings [m]", float(deepest[:, 0].std(ddof=1))))
        findings.append(StudyFinding("spread of the height at the end [m]", float(heights[:, -1].std(ddof=1))))
    return findings


def impact_run(notebook: Notebook, packing: int) -> Results:
    """Return the results of a ball on a packing that has settled in three phases: soft, harder, and as published.

    The harder resting grains are, the less they overlap. From one modulus to the next the bed expands a little, and
    must come to rest again.
    """
    name, bed = f"packing{packing}", f".fill.seed={packing}"
    for modulus, time in MODULI.items():
        folder = f"{name}_{modulus:g}"
        settings = [f"materials.m1.youngs_modulus={modulus}", f"particles.0{bed}", *_settling(time)]
        example_run(notebook, folder, "dosta_impact", settings)
        bed = f'={{material="m1", file="{own_folder(notebook, folder) / "stage-filling.h5"}"}}'
    case = Case.read(next(iter(write_example("dosta_impact", notebook.folder.resolve() / name))))
    settings = [
        f"particles.0{bed}", f'stages.0={{name="filling", end={LAST_REST}}}', "time.step_fraction=0.2",
        "output.checkpoint_every=0.005", "output.snapshots_every=0.05", "output.series_every=2.5e-4",
    ]  # fmt: skip
    return case_run(notebook, name, case, settings, [ball_height])


def _settling(time: float) -> list[str]:
    """Return the settings of a run in which the bed comes to rest for some time [s]."""
    return [
        "insertions=[]", "time.step_fraction=0.2", f'stages=[{{name="filling", end={time}}}]',
        "output.snapshots_every=0.5", "output.series_every=0.005", "output.checkpoint_every=0.05",
    ]  # fmt: skip


def ball_height(simulation: Any) -> dict[str, tuple[str, float]]:
    """Return the height of the ball [m], NaN before its insertion."""
    own = simulation.particles
    height = simulation.maximum(own.position[:, 2], own.radius > 0.005)
    return {"ball_height": ("m", height if np.isfinite(height) else np.nan)}


def ball_heights(results: Results, times: Floats) -> Floats:
    """Return the height of the ball at some times after its insertion [m]."""
    series = results.series
    there = np.isfinite(series["ball_height"])
    time = series["time"][there]
    return np.interp(times, time - begin_of_stage(results, 1), series["ball_height"][there])


def deepest_point(times: Floats, heights: Floats) -> tuple[float, float]:
    """Return the least height before 0.05 s [m] and its time [s]."""
    early = heights[times < 0.05]
    k = int(early.argmin())
    return float(early[k]), float(times[k])


STUDY = Study(
    "dosta-impact", "Dosta et al.: a steel ball hits a bed", run, "bulk", SOURCE,
    {**MATERIALS, "grains": "25,000 of 2 mm", "ball": "20 mm, 5 m/s", "case": "pdem new dosta_impact"},
    long=True,
)  # fmt: skip
