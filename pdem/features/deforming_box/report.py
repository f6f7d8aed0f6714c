"""Reports on a deforming box: columns of the series, quantities of conditions, tables of snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.columns import box_columns
from pdem.engine.views.bodies import bodies_of, sizes_of
from pdem.engine.views.stress import added
from pdem.foundation.fields import Field

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.engine.system import System

BOX_FIELDS = (
    Field("box_corner", np.float64, (3,), "m", "lowest corner of the box"),
    Field("box_vectors", np.float64, (3,), "m", "period vectors of the box, of open axes its sides"),
    Field("box_speeds", np.float64, (3,), "m/s", "how fast the period vectors grow"),
)
"""Tables of snapshots of a deforming box besides particles."""


def box_values(system: System) -> dict[str, float]:
    """Return the present values of the columns of a deforming box by name; empty without one. Collective."""
    box = system.box.moving
    if box is None:
        return {}
    now, strain, size = box.at(system.progress.step), box.strain(system.progress.step), system.constants.dimension
    flow = box.gradient_at(system.progress.step)
    values = [*now.lengths[:size], *strain[:size].tolist(), *np.diag(flow)[:size].tolist()]
    if box.gradient >= 0:
        values += [now.shear, float(flow[box.velocity, box.gradient])]
    values.append(solid_volume(system) / box.volume(system.progress.step, size))
    return dict(zip((name for name, *_ in box_columns(system.case)), values, strict=True))


def solid_volume(system: System) -> float:
    """Return the volume of all particles [m^3], in two dimensions the area of discs [m^2]. Collective."""
    sizes = sizes_of(bodies_of(system).radius, system.constants.dimension)
    return float(added(system, sizes[None])[0])


def box_tables(system: System) -> dict[str, NDArray[Any]]:
    """Return the rows of `BOX_FIELDS` at the present step; empty if the box does not deform."""
    box = system.box.moving
    if box is None:
        return {}
    shape, lengths = box.shape(system.progress.step), box.at(system.progress.step).lengths
    vectors = np.where((shape.period > 0.0)[:, None], shape.vectors, np.diag(lengths))
    speeds = box.image_velocities(system.progress.step)
    return {"box_corner": shape.lower[None], "box_vectors": vectors, "box_speeds": speeds}
