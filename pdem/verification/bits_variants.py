"""Variants of a run for the study of equal bits: ranks, threads, partitions and restarts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.engine.ranks import on_first
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.saving import save_file
from pdem.run.files.folder_use import FolderUse
from pdem.run.run import run
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Variant:
    """Ranks, threads, partition and restart of a run.

    Attributes
    ----------
    ranks, threads : int
        Number of ranks, and number of threads per rank.
    method, balance : str
        Values of the keys in ``[decomposition]``.
    before : int
        Ranks of a run of the first half, which wrote the checkpoint to continue from; 0 for a run from the beginning.
    """

    ranks: int
    threads: int = 1
    method: str = "bisection"
    balance: str = "never"
    before: int = 0

    @property
    def folder(self) -> str:
        """Name of its output folder."""
        end = f"-from-{self.before}" if self.before else ""
        return f"{self.ranks}x{self.threads}-{self.method}-{self.balance}{end}"


@dataclass(frozen=True)
class RunCounts:
    """Counts of a run.

    Attributes
    ----------
    particles, contacts : int
        Numbers at the end of the run.
    twice : int
        Contacts at the end between particles of two ranks; both ranks evaluate these.
    listed, listed_twice : int
        Candidate pairs at the end, and candidate pairs that two ranks both evaluate.
    detections, divisions : int
        Number of detections, and number of partitions of the domain.
    steps : int
        Number of the last step.
    """

    particles: int
    contacts: int
    twice: int
    listed: int
    listed_twice: int
    detections: int
    divisions: int
    steps: int


def run_variant(case: Case, communicator: Any, variant: Variant, start: Path | None = None) -> RunCounts:
    """Run a case to its end, with all its output. Collective.

    Parameters
    ----------
    case : Case
        The case; its method and balance are set to the values of the variant.
    communicator : mpi4py communicator or None
        The ranks.
    variant : Variant
        Threads, method and balance of the run.
    start : path, optional
        A checkpoint to continue from.
    """
    case.override(f'decomposition.method="{variant.method}"')
    case.override(f'decomposition.balance="{variant.balance}"')
    state = None
    if start is not None:
        first = communicator is None or communicator.rank == 0
        state = read_checkpoint(start).groups if first else None
    simulation = Simulation(case, communicator, threads=variant.threads, state=state)
    run(simulation, quiet=True, use=FolderUse(overwrite=True))
    return _counts_of(simulation)


def _counts_of(simulation: Simulation) -> RunCounts:
    system = simulation.system
    own, pairs = system.particles, system.contacts.pairs

    def counted(rows: Any) -> tuple[int, int]:
        higher = np.maximum(pairs.lower[rows], pairs.higher[rows])  # rows from own.count on are ghosts
        return len(higher), int((higher >= own.count).sum())

    own_counts = [own.count, *counted(pairs.touching), *counted(slice(pairs.candidates))]
    particles, contacts, shared, listed, listed_shared = system.exchange.add(np.array(own_counts, np.int64)).tolist()
    return RunCounts(
        particles, contacts - shared // 2, shared // 2, listed - listed_shared // 2, listed_shared // 2,
        system.lists.detections, system.lists.rebalances, simulation.step,
    )  # fmt: skip


def write_plan(path: Path, case: Path, settings: Sequence[str], variants: Sequence[Variant]) -> None:
    """Write the plan file for `run_plan`.

    Parameters
    ----------
    path : Path
        File to write; the folders of the runs are created beside it.
    case : Path
        Case file.
    settings : sequence of str
        Changes of the case, as for ``pdem run --set``.
    variants : sequence of Variant
        Variants with the same number of ranks.
    """
    plan = {"case": str(case), "settings": list(settings), "cells": [asdict(variant) for variant in variants]}
    save_file(path, json.dumps(plan))


def run_plan(communicator: Any, path: Path) -> None:
    """Run the variants of a plan one after the other, and write ``played.json`` for each run. Collective."""
    plan = json.loads(on_first(communicator, lambda: path.read_text(encoding="utf-8")))
    for entry in plan["cells"]:
        variant, case = Variant(**entry), Case.read(plan["case"])
        for setting in plan["settings"]:
            case.override(setting)
        folder = path.parent / variant.folder
        case.override(f'output.folder="{folder}"')
        start = middle_checkpoint(path.parent, variant.before) if variant.before else None
        counts = run_variant(case, communicator, variant, start)
        if communicator is None or communicator.rank == 0:
            save_file(folder / "played.json", json.dumps(asdict(counts)))


def middle_checkpoint(folder: Path, ranks: int) -> Path:
    """Return the path of the mid-run checkpoint of the run on `ranks` ranks."""
    return folder / f"middle-of-{ranks}.h5"
