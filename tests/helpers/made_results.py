"""Made-up results of runs: series with given columns and snapshots with given grains, as measures take them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from pydantic import TypeAdapter

from helpers.everything import case_in
from pdem.run.reading.results import SeriesTable
from pdem.sweeps.measure_sections import Measure
from pdem.sweeps.measures import measured

TIME = np.linspace(0.0, 2.0, 201)
STAGE = np.where(TIME <= 0.5, 0, 1)
UNITS = {"bed_mass": "kg", "out_passed": "kg"}


class Made(SimpleNamespace):
    """Results with a series of given columns, and of a case with given settings."""

    def __init__(self, *settings, time=TIME, snapshots=(), **columns):
        rows = {"time": time, "stage": np.interp(time, TIME, STAGE).round(), **columns}
        table = np.rec.fromarrays(list(rows.values()), names=list(rows))
        stages = "stages=[{name='filling', end=0.5}, {name='turning'}]"
        super().__init__(case=case_in("unused", "insertions=[]", stages, *settings), snapshots=snapshots)
        self.series = SeriesTable(table, UNITS)
        self.times = np.array([one.time for one in snapshots])

    def __getitem__(self, index):
        return self.snapshots[index]

    def at(self, time):
        return self.snapshots[int(np.argmin(np.abs(self.times - time)))]


class Grains(SimpleNamespace):
    """A snapshot of grains of the same size, at rest unless they have a velocity."""

    def __init__(self, places, grain=0.005, time=2.0, velocity=None):
        super().__init__(
            position=places, radius=np.full(len(places), 0.5 * grain), time=time,
            velocity=np.zeros_like(places) if velocity is None else velocity,
        )  # fmt: skip

    def __len__(self):
        return len(self.position)

    def inside(self, region):
        return np.all((self.position >= region.lower) & (self.position <= region.upper), axis=1)


def section(**keys):
    """Return the section of a measure."""
    return TypeAdapter(Measure).validate_python(keys)


def value(results, **keys):
    """Return what a measure named m finds."""
    return measured("m", section(**keys), results)["m"]


def remarks(results, **keys):
    """Return the facts of the remarks of a measure."""
    return [one.partition(":")[0] for one in value(results, **keys).remarks]
