"""The promise of equal bits: the same cases over ranks, threads, divisions and restarts, every checkpoint compared."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, get_args

from pdem.benchmark.launch import check_launcher, default_launcher, run_once
from pdem.case.example_cases import write_example
from pdem.containers.exchange import PartitionMethod
from pdem.output.checkpoint_folder import CheckpointFolder
from pdem.output.compare import compare
from pdem.verification.bits_ranks import Cell, Played, middle_of, write_plan
from pdem.verification.study import Finding, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pdem.verification.study import Notebook, Shown

RANKS = (1, 2, 3, 4, 7, 8)
THREADS = (1, 2)
METHODS = get_args(PartitionMethod)
BALANCES = ("never", "always")
_REFERENCE = Cell(1)


class Example(NamedTuple):
    """A case of the study.

    Attributes
    ----------
    name : str
        In tables.
    example : str
        Of ``pdem new``.
    steps : int
        Of a run, an even number: checkpoints are written in the middle and at the end.
    step : float
        Time step [s].
    settings : tuple of str
        What makes it small, quick and lively.
    """

    name: str
    example: str
    steps: int
    step: float
    settings: tuple[str, ...]

    def all_settings(self) -> list[str]:
        """Return all changes of the example."""
        end = self.steps * self.step
        times = {"step": self.step, "end": end}
        output = {"fields_every": end, "series_every": end / 4.0, "checkpoint_every": end / 2.0}
        return [
            *self.settings,
            *(f"time.{key}={value!r}" for key, value in times.items()),
            *(f"output.{key}={value!r}" for key, value in output.items()),
        ]


EXAMPLES = (
    Example(
        "mixer", "h2_mixer", 120, 5e-5,
        (
            "particles.0.fill.count=1500", "particles.0.velocity={random=0.5, seed=1}",
            "walls.1.rotation_table={times=[0.0, 1.0], angles=[0.0, 18.85], axis=[1, 0, 0]}",
        ),
    ),
    Example(
        "shear box, radii 1:10", "shear_box", 120, 1e-5,
        (
            "particles.0.velocity={random=0.5, seed=1}", "walls.1.servo.largest_rate=0.5", "detection.skin=0.03",
        ),
    ),
    Example(
        "hopper, particles leave", "hopper", 200, 5e-5,
        (
            "domain.lower=[-0.2, -0.2, -0.03]", "particles.0.velocity=[0.0, 0.0, -3.0]",
            'particles.0.fill={count=400, shape="cylinder", centre=[0.0, 0.0, 0.04], '
            "axis=[0.0, 0.0, 1.0], radius=0.026, length=0.12}",
        ),
    ),
)  # fmt: skip
"""The cases of the study."""


@dataclass
class Cells:
    """A table of cells, and whether each has the bits of the reference.

    Attributes
    ----------
    title : str
        The case.
    rows : list of (Cell, Played, str)
        The way it was run, what happened, and where it differs (empty if nowhere).
    """

    title: str
    rows: list[tuple[Cell, Played, str]] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Number of cells with other bits."""
        return sum(bool(difference) for _, _, difference in self.rows)

    def __str__(self) -> str:
        """Return the table as text with aligned columns."""
        head = ("ranks", "threads", "method", "balance", "restarted", "detections", "divisions", "equal bits")
        lines = [head, *(self._line(*row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = [
            "  " + "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
            for line in lines
        ]
        found = [f"  {cell.folder}: {text}" for cell, _, text in self.rows if text]
        return "\n".join([self.title, "", *texts, *found])

    @staticmethod
    def _line(cell: Cell, played: Played, difference: str) -> tuple[str, ...]:
        divided = (cell.method, cell.balance) if cell.ranks > 1 else ("-", "-")
        restarted = f"from {cell.before}" if cell.before else "-"
        counts = (str(played.detections), str(played.divisions))
        return (
            str(cell.ranks),
            str(cell.threads),
            *divided,
            restarted,
            *counts,
            "OFF" if difference else "yes",
        )


def run(notebook: Notebook) -> Iterator[Shown]:
    """Run every case in every way; yield a table of each, and what the promise costs it.

    Raises
    ------
    LaunchError
        If ranks cannot be started.
    """
    words = check_launcher(default_launcher())
    for example in EXAMPLES:
        yield from played_cells(example, notebook.folder.resolve() / example.example, words, all_cells())


def all_cells(ranks: Sequence[int] = RANKS) -> list[Cell]:
    """Return all ways to run a case: from the beginning, and from the middle of a run on the ranks before."""
    cells = []
    for number, count in enumerate(ranks):
        ways = (
            list(product(THREADS, METHODS, BALANCES))
            if count > 1
            else [(each, "bisection", "never") for each in THREADS]
        )
        before = ranks[number - 1]
        cells += [Cell(count, *way) for way in ways]
        cells += [Cell(count, 1, "slabs", "always", before), Cell(count, 2, "bisection", "never", before)]
    return cells


def played_cells(
    example: Example, folder: Path, words: Sequence[str], cells: Sequence[Cell]
) -> Iterator[Shown]:
    """Run a case in some ways and compare each with the run on one rank and thread.

    Parameters
    ----------
    example : Example
        The case.
    folder : Path
        For all files; runs with equal bits are removed again.
    words : sequence of str
        Of the launcher.
    cells : sequence of Cell
        The ways.
    """
    shutil.rmtree(folder, ignore_errors=True)
    case = next(iter(write_example(example.example, folder / "case")))
    settings = example.all_settings()
    table = Cells("")
    for batch in _batches(cells):
        plan = folder / "plan.json"
        write_plan(plan, case, settings, batch)
        run_once(words, batch[0].ranks, max(THREADS), ["play-cells", str(plan)])
        table.rows += [_judged(folder, cell) for cell in batch]
    first = table.rows[0][1]
    table.title = (
        f"{example.name}: {first.particles} particles and {first.contacts} contacts at the end; {example.steps} steps, "
        "state in the middle and at the end compared with one rank and thread"
    )
    yield table
    yield _cost(example, table)


def _batches(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield cells of one number of ranks each, such that restarts find what they continue; the reference first."""
    fresh, again = ([cell for cell in cells if bool(cell.before) == late] for late in (False, True))
    fresh = [_REFERENCE, *(cell for cell in fresh if cell != _REFERENCE)]
    done: set[int] = set()
    for count in dict.fromkeys(cell.ranks for cell in (*fresh, *again)):
        ready = [cell for cell in again if cell.ranks == count and cell.before in done]
        yield [cell for cell in fresh if cell.ranks == count] + ready
        again = [cell for cell in again if cell not in ready]
        done.add(count)
    for count in dict.fromkeys(cell.ranks for cell in again):
        yield [cell for cell in again if cell.ranks == count]


def _judged(folder: Path, cell: Cell) -> tuple[Cell, Played, str]:
    """Return what happened in a run and how its checkpoints differ; remove it if they do not."""
    mine = folder / cell.folder
    played = Played(**json.loads((mine / "played.json").read_text(encoding="utf-8")))
    found = {path.name: path for path in CheckpointFolder(mine).paths()}
    expected = CheckpointFolder(folder / _REFERENCE.folder).paths()[1 if cell.before else 0 :]
    difference = ""
    for path in expected:
        if path.name not in found:
            difference = f"wrote no {path.name}"
        elif not (comparison := compare(path, found[path.name])).equal:
            difference = difference or str(comparison)
    if not cell.before and not middle_of(folder, cell.ranks).exists():
        shutil.copy(next(iter(found.values())), middle_of(folder, cell.ranks))
    if not difference and cell != _REFERENCE:
        shutil.rmtree(mine)
    return cell, played, difference


def _cost(example: Example, table: Cells) -> Table:
    """Return which part of contacts and candidates is evaluated by two ranks."""
    findings = []
    for cell, played, _ in table.rows:
        if cell.ranks > 1 and (cell.threads, cell.balance, cell.before) == (1, "never", 0):
            name = f"{cell.ranks} ranks, {cell.method}: per cent of"
            findings += [
                Finding(f"{name} contacts", 100.0 * played.twice / max(played.contacts, 1)),
                Finding(f"{name} candidate pairs", 100.0 * played.listed_twice / max(played.listed, 1)),
            ]
    title = f"{example.name}: pairs across ranks, which both evaluate, at the end"
    return Table(title, "", findings, digits=3)
