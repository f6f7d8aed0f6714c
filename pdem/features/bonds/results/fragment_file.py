"""The fragments of a run: collected from all ranks, and the file of the last ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.features.bonds.results.fragments import NEVER_BONDED, UNITS_OF_FRAGMENTS, fragments_of, labels_of
from pdem.output.run_folder import FRAGMENT_FILE
from pdem.output.saving import RUN_GOES_ON, save_file
from pdem.report.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.features.bonds.broken import BrokenBonds
    from pdem.features.bonds.evaluation import BondEvaluation
    from pdem.features.bonds.results.fragments import Fragments
    from pdem.foundation.array_types import Integers

    Columns = dict[str, NDArray[Any]]


def labelled_particles(system: System, bonds: BondEvaluation, broken: BrokenBonds) -> Columns | None:
    """Return ``id``, ``radius``, ``material`` and ``fragment`` of all particles by id, on the first rank. Collective.

    See `.fragments.fragments_of`; None on other ranks.
    """
    over, own, table = system.exchange, system.particles, bonds.table
    mine = table.counted(own)
    whole = over.collect({"lower": table.lower[mine], "higher": table.higher[mine]})
    events = over.collect({name: broken.columns[name] for name in ("lower", "higher")})
    found = over.collect({name: own[name].copy() for name in ("id", "radius", "material")})
    if whole is None or events is None or found is None:
        return None
    order = np.argsort(found["id"], kind="stable")
    found = {name: column[order] for name, column in found.items()}
    ends = np.concatenate([one[name] for one in (whole, events) for name in ("lower", "higher")])
    inside = np.isin(found["id"], ends)
    labels = np.full(len(inside), NEVER_BONDED, np.int64)
    labels[inside] = labels_of(found["id"][inside], np.stack((whole["lower"], whole["higher"]), axis=1))
    return {**found, "fragment": labels}


def collected_fragments(system: System, bonds: BondEvaluation, broken: BrokenBonds) -> Fragments | None:
    """Return the present fragments on the first rank; None elsewhere. Collective."""
    particles = labelled_particles(system, bonds, broken)
    if particles is None:
        return None
    return fragments_of(particles, system.constants.density, system.constants.dimension)


def own_labels(system: System, bonds: BondEvaluation, broken: BrokenBonds) -> Integers:
    """Return the labels of the fragments of the particles of this rank (n,), `.fragments.NEVER_BONDED`. Collective."""
    particles = labelled_particles(system, bonds, broken)
    ids, labels = system.exchange.share(None if particles is None else (particles["id"], particles["fragment"]))
    found: Integers = labels[np.searchsorted(ids, system.particles.id)]
    return found


def write_fragments(fragments: Fragments | None, folder: Path) -> None:
    """Write fragments into a folder and replace an earlier file; do nothing for None.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    if fragments is not None:
        head = tuple(f"{name} [{unit}]" for name, unit in UNITS_OF_FRAGMENTS.items())
        rows = [
            tuple(map(repr, row)) for row in zip(*(column.tolist() for column in fragments.table.values()), strict=True)
        ]
        save_file(folder / FRAGMENT_FILE, Table(head, rows).csv(), RUN_GOES_ON)
