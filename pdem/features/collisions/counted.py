"""Numbers of collisions by lost energy, and the file with these numbers."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.collisions import LOSSES
from pdem.foundation import exact_math
from pdem.foundation.errors import CheckpointError, InputError, name_hint
from pdem.output.saving import RUN_GOES_ON, save_file
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.foundation.array_types import Floats, Integers

    Columns = Mapping[str, NDArray[Any]]

_HEAD = ("group", "loss", "lower [J]", "upper [J]", "count", "energy [J]")


@dataclass(frozen=True)
class CollisionEnergies:
    """Ended collisions by lost energy.

    Attributes
    ----------
    time : float
        Time until which collisions have been counted [s].
    groups : tuple of str
        Names of pairs: ``"glass-steel"``; ``"glass-wall:steel"`` with walls; with classes of size, counted from 1,
        ``"glass/1-glass/2"``.
    edges : (bins + 1,) array
        Energies between bins [J], from 0 to infinity: the first and the last bin have all energies outside the range of
        the case. An energy below 0, by rounding, is in the first bin.
    counts : (groups, 3, bins) int64 array
        Numbers of collisions, by losses ``"normal"``, ``"tangential"`` and ``"total"``.
    energies : (groups, 3, bins) array
        Lost energies of these collisions [J].
    """

    time: float
    groups: tuple[str, ...]
    edges: Floats
    counts: Integers
    energies: Floats

    def spectrum(self, group: str | None = None, loss: str = "total") -> Integers:
        """Return the number of collisions by bin (bins,), of a group or of all.

        Raises
        ------
        InputError
            If there is no such group or loss.
        """
        found: Integers = self._taken(self.counts, group, loss).sum(axis=0)
        return found

    def energy(self, group: str | None = None, loss: str = "total") -> Floats:
        """Return the energy lost by bin (bins,) [J], of a group or of all.

        Raises
        ------
        InputError
            If there is no such group or loss.
        """
        return exact_math.totals(self._taken(self.energies, group, loss))

    def _taken(self, values: NDArray[Any], group: str | None, loss: str) -> NDArray[Any]:
        if loss not in LOSSES:
            raise InputError(f"there is no loss {loss!r}; {name_hint(loss, LOSSES)}")
        if group is not None and group not in self.groups:
            raise InputError(f"there is no group of collisions {group!r}; {name_hint(group, self.groups)}")
        rows = slice(None) if group is None else [self.groups.index(group)]
        return np.asarray(values[rows, LOSSES.index(loss)])

    def since(self, earlier: CollisionEnergies) -> CollisionEnergies:
        """Return the collisions after an earlier count of the same run.

        Raises
        ------
        InputError
            If the earlier count has different groups or bins.
        """
        if earlier.groups != self.groups or not np.array_equal(earlier.edges, self.edges):
            raise InputError("collisions of other groups or bins cannot be taken away; give those of the same run")
        counts, energies = self.counts - earlier.counts, self.energies - earlier.energies
        return CollisionEnergies(self.time, self.groups, self.edges, counts, energies)

    def __repr__(self) -> str:
        """Return the number of collisions, and their energy."""
        total = LOSSES.index("total")
        return (
            f"CollisionEnergies({int(self.counts[:, total].sum()):,} collisions in {len(self.groups)} groups until "
            f"{self.time:.6g} s, {float(self.energies[:, total].sum()):.6g} J)"
        )


def groups_of(case: CaseData, sizes: Sequence[float]) -> tuple[list[str], Integers]:
    """Return the names of all groups of collisions, and the group of each two kinds (K, K), see `Kinds.group`."""
    classes = len(sizes) + 1
    labels = [f"/{number + 1}" if sizes else "" for number in range(classes)]
    kinds = [f"{name}{label}" for name, label in product(case.materials, labels)]
    walls = list(case.materials)
    names: list[str] = []
    groups = np.zeros((len(kinds) + len(walls),) * 2, np.int64)
    for first in range(len(kinds)):
        for second in range(first, len(kinds)):
            groups[first, second] = groups[second, first] = len(names)
            names.append(f"{kinds[first]}-{kinds[second]}")
        for wall, name in enumerate(walls):
            groups[first, len(kinds) + wall] = groups[len(kinds) + wall, first] = len(names)
            names.append(f"{kinds[first]}-wall:{name}")
    return names, groups


def edges_of(case: CaseData) -> Floats:
    """Return the energies between the bins of a case, rising [J]."""
    wanted = case.output.collision_energies
    assert wanted is not None
    count = math.ceil(exact_math.log10(wanted.highest / wanted.lowest) * wanted.per_decade - 1e-9)
    return np.array([wanted.lowest * exact_math.power(10.0, k / wanted.per_decade) for k in range(count + 1)])


def write_collisions(path: Path, found: CollisionEnergies) -> None:
    """Write collisions into a table, which replaces an earlier one: a line for each bin with collisions.

    Raises
    ------
    WriteError
        If it cannot be written.
    """
    rows = [
        (
            found.groups[group], LOSSES[loss], repr(float(found.edges[column])),
            repr(float(found.edges[column + 1])), int(found.counts[group, loss, column]),
            repr(float(found.energies[group, loss, column])),
        )
        for group, loss, column in np.argwhere(found.counts > 0).tolist()
    ]  # fmt: skip
    save_file(path, f"# collisions until {found.time!r} s\n{Table(_HEAD, rows).csv()}", RUN_GOES_ON)


def read_collisions(path: Path, edges: Floats) -> CollisionEnergies:
    """Return the collisions of a table, for the edges of bins of the case [J].

    Raises
    ------
    CheckpointError
        If the file is not a table of collisions.
    """
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        time = float(first.split()[-2])
        rows = list(csv.reader(lines[1:]))
        groups = tuple(dict.fromkeys(row[0] for row in rows))
        limits = np.concatenate(([0.0], edges, [np.inf]))
        counts = np.zeros((len(groups), len(LOSSES), len(limits) - 1), np.int64)
        energies = np.zeros(counts.shape)
        for group, loss, lower, _, count, energy in rows:
            place = groups.index(group), LOSSES.index(loss), int(np.searchsorted(limits, float(lower)))
            counts[place], energies[place] = int(count), float(energy)
    except (OSError, ValueError, IndexError) as error:
        raise CheckpointError(
            f"{path}: is no table of collisions of pdem or is damaged ({error}); run the case again"
        ) from error
    return CollisionEnergies(time, groups, limits, counts, energies)
