"""Benchmark of simulations: particle-steps per second, time of phases, memory."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pdem.benchmark.cases import DETECTION, MODELS, SkipCase, chosen_case
from pdem.benchmark.contact_models import measure_models
from pdem.benchmark.detection import measure_detection
from pdem.benchmark.one_thread import ThreadedPhases, share_line
from pdem.benchmark.resident_memory import MemoryWatch
from pdem.benchmark.roofline import limits_of
from pdem.output.summary import quantity
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.benchmark.cases import BenchCase, Start

WARM_UP_STEPS = 800
"""Default number of steps before a measurement: lists have reached their size, and the skin is tuned."""
ROOFLINE_CASES = ("dense-bed", "dense-bed-100k", "dense-bed-1m")
"""Cases with a comparison with the limits of the machine."""
PARTS = 3
"""Number of separately timed parts of a measurement; the rate is the rate of the median part."""


@dataclass(frozen=True)
class Result:
    """Result of one case.

    Attributes
    ----------
    name : str
        Name of the case.
    particles, steps, cores : int
        Number of particles, number of measured steps, total number of threads of all ranks.
    facets : int
        Number of facets of its walls.
    contacts_per_particle : float
        Contacts per particle at the end.
    rate : float
        Particle-steps per second of the median part.
    rates : tuple of float
        Particle-steps per second of each part.
    nanoseconds : dict of float
        Time of each phase on rank 0 per particle-step [ns].
    bytes_per_particle : float
        Memory of the arrays of particles, contacts and lists, without meshes.
    resident_bytes_per_particle : float
        Growth of the processes of all ranks, from before the preparation of the case to their peak during the
        measurement, meshes included. With few particles, memory that does not depend on their number dominates.
    resident_bytes : int
        Sum of the peaks of all processes; memory shared between ranks counts for each rank.
    detections_per_1000_steps : float
        Detections per 1000 steps.
    on_one_thread : dict of float
        Share of a step on rank 0, by phase, outside threaded loops; empty on processors without a readable clock.
    """

    name: str
    particles: int
    steps: int
    cores: int
    facets: int
    contacts_per_particle: float
    rate: float
    rates: tuple[float, ...]
    nanoseconds: dict[str, float]
    bytes_per_particle: float
    resident_bytes_per_particle: float
    resident_bytes: int
    detections_per_1000_steps: float
    on_one_thread: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary for a file."""
        return {**asdict(self), "rate_per_core": self.rate / self.cores}

    def __str__(self) -> str:
        """Return the result as lines for users."""
        spread = 100.0 * (max(self.rates) - min(self.rates)) / self.rate
        walls = f"{self.facets} facets, " if self.facets > 1 else ""
        head = (
            f"{self.name}: {self.particles} particles, {walls}"
            f"{self.contacts_per_particle:.2f} contacts per particle, "
            f"{quantity(self.rate)} particle-steps/s, {quantity(self.rate / self.cores)} per core "
            f"(parts differ by {spread:.0f} %), {self.bytes_per_particle:.0f} bytes per particle held "
            f"and {self.resident_bytes_per_particle:.0f} resident, "
            f"{self.detections_per_1000_steps:.1f} detections per 1000 steps"
        )
        phases = ", ".join(f"{phase} {value:.1f}" for phase, value in self.nanoseconds.items() if value >= 0.05)
        shares = f"\n{share_line(self.on_one_thread)}" if self.on_one_thread else ""
        return f"{head}\n  ns per particle-step: {phases}; {sum(self.nanoseconds.values()):.1f} in all{shares}"


class Outcome(Protocol):
    """Result of a measurement: text for users, and a dictionary for a file."""

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary for a file."""
        ...


def outcomes(
    name: str, communicator: Any, threads: int, steps: int | None, *, energies: bool = True
) -> Iterator[Outcome]:
    """Measure a case by name; yield its results. Collective.

    Parameters
    ----------
    name : str
        One of `pdem.benchmark.cases.names_of_cases`.
    communicator, threads, steps
        As for `measure`.
    energies : bool
        Whether contacts record energies; ignored for ``models``, which always record energies.

    Raises
    ------
    SkipCase
        If the case cannot be measured here.
    """
    if name == MODELS:
        yield from measure_models(communicator, threads, steps)
    elif name != DETECTION:
        yield from measure(chosen_case(name, energies=energies), communicator, threads, steps)
    elif communicator is not None and communicator.size > 1:
        raise SkipCase("lists are timed on one rank; leave mpirun away")
    else:
        yield from measure_detection(threads)


def measure(case: BenchCase, communicator: Any, threads: int, steps: int | None) -> Iterator[Outcome]:
    """Prepare a case and time it; for dense beds also yield the limits of the machine. Collective.

    Parameters
    ----------
    case : BenchCase
        The case.
    communicator : mpi4py communicator or None
        The ranks.
    threads : int
        Threads of each rank.
    steps : int or None
        Number of timed steps; by default the number that gives the particle-steps of the case.

    Raises
    ------
    SkipCase
        If the case cannot be measured here.
    """
    watch = MemoryWatch()
    simulation = after_warm_up(case.prepare(communicator, threads), communicator, threads, warm_up_of(case))
    watch.begin()
    steps = steps_of(case, simulation, PARTS) if steps is None else steps
    detections, phases = simulation.system.lists.detections, ThreadedPhases(simulation.phases)
    simulation.phases = phases
    rates = [measured_rate(simulation, part) for part in parts_of(steps, PARTS)]
    detections = simulation.system.lists.detections - detections
    result = result_of(case.name, simulation, rates, steps, detections, watch, phases.on_one_thread())
    yield result
    if case.name in ROOFLINE_CASES:
        yield limits_of(case.name, simulation, result.rate)


def warm_up_of(case: BenchCase) -> int:
    """Return the number of steps of a case before its measurement."""
    return WARM_UP_STEPS if case.warm_up_steps is None else case.warm_up_steps


def after_warm_up(start: Start, communicator: Any, threads: int, steps: int) -> Simulation:
    """Return a simulation after `steps` steps from a start, with the times of its phases reset. Collective."""
    simulation = Simulation(
        start.case, communicator, threads=threads, state=start.state, particles=start.particles, meshes=start.meshes
    )
    simulation.advance(steps)
    simulation.phases.reset_seconds()
    return simulation


def steps_of(case: BenchCase, simulation: Simulation, parts: int) -> int:
    """Return the number of steps that gives the particle-steps of a case, at least one per part."""
    return max(parts, round(case.particle_steps / max(simulation.measures().particles, 1)))


def parts_of(steps: int, count: int) -> list[int]:
    """Divide steps into at most `count` non-empty parts of nearly equal length."""
    ends = [round(steps * part / count) for part in range(count + 1)]
    return [end - begin for begin, end in pairwise(ends) if end > begin]


def measured_rate(simulation: Simulation, steps: int) -> float:
    """Run steps; return particle-steps per second."""
    particles = simulation.measures().particles
    clock = time.perf_counter()
    simulation.advance(steps)
    return particles * steps / (time.perf_counter() - clock)


def result_of(
    name: str,
    simulation: Simulation,
    rates: Sequence[float],
    steps: int,
    detections: int,
    watch: MemoryWatch,
    on_one_thread: dict[str, float] | None = None,
) -> Result:
    """Return the result of `steps` steps since the reset of the phases, timed in parts."""
    own = simulation.system.memory(), watch.grown(), watch.peak()  # before `measures`, which allocates memory
    measured, exchange = simulation.measures(), simulation.system.exchange
    array_bytes, grown, resident = exchange.add(np.array(own, np.int64)[:, None])[:, 0].tolist()
    work = max(measured.particles, 1) * steps
    phases = sorted(simulation.phases.seconds.items(), key=lambda item: -item[1])
    return Result(
        name=name,
        particles=measured.particles,
        steps=steps,
        cores=exchange.workers,
        facets=sum(len(mesh.facet_start) - 1 for mesh in simulation.meshes),
        contacts_per_particle=measured.contacts_per_particle,
        rate=median(rates),
        rates=tuple(rates),
        nanoseconds={phase: 1e9 * seconds / work for phase, seconds in phases},
        bytes_per_particle=array_bytes / max(measured.particles, 1),
        resident_bytes_per_particle=grown / max(measured.particles, 1),
        resident_bytes=resident,
        detections_per_1000_steps=1000.0 * detections / steps,
        on_one_thread=on_one_thread or {},
    )
