"""Files of continuum fields that are averaged while a case runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.containers.group import on_each_rank
from pdem.continuum.fields import fields_with_parts
from pdem.features.fields.feature import Fields
from pdem.output.snapshots.image_series import ImageSeries, Lattice, field_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pdem.continuum.grid import Grid
    from pdem.engine.protocol import Engine
    from pdem.output.storage import Attribute


class FieldFiles:
    """The files of the ``[[fields]]`` of a run, which rank 0 writes.

    Parameters
    ----------
    simulation : Engine
        What is written.
    folder : Path
        Of the output.
    attributes : dict
        Of the files.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: dict[str, Attribute]) -> None:
        self._averages = simulation.system.features.get(Fields).averages
        self._system, self._files = simulation.system, dict[str, ImageSeries]()
        for one in self._averages if simulation.system.exchange.rank == 0 else ():
            own: dict[str, Attribute] = {
                "field_width": one.grid.width, "field_kernel": one.grid.kernel, "parts": "\n".join(one.materials),
                "dimension": one.grid.dimension,
            }  # fmt: skip
            self._files[one.name] = ImageSeries(
                folder / field_file(one.name), lattice_of(one.grid), fields_with_parts(one.materials),
                attributes | own, resume_step=simulation.step or None,
            )  # fmt: skip

    def files(self) -> Iterator[ImageSeries]:
        """Yield all files of this rank."""
        yield from self._files.values()

    def write(self) -> None:
        """Append the fields that were finished at the present step. Collective."""
        on_each_rank(self._system.exchange, self._append)

    def _append(self) -> None:
        for one in self._averages:
            done = one.finished
            if done is not None and done.step == self._system.step and one.name in self._files:
                time = self._system.time_of(done.step)
                self._files[one.name].write(
                    time, done.step, done.fields.named, done.samples, lattice_of(done.fields.grid)
                )


def lattice_of(grid: Grid) -> Lattice:
    """Return the cells of a grid as files have them."""
    x, y, z = grid.cells.tolist()
    return Lattice((x, y, z), tuple(grid.lower.tolist()), tuple(grid.size.tolist()))
