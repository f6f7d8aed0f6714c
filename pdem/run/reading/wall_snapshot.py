"""Walls of a finished run at one time, with their loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.output.snapshots.snapshot_files import PRESENT, WALL_INDEX

if TYPE_CHECKING:
    from pdem.output.snapshots import vtkhdf

_POLYGONS = "Polygons"


class WallSnapshot:
    """One wall at one time.

    Attributes
    ----------
    vertices : (v, 3) array
        Positions of the nodes [m].
    facets : list of (k,) arrays
        Node indices around each facet, as rows of `vertices`.
    node_force : (v, 3) array
        Contact force on each node [N].
    facet_force, pressure, sliding_power : (f, 3), (f,), (f,) arrays
        Contact force on each facet [N], its normal component divided by the area [Pa], power lost by sliding [W].
    wear : (f,) array
        Wear depth of each facet [m]; zeros if no wall of the case wears.
    present : bool
        Whether the wall is present; False while a stage has removed it.
    force, torque, power : (3,), (3,) arrays and float
        Load of the particles on the wall [N, N m], and the power that the wall delivers [W], as in
        `Simulation.wall_loads`.
    """

    def __init__(self, step: vtkhdf.VtkStep, wall: int) -> None:
        cells = step.cells[_POLYGONS]
        mine = np.flatnonzero(step.cell_data[WALL_INDEX.name] == wall)
        loops = [cells.connectivity[cells.offsets[one] : cells.offsets[one + 1]] for one in mine]
        nodes = np.unique(np.concatenate(loops)) if loops else np.zeros(0, np.int64)
        self.facets = [np.searchsorted(nodes, loop) for loop in loops]
        self.vertices, self.node_force = step.points[nodes], step.point_data["force"][nodes]
        self.facet_force = step.cell_data["force"][mine]
        self.pressure, self.sliding_power = (step.cell_data["pressure"][mine], step.cell_data["sliding_power"][mine])
        self.wear = step.cell_data["wear"][mine] if "wear" in step.cell_data else np.zeros(len(mine))
        self.force, self.torque = step.step_data["force"][wall], step.step_data["torque"][wall]
        self.power = float(step.step_data["power"][wall])
        self.present = PRESENT.name not in step.cell_data or bool(step.cell_data[PRESENT.name][mine].all())

    def __repr__(self) -> str:
        """Return the number of facets, and the load."""
        return f"WallSnapshot({len(self.facets)} facets, force {self.force.tolist()} N)"
