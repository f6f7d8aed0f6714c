"""What the study of equal bits does on the ranks: run a case again and again, divided and threaded in other ways."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.output.checkpoint import read_checkpoint
from pdem.simulation.ranks import on_first
from pdem.simulation.run import run
from pdem.simulation.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Cell:
    """One way to run a case.

    Attributes
    ----------
    ranks, threads : int
        How many, and threads of each.
    method, balance : str
        Of ``[decomposition]``.
    before : int
        Ranks that ran the first half, from whose checkpoint it continues; 0 for a run from the beginning.
    """

    ranks: int
    threads: int = 1
    method: str = "bisection"
    balance: str = "never"
    before: int = 0

    @property
    def folder(self) -> str:
        """Where its output goes."""
        end = f"-from-{self.before}" if self.before else ""
        return f"{self.ranks}x{self.threads}-{self.method}-{self.balance}{end}"


@dataclass(frozen=True)
class Played:
    """What happened in a run.

    Attributes
    ----------
    particles, contacts : int
        At its end, each counted once.
    twice : int
        Contacts at its end between particles of two ranks, which both evaluate.
    listed, listed_twice : int
        The same for candidate pairs.
    detections, divisions : int
        How often lists were made, and particles divided anew.
    steps : int
        At its end, from time 0.
    """

    particles: int
    contacts: int
    twice: int
    listed: int
    listed_twice: int
    detections: int
    divisions: int
    steps: int


def play(case: Case, communicator: Any, cell: Cell, start: Path | None = None) -> Played:
    """Run a case to its end with all its output. Collective.

    Parameters
    ----------
    case : Case
        Changed to what the cell says.
    communicator : mpi4py communicator or None
        The ranks.
    cell : Cell
        The way to run it.
    start : path, optional
        A checkpoint to continue from.
    """
    case.override(f'decomposition.method="{cell.method}"')
    case.override(f'decomposition.balance="{cell.balance}"')
    state = None
    if start is not None:
        first = communicator is None or communicator.rank == 0
        state = read_checkpoint(start).groups if first else None
    simulation = Simulation(case, communicator, threads=cell.threads, state=state)
    run(simulation, quiet=True, overwrite=True)
    return _counted(simulation)


def _counted(simulation: Simulation) -> Played:
    system = simulation.system
    own, pairs = system.particles, system.pair_contacts

    def counted(rows: Any) -> tuple[int, int]:
        higher = np.maximum(pairs.lower[rows], pairs.higher[rows])  # rows from own.count on are copies
        return len(higher), int((higher >= own.count).sum())

    mine = [own.count, *counted(pairs.touching), *counted(slice(pairs.candidates))]
    particles, contacts, shared, listed, listed_shared = system.exchange.add(
        np.array(mine, np.int64)
    ).tolist()
    return Played(
        particles, contacts - shared // 2, shared // 2, listed - listed_shared // 2, listed_shared // 2,
        system.detections, system.rebalances, simulation.step,
    )  # fmt: skip


def write_plan(path: Path, case: Path, settings: Sequence[str], cells: Sequence[Cell]) -> None:
    """Write down what `play_plan` is to do.

    Parameters
    ----------
    path : Path
        File to write; runs go into folders beside it.
    case : Path
        Case file.
    settings : sequence of str
        Changes of the case, as of ``pdem run --set``.
    cells : sequence of Cell
        All on the same number of ranks.
    """
    plan = {"case": str(case), "settings": list(settings), "cells": [asdict(cell) for cell in cells]}
    path.write_text(json.dumps(plan), encoding="utf-8")


def play_plan(communicator: Any, path: Path) -> None:
    """Run the cells of a plan one after the other and write ``played.json`` beside each run. Collective."""
    plan = json.loads(on_first(communicator, lambda: path.read_text(encoding="utf-8")))
    for entry in plan["cells"]:
        cell, case = Cell(**entry), Case.read(plan["case"])
        for setting in plan["settings"]:
            case.override(setting)
        folder = path.parent / cell.folder
        case.override(f'output.folder="{folder}"')
        start = middle_of(path.parent, cell.before) if cell.before else None
        played = play(case, communicator, cell, start)
        if communicator is None or communicator.rank == 0:
            (folder / "played.json").write_text(json.dumps(asdict(played)), encoding="utf-8")


def middle_of(folder: Path, ranks: int) -> Path:
    """Return the checkpoint of the middle that is kept of the runs on so many ranks."""
    return folder / f"middle-of-{ranks}.h5"
