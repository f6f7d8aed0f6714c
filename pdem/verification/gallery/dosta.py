"""The three processes of Dosta et al. for the comparison of codes: a silo, a drum, an impact on a bed.

Numbers of LIGGGHTS and MUSEN for silo and drum are those of later runs of the same cases by others (peclet, 2026);
those of the impact are means over ten packings of each code, from the data behind the paper's figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.example_cases import write_example
from pdem.case.model import Case
from pdem.verification.gallery.bulk_runs import begin_of_stage, case_run, example_run, own_folder, steady_rate
from pdem.verification.study import Finding, Study, Table, at_most

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.simulation.results import Results
    from pdem.verification.study import Notebook

    Floats = NDArray[np.float64]

SOFT = ("materials.m1.youngs_modulus=1e7", "materials.m2.youngs_modulus=5e6")
"""A hundredth of the published moduli: the step is ten times as long."""

SMALL_ORIFICE = (
    "walls.1.radii=[0.02, 0.1]", "walls.1.length=0.08", "walls.1.centre=[0.0, 0.0, -0.0193008]",
    "walls.0.centre=[0.0, 0.0, 0.1706992]", "walls.2.point=[0.0, 0.0, -0.0593008]",
    "sensors.1.plane={point=[0.0, 0.0, -0.0593008], normal=[0.0, 0.0, -1.0]}",
    "sensors.0.region.centre=[0.0, 0.0, 0.1303496]", "sensors.0.region.length=0.3793008",
)  # fmt: skip
SHORT = 'stages.1={name="discharge", end=2.0, walls={gate={remove=true}}}'
"""Of runs for a rate alone [s]."""

PUBLISHED_RATE, PUBLISHED_RATIO = 23_200.0, 3.10
"""Grains per second through the large orifice, M1; that over the rate through the small one."""

LIGGGHTS_SILO = {
    0.5: 88542,
    1.0: 76015,
    1.5: 63550,
    2.0: 51271,
    2.5: 39070,
    3.0: 27007,
    3.5: 15080,
    4.0: 3953,
}
"""Grains left in the silo by time [s], large orifice, M1."""

DEEPEST, DEEPEST_TIME = -0.0784, 0.031
"""Least height of the ball [m], and when [s]."""

IMPACT_CODES = {
    "MercuryDPM": -0.07848, "MUSEN": -0.07837, "MFiX": -0.07833, "Kratos": -0.07844,
    "BlazeDEM": -0.0784, "GranOO": -0.0786, "Yade": -0.0785,
}  # fmt: skip
MERCURY_HEIGHTS = {
    0.005: 0.03488, 0.01: 0.00951, 0.015: -0.0161, 0.02: -0.04196, 0.025: -0.0634, 0.03: -0.0767,
    0.04: -0.0645, 0.05: -0.049, 0.06: -0.0344, 0.08: -0.0082, 0.1: 0.014,
}  # fmt: skip
PACKINGS = 10


def silo(notebook: Notebook) -> Iterator[Table]:
    """Yield rates of both orifices and materials, their ratios, and what is left in the silo over time."""
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
                    findings += _silo_findings(time, left, rate)
        axes.plot(LIGGGHTS_SILO.keys(), LIGGGHTS_SILO.values(), "k+", label="LIGGGHTS, large orifice, M1")
        axes.set(xlabel="time since the gate opened [s]", ylabel="grains in the silo")
        axes.legend()
    findings.append(Finding("small orifice, M1: rate [1/s], MUSEN", rates["m1", "small"], 7737.0, 0.05))
    for material in ("m1", "m2"):
        ratio = rates[material, "large"] / rates[material, "small"]
        findings.append(
            Finding(f"{material.upper()}: large over small orifice", ratio, PUBLISHED_RATIO, 0.0, margin=0.15)
        )
        findings.append(Finding(f"{material.upper()}, large orifice: rate [1/s]", rates[material, "large"]))
    yield Table("Silo", "codes", findings, _SOFT_REMARK)


_SOFT_REMARK = (
    "Moduli are a hundredth of the published ones. The bed is one of pdem's own, so that the first tenths of a second "
    "do not compare."
)


def _silo_findings(time: Floats, left: Floats, rate: float) -> list[Finding]:
    half = float(np.interp(-50_000.0, -left, time))
    return [
        Finding("large orifice, M1: rate [1/s], mean of the codes", rate, PUBLISHED_RATE, 0.05),
        Finding("large orifice, M1: rate [1/s], LIGGGHTS", rate, 24_504.0, 0.05),
        Finding("large orifice, M1: half is left after [s], LIGGGHTS", half, 2.052, 0.05),
        *(
            Finding(f"large orifice, M1: left after {when:g} s", float(found), number, 0.0, margin=3000.0)
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
    """Return the rate between 0.5 s and 3.5 s, or the end [1/s]."""
    steady = (time >= 0.5) & (time <= 3.5)
    return -steady_rate(time[steady], left[steady])


def drum(notebook: Notebook) -> Iterator[Table]:
    """Yield numbers in two quarters of the drum and centres of mass over time."""
    results = example_run(notebook, "drum", "dosta_drum", SOFT)
    begin = begin_of_stage(results, 1)
    times, wanted = np.linspace(0.0, 5.0, 26), _drum_curves()
    found = drum_counts(results, begin, times) | drum_centres(results, begin, times)
    panels: tuple[tuple[str, ...], ...] = (
        ("z2_m1", "z1_m1"),
        ("z2_m2", "z1_m2"),
        ("M1 x", "M1 z", "M2 x", "M2 z"),
    )
    with notebook.plot("drum", len(panels)) as axes:
        for panel, names in zip(axes, panels, strict=True):
            for k, name in enumerate(names):
                panel.plot(times, found[name], f"C{k}", label=name)
                panel.plot(times[: len(wanted[name])], wanted[name], f"C{k}+")
            panel.set(xlabel="time [s]")
            panel.legend(title="line: pdem, +: codes")
        axes[0].set(ylabel="grains in a quarter")
        axes[2].set(ylabel="centre of mass [m]")
    yield Table("Drum", "codes", list(_drum_findings(times, found, wanted)), _DRUM_REMARK)


_DRUM_REMARK = (
    "Counts are of LIGGGHTS, centres of mass of MUSEN. z1: the quarter of x and z above 0, z2: below. Moduli are a "
    "hundredth of the published ones; bed and facets of the drum (48 sides) are pdem's own; the flow depends on both."
)


def _drum_findings(
    times: Floats, found: Mapping[str, Floats], wanted: Mapping[str, Floats]
) -> Iterator[Finding]:
    early = times <= 3.0
    for name, values in wanted.items():
        off = np.abs(found[name][: len(values)] - values)[early[: len(values)]]
        if name[0] == "z":
            yield at_most(
                f"{name}: mean distance of the numbers, to 3 s",
                float(off.mean()),
                1500.0 if "m1" in name else 300.0,
            )
        else:
            yield at_most(f"{name}: mean distance, to 3 s [m]", float(off.mean()), 0.005)
    own, codes = (peaks(times, values["z2_m1"]) for values in (found, wanted))
    yield Finding("z2_m1: first peak [s]", float(own[0]), float(codes[0]), 0.0, margin=0.1)
    for k, name in enumerate(("first", "second")):
        period, wanted_period = (float(one[k + 1] - one[k]) for one in (own, codes))
        yield Finding(f"z2_m1: {name} period [s]", period, wanted_period, 0.0, margin=0.1)


def peaks(times: Floats, values: Floats) -> Floats:
    """Return the times of the first three peaks of the oscillation of the small grains [s]."""
    return np.array(
        [peak_time(times[near], values[near]) for near in (np.abs(times - about) < 0.7 for about in _PEAKS)]
    )


_PEAKS = (0.6, 2.4, 4.4)
"""About when quarter 2 has most small grains [s]."""


def peak_time(times: Floats, values: Floats) -> float:
    """Return when the parabola through the largest of some values and its neighbours is largest."""
    k = int(np.clip(values.argmax(), 1, len(values) - 2))
    left, middle, right = values[k - 1 : k + 2]
    bend = left - 2.0 * middle + right
    return float(times[k] + (0.0 if bend == 0.0 else 0.5 * (times[1] - times[0]) * (left - right) / bend))


def drum_counts(results: Results, begin: float, times: Floats) -> dict[str, Floats]:
    """Return the numbers of both kinds of grains in two quarters of the drum at some times after its begin."""
    series = results.series
    return {
        f"z{zone}_{kind}": np.interp(begin + times, series["time"], series[f"zone{zone}_count_{kind}"])
        for zone in (1, 2)
        for kind in ("m1", "m2")
    }


def drum_centres(results: Results, begin: float, times: Floats) -> dict[str, Floats]:
    """Return the coordinates of the centres of mass of both kinds of grains [m]."""
    known = results.times
    places = []
    for time in known:
        now = results.at(time)
        places.append(
            [now.position[now.radius < 0.0015].mean(axis=0), now.position[now.radius > 0.0015].mean(axis=0)]
        )
    at = np.array(places)
    return {
        f"M{kind + 1} {'xyz'[axis]}": np.interp(begin + times, known, at[:, kind, axis])
        for kind in (0, 1)
        for axis in (0, 2)
    }


def impact(notebook: Notebook) -> Iterator[Table]:
    """Yield how deep the ball goes, when, and where it is afterwards: means over packings that pdem has made."""
    heights = []
    times = np.arange(0.0, 0.1, 5e-4)
    with notebook.plot("impact", 2) as (left, right):
        for packing in range(1, PACKINGS + 1):
            found = ball_heights(impact_run(notebook, packing), times)
            heights.append(found)
            left.plot(times, found, "C0", linewidth=0.7)
        left.plot(
            MERCURY_HEIGHTS.keys(), MERCURY_HEIGHTS.values(), "k+", label="MercuryDPM, mean of ten packings"
        )
        left.set(xlabel="time [s]", ylabel="height of the ball [m]")
        left.legend()
        deepest = np.array([deepest_point(times, one) for one in heights])
        right.plot(1e3 * deepest[:, 0], "o", label="pdem, packings")
        for k, (code, value) in enumerate(IMPACT_CODES.items()):
            right.plot(k, 1e3 * value, "k+", label="codes, means" if not k else None)
            right.annotate(code, (k, 1e3 * value), rotation=45, fontsize=7)
        right.set(xlabel="packing, code", ylabel="least height [mm]")
        right.legend()
    yield Table(
        "Impact on a bed", "codes", impact_findings(times, np.array(heights), deepest), _IMPACT_REMARK
    )


_IMPACT_REMARK = (
    "The spread of the codes over their packings is 0.0001 to 0.0002 m, that of z(0.1 s) 0.01 m. Packings settle with "
    "a modulus of 10 MPa; then all is as published."
)


def impact_findings(times: Floats, heights: Floats, deepest: Floats) -> list[Finding]:
    """Return what balls on packings (k, n) do beside the codes; `deepest` has least heights and their times (k, 2)."""
    mean = heights.mean(axis=0)
    findings = [
        Finding("least height of the ball [m]", float(deepest[:, 0].mean()), DEEPEST, 0.0, margin=3e-4),
        Finding("reached after [s]", float(deepest[:, 1].mean()), DEEPEST_TIME, 0.0, margin=1e-3),
        Finding(
            "free flight: height at 0.01 s [m]",
            float(np.interp(0.01, times, mean)),
            0.0095095,
            0.0,
            margin=1e-5,
        ),
        Finding("height at 0.025 s [m]", float(np.interp(0.025, times, mean)), -0.0633, 0.0, margin=1e-3),
        Finding("height at 0.04 s [m]", float(np.interp(0.04, times, mean)), -0.066, 0.0, margin=4e-3),
        Finding("height at the end [m]", float(mean[-1]), 0.009, 0.0, margin=0.02),
    ]
    if len(heights) > 1:
        findings.append(
            Finding("spread of the least height over packings [m]", float(deepest[:, 0].std(ddof=1)))
        )
        findings.append(Finding("spread of the height at the end [m]", float(heights[:, -1].std(ddof=1))))
    return findings


def impact_run(notebook: Notebook, packing: int) -> Results:
    """Return the results of a ball on a packing, which settles in a run before."""
    name = f"packing{packing}"
    settle = [
        "materials.m1.youngs_modulus=1e7", f"particles.0.fill.seed={packing}", "insertions=[]",
        "time.step_fraction=0.2",
        'stages=[{name="filling", end=0.3}]', "output.fields_every=0.3", "output.series_every=0.01",
        "output.checkpoint_every=0.05",
    ]  # fmt: skip
    example_run(notebook, f"{name}_bed", "dosta_impact", settle)
    bed = own_folder(notebook, f"{name}_bed") / "stage-filling.h5"
    case = Case.read(next(iter(write_example("dosta_impact", notebook.folder.resolve() / name))))
    settings = [
        f'particles.0={{material="m1", file="{bed}"}}', 'stages.0={name="filling", end=1e-3}', "time.step_fraction=0.2",
        "output.checkpoint_every=0.005", "output.fields_every=0.05", "output.series_every=2.5e-4",
    ]  # fmt: skip
    return case_run(notebook, name, case, settings, [ball_height])


def ball_height(simulation: Any) -> dict[str, tuple[str, float]]:
    """Return the height of the ball [m], not a number before it is there."""
    own = simulation.particles
    height = simulation.maximum(own.position[:, 2], own.radius > 0.005)
    return {"ball_height": ("m", height if np.isfinite(height) else np.nan)}


def ball_heights(results: Results, times: Floats) -> Floats:
    """Return the height of the ball at some times after it has come in [m]."""
    series = results.series
    there = np.isfinite(series["ball_height"])
    time = series["time"][there]
    return np.interp(times, time - begin_of_stage(results, 1), series["ball_height"][there])


def deepest_point(times: Floats, heights: Floats) -> tuple[float, float]:
    """Return the least height before 0.05 s and when it is reached [m, s]."""
    early = heights[times < 0.05]
    k = int(early.argmin())
    return float(early[k]), float(times[k])


def _numbers(text: str) -> Floats:
    return np.array(text.split(), np.float64)


def _drum_curves() -> dict[str, Floats]:
    """Return counts and centres of mass of other codes every 0.2 s."""
    return {name: _numbers(text) for name, text in _DRUM.items()}


_DRUM = {
    "z2_m1": (
        "14471 13366 13546 22861 18552 9869 3341 342 5 562 5984 12587 16617 16070 11367 6136 2214 940 "
        "2584 5405 8275 11466 12608 11018 7943 4736"
    ),
    "z1_m1": (
        "0 2006 6072 1209 11 1 0 4 2407 5820 7521 7514 3807 903 58 3 3 615 3338 5228 5626 3945 1810 377 45 34"
    ),
    "z2_m2": (
        "3319 2496 1051 68 985 2026 2705 3105 3196 3229 2495 1547 1118 1217 1748 2410 2967 3014 2886 "
        "2543 2171 1779 1646 1809 2225 2636"
    ),
    "z1_m2": (
        "0 0 588 1162 960 961 974 907 480 53 1 130 551 818 924 843 769 763 397 171 151 358 625 820 790 767"
    ),
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

_SOURCE = "Dosta et al., Comput. Phys. Commun. 296 (2024) 109066; runs of LIGGGHTS and MUSEN by others"
_MATERIALS = {
    "M1": "1 GPa, 0.2, 2500 kg/m3", "M2": "0.5 GPa, 0.2, 2000 kg/m3", "steel": "210 GPa, 0.2, 7200 kg/m3",
    "friction": "M1-M1 0.3, M1-M2 0.2, M2-M2 0.4, steel 0.2",
    "restitution": "M1-M1 0.5, M1-M2 0.45, M2-M2 0.4, steel 0.4",
}  # fmt: skip
STUDIES = (
    Study(
        "dosta-silo", "Dosta et al.: discharge of a silo", silo, "bulk", _SOURCE,
        {**_MATERIALS, "modulus": "a hundredth of that", "grains": "100,000 of 4 mm", "case": "pdem new dosta_silo"},
        long=True,
    ),
    Study(
        "dosta-drum", "Dosta et al.: a rotating drum with two materials", drum, "bulk", _SOURCE,
        {
            **_MATERIALS, "modulus": "a hundredth of that", "grains": "30,000 of M1, 2 mm, on 8,000 of M2, 4 mm",
            "drum": "radius 0.1 m, 0.06 m long, 2 rad/s", "case": "pdem new dosta_drum",
        },
        long=True,
    ),
    Study(
        "dosta-impact", "Dosta et al.: a steel ball hits a bed", impact, "bulk", _SOURCE,
        {**_MATERIALS, "grains": "25,000 of 2 mm", "ball": "20 mm, 5 m/s", "case": "pdem new dosta_impact"}, long=True,
    ),
)  # fmt: skip
