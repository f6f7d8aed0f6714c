"""What a step of a dense bed takes at least on this machine: bytes that have to move, numbers to be computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.benchmark.machine_speed import machine_speed
from pdem.motion.integration import PACKED

if TYPE_CHECKING:
    from pdem.benchmark.machine_speed import MachineSpeed
    from pdem.simulation.simulation import Simulation

NUMBER, ROW, PLACE = 8, 4, 8
"""Bytes of a number, of the row of a particle or of a contact, and of a place in a list."""


class Arithmetic(NamedTuple):
    """Operations on numbers: additions (and subtractions), multiplications, divisions, square roots."""

    additions: float = 0.0
    multiplications: float = 0.0
    divisions: float = 0.0
    roots: float = 0.0

    def times(self, many: float) -> Arithmetic:
        """Return so many times as many."""
        return Arithmetic(*(many * one for one in self))

    def plus(self, other: Arithmetic) -> Arithmetic:
        """Return these and others."""
        return Arithmetic(*(a + b for a, b in zip(self, other, strict=True)))


OF_LAW = Arithmetic(47, 93, 5, 5)
"""The functions of `pdem.contact.law` for elastic spheres with friction and the energy ledger, as they are written,
without selects, comparisons and signs. A test counts them."""

OF_CONTACT = OF_LAW.plus(Arithmetic(74 + 12, 85, 2, 2))
"""A contact: the law; before it distance and normal at the end and in the middle of the step, arms, velocities at the
contact, effective mass; after it forces and torques, and their sums at both particles (12 additions)."""

OF_CANDIDATE = Arithmetic(13, 12)
"""A candidate: its distance by the nearest image, compared with reach and with the largest overlap."""

OF_PARTICLE = Arithmetic(39, 61, 2)
"""A particle: two half kicks, the drift, periodic sides, how far it has gone since lists were made."""

BYTES_OF_PARTICLE = 2 * NUMBER * PACKED + 4 * NUMBER + PLACE + 2 * ROW
"""Of a particle: its packed row, read and written; its place when lists were made, skin; where its row of candidates
begins, how many of these touch, and when it is complete. Columns are written only when somebody looks at them."""

BYTES_OF_CANDIDATE = 2 * ROW + ROW
"""Of a candidate: its particles; its slot."""

BYTES_OF_CONTACT = ROW + 2 * ROW
"""Of a contact, besides its history, read and written: its candidate; its entries in the rows of both particles. What
it does to its particles need not leave the caches before it has been added up."""


@dataclass(frozen=True)
class Work:
    """What a particle-step needs at least, on the average over particles and in a step without detection.

    Attributes
    ----------
    bytes : float
        That have to move between caches and memory: every array that a step needs is read once and written once by
        each pass that has to be. It is a lower bound: caches are taken to hold what is used again. Floor, ghosts,
        detections and marks are not counted.
    arithmetic : Arithmetic
        Counted from the sources. Contacts are counted once, also where two ranks evaluate them.
    """

    bytes: float
    arithmetic: Arithmetic


def work_of(candidates: float, contacts: float, history: int) -> Work:
    """Return the work of a particle-step, from candidate pairs and contacts between particles per particle.

    `history` is the number of columns of the history of a contact.
    """
    arithmetic = OF_PARTICLE.plus(OF_CANDIDATE.times(candidates)).plus(OF_CONTACT.times(contacts))
    moved = BYTES_OF_PARTICLE + BYTES_OF_CANDIDATE * candidates
    moved += (BYTES_OF_CONTACT + NUMBER * 2 * history) * contacts
    return Work(moved, arithmetic)


@dataclass(frozen=True)
class Limits:
    """How near a case came to what the machine can do.

    Attributes
    ----------
    name : str
        Of the case.
    nanoseconds : float
        A particle-step took, all workers together [ns].
    work : Work
        Of a particle-step.
    speed : MachineSpeed
        Of all workers.
    """

    name: str
    nanoseconds: float
    work: Work
    speed: MachineSpeed

    @property
    def bounds(self) -> dict[str, float]:
        """Times that a particle-step takes at least [ns].

        Of ``memory``; of ``multiply-adds``, as if every multiplication were joined with an addition; of ``divisions
        and roots``, which one unit of a core computes, one after the other. The three may run at the same time.
        """
        done, speed = self.work.arithmetic, self.speed
        return {
            "memory": 1e9 * self.work.bytes / speed.bandwidth,
            "multiply-adds": 1e9 * max(done.additions, done.multiplications) / speed.multiply_adds,
            "divisions and roots": 1e9 * (done.divisions / speed.divisions + done.roots / speed.square_roots),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for a file."""
        work = {"bytes": self.work.bytes, **self.work.arithmetic._asdict()}
        return {
            "name": self.name, "kind": "limits", "nanoseconds": self.nanoseconds, "bounds": self.bounds,
            "reached": {name: bound / self.nanoseconds for name, bound in self.bounds.items()},
            "work": work, "speed": asdict(self.speed),
        }  # fmt: skip

    def __str__(self) -> str:
        """Return the lines that users see."""
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


def limits_of(name: str, simulation: Simulation, rate: float) -> Limits:
    """Measure the machine, and compare it with the rate that a case has reached. Collective.

    Parameters
    ----------
    name : str
        Of the case.
    simulation : Simulation
        It, at its end.
    rate : float
        Particle-steps per second of all workers.
    """
    exchange, measured = simulation.system.exchange, simulation.measures()
    own = np.array([[simulation.system.pair_contacts.candidates]], np.int64)
    candidates = int(exchange.add(own)[0, 0]) / max(measured.particles, 1)
    law = simulation.system.constants.law
    work = work_of(candidates, measured.pair_contacts / max(measured.particles, 1), law.columns)
    speed = machine_speed(exchange, round(work.bytes * measured.particles))
    return Limits(name, 1e9 / rate, work, speed)
