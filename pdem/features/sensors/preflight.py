"""Intervals of sensors, and checks of sensors before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.groups.inlets import face_at
from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.timestep import reference_speed
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.features.sensors.section import Sensor

SAMPLED = 1000
"""Number of events of a run if particles have no expected speed."""


def sensor_interval(case: Case, sensor: Sensor) -> tuple[float, float]:
    """Return the interval of events [s], and the speed of particles for which it is chosen [m/s].

    Raises
    ------
    CaseError
        If a file that the case names cannot be used.
    """
    smallest, speed = min(smallest_radii(case).values(), default=0.0), reference_speed(case)
    every = sensor.every
    if every is None:
        every = 2.0 * smallest / speed if smallest > 0.0 and speed > 0.0 else case.time.end / SAMPLED
    return every, max(speed, 2.0 * smallest / every)


def sensor_findings(case: Case, step: float) -> Iterator[Finding]:
    """Yield findings on the intervals of sensors, with a time step [s].

    Raises
    ------
    CaseError
        If a face is no plane, or a file that the case names cannot be used.
    """
    for index, sensor in enumerate(case.sensors):
        if sensor.face is not None:
            face_at(case, sensor.face, ["sensors", index, "face"])
        if sensor.has_events:
            steps = max(1, round(sensor_interval(case, sensor)[0] / step))
            text = f"looks at the particles every {steps:,} steps ({steps * step:.3g} s)"
            yield Finding("info", f"sensor {sensor.name}", text)
