"""Dosta et al., second process: a drum mixes two materials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.bulk_runs import begin_of_stage, example_run
from validation.gallery.dosta import MATERIALS, SOFT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.foundation.array_types import Floats
    from pdem.run.reading.results import Results
    from pdem.verification.study import Notebook


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield numbers of grains in two quarters of the drum, and centres of mass over time."""
    results = example_run(notebook, "drum", "dosta_drum", SOFT)
    begin = begin_of_stage(results, 1)
    times, wanted = np.linspace(0.0, 5.0, 26), curves()
    found = counts(results, begin, times) | centres(results, begin, times)
    panels: tuple[tuple[str, ...], ...] = (("z2_m1", "z1_m1"), ("z2_m2", "z1_m2"), ("M1 x", "M1 z", "M2 x", "M2 z"))
    with notebook.plot("drum", len(panels)) as axes:
        for panel, names in zip(axes, panels, strict=True):
            for k, name in enumerate(names):
                panel.plot(times, found[name], f"C{k}", label=_LABELS.get(name, name))
                panel.plot(times[: len(wanted[name])], wanted[name], f"C{k}+")
            panel.set(xlabel="time [s]")
            panel.legend(title="line: pdem, +: codes", loc="best", framealpha=0.6)
        axes[0].set(ylabel="grains in a quarter")
        axes[1].set(ylabel="grains in a quarter")
        axes[2].set(ylabel="centre of mass [m]")
    yield FindingTable("Drum", "codes", list(findings_of(times, found, wanted)), _REMARK)


_LABELS = {f"z{zone}_m{k}": f"M{k}, x and z {where} 0" for k in (1, 2) for zone, where in ((1, "above"), (2, "below"))}
_REMARK = (
    "Counts are of LIGGGHTS, centres of mass of MUSEN. z1: the quarter of x and z above 0, z2: below. Moduli are a "
    "hundredth of the published ones; bed and facets of the drum (48 sides) are pdem's own; the flow depends on both."
)


def findings_of(times: Floats, found: Mapping[str, Floats], wanted: Mapping[str, Floats]) -> Iterator[StudyFinding]:
    """Compare numbers, centres of mass and periods with the curves of other codes, by name."""
    early = times <= 3.0
    for name, values in wanted.items():
        off = np.abs(found[name][: len(values)] - values)[early[: len(values)]]
        if name[0] == "z":
            yield at_most(
                f"{name}: mean distance of the numbers, to 3 s", float(off.mean()), 1500.0 if "m1" in name else 300.0
            )
        else:
            yield at_most(f"{name}: mean distance, to 3 s [m]", float(off.mean()), 0.005)
    own, codes = (peaks(times, values["z2_m1"]) for values in (found, wanted))
    yield StudyFinding("z2_m1: first peak [s]", float(own[0]), float(codes[0]), 0.0, margin=0.1)
    for k, name in enumerate(("first", "second")):
        period, wanted_period = (float(one[k + 1] - one[k]) for one in (own, codes))
        yield StudyFinding(f"z2_m1: {name} period [s]", period, wanted_period, 0.0, margin=0.1)


def peaks(times: Floats, values: Floats) -> Floats:
    """Return the times of the first three peaks of the oscillation of the small grains [s]."""
    return np.array(
        [peak_time(times[near], values[near]) for near in (np.abs(times - about) < 0.7 for about in _PEAKS)]
    )


_PEAKS = (0.6, 2.4, 4.4)
"""Approximate times of the maxima of small grains in quarter 2 [s]."""


def peak_time(times: Floats, values: Floats) -> float:
    """Return the time of the maximum, by a parabola through the largest value and its neighbours."""
    k = int(np.clip(values.argmax(), 1, len(values) - 2))
    left, middle, right = values[k - 1 : k + 2]
    bend = left - 2.0 * middle + right
    return float(times[k] + (0.0 if bend == 0.0 else 0.5 * (times[1] - times[0]) * (left - right) / bend))


def counts(results: Results, begin: float, times: Floats) -> dict[str, Floats]:
    """Return the numbers of both kinds of grains in two quarters of the drum at some times after its start."""
    series = results.series
    return {
        f"z{zone}_{kind}": np.interp(begin + times, series["time"], series[f"zone{zone}_count_{kind}"])
        for zone in (1, 2)
        for kind in ("m1", "m2")
    }


def centres(results: Results, begin: float, times: Floats) -> dict[str, Floats]:
    """Return the coordinates of the centres of mass of both kinds of grains [m]."""
    known = results.times
    places = []
    for time in known:
        now = results.at(time)
        places.append([now.position[now.radius < 0.0015].mean(axis=0), now.position[now.radius > 0.0015].mean(axis=0)])
    at = np.array(places)
    return {
        f"M{kind + 1} {'xyz'[axis]}": np.interp(begin + times, known, at[:, kind, axis])
        for kind in (0, 1)
        for axis in (0, 2)
    }


def _numbers(text: str) -> Floats:
    return np.array(text.split(), np.float64)


def curves() -> dict[str, Floats]:
    """Return counts and centres of mass of other codes every 0.2 s."""
    return {name: _numbers(text) for name, text in _CURVES.items()}


_CURVES = {
    "z2_m1": (
        "14471 13366 13546 22861 18552 9869 3341 342 5 562 5984 12587 16617 16070 11367 6136 2214 940 "
        "2584 5405 8275 11466 12608 11018 7943 4736"
    ),
    "z1_m1": ("0 2006 6072 1209 11 1 0 4 2407 5820 7521 7514 3807 903 58 3 3 615 3338 5228 5626 3945 1810 377 45 34"),
    "z2_m2": (
        "3319 2496 1051 68 985 2026 2705 3105 3196 3229 2495 1547 1118 1217 1748 2410 2967 3014 2886 "
        "2543 2171 1779 1646 1809 2225 2636"
    ),
    "z1_m2": ("0 0 588 1162 960 961 974 907 480 53 1 130 551 818 924 843 769 763 397 171 151 358 625 820 790 767"),
    "M1 x": (
        "-.0001 .0093 .0089 -.0171 -.0125 .0136 .0394 .0585 .0685 .0641 .0433 .0157 -.0031 -.0034 .0113 "
        ".0309 .0468 .0549 .0539 .0431 .0279 .0146 .0089 .0134 .0243 .0352"
    ),
    "M1 z": (
        "-.0289 -.0297 -.0330 -.0619 -.0760 -.0768 -.0674 -.0514 -.0325 -.0194 -.0203 -.0336 -.0517 "
        "-.0651 -.0689 -.0638 -.0532 -.0411 -.0315 -.0294 -.0346 -.0446 -.0546 -.0598 -.0590 -.0541"
    ),
    "M2 x": (
        ".0004 .0227 .0428 .0517 .0455 .0348 .0234 .0134 .0085 .0100 .0203 .0339 .0422 .0425 .0355 .0263 "
        ".0189 .0156 .0166 .0203 .0273 .0341 .0364 .0340 .0291 .0245"
    ),
    "M2 z": (
        "-.0637 -.0605 -.0488 -.0374 -.0339 -.0333 -.0374 -.0457 -.0546 -.0608 -.0598 -.0532 -.0451 "
        "-.0391 -.0378 -.0406 -.0458 -.0512 -.0552 -.0566 -.0540 -.0491 -.0448 -.0429 -.0437 -.0461"
    ),
}


STUDY = Study(
    "dosta-drum", "Dosta et al.: a rotating drum with two materials", run, "bulk", SOURCE,
    {
        **MATERIALS, "modulus": "a hundredth of that", "grains": "30,000 of M1, 2 mm, on 8,000 of M2, 4 mm",
        "drum": "radius 0.1 m, 0.06 m long, 2 rad/s", "case": "pdem new dosta_drum",
    },
    long=True,
)  # fmt: skip
