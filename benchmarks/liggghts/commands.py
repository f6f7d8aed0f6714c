"""LIGGGHTS commands of a problem, including its rigid clusters.

The law equals that of pdem except for the differences that `benchmarks.lammps.commands` lists for LAMMPS, on which
LIGGGHTS is based: Hertz, Mindlin's force with a history of displacements, damping ``2 sqrt(5/6) b sqrt(m k_n)`` with
the mass of the cluster.

LIGGGHTS cannot read positions of clusters: it inserts the same number at random positions, and they fall. Both codes
are compared in the state that each of them reaches.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.lammps.commands import elastic_constants, restitution_of
from benchmarks.lammps.walls import Drum, Floor, MeshedWall
from pdem.benchmark.cases import SkipCase

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.lammps.problem import Problem

RIGID = 1e16
"""Young's modulus of walls [Pa], so large that that of the spheres is negligible."""

FALL = 2.0
"""Initial speed of clusters that LIGGGHTS has inserted [m/s]."""

_POINTS = 1_000_000  # sampling points with which LIGGGHTS integrates a cluster

INSERTION = "insertion"
"""Name of the command that inserts clusters; it must be removed after a step."""


SPHERES, MESH = "spheres.data", "wall.stl"
"""Files of a problem: its spheres, unless they are in clusters, and its meshed wall."""


def commands_of(problem: Problem, skin: float, folder: Path) -> list[str]:
    """Return the commands up to the first step.

    Parameters
    ----------
    problem : Problem
        Initial state.
    skin : float
        Skin of the neighbour lists [m].
    folder : Path
        Folder of the files, see `write_files`.
    """
    bounds = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    box = " ".join(f"{low!r} {high!r}" for low, high in bounds)
    begin = (
        [f"region box block {box} units box", "create_box 2 box"]
        if problem.has_clusters
        else [f"read_data {folder / SPHERES}"]
    )
    return [
        "atom_style granular",
        "atom_modify map array",
        "boundary " + " ".join("p" if axis else "f" for axis in problem.periodic),
        "newton off",
        "communicate single vel yes",
        "units si",
        "hard_particles yes",
        *begin,
        skin_command(skin),
        "neigh_modify delay 0 every 1 check yes one 20000 page 400000",
        *_properties(problem),
        "pair_style gran model hertz tangential history",
        "pair_coeff * *",
        f"timestep {problem.step!r}",
        *_gravity(problem),
        *_wall(problem, folder),
        *(_clusters(problem) if problem.has_clusters else ["fix motion all nve/sphere"]),
        "thermo_style custom step",
        "thermo 0",
    ]


def skin_command(skin: float) -> str:
    """Return the command that sets the skin [m]."""
    return f"neighbor {skin!r} bin"


def write_files(problem: Problem, folder: Path) -> None:
    """Write the files that the commands of a problem read."""
    if not problem.has_clusters:
        (folder / SPHERES).write_text(data_of(problem), encoding="ascii")
    if isinstance(problem.wall, MeshedWall):
        import meshio  # only here: it takes a while to load

        corners = problem.wall.triangles
        facets = np.arange(3 * len(corners)).reshape(-1, 3)
        meshio.write_points_cells(folder / MESH, corners.reshape(-1, 3), [("triangle", facets)], binary=False)


def data_of(problem: Problem) -> str:
    """Return the text of a file with the spheres of a problem without clusters."""
    particles, lines = problem.particles, ["spheres", "", f"{problem.count} atoms", "2 atom types", ""]
    for axis, low, high in zip("xyz", problem.lower.tolist(), problem.upper.tolist(), strict=True):
        lines.append(f"{low!r} {high!r} {axis}lo {axis}hi")
    density = particles["mass"] / (4.0 / 3.0 * np.pi * particles["radius"] ** 3)
    table = np.column_stack((2.0 * particles["radius"], density, particles["position"]))
    speeds = np.column_stack((particles["velocity"], particles["angular_velocity"]))
    for title, kind, rows in (("Atoms", "1 ", table), ("Velocities", "", speeds)):
        lines += ["", title, ""]
        lines += [
            f"{number + 1} {kind}{' '.join(map(repr, row))}"
            for number, row in zip(particles["id"].tolist(), rows.tolist(), strict=True)
        ]
    return "\n".join([*lines, ""])


def _properties(problem: Problem) -> list[str]:
    """Return the materials: spheres are of type 1, the wall of type 2."""
    law, wall = problem.law, problem.law if problem.wall is None else problem.wall.law
    if not (law.is_plain and wall.is_plain):
        raise SkipCase("LIGGGHTS is given Hertz and Mindlin's law only")
    poisson, young = elastic_constants(law)
    properties = {
        "youngsModulus peratomtype": (young, RIGID),
        "poissonsRatio peratomtype": (poisson, poisson),
        "coefficientRestitution peratomtypepair 2": _pairs(*map(restitution_of, (law, wall))),
        "coefficientFriction peratomtypepair 2": _pairs(law.friction, wall.friction),
    }
    return [
        f"fix property{number} all property/global {name} {' '.join(map(repr, values))}"
        for number, (name, values) in enumerate(properties.items())
    ]


def _pairs(own: float, wall: float) -> tuple[float, ...]:
    return own, wall, wall, own


def _gravity(problem: Problem) -> list[str]:
    size = float(np.linalg.norm(problem.gravity))
    if size == 0.0:
        return []
    x, y, z = (problem.gravity / size).tolist()
    return [f"fix gravity all gravity {size!r} vector {x!r} {y!r} {z!r}"]


def _wall(problem: Problem, folder: Path) -> list[str]:
    """Return the wall. LIGGGHTS calls the rotation of a drum's surface about the axis x a shear across that axis."""
    wall = problem.wall
    if wall is None:
        return []
    begin = "fix wall all wall/gran model hertz tangential history"
    if isinstance(wall, MeshedWall):
        mesh = f"fix mesh all mesh/surface file {folder / MESH} type 2"
        return [mesh, f"{begin} mesh n_meshes 1 meshes mesh", *_rotation(wall)]
    if isinstance(wall, Floor):
        return [f"{begin} primitive type 2 zplane {wall.height!r}"]
    return [f"{begin} primitive type 2 xcylinder {wall.radius!r} 0. 0. shear y {wall.rate!r}"]


def _rotation(wall: MeshedWall) -> list[str]:
    rate, axis, centre = wall.turning
    if not rate:
        return []
    line = (f"{word} {' '.join(map(repr, values))}" for word, values in (("origin", centre), ("axis", axis)))
    return [f"fix turning all move/mesh mesh mesh rotate {' '.join(line)} period {2.0 * math.pi / rate!r}"]


def _clusters(problem: Problem) -> list[str]:
    """Return the commands that insert clusters into the drum at random positions.

    Raises
    ------
    SkipCase
        If there are single spheres as well, or there is no drum.
    """
    wall, template = problem.wall, problem.template
    if not isinstance(wall, Drum) or template is None or not (problem.particles["cluster"] > 0).all():
        raise SkipCase("LIGGGHTS is given clusters of one shape in a drum only")
    spheres = " ".join(repr(value) for value in template.ravel().tolist())
    ends = f"{float(problem.lower[0])!r} {float(problem.upper[0])!r}"
    count = problem.count // len(template)
    return [
        f"fix shape all particletemplate/multisphere 15485863 atom_type 1 density constant {problem.density!r} "
        f"nspheres {len(template)} ntry {_POINTS} spheres {spheres} type 1",
        "fix shapes all particledistribution/discrete 32452843 1 shape 1.0",
        f"region inside cylinder x 0. 0. {wall.radius - float(template[:, 3].max())!r} {ends} units box",
        f"fix {INSERTION} all insert/pack seed 86028121 distributiontemplate shapes vel constant 0. 0. {-FALL!r} "
        f"insert_every once overlapcheck yes orientation random all_in no particles_in_region {count} region inside",
        "fix motion all multisphere",
    ]
