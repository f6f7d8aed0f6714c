"""Draw the plot of docs/speed.md, and write its table, from the measured rates in docs/speed_rates.csv.

Run ``python scripts/speed.py`` after a change of the rates. A test compares the page with them.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from pdem.output.pictures.figure import empty_figure, png_of

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = Path(__file__).resolve().parents[1] / "docs"
RATES, PAGE, PLOT = DOCS / "speed_rates.csv", DOCS / "speed.md", DOCS / "speed_times.png"

STEPS = 1e6
KINDS = {
    ("AVX-512", 1): ("one core with AVX-512 (Zen 5)", "#0b5394", "o-"),
    ("AVX-512", 2): ("two ranks with AVX-512", "#0b5394", "s--"),
    ("AVX2", 1): ("one core with AVX2 (Zen 3)", "#b45f06", "o-"),
    ("AVX2", 2): ("two ranks with AVX2", "#b45f06", "s--"),
}
"""Names, colours and styles of the kinds of machines, by instructions and number of ranks."""

BEDS = ("dense-bed", "dense-bed-100k", "dense-bed-1m")
FLOWS = {"hopper": "v", "bladed-drum": "D", "polydisperse-bed-10": "^"}
"""Markers of single measurements, by the name of the benchmark."""

TICKS = {60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 36000.0: "10 h", 86400.0: "1 day"}

BEGIN, END = "<!-- Made by `python scripts/speed.py` from speed_rates.csv. -->\n", "<!-- End of the table. -->\n"


class Rate(NamedTuple):
    """A measured rate.

    Attributes
    ----------
    like : str
        Description of the case.
    benchmark : str
        Name in ``pdem bench``.
    particles : int
        Number of particles.
    machine : tuple of str and int
        Instructions of the processor, and number of ranks.
    lowest, highest : str
        Extremes of the measurements, in millions of particle-steps per second.
    """

    like: str
    benchmark: str
    particles: int
    machine: tuple[str, int]
    lowest: str
    highest: str

    @property
    def text(self) -> str:
        """The rate as in the table."""
        return self.lowest if self.lowest == self.highest else f"{self.lowest} to {self.highest}"

    @property
    def time(self) -> float:
        """Time of a million steps at the mean of both extremes [s]."""
        return self.particles * STEPS / (0.5e6 * (float(self.lowest) + float(self.highest)))


def read_rates() -> list[Rate]:
    """Return all measured rates, in the order of the file."""
    with RATES.open(newline="", encoding="utf-8") as file:
        return [
            Rate(
                row["like"], row["benchmark"], int(row["particles"]), (row["processor"], int(row["ranks"])),
                row["lowest"], row["highest"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def table(rates: Iterable[Rate]) -> str:
    """Return the Markdown table of rates: a row per case, a column per kind of machine."""
    rows: dict[tuple[str, str, int], dict[tuple[str, int], str]] = {}
    for one in rates:
        rows.setdefault((one.like, one.benchmark, one.particles), {})[one.machine] = one.text
    lines = [f"| your case is like | particles | {' | '.join(name for name, _, _ in KINDS.values())} |"]
    lines.append("|---|" + "---|" * (len(KINDS) + 1))
    for (like, benchmark, particles), of_row in rows.items():
        cells = " | ".join(of_row.get(kind, "") for kind in KINDS)
        lines.append(f"| {like} (`{benchmark}`) | {particles:,} | {cells} |")
    return "\n".join(lines) + "\n"


def page_with(text: str, rates: Iterable[Rate]) -> str:
    """Return the text of the page with the table of these rates."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE}: has no lines {BEGIN.strip()!r} and {END.strip()!r} around its table")
    return f"{before}{BEGIN}\n{table(rates)}\n{END}{after}"


def draw(rates: Iterable[Rate]) -> None:
    """Draw the time of a million steps against the number of particles."""
    rates = list(rates)
    figure = empty_figure(7.0, 4.6)
    axes = figure.add_subplot()
    for kind, (name, colour, style) in KINDS.items():
        beds = [one for one in rates if one.machine == kind and one.benchmark in BEDS]
        numbers, times = [one.particles for one in beds], [one.time for one in beds]
        axes.plot(numbers, times, style, color=colour, label=f"beds of equal spheres, {name}")
    for benchmark, marker in FLOWS.items():
        some = [one for one in rates if one.benchmark == benchmark and one.machine[1] == 1]
        for number, one in enumerate(some):
            label = f"{one.like}, one core" if number == 0 else None
            axes.plot(one.particles, one.time, marker, color=KINDS[one.machine][1], mfc="white", ms=8, label=label)
    axes.set(xscale="log", yscale="log", xlabel="particles", ylabel="time of a million steps")
    axes.set_title("Measured time of a million steps (blue: AVX-512, orange: AVX2)")
    axes.set_yticks(list(TICKS), list(TICKS.values()))
    axes.set_xticks([1e4, 1e5, 1e6], ["10,000", "100,000", "1,000,000"])
    axes.tick_params(axis="y", which="minor", left=False)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    with Image.open(io.BytesIO(png_of(figure, 130))) as image:
        image.convert("RGB").save(PLOT, optimize=True)


def main() -> None:
    """Write the table and the plot."""
    rates = read_rates()
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), rates), encoding="utf-8")
    draw(rates)


if __name__ == "__main__":
    main()
