"""Free cooling of polydisperse discs in a closed box: the full simulation of the paper on the hierarchical grid.

Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372, sect. 5.4: 10,000 discs, size ratio 20, number
density ~ r^-3, fraction 0.4, solid walls, 250,000 steps; five optimal levels against one.
"""

from __future__ import annotations

import json
import time
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.detection.cell_sizes import cell_sizes
from pdem.engine.state import gather_groups, local_groups
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.provenance import provenance
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, StudyFinding
from validation.search_work import PUBLISHED_OVERHEAD, work_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from pdem.engine.state import Groups
    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

PUBLISHED_RATIO = 9.9
PUBLISHED_STEPS = 250_000
COUNT, RATIO, FRACTION = 10_000, 20.0, 0.4
_RADIUS = 1e-3
_QUICK_STEPS = 200
_BLOCKS, _FULL_BLOCKS = 5, 50
_LEVELS = 5

_CASE = """
title = "Free cooling"
[time]
step = 1e-5
end = 10.0
[domain]
lower = [0.0, 0.0, -{margin!r}]
upper = [{edge!r}, {edge!r}, {margin!r}]
dimension = 2
[materials.disc]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.wall]
[interactions.disc-disc]
restitution = 0.9
friction = 0.0
[interactions.disc-wall]
restitution = 0.9
friction = 0.0
[[particles]]
material = "disc"
radius = {{distribution = "power-law", exponent = -3.0, min = {smallest!r}, max = {largest!r}}}
fill = {{count = {count}, seed = 2, lower = [0.0, 0.0, -{margin!r}], upper = [{edge!r}, {edge!r}, {margin!r}]}}
velocity = {{random = 0.3, seed = 2}}
[[walls]]
mesh = "box"
material = "wall"
[detection]
"""


def cooling_case(count: int = COUNT, detection: str = "") -> tuple[Case, list[Mesh]]:
    """Return the case and its walls; `detection` is the text of its ``[detection]`` section."""
    edge = float(np.sqrt(count * np.pi * _mean_square() / FRACTION)) * _RADIUS
    margin = 2.0 * RATIO * _RADIUS
    text = _CASE.format(edge=edge, margin=margin, smallest=_RADIUS, largest=RATIO * _RADIUS, count=count)
    return Case.from_text(text + detection), [_box(edge, margin)]


def _mean_square() -> float:
    """Return the mean of r^2 for the density ~ r^-3 on [1, RATIO]."""
    return float(2.0 * np.log(RATIO) / (1.0 - RATIO**-2.0))


def _box(edge: float, margin: float) -> Mesh:
    """Return four walls around the square, upright in z."""
    corners = [[0.0, 0.0], [edge, 0.0], [edge, edge], [0.0, edge]]
    vertices = [[*corner, z] for z in (-margin, margin) for corner in corners]
    return Mesh(vertices, [[i, (i + 1) % 4, (i + 1) % 4 + 4, i + 4] for i in range(4)])


def levels_of(radii: Floats) -> Floats:
    """Return the five optimal sizes of the paper for these radii [m]."""
    return cell_sizes(
        radii, levels=_LEVELS, volume_fraction=FRACTION, dimension=2, overhead=PUBLISHED_OVERHEAD, method="optimal"
    ).sizes


def packing(notebook: Notebook) -> FindingTable:
    """Return the counted work for discs without overlap inside walls, beside the model for points."""
    simulation = _simulation(notebook.threads, "")
    simulation.advance(2000)
    place = simulation.particles["position"][:, :2]
    radii = simulation.particles["radius"]
    density = FRACTION / (np.pi * float(np.mean(radii**2)))
    findings = []
    for name, sizes in (("one level", np.array([2.0 * radii.max()])), ("five levels", levels_of(radii))):
        findings += work_findings(name, place, radii, sizes, density, 0.15)
    remark = "The space beyond a wall has no discs, and discs keep their distance: both reduce the work."
    return FindingTable(f"{COUNT} discs that do not overlap, in a closed box", "predicted", findings, remark)


@cache
def _discs() -> dict[str, NDArray[Any]]:
    """Return the initial discs; cached, because their placement is slower than a short run."""
    return initial_particles(*cooling_case())


def _simulation(threads: int, detection: str, state: Groups | None = None) -> Simulation:
    case, meshes = cooling_case(detection=detection)
    return Simulation(case, threads=threads, state=state, particles=None if state else _discs(), meshes=meshes)


class TimedRun:
    """A run of the gas in timed blocks of steps; with a file, an interrupted run continues from its last block.

    Parameters
    ----------
    detection : str
        Text of the section of the case.
    threads : int
        Threads of the simulation.
    file : path, optional
        File for state and times after each block.

    Attributes
    ----------
    simulation : Simulation
        The gas.
    seconds : list of float
        Time per step of each block so far [s].
    """

    def __init__(self, detection: str, threads: int, file: Path | None = None) -> None:
        self._file, self._made_by = file, json.dumps({**provenance(), "detection": detection})
        kept = None if file is None or not file.exists() else read_checkpoint(file)
        if kept is not None and kept.attributes["made_by"] == self._made_by:
            self.simulation = _simulation(threads, detection, kept.groups)
            self.seconds: list[float] = json.loads(str(kept.attributes["seconds"]))
        else:
            self.simulation = _simulation(threads, detection)
            self.seconds = []
            self.simulation.advance(_QUICK_STEPS)

    def advance(self, steps: int) -> None:
        """Run the steps of the next block."""
        begin = time.perf_counter()
        self.simulation.advance(steps)
        self.seconds.append((time.perf_counter() - begin) / steps)
        if self._file is None:
            return
        system = self.simulation.system
        groups = gather_groups(system, local_groups(system))
        assert groups is not None
        write_checkpoint(self._file, groups, {"made_by": self._made_by, "seconds": json.dumps(self.seconds)})


def cooling(notebook: Notebook) -> FindingTable:
    """Return the time of a simulation with one level over that with five, and whether trajectories agree."""
    five = ", ".join(repr(float(size)) for size in levels_of(_discs()["radius"]))
    detections = {
        "one level": 'skin = 0.0\nmethod = "linked-cell"',
        "five levels": f"skin = 0.0\ncell_sizes = [{five}]",
        "levels of this machine": "skin = 0.0",
        "lists with a skin": "",
    }
    steps = PUBLISHED_STEPS if notebook.full else _QUICK_STEPS * _BLOCKS
    runs = alternate(detections, notebook, steps)
    seconds = {name: median(run.seconds) for name, run in runs.items()}
    base = seconds["one level"]
    findings = [
        StudyFinding(
            "one level over five: time of the whole simulation", base / seconds["five levels"], PUBLISHED_RATIO
        )
    ]
    findings += [
        StudyFinding(f"{name}: time per particle and step [ns]", 1e9 * value / COUNT) for name, value in seconds.items()
    ]
    findings += [
        StudyFinding(
            f"{name}: positions that differ from the positions with one level",
            _differing_particles(runs["one level"].simulation, runs[name].simulation),
            0.0,
            0.0,
        )
        for name in list(runs)[1:]
    ]
    remark = (
        f"{steps} steps each (paper: {PUBLISHED_STEPS}); the first three detect in every step, as the paper does. "
        "Tests of distances in contiguous memory are so cheap that one level loses less here."
    )
    return FindingTable("Free cooling, 10,000 discs, size ratio 20", "published", findings, remark)


def alternate(detections: Mapping[str, str], notebook: Notebook, steps: int) -> dict[str, TimedRun]:
    """Return runs by name after `steps` steps, advanced in turn so that other programs slow all of them equally.

    In a full study each run continues from its file in the folder of the notebook.
    """
    blocks, folder = (_FULL_BLOCKS if notebook.full else _BLOCKS), notebook.folder / "cooling"
    runs = {
        name: TimedRun(text, notebook.threads, folder / f"{name}.h5" if notebook.full else None)
        for name, text in detections.items()
    }
    notebook.earlier += sum(sum(run.seconds) for run in runs.values()) * (steps // blocks)
    for block in range(blocks):
        for run in runs.values():
            if len(run.seconds) == block:
                run.advance(steps // blocks)
    return runs


def _differing_particles(one: Simulation, other: Simulation) -> int:
    """Return the number of particles with different positions in two runs, bit for bit."""
    places: list[Any] = [simulation.gather() for simulation in (one, other)]
    return int(np.any(places[0]["position"] != places[1]["position"], axis=1).sum())
