"""Averages over time of continuum fields, while a case runs.

Sums over the cells of a grid have the same bits on any ranks and threads (`pdem.continuum.sums`), every rank has all of
them, and they are added up over time sample by sample, so that averages have the same bits as well. The steps of
samples follow from the case; sums since the last written field are part of a checkpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.fields import ContinuumFields
from pdem.continuum.grid import grid_of
from pdem.continuum.layout import HEAT_SUMS, SUMS
from pdem.engine.named_events import name_key

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.continuum.grid import Grid
    from pdem.foundation.array_types import Floats


class FinishedFields(NamedTuple):
    """Fields that are ready to be written: step of the last sample, and number of samples of the mean."""

    step: int
    samples: int
    fields: ContinuumFields


class FieldAverage:
    """One of the ``[[fields]]`` of a case, and its sums since it was written last.

    Parameters
    ----------
    case : Case
        The case.
    index : int
        Number of the fields.
    step : float
        Time step [s].

    Attributes
    ----------
    name : str
        From the case.
    grid, now : Grid
        The cells of the case, and at the last sample: in a deforming box they follow the box.
    materials : list of str
        Materials with fields of their own, empty without.
    interval, window : int
        Steps between two samples, and between two fields that are written: at multiples of these numbers.
    samples, last : int
        Number of samples in the sums, and step of the last one.
    sums : (classes, cells, SUMS) array
        With `HEAT_SUMS` more in a case with heat: sums of samples, scaled by the change of the volume of a cell.
    finished : FinishedFields or None
        The last finished fields.
    """

    def __init__(self, case: Case, index: int, step: float) -> None:
        section = case.fields[index]
        self.name, self.key = section.name, name_key(section.name)
        corners = section.lower, section.upper
        self.grid = grid_of(corners, section.cells, section.width, section.kernel, case.domain.dimension)
        self.now = self.grid
        self.materials = list(case.materials) if section.by == "material" else []
        self.interval, samples = section.steps(step)
        self.window = self.interval * samples
        self.samples = self.last = 0
        width = SUMS if case.heat is None else SUMS + HEAT_SUMS
        self.sums = np.zeros((max(len(self.materials), 1), self.grid.total, width))
        self.finished: FinishedFields | None = None

    @property
    def next_step(self) -> int:
        """Step of the next sample."""
        return (self.last // self.interval + 1) * self.interval

    @property
    def present(self) -> ContinuumFields:
        """The mean of the samples so far, or the last written fields if there is no sample since."""
        if self.samples == 0 and self.finished is not None:
            return self.finished.fields
        means = self.sums / max(self.samples, 1)
        return ContinuumFields.of_sums(self.grid, means, self.materials).on(self.now)

    def add(self, sums: Floats, step: int, now: Grid) -> None:
        """Add a sample over the present cells; at the end of a window the mean is finished."""
        ratio = self.grid.volume / now.volume
        self.sums += sums if ratio == 1.0 else ratio * sums
        self.now = now
        self.samples, self.last = self.samples + 1, step
        if step % self.window == 0:
            self.finished = FinishedFields(step, self.samples, self.present)
            self.sums[:] = 0.0
            self.samples = 0
