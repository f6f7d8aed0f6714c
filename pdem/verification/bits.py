"""Study of equal bits: cases over ranks, threads, partitions and restarts, with every checkpoint compared."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, get_args

from pdem.benchmark.launch import check_launcher, default_launcher, run_on_ranks
from pdem.case.explain.example_cases import write_example
from pdem.containers.exchange import PartitionMethod
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.compare import compare
from pdem.report.table import Table
from pdem.verification.bits_variants import RunCounts, Variant, middle_checkpoint, write_plan
from pdem.verification.study import FindingTable, Study, StudyFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pdem.verification.study import Notebook, StudyResult

RANKS = (1, 2, 3, 4, 7, 8)
THREADS = (1, 2)
METHODS = get_args(PartitionMethod)
BALANCES = ("never", "always")
_REFERENCE = Variant(1)


class Example(NamedTuple):
    """A case of the study.

    Attributes
    ----------
    name : str
        Name in tables.
    example : str
        Example of ``pdem new``.
    steps : int
        Steps of a run, an even number: checkpoints are written in the middle and at the end.
    step : float
        Time step [s].
    settings : tuple of str
        Settings that make the case small and quick, with frequent contacts.
    """

    name: str
    example: str
    steps: int
    step: float
    settings: tuple[str, ...]

    def all_settings(self) -> list[str]:
        """Return all settings, including times and output."""
        end = self.steps * self.step
        times = {"step": self.step, "end": end}
        output = {"snapshots_every": end, "series_every": end / 4.0, "checkpoint_every": end / 2.0}
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
class VariantTable:
    """A table of variants with the comparison of their bits.

    Attributes
    ----------
    title : str
        Description of the case.
    rows : list of (Variant, RunCounts, str)
        Variant, its counts, and its difference from the reference (empty if the bits are equal).
    """

    title: str
    rows: list[tuple[Variant, RunCounts, str]] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """1 if some variants have other bits, otherwise 0."""
        return sum(one.passed is False for one in self.findings)

    @property
    def findings(self) -> list[StudyFinding]:
        """A finding with the number of variants that have other bits."""
        other = sum(bool(difference) for _, _, difference in self.rows)
        return [StudyFinding(f"variants with other bits, of {len(self.rows)}", other, 0.0, 0.0)]

    def __str__(self) -> str:
        """Return the table as text with aligned columns."""
        head = ("ranks", "threads", "method", "balance", "restarted", "detections", "divisions", "equal bits")
        text = Table(head, [self._line(*row) for row in self.rows]).text(0, "  ")
        found = [f"  {variant.folder}: {text}" for variant, _, text in self.rows if text]
        return "\n".join([self.title, "", text, *found])

    @staticmethod
    def _line(variant: Variant, counts: RunCounts, difference: str) -> tuple[str, ...]:
        divided = (variant.method, variant.balance) if variant.ranks > 1 else ("-", "-")
        restarted = f"from {variant.before}" if variant.before else "-"
        numbers = (str(counts.detections), str(counts.divisions))
        return (str(variant.ranks), str(variant.threads), *divided, restarted, *numbers, "OFF" if difference else "yes")


def run(notebook: Notebook) -> Iterator[StudyResult]:
    """Run every variant of every case; for each case, yield a table of variants and a table of duplicated work.

    Raises
    ------
    LaunchError
        If ranks cannot be started.
    """
    launcher = check_launcher(default_launcher())
    for example in EXAMPLES:
        yield from compare_variants(example, notebook.folder.resolve() / example.example, launcher, all_variants())


STUDY = Study("bits", "The same bits on any ranks, threads and division, and after any restart", run, "promises")
"""What `pdem verify bits` runs."""


def all_variants(ranks: Sequence[int] = RANKS) -> list[Variant]:
    """Return all variants: runs from the beginning, and restarts in mid-run on a different number of ranks."""
    variants = []
    for number, count in enumerate(ranks):
        options = (
            list(product(THREADS, METHODS, BALANCES))
            if count > 1
            else [(each, "bisection", "never") for each in THREADS]
        )
        before = ranks[number - 1]
        variants += [Variant(count, *option) for option in options]
        variants += [Variant(count, 1, "slabs", "always", before), Variant(count, 2, "bisection", "never", before)]
    return variants


def compare_variants(
    example: Example, folder: Path, launcher: Sequence[str], variants: Sequence[Variant]
) -> Iterator[StudyResult]:
    """Run variants of a case and compare each with the run on one rank and thread.

    Parameters
    ----------
    example : Example
        The case.
    folder : Path
        Folder for all files; runs with equal bits are removed after the comparison.
    launcher : sequence of str
        Command words of the MPI launcher.
    variants : sequence of Variant
        The variants, the reference among them.
    """
    shutil.rmtree(folder, ignore_errors=True)
    case = next(iter(write_example(example.example, folder / "case")))
    settings = example.all_settings()
    table = VariantTable("")
    for batch in _batches(variants):
        plan = folder / "plan.json"
        write_plan(plan, case, settings, batch)
        run_on_ranks(launcher, batch[0].ranks, max(THREADS), ["play-cells", str(plan)])
        table.rows += [_compare_variant(folder, variant) for variant in batch]
    first = table.rows[0][1]
    table.title = (
        f"{example.name}: {first.particles} particles and {first.contacts} contacts at the end; {example.steps} steps, "
        "state in the middle and at the end compared with one rank and thread"
    )
    yield table
    yield _duplicated_work(example, table)


def _batches(variants: Sequence[Variant]) -> Iterator[list[Variant]]:
    """Yield batches of variants with equal numbers of ranks: the reference first, restarts after their first halves."""
    from_start, restarted = (
        [variant for variant in variants if bool(variant.before) == is_restart] for is_restart in (False, True)
    )
    from_start = [_REFERENCE, *(variant for variant in from_start if variant != _REFERENCE)]
    finished: set[int] = set()
    for count in dict.fromkeys(variant.ranks for variant in (*from_start, *restarted)):
        ready = [variant for variant in restarted if variant.ranks == count and variant.before in finished]
        yield [variant for variant in from_start if variant.ranks == count] + ready
        restarted = [variant for variant in restarted if variant not in ready]
        finished.add(count)
    for count in dict.fromkeys(variant.ranks for variant in restarted):
        yield [variant for variant in restarted if variant.ranks == count]


def _compare_variant(folder: Path, variant: Variant) -> tuple[Variant, RunCounts, str]:
    """Return the counts of a run and the difference of its checkpoints; remove the run if there is no difference."""
    folder_of_run = folder / variant.folder
    counts = RunCounts(**json.loads((folder_of_run / "played.json").read_text(encoding="utf-8")))
    found = {path.name: path for path in CheckpointFolder(folder_of_run).paths()}
    expected = CheckpointFolder(folder / _REFERENCE.folder).paths()[1 if variant.before else 0 :]
    difference = ""
    for path in expected:
        if path.name not in found:
            difference = f"wrote no {path.name}"
        elif not (comparison := compare(path, found[path.name])).equal:
            difference = difference or str(comparison)
    if not variant.before and not middle_checkpoint(folder, variant.ranks).exists():
        shutil.copy(next(iter(found.values())), middle_checkpoint(folder, variant.ranks))
    if not difference and variant != _REFERENCE:
        shutil.rmtree(folder_of_run)
    return variant, counts, difference


def _duplicated_work(example: Example, table: VariantTable) -> FindingTable:
    """Return the shares of contacts and candidate pairs that two ranks both evaluate."""
    findings = []
    for variant, counts, _ in table.rows:
        if variant.ranks > 1 and (variant.threads, variant.balance, variant.before) == (1, "never", 0):
            name = f"{variant.ranks} ranks, {variant.method}: per cent of"
            findings += [
                StudyFinding(f"{name} contacts", 100.0 * counts.twice / max(counts.contacts, 1)),
                StudyFinding(f"{name} candidate pairs", 100.0 * counts.listed_twice / max(counts.listed, 1)),
            ]
    title = f"{example.name}: pairs across ranks, which both evaluate, at the end"
    return FindingTable(title, "", findings, digits=3)
