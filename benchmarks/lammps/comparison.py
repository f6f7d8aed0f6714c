"""Comparison of speed with other codes: same start, same machine, alternating parts, one core each."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lammps.commands import STYLES
from benchmarks.lammps.problem import problem_of
from benchmarks.lammps.run import LammpsRun, require_lammps
from benchmarks.liggghts.run import LiggghtsRun, require_liggghts
from pdem.benchmark.cases import DETECTION, MODELS, SkipCase, chosen_case
from pdem.benchmark.contact_models import peer_models
from pdem.benchmark.measure import after_warm_up, parts_of, result_of, steps_of, warm_up_of
from pdem.benchmark.resident_memory import MemoryWatch
from pdem.foundation.errors import InputError
from pdem.output.summary import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.lammps.problem import Problem
    from pdem.benchmark.cases import BenchCase
    from pdem.benchmark.measure import Outcome
    from pdem.run.simulation import Simulation

    Seconds = tuple[float, float]
    PeerRun = LammpsRun | LiggghtsRun

PEERS = ("lammps", "liggghts")
"""Codes with which pdem can be compared."""
LEAST_CORE_SHARE = 0.9
"""Share of a core that each code must have for valid ratios by the clock."""
PARTS = 5
"""Number of parts of the measured steps; pdem runs each part, and then every style of the peer runs it."""


@dataclass(frozen=True)
class PeerResult:
    """Result of a comparison of a peer with pdem.

    Attributes
    ----------
    name : str
        Name of the case.
    peer, version, style, settings : str
        The peer, its version, contact style and settings.
    tried : dict of float
        Particle-steps per second of core time in the trials, by settings.
    particles, steps : int
        Number of particles, and number of measured steps.
    rate, core_rate : float
        Particle-steps per second of the median part, by the clock and by core time.
    rates : tuple of float
        Particle-steps per second of each part, by the clock.
    ratio, core_ratio : float
        Rate of pdem over that of the peer, for median parts.
    ratios : tuple of float
        The same ratio of each part, by the clock.
    core_shares : tuple of 2 float
        Core time over clock time of pdem and of the peer; the remainder went to other programs.
    rebuilds_per_1000_steps : float
        Neighbour list builds per 1000 steps.
    kinetic_energy : float
        Translational energy at the end over that of pdem: a measure of the agreement of the runs.
    """

    name: str
    peer: str
    version: str
    style: str
    settings: str
    tried: dict[str, float]
    particles: int
    steps: int
    rate: float
    core_rate: float
    rates: tuple[float, ...]
    ratio: float
    core_ratio: float
    ratios: tuple[float, ...]
    core_shares: tuple[float, float]
    rebuilds_per_1000_steps: float
    kinetic_energy: float

    def as_dict(self) -> dict[str, Any]:
        """Return all values, for a file."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the lines for users."""
        spread = 100.0 * (max(self.rates) - min(self.rates)) / self.rate
        busy = (
            ""
            if min(self.core_shares) >= LEAST_CORE_SHARE
            else f"\n  other programs were busy: pdem had {self.core_shares[0]:.0%} of a core and {self.peer} "
            f"{self.core_shares[1]:.0%}; take the ratio by core time, or measure again"
        )
        return (
            f"{self.name}, {self.peer} {self.version} {self.style}: {quantity(self.rate)} particle-steps/s "
            f"(parts differ by {spread:.0f} %); pdem is {self.ratio:.2f} times as fast "
            f"(parts {min(self.ratios):.2f} to {max(self.ratios):.2f}; by core time {self.core_ratio:.2f})\n"
            f"  {self.settings}, best of {len(self.tried)} tried; {self.rebuilds_per_1000_steps:.1f} rebuilds per "
            f"1000 steps, kinetic energy {self.kinetic_energy:.3g} of pdem's{busy}"
        )


def require_peer(peer: str, communicator: Any, threads: int) -> None:
    """Check that a comparison is possible here.

    Raises
    ------
    InputError
        If there are several ranks or threads, or the peer is not installed.
    """
    ranks = 1 if communicator is None else communicator.size
    if ranks > 1 or threads > 1:
        raise InputError(
            f"--peer {peer} compares one core with one core, and this is {ranks} ranks x {threads} threads; "
            "leave mpirun away and give --threads 1"
        )
    (require_lammps if peer == "lammps" else require_liggghts)()


def _runs_of(peer: str, problem: Problem) -> list[PeerRun]:
    """Return the runs of a peer: one for each style that supports the law of the problem."""
    if peer == "liggghts":
        return [LiggghtsRun(problem)]
    return [LammpsRun(problem, style) for style in (STYLES if problem.law.is_plain else STYLES[:1])]


def outcomes_with_peer(peer: str, name: str, steps: int | None, *, energies: bool = True) -> Iterator[Outcome]:
    """Measure a case with pdem and a peer; yield pdem's result, then one result for each style.

    Parameters
    ----------
    peer : str
        One of `PEERS`.
    name : str
        One of `pdem.benchmark.cases.names_of_cases`; ``models`` are the contact models that the peer supports.
    steps : int or None
        Timed steps; by default as many as the case's number of particle-steps needs.
    energies : bool
        Whether contacts of pdem keep account of energies. The peers do so only for ``models``.

    Raises
    ------
    SkipCase
        If the case cannot be measured here, or not by the peer.
    """
    if name == DETECTION:
        raise SkipCase("the making of lists alone is not compared with peers")
    for case in peer_models() if name == MODELS else [chosen_case(name, energies=energies)]:
        yield from _outcomes_of(peer, case, steps)


def _outcomes_of(peer: str, case: BenchCase, steps: int | None) -> Iterator[Outcome]:
    watch = MemoryWatch()
    start = case.prepare(None, 1)
    problem = problem_of(start)
    with ExitStack() as stack:
        peer_runs = _runs_of(peer, problem)
        for one in peer_runs:
            stack.enter_context(one)
        for peer_run in peer_runs:
            peer_run.tune()
            peer_run.begin(warm_up_of(case))
        simulation = after_warm_up(start, None, 1, warm_up_of(case))
        watch.begin()
        yield from _compare(peer, case, simulation, peer_runs, steps, watch)


def _compare(
    peer: str, case: BenchCase, simulation: Simulation, peer_runs: list[PeerRun], steps: int | None, watch: MemoryWatch
) -> Iterator[Outcome]:
    steps = steps_of(case, simulation, PARTS) if steps is None else max(steps, PARTS)
    parts = parts_of(steps, PARTS)
    detections = simulation.system.lists.detections
    own, by_style = _alternate_parts(simulation, peer_runs, parts)
    particles = simulation.measures().particles
    own_rates = _Rates(particles, parts, own)
    detections = simulation.system.lists.detections - detections
    yield result_of(case.name, simulation, own_rates.by_clock, steps, detections, watch)
    for peer_run, seconds in zip(peer_runs, by_style, strict=True):
        yield _peer_result(peer, case.name, peer_run, own_rates, _Rates(particles, parts, seconds), simulation)


def _alternate_parts(
    simulation: Simulation, peer_runs: Sequence[PeerRun], parts: Sequence[int]
) -> tuple[list[Seconds], list[list[Seconds]]]:
    """Run each part with pdem, then with every style; return the times of the parts of pdem and of each style."""
    own: list[Seconds] = []
    by_style: list[list[Seconds]] = [[] for _ in peer_runs]
    for steps in parts:
        clock, core = time.perf_counter(), time.process_time()
        simulation.advance(steps)
        own.append((time.perf_counter() - clock, time.process_time() - core))
        for peer_run, seconds in zip(peer_runs, by_style, strict=True):
            seconds.append(peer_run.run(steps))
    return own, by_style


class _Rates:
    """Particle-steps per second of each part, by the clock and by core time."""

    def __init__(self, particles: int, parts: Sequence[int], seconds: Sequence[Seconds]) -> None:
        pairs = list(zip(parts, seconds, strict=True))
        self.particles, self.steps = particles, sum(parts)
        self.by_clock = tuple(particles * steps / took[0] for steps, took in pairs)
        self.by_core = tuple(particles * steps / took[1] for steps, took in pairs)
        self.core_share = sum(took[1] for took in seconds) / sum(took[0] for took in seconds)


def _peer_result(
    peer: str, name: str, peer_run: PeerRun, own_rates: _Rates, peer_rates: _Rates, simulation: Simulation
) -> PeerResult:
    rate, core_rate = median(peer_rates.by_clock), median(peer_rates.by_core)
    own_energy = simulation.energies()["translation"]
    return PeerResult(
        name=name,
        peer=peer,
        version=peer_run.version,
        style=peer_run.style,
        settings=str(peer_run.settings),
        tried=peer_run.tried,
        particles=peer_rates.particles,
        steps=peer_rates.steps,
        rate=rate,
        core_rate=core_rate,
        rates=peer_rates.by_clock,
        ratio=median(own_rates.by_clock) / rate,
        core_ratio=median(own_rates.by_core) / core_rate,
        ratios=tuple(a / b for a, b in zip(own_rates.by_clock, peer_rates.by_clock, strict=True)),
        core_shares=(own_rates.core_share, peer_rates.core_share),
        rebuilds_per_1000_steps=1000.0 * peer_run.rebuilds() / peer_rates.steps,
        kinetic_energy=_kinetic_energy(peer_run.problem, peer_run.state()["velocity"]) / max(own_energy, 1e-300),
    )


def _kinetic_energy(problem: Problem, velocity: Any) -> float:
    """Return the translational kinetic energy [J]; for a cluster, that of its centre of mass."""
    order = np.argsort(problem.particles["id"])
    mass, cluster = problem.particles["mass"][order], problem.particles["cluster"][order]
    body = np.where(cluster > 0, cluster, -1 - np.arange(len(cluster)))
    _, body = np.unique(body, return_inverse=True)
    total = np.bincount(body, mass)
    momentum = [np.bincount(body, mass * velocity[:, axis]) for axis in range(3)]
    return float(0.5 * sum((one**2 / total).sum() for one in momentum))
