"""Roofline of a step of a dense bed: lower bounds of its time on this machine, by bytes moved and by operations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.benchmark.machine_speed import machine_speed
from pdem.foundation.packed_row import PACKED

if TYPE_CHECKING:
    from pdem.benchmark.machine_speed import MachineSpeed
    from pdem.run.simulation import Simulation

NUMBER_BYTES, ROW_BYTES, INDEX_BYTES = 8, 4, 8
"""Bytes of a number, of the row index of a particle or contact, and of an index into a list."""


class Arithmetic(NamedTuple):
    """Counts of arithmetic operations: additions (and subtractions), multiplications, divisions, square roots."""

    additions: float = 0.0
    multiplications: float = 0.0
    divisions: float = 0.0
    roots: float = 0.0

    def times(self, factor: float) -> Arithmetic:
        """Return the counts multiplied by a factor."""
        return Arithmetic(*(factor * one for one in self))

    def plus(self, other: Arithmetic) -> Arithmetic:
        """Return the sum of two counts."""
        return Arithmetic(*(a + b for a, b in zip(self, other, strict=True)))


OF_LAW = Arithmetic(49, 98, 5, 5)
"""Operations in the functions of `pdem.contact.law` for elastic spheres with friction and energies, counted in the
sources without selects, comparisons and signs; a test counts these. A few belong to laws that stretch, relax, or have
two friction coefficients; other laws are compiled without these."""

OF_CONTACT = OF_LAW.plus(Arithmetic(75 + 12, 88, 2, 2))
"""Operations for a contact: the law; before it, distance and normal at the end and in the middle of the step, the test
of its end, lever arms, velocities at the contact, effective mass; after it, forces and torques, and their sums on both
particles (12 additions)."""

OF_CANDIDATE = Arithmetic(13, 12)
"""Operations for a candidate pair that is apart: minimum-image distance, compared with reach and largest overlap."""

OF_PARTICLE = Arithmetic(39, 61, 2)
"""Operations for a particle: two half kicks, the drift, periodic sides, displacement since the last list build."""

BYTES_OF_PARTICLE = 2 * NUMBER_BYTES * PACKED + 4 * NUMBER_BYTES + INDEX_BYTES + 2 * ROW_BYTES
"""Bytes for a particle: its packed row, read and written; its position at the last list build and its skin; the begin
of its candidates, its number of contacts, and the chunk after which its forces are complete. Columns are written only
for output."""

BYTES_OF_CANDIDATE = 2 * ROW_BYTES + ROW_BYTES
"""Bytes for a candidate pair: its particles; its force index or, if apart, its index in the list of pairs apart."""

BYTES_OF_CONTACT = ROW_BYTES + 2 * ROW_BYTES
"""Bytes for a contact without its history, read and written: its candidate; its entries in the rows of both particles.
Its forces are summed while they are still in the caches."""


@dataclass(frozen=True)
class StepWork:
    """Minimum work of a particle-step, averaged over particles, in a step without detection.

    Attributes
    ----------
    bytes : float
        Bytes moved between caches and memory: every array of a step is read and written once. This is a lower bound:
        data used again are assumed to stay in caches. Floor, ghosts, detections and marks are not counted.
    arithmetic : Arithmetic
        Operations, counted in the sources. A contact counts once, even if two ranks evaluate it.
    """

    bytes: float
    arithmetic: Arithmetic


def work_of(candidates: float, contacts: float, history: int) -> StepWork:
    """Return the work of a particle-step, from the numbers of candidate pairs and contacts per particle.

    `history` is the number of columns of the contact history.
    """
    arithmetic = OF_PARTICLE.plus(OF_CANDIDATE.times(candidates - contacts)).plus(OF_CONTACT.times(contacts))
    moved = BYTES_OF_PARTICLE + BYTES_OF_CANDIDATE * candidates
    moved += (BYTES_OF_CONTACT + NUMBER_BYTES * 2 * history) * contacts
    return StepWork(moved, arithmetic)


@dataclass(frozen=True)
class MachineLimits:
    """Comparison of a case with the limits of the machine.

    Attributes
    ----------
    name : str
        Name of the case.
    nanoseconds : float
        Measured time of a particle-step, for all workers together [ns].
    work : StepWork
        Work of a particle-step.
    speed : MachineSpeed
        Speed of all workers together.
    """

    name: str
    nanoseconds: float
    work: StepWork
    speed: MachineSpeed

    @property
    def bounds(self) -> dict[str, float]:
        """Lower bounds of the time of a particle-step [ns].

        ``memory``; ``multiply-adds``, if every multiplication is fused with an addition; ``divisions and roots``, which
        one unit of a core computes sequentially. The three may overlap in time.
        """
        done, speed = self.work.arithmetic, self.speed
        return {
            "memory": 1e9 * self.work.bytes / speed.bandwidth,
            "multiply-adds": 1e9 * max(done.additions, done.multiplications) / speed.multiply_adds,
            "divisions and roots": 1e9 * (done.divisions / speed.divisions + done.roots / speed.square_roots),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary for a file."""
        work = {"bytes": self.work.bytes, **self.work.arithmetic._asdict()}
        return {
            "name": self.name, "kind": "limits", "nanoseconds": self.nanoseconds, "bounds": self.bounds,
            "reached": {name: bound / self.nanoseconds for name, bound in self.bounds.items()},
            "work": work, "speed": asdict(self.speed),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return the result as lines for users."""
        done, speed = self.work.arithmetic, self.speed
        needs = {
            "memory": f"{self.work.bytes:.0f} bytes at {speed.bandwidth / 1e9:.3g} GB/s (one alone "
            f"{speed.bandwidth_of_one / 1e9:.3g}; arrays of {speed.array_bytes / 2**20:.3g} MiB)",
            "multiply-adds": f"{done.additions:.0f} additions, {done.multiplications:.0f} multiplications at "
            f"{speed.multiply_adds / 1e9:.3g} billion of both per second",
            "divisions and roots": f"{done.divisions:.0f} and {done.roots:.0f} at {speed.divisions / 1e9:.3g} and "
            f"{speed.square_roots / 1e9:.3g} billion per second",
        }
        lines = [
            f"    {name}: {bound:.1f} ns, {bound / self.nanoseconds:.0%} of what it took: {needs[name]}"
            for name, bound in self.bounds.items()
        ]
        cores = "one core" if speed.workers == 1 else f"{speed.workers} cores"
        head = f"  on {cores} a particle-step took {self.nanoseconds:.1f} ns; it takes at least"
        return "\n".join([head, *lines])


def limits_of(name: str, simulation: Simulation, rate: float) -> MachineLimits:
    """Measure the machine, and compare it with the rate of a case. Collective.

    Parameters
    ----------
    name : str
        Name of the case.
    simulation : Simulation
        The case after the measured steps.
    rate : float
        Particle-steps per second of all workers.
    """
    exchange, measured = simulation.system.exchange, simulation.measures()
    own = np.array([[simulation.system.contacts.pairs.candidates]], np.int64)
    candidates = int(exchange.add(own)[0, 0]) / max(measured.particles, 1)
    law = simulation.system.constants.law
    work = work_of(candidates, measured.pair_contacts / max(measured.particles, 1), law.columns)
    speed = machine_speed(exchange, round(work.bytes * measured.particles))
    return MachineLimits(name, 1e9 / rate, work, speed)
