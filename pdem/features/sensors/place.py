"""One sensor of a case: its particles, their classes, and its counts so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.inlets import face_at
from pdem.case.stage_cases import sensor_acts
from pdem.engine.named_events import NEVER, name_key
from pdem.features.sensors.columns import classes_of, columns_of_sensor, counts_passage
from pdem.features.sensors.preflight import sensor_interval
from pdem.features.sensors.section import SizeClasses
from pdem.features.sensors.sizes import SizeSums
from pdem.foundation import exact_math
from pdem.numerics.sums import ExactSums
from pdem.particles import regions
from pdem.particles.regions import along

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.box_shape import BoxShape
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.faces import Face

    Columns = Mapping[str, NDArray[Any]]

MARGIN = 2.0
"""Half width of the layer at a plane in which particles are stored, over the expected displacement between events."""


def _none() -> Integers:
    return np.zeros(0, np.int64)


def remembering(ids: Integers, ranks: int) -> Integers:
    """Return the rank (n,) that stores the data of sensors on the particle of each id."""
    return ids % ranks


@dataclass(eq=False)
class SensorState:
    """Counts of a sensor; class 0 is all particles, further classes follow.

    Attributes
    ----------
    count : (C,) int64 array
        Removed particles, or particles that have passed along the normal less particles that came back, by class.
    mass : ExactSums
        Mass of these particles by class [kg], under names ``"0"``, ``"1"``, ...
    last : int
        Step of the last event, -1 before the first.
    line_time, line_mass, flow : float
        Time [s] of the last event before the last line of the series, mass [kg] then, and the flow of that line [kg/s].
    known, value : (n,) int64 arrays
        Particles that this rank stores: ids of particles in the region or near the plane, rising; the step at which
        each entered, or its side of the plane, 0 or 1.
    stays : (m,) int64 array
        Number of particles that have stayed for each number of events.
    sizes : SizeSums or None
        Masses of removed or passed particles by size; None if the sensor has no passing sizes.
    """

    count: Integers
    mass: ExactSums
    last: int = -1
    line_time: float = 0.0
    line_mass: float = 0.0
    flow: float = 0.0
    known: Integers = field(default_factory=_none)
    value: Integers = field(default_factory=_none)
    stays: Integers = field(default_factory=_none)
    sizes: SizeSums | None = None


class SensorPlace:
    """One sensor of a case, and its state.

    Parameters
    ----------
    case : Case
        The case.
    index : int
        Number of the sensor.
    step : float
        Time step [s].

    Attributes
    ----------
    acts : bool
        Whether it checks in the present stage which particles pass, enter, leave or are removed.
    columns : list of (str, str, str)
        Names, units and types of its columns in the series.
    classes : list of str
        Names of the classes beside all particles.

    Raises
    ------
    CaseError
        If its face is no plane, or a file that the case names cannot be used.
    """

    def __init__(self, case: Case, index: int, step: float) -> None:
        self.section = sensor = case.sensors[index]
        self.name, self.key = sensor.name, name_key(sensor.name)
        self.step, self.first_step, self._domain = step, 0, case.domain
        self._acts_in = [sensor_acts(case, sensor, number) for number in range(len(case.stages))] or [True]
        self.acts = self._acts_in[0]
        self._face: Face | None = None
        self._point, self._normal = np.zeros(3), np.zeros(3)
        if sensor.face is not None:
            self._face = face_at(case, sensor.face, ["sensors", index, "face"])
            self._point, self._normal = self._face.origin, self._face.normal
        elif sensor.plane is not None:
            self._point = np.array(sensor.plane.point)
            self._normal = np.array(sensor.plane.normal) / exact_math.hypot(*sensor.plane.normal)
        every, speed = sensor_interval(case, sensor)
        self.interval = max(1, round(every / step))
        self.layer = MARGIN * self.interval * step * speed
        self._materials = list(case.materials) if sensor.by == "material" else []
        self._edges = np.array(sensor.by.radii) if isinstance(sensor.by, SizeClasses) else np.zeros(0)
        self.columns, self.classes = (
            columns_of_sensor(sensor, case.materials, case.domain.dimension, heat=case.heat is not None),
            classes_of(sensor, case.materials),
        )
        names = [str(one) for one in range(1 + len(self.classes))]
        self.state = SensorState(np.zeros(len(names), np.int64), ExactSums(names))
        if sensor.passing is not None and self.counts_passage:
            self.state.sizes = self.no_sizes()

    @property
    def counts_passage(self) -> bool:
        """Whether it counts particles that pass or are removed."""
        return counts_passage(self.section)

    @property
    def next_step(self) -> int:
        """Step of the next event, `NEVER` if it has none."""
        if not (self.section.has_events and self.acts):
            return NEVER
        return self.first_step if self.state.last < 0 else self.state.last + self.interval

    def enter(self, stage: int) -> None:
        """Enter a stage of a loaded state, by its number."""
        self.acts = self._acts_in[min(stage, len(self._acts_in) - 1)]

    def begin(self, stage: int, step: int) -> None:
        """Begin a stage at a step: if it acts again, its data on single particles is dropped."""
        acted = self.acts
        self.enter(stage)
        if self.acts and not acted:
            state = self.state
            state.known, state.value, state.last, self.first_step = _none(), _none(), -1, step
            state.line_time = max(state.line_time, step * self.step)

    def class_of(self, columns: Columns) -> Integers:
        """Return the class (n,) of particles, from 1 on; 0 without classes."""
        if self._materials:
            return columns["material"].astype(np.int64) + 1
        if not len(self._edges):
            return np.zeros(len(columns["radius"]), np.int64)
        return np.searchsorted(self._edges, columns["radius"], side="right") + 1

    def no_sizes(self) -> SizeSums:
        """Return empty sums of masses by size, for the classes of the sensor."""
        return SizeSums(max(len(self.classes), 1))

    def add_sizes(self, sums: SizeSums, kind: Integers, radius: Floats, mass: Floats) -> None:
        """Add masses (n,) [kg] of particles of some classes and radii [m] to sums by size."""
        sums.add(np.maximum(kind - 1, 0), radius, mass)

    def passing_sizes(self, sums: SizeSums) -> list[float]:
        """Return the passing sizes [m] of all particles, then of each class."""
        percents, kinds = self.section.passing or (), range(len(self.classes))
        return [one for kind in (None, *kinds) for one in sums.passing(percents, kind)]

    def inside(self, position: Floats) -> Booleans:
        """Return which centres (n, 3) [m] are in the region."""
        assert self.section.region is not None
        return regions.inside(self.section.region, position, self._domain.dimension)

    @property
    def size(self) -> float:
        """Volume of the region [m^3], in 2D its area [m^2]."""
        assert self.section.region is not None
        return regions.size(self.section.region, self._domain.dimension)

    def distance(self, position: Floats, box: BoxShape) -> tuple[Floats, Booleans]:
        """Return the distances (n,) of centres from the plane along its normal [m], and which are in the outline."""
        offset = box.nearest(position - self._point)
        distance = along(offset, self._normal)
        if self._face is None:
            return distance, np.ones(len(offset), np.bool_)
        flat = np.column_stack([along(offset, axis) for axis in self._face.axes])
        return distance, self._face.holds(flat, np.zeros(len(offset)))
