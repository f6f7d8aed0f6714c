"""Collisions of a run, of all ranks: counted while it runs, in checkpoints, and written with snapshots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pdem.contact.collisions import CollisionCounts, kinds_of
from pdem.containers.group import on_first_rank
from pdem.engine.feature import Feature
from pdem.engine.feature_set import StateTable, Turn
from pdem.engine.named_events import name_key
from pdem.features.collisions.counted import CollisionEnergies, edges_of, groups_of, write_collisions
from pdem.foundation.errors import InputError
from pdem.numerics.sums import NARROW_LIMBS, narrow_values, normalise
from pdem.output.run_folder import COLLISION_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.contact.law.pair_table import ContactParameters
    from pdem.contact.walls.storage import Evaluated
    from pdem.containers.exchange import Exchange
    from pdem.engine.feature import Columns, Groups
    from pdem.engine.system import System
    from pdem.foundation.array_types import Integers

COLLISIONS = "collision_energies"
"""Name of the group of a checkpoint: a row for each group of collisions and loss."""


class Collisions(Feature):
    """The ended collisions of a case.

    Attributes
    ----------
    counts : CollisionCounts or None
        Counts of this rank, None if the case does not count collisions.
    """

    name, turn = "collisions", Turn.COLLECT
    tables = (StateTable(COLLISIONS, observes=True),)

    def __init__(self, counts: CollisionCounts | None = None) -> None:
        self.counts = counts

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the counts of a rank at time 0, and register them with its contacts between particles."""
        case, law = system.case, system.constants.law
        wanted = case.output.collision_energies
        if wanted is None:
            return cls()
        _, groups = groups_of(case, wanted.sizes)
        materials = [case.material_index(wall.material) for wall in case.walls]
        counts = CollisionCounts(law, kinds_of(law, groups, wanted.sizes, edges_of(case)), materials)
        system.contacts.watch_ends(counts)
        return cls(counts)

    @property
    def watches_walls(self) -> bool:
        """Whether collisions are counted."""
        return self.counts is not None

    @property
    def watches_pairs(self) -> bool:
        """Whether collisions are counted."""
        return self.counts is not None

    def after_walls(self, system: System, evaluated: Evaluated, parameters: ContactParameters) -> None:
        """Count the collisions with walls that have ended in a step."""
        contacts = system.contacts.walls
        if self.counts is not None and contacts is not None and contacts.ended:
            self.counts.count_walls(evaluated)

    def after_pairs(self, system: System, runs: Integers) -> None:
        """Count the collisions between particles that have ended in a step."""
        if self.counts is not None:
            system.contacts.pairs.show_ended(runs, self.counts)

    def groups(self, system: System) -> Groups:
        """Return this rank's part of the group of a checkpoint."""
        if self.counts is None:
            return {}
        self.counts.normalise()
        return {COLLISIONS: {"counts": self.counts.counts.copy(), "sums": self.counts.limbs.copy()}}

    def totals(self, system: System, local: Groups) -> Groups:
        """Return the group of a checkpoint from the parts of all ranks. Collective."""
        wanted = system.case.output.collision_energies
        if COLLISIONS not in local or wanted is None:
            return {}
        keys = [name_key(name) for name in groups_of(system.case, wanted.sizes)[0]]
        return {COLLISIONS: {"key": np.array(keys, np.int64), **_totals(system.exchange, local[COLLISIONS])}}

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Continue with the counts of a checkpoint, by groups, on the first rank; with different bins begin at 0."""
        counts, stored, wanted = self.counts, groups.get(COLLISIONS), system.case.output.collision_energies
        if counts is None or stored is None or wanted is None or system.exchange.rank:
            return
        if stored["counts"].shape[1:] != counts.counts.shape[1:]:
            return
        rows = {int(key): row for row, key in enumerate(stored["key"])}
        for group, name in enumerate(groups_of(system.case, wanted.sizes)[0]):
            if (row := rows.get(name_key(name))) is not None:
                counts.counts[group], counts.limbs[group] = stored["counts"][row], stored["sums"][row]

    def energies(self, system: System) -> CollisionEnergies:
        """Return the collisions of all ranks until now, in groups that have any. Collective.

        Raises
        ------
        InputError
            On all ranks, if the case does not count them.
        """
        wanted = system.case.output.collision_energies
        if self.counts is None or wanted is None:
            raise InputError("the case does not count collisions; give it output.collision_energies = {}")
        joined = _totals(system.exchange, self.groups(system)[COLLISIONS])
        some = np.flatnonzero(joined["counts"].any(axis=(1, 2)))
        names, _ = groups_of(system.case, wanted.sizes)
        edges = np.concatenate(([0.0], edges_of(system.case), [np.inf]))
        counts = joined["counts"][some]
        energies = narrow_values(joined["sums"][some].reshape(-1, NARROW_LIMBS)).reshape(counts.shape)
        return CollisionEnergies(system.progress.time, tuple(names[one] for one in some), edges, counts, energies)

    def write(self, system: System, folder: Path) -> None:
        """Write the collisions until now into a table, which replaces an earlier one. Collective."""
        if self.counts is not None:
            path, found = folder / COLLISION_FILE, self.energies(system)
            on_first_rank(system.exchange, partial(write_collisions, path, found))


def _totals(exchange: Exchange, local: Columns) -> dict[str, NDArray[Any]]:
    """Return the counts and sums of all ranks. Collective."""
    counts, limbs = (exchange.add(local[name]) for name in ("counts", "sums"))
    normalise(limbs.reshape(-1, NARROW_LIMBS))
    return {"counts": counts, "sums": limbs}
