"""Cases measured beside another code: same start, same machine, part by part in alternation, one core each."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.benchmark.cases import DETECTION, Skipped, find_case
from pdem.benchmark.lammps.commands import STYLES
from pdem.benchmark.lammps.problem import problem_of
from pdem.benchmark.lammps.run import LammpsRun, require_lammps
from pdem.benchmark.measure import parts_of, result_of, steps_of, warm_up_of, warmed_up
from pdem.benchmark.resident_memory import MemoryWatch
from pdem.foundation.errors import InputError
from pdem.output.summary import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.benchmark.cases import BenchCase
    from pdem.benchmark.lammps.problem import Problem
    from pdem.benchmark.measure import Outcome
    from pdem.simulation.simulation import Simulation

    Seconds = tuple[float, float]

PEERS = ("lammps",)
"""Codes that can be run beside pdem."""
BUSY = 0.9
"""Part of a core that each must have had of the clock's time for ratios by the clock to mean something."""
PARTS = 5
"""The measured steps are taken in as many parts, each by pdem and then by every style of the peer."""


@dataclass(frozen=True)
class PeerResult:
    """What a peer has shown beside pdem.

    Attributes
    ----------
    name : str
        Of the case.
    peer, version, style, settings : str
        What ran.
    tried : dict of float
        Particle-steps per second of core time by settings, of the trials that chose them.
    particles, steps : int
        As for pdem.
    rate, core_rate : float
        Particle-steps per second of the median part, by the clock and by the time spent on the core.
    rates : tuple of float
        By the clock, of each part.
    ratio, core_ratio : float
        pdem's rate over this one, of median parts.
    ratios : tuple of float
        Of each part over the part of pdem just before it, by the clock.
    core_shares : tuple of 2 float
        Part of the clock's time that pdem and the peer spent on the core; the rest other programs had.
    rebuilds_per_1000_steps : float
        How often neighbour lists were made.
    kinetic_energy : float
        Of translation in the end, over pdem's: how far the two are the same run.
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
        """Return everything, for a file."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the lines that users see."""
        spread = 100.0 * (max(self.rates) - min(self.rates)) / self.rate
        busy = (
            ""
            if min(self.core_shares) >= BUSY
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
    require_lammps()


def outcomes_beside(name: str, steps: int | None) -> Iterator[Outcome]:
    """Measure the case of this name beside LAMMPS; yield pdem's result, then one for each style.

    Parameters
    ----------
    name : str
        One of `pdem.benchmark.cases.names_of_cases`.
    steps : int or None
        To be timed; by default as many as make the case's number of particle-steps.

    Raises
    ------
    Skipped
        If the case cannot be had here, or not by the peer.
    """
    if name == DETECTION:
        raise Skipped("the making of lists alone is not compared with peers")
    case, watch = find_case(name), MemoryWatch()
    start = case.prepare(None, 1)
    problem = problem_of(start)
    with ExitStack() as stack:
        rivals = [stack.enter_context(LammpsRun(problem, style)) for style in STYLES]
        for rival in rivals:
            rival.tune()
            rival.begin(warm_up_of(case))
        simulation = warmed_up(start, None, 1, warm_up_of(case))
        watch.begin()
        yield from _compare(case, simulation, rivals, steps, watch)


def _compare(
    case: BenchCase,
    simulation: Simulation,
    rivals: list[LammpsRun],
    steps: int | None,
    watch: MemoryWatch,
) -> Iterator[Outcome]:
    steps = steps_of(case, simulation, PARTS) if steps is None else max(steps, PARTS)
    parts = parts_of(steps, PARTS)
    detections = simulation.system.detections
    own, theirs = _take_turns(simulation, rivals, parts)
    particles = simulation.measures().particles
    mine = _Rates(particles, parts, own)
    detections = simulation.system.detections - detections
    yield result_of(case.name, simulation, mine.by_clock, steps, detections, watch)
    for rival, seconds in zip(rivals, theirs, strict=True):
        yield _peer_result(case.name, rival, mine, _Rates(particles, parts, seconds), simulation)


def _take_turns(
    simulation: Simulation, rivals: Sequence[LammpsRun], parts: Sequence[int]
) -> tuple[list[Seconds], list[list[Seconds]]]:
    """Let each take a part, one after the other, and again; return the seconds of pdem's and all others' parts."""
    own: list[Seconds] = []
    theirs: list[list[Seconds]] = [[] for _ in rivals]
    for steps in parts:
        clock, core = time.perf_counter(), time.process_time()
        simulation.advance(steps)
        own.append((time.perf_counter() - clock, time.process_time() - core))
        for rival, seconds in zip(rivals, theirs, strict=True):
            seconds.append(rival.run(steps))
    return own, theirs


class _Rates:
    """Particle-steps per second of each part, by the clock and by core time."""

    def __init__(self, particles: int, parts: Sequence[int], seconds: Sequence[Seconds]) -> None:
        pairs = list(zip(parts, seconds, strict=True))
        self.particles, self.steps = particles, sum(parts)
        self.by_clock = tuple(particles * steps / took[0] for steps, took in pairs)
        self.by_core = tuple(particles * steps / took[1] for steps, took in pairs)
        self.core_share = sum(took[1] for took in seconds) / sum(took[0] for took in seconds)


def _peer_result(
    name: str, rival: LammpsRun, mine: _Rates, theirs: _Rates, simulation: Simulation
) -> PeerResult:
    rate, core_rate = median(theirs.by_clock), median(theirs.by_core)
    own_energy = simulation.energies()["translation"]
    return PeerResult(
        name=name,
        peer="lammps",
        version=rival.version,
        style=rival.style,
        settings=str(rival.settings),
        tried=rival.tried,
        particles=theirs.particles,
        steps=theirs.steps,
        rate=rate,
        core_rate=core_rate,
        rates=theirs.by_clock,
        ratio=median(mine.by_clock) / rate,
        core_ratio=median(mine.by_core) / core_rate,
        ratios=tuple(a / b for a, b in zip(mine.by_clock, theirs.by_clock, strict=True)),
        core_shares=(mine.core_share, theirs.core_share),
        rebuilds_per_1000_steps=1000.0 * rival.rebuilds() / theirs.steps,
        kinetic_energy=_kinetic_energy(rival.problem, rival.state()["velocity"]) / max(own_energy, 1e-300),
    )


def _kinetic_energy(problem: Problem, velocity: Any) -> float:
    mass = problem.particles["mass"][np.argsort(problem.particles["id"])]
    return float(0.5 * (mass * (velocity**2).sum(axis=1)).sum())
