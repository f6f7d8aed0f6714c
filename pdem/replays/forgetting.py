"""Divergence of a case from a run with slightly smaller radii: the separation of their particles over time."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.engine.blow_up import BlowUp
from pdem.engine.ranks import on_first
from pdem.engine.state import kept_state
from pdem.foundation.arguments import real_number
from pdem.foundation.errors import InputError
from pdem.output.pictures.figure import empty_figure, save_figure
from pdem.output.saving import save_file
from pdem.particles.perturbed_radii import radius_factors
from pdem.replays.origin import begun, case_in, origin_of
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.state import StatePart
    from pdem.foundation.array_types import Floats

SAMPLES = 400
"""Number of comparisons of both runs."""

LARGEST_FRACTION = 1e-3
LINEAR = 1e-2
"""Mean separation in radii up to which the growth of differences counts as linear (independent of each other)."""

_LEAST = 5


@dataclass(frozen=True)
class Forgetting:
    """The separation of a run and its perturbed twin over time.

    Attributes
    ----------
    size : float
        Largest fraction by which radii were reduced.
    begin : float
        Time of the perturbation [s].
    times : (n,) array
        Times of the comparisons [s].
    mean, median, largest : (n,) arrays
        Separation of equal particles in radii: root mean square, median, and maximum.
    note : str
        Why the comparison ended before the end of the run; empty otherwise.
    """

    size: float
    begin: float
    times: Floats
    mean: Floats
    median: Floats
    largest: Floats
    note: str = ""

    @property
    def rate(self) -> float:
        """Rate of exponential growth [1/s] of the mean separation while it is small, NaN without growth."""
        rows = self._growing()
        if len(rows) < _LEAST:
            return float("nan")
        return float(np.polyfit(self.times[rows], np.log(self.mean[rows]), 1)[0])

    def _growing(self) -> NDArray[np.intp]:
        """Return the samples between ten times the first separation and the end of the linear growth."""
        positive = self.mean[self.mean > 0.0]
        if not len(positive):
            return np.zeros(0, np.intp)
        end = int(np.argmax(self.mean > LINEAR)) or len(self.mean)
        return np.flatnonzero(self.mean[:end] > 10.0 * positive[0])

    def time_to_radius(self, which: str = "mean") -> float:
        """Return the time after the begin at which a separation reaches one radius [s], infinite if it never does."""
        reached = np.flatnonzero(getattr(self, which) >= 1.0)
        return float(self.times[reached[0]] - self.begin) if len(reached) else float("inf")

    def __str__(self) -> str:
        """Return the result as lines of text."""
        words = {"largest": "the first particle", "median": "half of the particles", "mean": "in the mean square"}
        times = {words[name]: self.time_to_radius(name) for name in words}
        reached = [f"{name} {time:.4g} s" for name, time in times.items() if np.isfinite(time)]
        rate = self.rate
        lines = [
            f"radii up to {self.size:g} smaller from {self.begin:.6g} s on",
            f"differences grow by e every {1.0 / rate:.4g} s, tenfold every {np.log(10.0) / rate:.4g} s"
            if rate > 0.0
            else "differences do not grow exponentially",
            f"a radius apart after: {', '.join(reached)}"
            if reached
            else f"nothing came a radius apart until {self.times[-1]:.6g} s; largest {self.largest.max():.3g} radii",
        ]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def write(self, path: Path | str) -> None:
        """Write a table (.csv) or a picture (.png, .pdf, .svg).

        Raises
        ------
        InputError
            If the file cannot be written, or matplotlib is not installed.
        """
        path = Path(path)
        if path.suffix == ".csv":
            columns, text = np.column_stack((self.times, self.mean, self.median, self.largest)), io.StringIO()
            np.savetxt(text, columns, "%.9g", ",", header="time [s],mean [1],median [1],largest [1]", comments="")
            save_file(path, text.getvalue())
        else:
            self._draw(path)

    def _draw(self, path: Path) -> None:
        figure = empty_figure(7.0, 4.0)
        axes = figure.add_subplot()
        for name in ("largest", "mean", "median"):
            shown = getattr(self, name) > 0.0
            axes.semilogy(self.times[shown], getattr(self, name)[shown], label=name, linewidth=1.2)
        if self.rate > 0.0:
            rows = self._growing()
            line = np.exp(np.polyval(np.polyfit(self.times[rows], np.log(self.mean[rows]), 1), self.times[rows]))
            axes.semilogy(self.times[rows], line, "k--", linewidth=0.8, label=f"rate {self.rate:.3g} 1/s")
        axes.set(xlabel="time [s]", ylabel="separation over the radius", title=f"radii up to {self.size:g} smaller")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        save_figure(figure, path)


def forgetting(
    run: Path | str | Case,
    *,
    size: float = 1e-12,
    begin: float | None = None,
    end: float | None = None,
    seed: int = 0,
    comm: Any = None,
    threads: int | None = None,
) -> Forgetting:
    """Measure how fast a run diverges from a twin with slightly smaller radii. Collective.

    Parameters
    ----------
    run : path or Case
        Output folder of a run, a case file, or a case.
    size : float
        Largest fraction by which radii are reduced.
    begin, end : float, optional
        Time of the perturbation, and end of the comparison [s]: by default the whole run, or until the mean separation
        is one radius.
    seed : int
        Seed of the random fractions.
    comm, threads
        As for `Simulation`.

    Raises
    ------
    InputError
        If the run cannot be computed again, or the interval exceeds it.
    """
    size = real_number("size", size)
    if not 0.0 < size <= LARGEST_FRACTION:
        raise InputError(f"size = {size:g}: give a fraction of the radii above 0, and at most {LARGEST_FRACTION:g}")
    text, directory, file = on_first(comm, lambda: _source(run, begin))
    case = Case.from_text(text, directory)
    simulation = begun(case, file, comm, threads)
    length, until = simulation.system.constants.time_step.dt, case.time.end if end is None else end
    first = simulation.step if begin is None else round(begin / length)
    last = round(until / length)
    if not simulation.step <= first < last <= round(case.time.end / length):
        raise InputError(
            f"the interval from {first * length:.6g} s to {until:g} s is not within the run, which reaches from "
            f"{simulation.time:.6g} s to {case.time.end:g} s; give --from before --to within that"
        )
    simulation.advance(first - simulation.step)
    twin = Simulation(case, comm, threads=threads, state=_perturbed(simulation, size, seed))
    return _compared(simulation, twin, last, size)


def _source(run: Path | str | Case, begin: float | None) -> tuple[str, str, Path | None]:
    """Return text and folder of the case, and the checkpoint to start from, if any."""
    if not isinstance(run, Case) and Path(run).is_dir():
        origin = origin_of(run)
        step = origin.begin if begin is None else round(begin / origin.step)
        case, start = case_in(origin.reader_after(step)), origin.before(step)
        return case.to_toml(), str(case.directory), None if start is None else origin.checkpoints[start]
    case = run if isinstance(run, Case) else Case.read(run)
    return case.to_toml(), str(case.directory), None


def _perturbed(simulation: Simulation, size: float, seed: int) -> StatePart:
    """Return the state with reduced radii; factors depend on the id, in clusters on the id of the first sphere."""
    state = kept_state(simulation.system, simulation.first_balance)
    particles = state["particles"]
    cluster = particles.get("cluster", np.zeros(len(particles["id"]), np.int64))
    body = np.where(cluster > 0, cluster - 1, particles["id"])
    particles["radius"] = particles["radius"] * radius_factors(size, seed, body)
    if "clusters" in state:
        clusters = state["clusters"]
        clusters["scale"] = clusters["scale"] * radius_factors(size, seed, clusters["number"] - 1)
    return state


def _compared(simulation: Simulation, twin: Simulation, last: int, size: float) -> Forgetting:
    """Run both simulations to a step, and compare them at regular intervals."""
    first, begin, rows, note = simulation.step, simulation.time, [], ""
    stops = np.unique(np.round(np.linspace(first, last, SAMPLES + 1)).astype(int))[1:]
    for stop in stops.tolist():
        try:
            for one in (simulation, twin):
                one.advance(stop - one.step)
        except BlowUp as error:
            note = f"ended early: {error}"
            break
        found = _separations(simulation, twin)
        separation: Floats = simulation.system.exchange.share(found)
        rows.append((simulation.time, *_numbers(separation)))
        if rows[-1][1] >= 1.0:
            note = f"ended at {simulation.time:.6g} s, where they were a radius apart in the mean"
            break
        if simulation.system.stages.finished:
            break
    if not rows:
        raise InputError(f"nothing to compare; {note}")
    times, mean, median, largest = np.array(rows).T
    return Forgetting(size, begin, times, mean, median, largest, note)


def _numbers(separation: Floats) -> tuple[float, float, float]:
    if not len(separation):
        return 0.0, 0.0, 0.0
    return float(np.sqrt((separation**2).mean())), float(np.median(separation)), float(separation.max())


def _separations(one: Simulation, other: Simulation) -> Floats | None:
    """Return the separation in radii of each particle present in both simulations, on rank 0. Collective."""
    tables = []
    for simulation in (one, other):
        own = simulation.particles
        tables.append(
            simulation.system.exchange.collect({name: own[name].copy() for name in ("id", "position", "radius")})
        )
    a, b = tables
    if a is None or b is None:
        return None
    _, here, there = np.intersect1d(a["id"], b["id"], return_indices=True)
    way = b["position"][there] - a["position"][here]
    constants = one.system.constants
    way -= constants.period * np.round(way * constants.inverse_period)
    found: Floats = np.sqrt((way**2).sum(axis=1)) / a["radius"][here]
    return found
