"""Snapshots of walls with the loads on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import on_each_rank
from pdem.engine.feature import features_of
from pdem.engine.walls.wall_output import (
    BODY_FIELDS,
    BODY_INDEX,
    FACET_FIELDS,
    FACET_NUMBER,
    NODE_FIELDS,
    bodies_of,
    summed_loads,
)
from pdem.output.snapshots.formats import FORMATS, WRITTEN_FORMAT
from pdem.output.snapshots.snapshot_files import PRESENT
from pdem.run.nodal_forces import facet_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pdem.contact.walls.nodal_loads import MeshComponents
    from pdem.engine.protocol import Engine
    from pdem.output.snapshots.formats import WallWriter
    from pdem.output.storage import Attribute


class WallFiles:
    """The file of walls of a run, written by rank 0.

    Parameters
    ----------
    simulation : Engine
        The run to write.
    folder : Path
        Output folder.
    attributes : mapping
        Attributes of the file.
    """

    def __init__(self, simulation: Engine, folder: Path, attributes: Mapping[str, Attribute]) -> None:
        self._simulation = simulation
        self._fields = [field for one in features_of(simulation.system) for field in one.facet_fields]
        self._change = any(stage.walls for stage in simulation.case.stages)
        self._bodies: MeshComponents | None = None
        self._file: WallWriter | None = None
        walls = simulation.system.walls
        if walls is None or simulation.system.exchange.rank != 0:
            return
        self._bodies, form, mesh = bodies_of(walls), FORMATS[WRITTEN_FORMAT], walls.mesh
        self._file = form.walls(
            folder / form.wall_file, mesh.facet_start, mesh.facet_vertices, walls.facet_wall, attributes,
            vertex_fields=NODE_FIELDS, table_fields=BODY_FIELDS,
            facet_fields=(*FACET_FIELDS, *self._fields, *([PRESENT] if self._change else [])),
            constant={BODY_INDEX: self._bodies.of_facet, FACET_NUMBER: walls.facet_origin},
            resume_step=simulation.step or None,
        )  # fmt: skip

    def files(self) -> Iterator[WallWriter]:
        """Yield the file, if it is on this rank."""
        if self._file is not None:
            yield self._file

    def write(self) -> None:
        """Append the present walls. Collective."""
        simulation = self._simulation
        loads = simulation.wall_loads()
        nodal_loads = summed_loads(simulation.system, self._bodies)
        own = facet_values(simulation.system)
        on_each_rank(simulation.system.exchange, lambda: self._append(loads, nodal_loads, own))

    def _append(self, loads: Mapping[str, Any], nodal_loads: Any, own: Mapping[str, Any]) -> None:
        """Append the walls with their loads, if this rank has the file."""
        simulation = self._simulation
        walls = simulation.system.walls
        if self._file is None or self._bodies is None or nodal_loads is None or walls is None:
            return
        table: dict[str, Any] = {"body_wall": self._bodies.wall, **nodal_loads._asdict()}
        for name in ("force", "torque", "power"):
            table[name] = np.array([load[name] for load in loads.values()])
        walls.place_all()
        self._file.write(
            simulation.time, simulation.step, walls.vertices, table,
            {"force": nodal_loads.force},
            {
                "force": nodal_loads.facet_force, "pressure": nodal_loads.pressure,
                "sliding_power": nodal_loads.sliding_power,
                **own,
                **({PRESENT.name: walls.present[walls.facet_wall]} if self._change else {}),
            },
        )  # fmt: skip
