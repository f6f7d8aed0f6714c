"""The file of bonds of a run, with a step for each snapshot of particles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.features.bonds.feature import Bonds
from pdem.features.bonds.results.bond_lines import BOND_LINE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.engine.protocol import Engine
    from pdem.output.snapshots.formats import RowWriter, SnapshotFormat
    from pdem.output.storage import Attribute


class BondSnapshots:
    """The file of bonds of a run, in a case with bonds.

    Parameters
    ----------
    simulation : Engine
        The run to write.
    form : SnapshotFormat
        Format of the file.
    attributes : mapping
        Attributes of the file.
    """

    def __init__(self, simulation: Engine, form: SnapshotFormat, attributes: Mapping[str, Attribute]) -> None:
        self._simulation, self._file = simulation, None
        if simulation.case.bonds:
            self._file = form.contacts(
                Path(simulation.case.output.folder) / form.bond_file, BOND_LINE_FIELDS, attributes,
                resume_step=simulation.step or None, ranks=simulation.system.exchange,
            )  # fmt: skip

    def files(self) -> list[RowWriter]:
        """Return the file, or an empty list."""
        return [] if self._file is None else [self._file]

    def write(self) -> None:
        """Append the present bonds of all ranks in the order of ids. Collective."""
        if self._file is not None:
            simulation, system = self._simulation, self._simulation.system
            columns = system.features.get(Bonds).lines(system)
            rows = system.exchange.in_order([columns["first"], columns["second"]])
            self._file.write(simulation.time, simulation.step, columns, rows)
