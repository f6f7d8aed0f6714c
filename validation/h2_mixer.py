"""Sect. 6.2 of the double hierarchy paper: the rotary mixer, times of phases and work of stages.

The paper searches in every step, as does the run that is compared with it. The paper used a core of an Intel Xeon
E5-2670: shares can be compared, times cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.state import gather_groups, local_groups
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, StudyFinding, at_most, plain_numbers
from validation.h2_runs import example
from validation.h2_stages import StageWork, measure_stages, seconds_on_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.engine.state import Groups
    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

SPHERES = 29559
RATE, STEP = 18.85, 5e-5
"""Angular velocity of the rotor [rad/s], time step [s]."""

PUBLISHED = {
    "fast test, then H2": (53.9, 20.7, 4.5, 15.1, 1.2, 25.4),
    "H2 directly": (51.4, 23.9, 4.2, 0.0, 19.7, 24.7),
}
"""Table 10 by procedure, shares of time [%]: search between spheres; search with walls; its parts bins and remainder,
fast intersection, double hierarchy; all else."""

PUBLISHED_TIMES = {"fast test, then H2": 105_630.0, "H2 directly": 111_041.0}
"""Time of 400,000 steps [s]."""

_ROWS = (
    "search between spheres", "search with walls", "  bins and remainder", "  fast intersection", "  double hierarchy",
    "all else", "  forces between spheres", "  forces of walls",
)  # fmt: skip
SEARCHES = {"0.0": "search in every step", "auto": "lists with skins"}
"""Setting of the skin, as in the paper and in pdem, and its name in tables."""

_PUBLISHED_STEPS = 400_000
_PUBLISHED_RATIO = 30.0
_STAGES = {"potential": "facets to test", "touched": "facets that intersect", "contacts": "contacts"}


@dataclass(frozen=True)
class RunLength:
    """Length of runs: settling and rotation [s], samples, steps for each number of threads."""

    settle: float
    turn: float
    samples: int
    steps: int


QUICK = RunLength(0.05, 0.02, 10, 40)
FULL = RunLength(0.5, 0.5, 100, 500)


@dataclass
class MixerRun:
    """Results of a run of the mixer.

    Attributes
    ----------
    time : (s,) array
        Times of the samples since the start of the rotor [s].
    samples : list of StageWork
        Work of the stages.
    seconds : dict of float
        Time of each phase per step [s].
    particles : int
        Number of spheres.
    contacts : float
        Contacts per sphere at the end, with spheres and walls.
    residual : float
        Residual of the energy balance over the sum of wall work, translational energy and energy lost by sliding.
    """

    time: Floats
    samples: list[StageWork]
    seconds: dict[str, float]
    particles: int
    contacts: float
    residual: float


def mixer(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield tables on times of phases, work of stages, and speed-up of threads."""
    length = FULL if notebook.full else QUICK
    settled = settle(length, notebook.threads)
    runs = {name: run_mixer(settled, length, notebook.threads, skin) for skin, name in SEARCHES.items()}
    every_step, skinned = runs.values()
    yield time_shares(every_step, skinned, length)
    yield facet_counts(notebook, runs)
    yield scaling(notebook, settled, length)


def settle(length: RunLength, threads: int, *settings: str) -> Groups:
    """Return the state of the mixer at the start of its rotor."""
    simulation = _mixer(length, threads, "auto", *settings)
    simulation.advance(round(length.settle / simulation.system.constants.time_step.dt))
    groups = gather_groups(simulation.system, local_groups(simulation.system))
    assert groups is not None
    return groups


def _mixer(length: RunLength, threads: int, skin: str, *settings: str, state: Groups | None = None) -> Simulation:
    start = length.settle
    changes = (
        f"walls[1].rotation_table.times=[{start!r}, {start + 20.0!r}]",
        f"detection.skin={skin}",
        'detection.walls="h2"',
        *settings,
    )
    return example("h2_mixer", *changes, threads=threads, state=state)


def run_mixer(settled: Groups, length: RunLength, threads: int, skin: str, *settings: str) -> MixerRun:
    """Run the mixer and sample the stages; a skin of 0.0 searches in every step."""
    simulation = _mixer(length, threads, skin, *settings, state=settled)
    every = max(round(length.turn / simulation.system.constants.time_step.dt) // length.samples, 1)
    simulation.advance(1)
    simulation.phases.reset_seconds()
    start, times, samples = simulation.time, [], []
    for _ in range(length.samples):
        simulation.advance(every)
        times.append(simulation.time - start)
        samples.append(measure_stages(simulation))
    measures, energies = simulation.measures(), simulation.energies()
    steps = every * length.samples
    return MixerRun(
        np.array(times), samples,
        {phase: seconds / steps for phase, seconds in simulation.phases.seconds.items()},
        measures.particles, measures.contacts_per_particle,
        energies["residual"] / (abs(energies["wall_work"]) + energies["translation"] + energies["sliding"]),
    )  # fmt: skip


def time_shares(run: MixerRun, skinned: MixerRun, length: RunLength) -> FindingTable:
    """Return the shares of the paper's stages in the time of a step (Table 10).

    Parameters
    ----------
    run, skinned : MixerRun
        Runs with a search in every step, as published, and with persistent lists.
    length : RunLength
        Length of both.
    """
    findings = [StudyFinding("spheres", run.particles, SPHERES, 0.0)]
    for procedure, published in PUBLISHED.items():
        total, parts = stage_shares(run, procedure)
        findings += [
            StudyFinding(f"{procedure}: {name} [%]", share, wanted)
            for name, share, wanted in zip_longest(_ROWS, parts, published)
            if wanted != 0.0
        ]
        wanted = 1e9 * PUBLISHED_TIMES[procedure] / _PUBLISHED_STEPS / SPHERES
        findings.append(
            StudyFinding(f"{procedure}: time per sphere and step [ns]", 1e9 * total / run.particles, wanted)
        )
    one, other = (stage_shares(run, procedure)[0] for procedure in PUBLISHED)
    ratio = PUBLISHED_TIMES["H2 directly"] / PUBLISHED_TIMES["fast test, then H2"]
    findings.append(StudyFinding("H2 directly: total time over that of both", other / one, ratio))
    total, parts = stage_shares(skinned, "H2 directly")
    findings += [
        StudyFinding(f"lists with skins: {name} [%]", part)
        for name, part in zip(_ROWS, parts, strict=True)
        if part > 0.0
    ]
    findings += [
        StudyFinding("lists with skins: time per sphere and step [ns]", 1e9 * total / run.particles),
        StudyFinding("contacts per sphere", run.contacts),
        at_most("residual of the energy balance over the energy that is converted", abs(run.residual), 0.01),
    ]
    remark = (
        f"Settled for {length.settle:g} s, turned for {length.turn:g} s. pdem looks for facets so closely (bins) that "
        "hardly any is left for the fast test to dismiss, and does test and hierarchy in one pass, which is the direct "
        "way; the other is composed of both parts' times."
    )
    return FindingTable("6.2: where the time of the mixer goes, Table 10", "published", findings, remark)


def stage_shares(run: MixerRun, procedure: str) -> tuple[float, tuple[float, ...]]:
    """Return the time of a step [s] and shares of stages [%]: as in `PUBLISHED`, then forces of pairs and of walls."""
    spent = run.seconds
    fast, split, direct = (
        float(np.mean([getattr(one, name) for one in run.samples])) for name in ("fast", "split", "direct")
    )
    test, hierarchy = (0.0, direct) if procedure == "H2 directly" else (fast, split)
    total = sum(spent.values()) - direct + test + hierarchy
    spheres = sum(spent.get(phase, 0.0) for phase in ("detect", "migrate", "exchange"))
    bins, forces = spent.get("detect facets", 0.0), spent.get("pairs", 0.0) + spent.get("sum", 0.0)
    walls = bins + test + hierarchy
    parts = (
        spheres, walls, bins, test, hierarchy, total - spheres - walls, forces, spent.get("walls", 0.0) - direct,
    )  # fmt: skip
    return total, tuple(100.0 * part / total for part in parts)


def facet_counts(notebook: Notebook, runs: Mapping[str, MixerRun]) -> FindingTable:
    """Return the number of facets in each stage per sphere and step; plot their sums over time (Fig. 30)."""
    findings = []
    for name, run in runs.items():
        mean = {stage: float(values.mean()) for stage, values in _per_sphere(run).items()}
        findings += [
            StudyFinding(f"{name}: {text} per sphere and step", mean[stage]) for stage, text in _STAGES.items()
        ]
        ratio = mean["potential"] / mean["touched"]
        findings.append(StudyFinding(f"{name}: facets to test over facets that intersect", ratio, _PUBLISHED_RATIO))
    _plot_counts(notebook, runs)
    span = float(run.time[-1])
    remark = f"Over {span:g} s, {RATE * span / (2.0 * np.pi):.2g} turns; the paper shows 0.5 s, 1.5 turns."
    return FindingTable("6.2.4: number of facets in each stage, Fig. 30", "published", findings, remark)


def _per_sphere(run: MixerRun) -> dict[str, Floats]:
    """Return the work of each stage in the sampled steps, per sphere."""
    return {
        stage: np.array([getattr(one, stage) for one in run.samples], dtype=np.float64) / run.particles
        for stage in _STAGES
    }


def _plot_counts(notebook: Notebook, runs: Mapping[str, MixerRun]) -> None:
    lines = {name: _cumulated(run) for name, run in runs.items()}
    every = np.concatenate([line for of_run in lines.values() for line in of_run.values()])
    with notebook.plot("fig30_counts", 2) as panels:
        for axes, (name, of_run) in zip(panels, lines.items(), strict=True):
            for (stage, line), style in zip(of_run.items(), ("o-", "s--", "^:"), strict=True):
                axes.semilogy(runs[name].time, line, style, markersize=4.0, label=_STAGES[stage])
            axes.set(xlabel="time since the rotor turns [s]", ylabel="added up, per sphere", title=name)
            axes.set_ylim(0.5 * every.min(), 2.0 * every.max())
            plain_numbers(axes.yaxis)
            axes.grid(visible=True, which="major", color="0.9")
            axes.legend(loc="lower right")


def _cumulated(run: MixerRun) -> dict[str, Floats]:
    """Return the cumulated work of each stage since the start of the rotor, per sphere."""
    steps = np.diff(np.round(run.time / STEP), prepend=0.0)
    return {stage: np.cumsum(values * steps) for stage, values in _per_sphere(run).items()}


def scaling(notebook: Notebook, settled: Groups, length: RunLength) -> FindingTable:
    """Return the times of a step on one and more threads; plot them (Fig. 29)."""
    numbers = [number for number in (1, 2, 4, 8, 16) if number <= notebook.threads]
    seconds = {skin: _timed(settled, length, notebook.threads, skin, numbers) for skin in SEARCHES}
    findings = []
    for skin, name in SEARCHES.items():
        times = seconds[skin]
        findings.append(StudyFinding(f"{name}: time per sphere and step, one thread [ns]", 1e9 * times[1] / SPHERES))
        findings += [
            StudyFinding(f"{name}: speed-up on {number} threads", times[1] / times[number]) for number in numbers[1:]
        ]
    if len(numbers) > 1:
        _plot_scaling(notebook, numbers, seconds)
    remark = "The paper shows a speed-up far from the ideal one, in a figure without numbers."
    return FindingTable("6.2.3: threads", "", findings, remark)


def _timed(settled: Groups, length: RunLength, threads: int, skin: str, numbers: list[int]) -> dict[int, float]:
    """Return the time per step for each number of threads [s]."""
    simulation = _mixer(length, threads, skin, state=settled)
    simulation.advance(length.steps)
    return seconds_on_threads(simulation, length.steps, numbers, threads)


def _plot_scaling(notebook: Notebook, numbers: list[int], seconds: dict[str, dict[int, float]]) -> None:
    with notebook.plot("fig29_threads", 2) as (left, right):
        for (skin, name), style in zip(SEARCHES.items(), ("o-", "s--"), strict=True):
            times = np.array([seconds[skin][number] for number in numbers])
            left.plot(numbers, times / times[0], style, label=name)
            right.plot(numbers, times[0] / times, style, label=name)
        right.plot(numbers, numbers, color="0.6", label="ideal")
        left.set(xlabel="threads", ylabel="t / t of one thread", xticks=numbers)
        left.set_ylim(0.0, 1.2 * left.get_ylim()[1])
        right.set(xlabel="threads", ylabel="speed-up", xticks=numbers)
        right.set_ylim(0.0, 1.2 * numbers[-1])
        left.legend()
        right.legend()
