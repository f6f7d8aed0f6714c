"""What a run shows of its bonds: stress, columns of the series, snapshots, fragments, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pdem.containers.group import on_first_rank
from pdem.engine.feature import Feature
from pdem.features.bonds.bond_forces import forces_of_bonds
from pdem.features.bonds.columns import BROKEN_COLUMNS
from pdem.features.bonds.results.bond_lines import bond_columns
from pdem.features.bonds.results.bond_readings import bonds_of_run
from pdem.features.bonds.results.breaks_file import breaks_line, write_breaks
from pdem.features.bonds.results.fragment_file import collected_fragments, own_labels, write_fragments
from pdem.foundation.errors import InputError
from pdem.foundation.fields import Field, Ghosted

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.engine.views.pair_forces import PairForces
    from pdem.engine.views.series_line import SeriesLine
    from pdem.features.bonds.broken import BrokenBonds
    from pdem.features.bonds.evaluation import BondEvaluation
    from pdem.features.bonds.results.fragments import Fragments
    from pdem.foundation.array_types import Floats

    Columns = dict[str, NDArray[Any]]

FRAGMENT = Field(
    "fragment", np.int64, (), "1", "lowest id of the particles that bonds join; -1 if never bonded", Ghosted.NEVER,
    state=False,
)  # fmt: skip


class BondReadings(Feature):
    """The hooks of bonds for stress and output.

    Attributes
    ----------
    evaluation : BondEvaluation or None
        The bonds of this rank; None for a case without bonds.
    broken : BrokenBonds
        Events of the bonds that have broken.
    """

    name = "bonds"
    snapshot_fields: ClassVar[tuple[Field, ...]] = (FRAGMENT,)
    evaluation: BondEvaluation | None
    broken: BrokenBonds
    _laws: Floats

    def _bonds(self, of: str) -> BondEvaluation:
        """Return the bonds; raise `InputError` if the case has none."""
        if self.evaluation is None:
            raise InputError(f"{of}: the case has no bonds; give it [bonds.NAME]")
        return self.evaluation

    def pair_forces(self, system: System, *, present: bool) -> PairForces | None:
        """Return the forces of the bonds that this rank counts."""
        if self.evaluation is None:
            return None
        results = self.evaluation.measured(system, self._laws, present=present)
        return forces_of_bonds(system, self.evaluation, results)

    def snapshot_values(self, system: System) -> Columns:
        """Return the labels of the fragments of the owned particles. Collective."""
        if self.evaluation is None:
            return {}
        return {FRAGMENT.name: own_labels(system, self.evaluation, self.broken)}

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names, units and types of series columns: numbers of bonds, of broken bonds by mode, of fragments."""
        if self.evaluation is None:
            return []
        broken = ((name, "1", "i8") for name in BROKEN_COLUMNS)
        return [("bonds", "1", "i8"), *broken, ("fragments", "1", "i8"), ("largest_fragment", "kg")]

    def values(self, system: System, line: SeriesLine) -> dict[str, float]:
        """Return the values of `columns`. Collective."""
        if self.evaluation is None:
            return {}
        table = self.evaluation.table
        count = np.array([np.count_nonzero(table.counted(system.particles))], np.int64)
        broken = self.broken.counts(system.exchange).tolist()
        whole = int(system.exchange.add(count)[0])
        found = collected_fragments(system, self.evaluation, self.broken)
        number, mass = system.exchange.share(None if found is None else (len(found), found.largest_mass))
        modes = dict(zip(BROKEN_COLUMNS, broken, strict=True))
        return {"bonds": whole, **modes, "fragments": number, "largest_fragment": mass}

    def all_of(self, system: System) -> Columns | None:
        """Return all bonds, present and broken, on the first rank; None elsewhere. Collective.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        columns = bond_columns(system, self._bonds("simulation.bonds"), self._laws)
        return bonds_of_run(system, columns, self.broken)

    def lines(self, system: System) -> Columns:
        """Return the columns of the bonds that this rank counts, see `.bond_lines.bond_columns`. Collective."""
        return bond_columns(system, self._bonds("bonds.vtkhdf"), self._laws)

    def fragments(self, system: System) -> Fragments | None:
        """Return the present fragments on the first rank; None elsewhere. Collective.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        return collected_fragments(system, self._bonds("simulation.fragments()"), self.broken)

    def finish(self, system: System, folder: Path) -> list[str]:
        """Write broken bonds and fragments; return lines for the report. Collective."""
        if self.evaluation is None:
            return []
        self.write(system, folder)
        count = self.broken.counts(system.exchange)
        return [breaks_line(count)] if count.any() else []

    def write(self, system: System, folder: Path) -> None:
        """Write broken bonds and the present fragments, and replace earlier files. Collective."""
        if self.evaluation is None:
            return
        events = self.broken.collected(system.exchange)
        found = collected_fragments(system, self.evaluation, self.broken)

        def write_both() -> None:
            write_breaks(events, system.case, system.constants.time_step.dt, folder)
            write_fragments(found, folder)

        on_first_rank(system.exchange, write_both)
