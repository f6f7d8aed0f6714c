"""Measures of surfaces in snapshots: the angle of repose of a heap, and the slope of the bed in a rotating drum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.gravity import gravity_at
from pdem.foundation.errors import InputError
from pdem.particles.drum_surfaces import DrumMap
from pdem.particles.heaps import flank_of
from pdem.sweeps.measure_sections import Measured
from pdem.sweeps.series_measures import column, require_wall, rotation_of, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Booleans, Floats
    from pdem.particles.drum_surfaces import FreeSurface
    from pdem.particles.heaps import Flank
    from pdem.run.reading.results import Results
    from pdem.run.reading.snapshot import Snapshot
    from pdem.sweeps.measure_sections import AngleOfRepose, DynamicAngle

FLAT, UNEVEN = 0.3, 0.7
"""A top wider than this share of the foot radius is flat; a residual above this number of diameters is no cone."""

UNCERTAIN = 2.0
"""Standard error from surface roughness [degrees] above which a heap has too few grains."""

_MOVING, _FLYING, _CHANGE, _CURVED = 0.02, 0.05, 2.0, 1.0
_ALONG_AXIS, _LEVEL_AXIS = 1e-3, 0.05


def angle_of_repose(section: AngleOfRepose, results: Results) -> dict[str, Measured]:
    """Return the slope of the flank of a heap, under the empty name, and numbers that describe it.

    Raises
    ------
    InputError
        If the run has no snapshot.
    """
    snapshot = results[-1] if section.time is None else results.at(section.time)
    up, across = _upward(gravity_of(results, snapshot.time), results.case.domain.dimension)
    ridges = [number for number, axis in enumerate(across) if results.case.domain.periodic[axis]]
    if up is None:
        return _angles(math.nan, ("no angle: gravity does not act along an axis of the coordinates",))
    if len(ridges) == len(across):
        return _angles(math.nan, ("no heap: all horizontal sides are periodic, a heap has no foot there",))
    chosen, remarks = _at_rest(section, snapshot, float(np.linalg.norm(gravity_of(results, snapshot.time))))
    positions = np.asarray(snapshot.position, np.float64)[chosen]
    flank = flank_of(
        np.column_stack([positions[:, across], positions @ up]), np.asarray(snapshot.radius, np.float64)[chosen],
        axis=None if section.centre is None else section.centre[: len(across)], radius=section.radius,
        along=ridges[0] if ridges else None,
    )  # fmt: skip
    return _angles(flank.angle, (*_flank_remarks(flank), *remarks), flank)


def _angles(angle: float, remarks: Sequence[str], flank: Flank | None = None) -> dict[str, Measured]:
    found = {"": Measured("deg", angle, tuple(remarks))}
    if flank is not None:
        found["error"] = Measured("deg", flank.error, is_detail=True)
        found["residual"] = Measured("m", flank.residual, is_detail=True)
        found["flat_top"] = Measured("1", flank.top / flank.foot, is_detail=True)
    return found


def gravity_of(results: Results, time: float) -> Floats:
    """Return gravity (3,) at a time of a run [m/s^2], including changes by stages and tables."""
    series, begins = results.series, list[float]()
    if results.case.stages and "stage" in series.names and len(series):
        times, stages = column(results, "time"), column(results, "stage")
        reached = stages[times <= time * (1.0 + 1e-12)].max(initial=0.0)
        begins = [float(times[np.argmax(stages >= number)]) for number in range(int(reached) + 1)]
    return gravity_at(results.case, time, begins)


def _upward(gravity: Floats, dimension: int) -> tuple[Floats | None, list[int]]:
    """Return the unit vector against gravity and the horizontal axes; None if gravity is not along an axis."""
    vertical = int(np.argmax(np.abs(gravity)))
    across = [axis for axis in range(dimension) if axis != vertical]
    rest = np.delete(gravity, vertical)
    if gravity[vertical] == 0.0 or np.abs(rest).max() > _ALONG_AXIS * abs(gravity[vertical]):
        return None, across
    up = np.zeros(3)
    up[vertical] = -np.sign(gravity[vertical])
    return up, across


def _at_rest(section: AngleOfRepose, snapshot: Snapshot, gravity: float) -> tuple[Booleans, tuple[str, ...]]:
    """Return a mask of the grains in the heap that do not fall, and a remark if many of them move."""
    inside = np.ones(len(snapshot), np.bool_) if section.region is None else snapshot.inside(section.region)
    if not inside.any():
        return inside, ()
    grain = 2.0 * float(np.mean(snapshot.radius[inside]))
    speed = np.linalg.norm(snapshot.velocity, axis=1)
    lies = inside & (speed < math.sqrt(gravity * grain))
    moving = float(np.mean(speed[lies] > 0.1 * math.sqrt(gravity * grain))) if lies.any() else 0.0
    if moving <= _MOVING:
        return lies, ()
    return lies, (f"not at rest: {100.0 * moving:.0f} % of the grains still move; take a later time",)


def _flank_remarks(flank: Flank) -> Iterator[str]:
    """Yield remarks on a heap without an angle, or with a doubtful angle."""
    if flank.fault:
        fact, _, why = flank.fault.partition(": ")
        yield f"no heap: {why or fact}"
        return
    if flank.top > FLAT * flank.foot:
        lengths = f"{1e3 * flank.top:.3g} of {1e3 * flank.foot:.3g} mm"
        yield f"flat top: out to {lengths}; the angle is that of the flank; give more grains or a narrower pipe"
    if flank.residual > UNEVEN * flank.grain:
        yield f"uneven: {flank.residual / flank.grain:.2g} diameters off a straight flank; it is no cone"
    if flank.error > UNCERTAIN:
        yield f"few grains: +- {flank.error:.2g} deg by the roughness of the surface; give more or smaller grains"


def dynamic_angle(section: DynamicAngle, results: Results) -> dict[str, Measured]:
    """Return the slope of the free surface in a rotating drum, under the empty name, and numbers that describe it.

    Raises
    ------
    InputError
        If the run has no such wall, or no snapshot in the window.
    """
    require_wall(section.wall, results)
    rotation = rotation_of(results, section.wall)
    if rotation is None:
        raise InputError(f"wall {section.wall} does not rotate: name the drum, or what it is carried by")
    begin, end = span_of(section, results, half=True)
    times = [time for time in results.times if begin <= time * (1.0 + 1e-9) and time <= end * (1.0 + 1e-9)]
    if not times:
        raise InputError(f"there is no snapshot from {begin:.6g} to {end:.6g} s; give a smaller output.snapshots_every")
    axis, gravity = np.array(rotation.axis) / math.hypot(*rotation.axis), gravity_of(results, times[-1])
    if abs(axis @ gravity) >= _LEVEL_AXIS * np.linalg.norm(gravity):
        return {"": Measured("deg", math.nan, ("no angle: the axis of the drum is not horizontal",))}
    up = -(gravity - (gravity @ axis) * axis)
    frame = np.column_stack([np.cross(axis, up), up]) / np.linalg.norm(up)
    whole, halves = _surfaces(results, times, np.array(rotation.centre), frame, section.share)
    remarks = tuple(_surface_remarks(whole, halves, len(times)))
    found = {"": Measured("deg", whole.angle, remarks)}
    if not whole.fault:
        found["residual"] = Measured("m", whole.residual, is_detail=True)
    return found


def _surfaces(
    results: Results, times: Sequence[float], centre: Floats, frame: Floats, share: float
) -> tuple[FreeSurface, list[FreeSurface]]:
    """Return the mean surface over several times, and the surfaces of the first and second half of the times."""
    first = results.at(times[0])
    away = np.linalg.norm((first.position - centre) @ frame, axis=1)
    grain = 2.0 * float(np.mean(first.radius)) if len(first) else 1.0
    radius = float(np.quantile(away, 0.995)) + 0.5 * grain if len(first) else 1.0
    maps = [DrumMap(grain, radius) for _ in range(3)]
    power = results.case.domain.dimension
    for number, time in enumerate(times):
        snapshot = results.at(time)
        positions, volumes = (snapshot.position - centre) @ frame, np.asarray(snapshot.radius) ** power
        for one in (maps[0], maps[1 + (2 * number >= len(times))]):
            one.add(positions, volumes)
    return maps[0].surface(share), [one.surface(share) for one in maps[1:]] if len(times) > 1 else []


def _surface_remarks(whole: FreeSurface, halves: Sequence[FreeSurface], count: int) -> Iterator[str]:
    """Yield remarks on a drum without a free surface, or with a doubtful slope."""
    if whole.fault:
        fact, _, why = whole.fault.partition(": ")
        yield f"no free surface: {why or fact}"
        return
    if count < _FEW_SNAPSHOTS:
        yield f"few snapshots: the mean is that of {count}; give a smaller output.snapshots_every"
    angles = [one.angle for one in halves]
    if len(angles) == 2 and not abs(angles[1] - angles[0]) <= _CHANGE:
        text = f"{angles[0]:.3g} deg in the first half of the window, {angles[1]:.3g} in the second"
        yield f"not steady: {text}; begin the window later (start, stage)"
    if whole.flying > _FLYING:
        yield f"grains fly: {100.0 * whole.flying:.0f} % of them are above the surface; turn the drum more slowly"
    if whole.residual > _CURVED * whole.grain:
        yield f"curved: {whole.residual / whole.grain:.2g} diameters off a straight line; give a smaller share"


_FEW_SNAPSHOTS = 5
