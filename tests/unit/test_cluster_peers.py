"""Drums of rigid clusters beside other codes, without these: what they are told, and how LIGGGHTS is talked to."""

from __future__ import annotations

import stat
import sys

import numpy as np
import pytest

from benchmarks.lammps.commands import Settings, commands_after, commands_before
from benchmarks.lammps.comparison import _kinetic_energy, require_peer
from benchmarks.lammps.problem import problem_of
from benchmarks.lammps.walls import Drum
from benchmarks.liggghts import run as liggghts
from benchmarks.liggghts.commands import RIGID, SPHERES, commands_of, data_of
from helpers.peer_starts import FLOOR, SQUARE, TEXT, start
from pdem.benchmark.cases import SkipCase, Start
from pdem.benchmark.cluster_cases import CLUSTERS, RADIUS, SIZES, SPACING, drum_of_clusters, spheres_of
from pdem.case.groups.initial import initial_particles
from pdem.case.groups.shapes import shape_of
from pdem.foundation.errors import InputError

MANY = 3000
"""Clusters of two that make a drum two diameters long."""


@pytest.fixture(scope="module")
def drum():
    case, mesh = drum_of_clusters(2, MANY)
    return Start(case, [mesh], initial_particles(case, [mesh]))


@pytest.mark.parametrize("members", SIZES)
def test_clusters_are_compact_and_their_spheres_overlap(members):
    spheres = np.array(spheres_of(members))
    apart = np.linalg.norm(spheres[:, None, :3] - spheres[:, :3], axis=2)[np.triu_indices(members, 1)]
    assert len(spheres) == members
    assert apart.min() == pytest.approx(SPACING)
    assert SPACING < 2.0 * RADIUS
    np.testing.assert_allclose(spheres[:, :3].mean(axis=0), 0.0, atol=1e-18)


def test_the_drum_is_filled_with_whole_clusters_inside(drum):
    particles, case = drum.particles, drum.case
    assert CLUSTERS == 20000
    assert len(particles["id"]) == 2 * MANY
    away = np.hypot(particles["position"][:, 1], particles["position"][:, 2]) + particles["radius"]
    assert away.max() < drum_of_clusters(2, MANY)[1].vertices[:, 1].max()
    assert particles["position"][:, 2].mean() < -0.2 * away.max()
    assert case.motions["drum"].rotation.rate > 0.0


def test_the_spheres_of_a_cluster_have_its_mass_and_are_near_each_other(drum):
    problem = problem_of(drum)
    shape, cluster = shape_of(drum.case, "cluster"), problem.particles["cluster"]
    assert problem.has_clusters
    assert problem.particles["mass"].sum() == pytest.approx(MANY * 2500.0 * shape.solid.volume)
    period = problem.upper[0] - problem.lower[0]
    place = problem.particles["position"] + [period, 0.0, 0.0] * problem.particles["image"]
    order = np.argsort(cluster, kind="stable").reshape(MANY, 2)
    apart = np.linalg.norm(place[order[:, 0]] - place[order[:, 1]], axis=1)
    np.testing.assert_allclose(apart, SPACING, rtol=1e-9)
    assert (problem.particles["image"] != 0).any()
    assert problem.wall == Drum(pytest.approx(0.06), 10.0, problem.wall.law)


def test_lammps_gets_bodies_and_a_drum_that_turns(drum):
    problem = problem_of(drum)
    assert "fix molecule all property/atom mol ghost yes" in commands_before(problem, Settings(1e-4))
    lines = commands_after(problem, "granular", Settings(1e-4))
    assert "fix motion all rigid/small molecule" in lines
    assert "neigh_modify exclude molecule/intra all" in lines
    assert "variable angle equal 10.0*step*dt" in lines
    assert any(line.startswith("fix drum all wall/gran/region granular hertz") for line in lines)


def test_the_energy_of_clusters_is_that_of_their_centres(drum):
    problem = problem_of(drum)
    opposite = np.zeros((2 * MANY, 3))
    opposite[0::2, 1], opposite[1::2, 1] = 3.0, -1.0
    body = 2.0 * problem.particles["mass"][0]
    assert _kinetic_energy(problem, opposite) == pytest.approx(MANY * 0.5 * body * 1.0)


def test_liggghts_gets_materials_template_and_drum(drum, tmp_path):
    problem = problem_of(drum)
    lines = commands_of(problem, 2e-4, tmp_path)
    young = next(line for line in lines if "youngsModulus" in line).split()
    assert float(young[-2]) == pytest.approx(1e7)
    assert float(young[-1]) == RIGID
    poisson = next(line for line in lines if "poissonsRatio" in line).split()
    assert float(poisson[-1]) == pytest.approx(0.25)
    assert f"particles_in_region {MANY} " in next(line for line in lines if "insert/pack" in line)
    template = next(line for line in lines if "particletemplate/multisphere" in line).split()
    begin = template.index("spheres") + 1
    numbers = np.array(template[begin : begin + 8], float).reshape(2, 4)
    np.testing.assert_allclose(numbers, spheres_of(2))
    wall = next(line for line in lines if line.startswith("fix wall")).split()
    assert float(wall[wall.index("xcylinder") + 1]) == pytest.approx(0.06)
    assert wall[wall.index("shear") + 1] == "y"  # across the axis: it turns
    assert float(wall[-1]) == 10.0  # rad/s
    assert not any(line.startswith("read_data") for line in lines)


def test_single_spheres_start_where_they_are_in_liggghts(tmp_path):
    problem = problem_of(start(TEXT + FLOOR, [SQUARE]))
    text = data_of(problem)
    rows = text.split("Atoms")[1].split("Velocities")[0].split("\n")
    first = [float(word) for word in next(row for row in rows if row.startswith("1 ")).split()]
    assert first == [1.0, 1.0, 2e-3, pytest.approx(2500.0), 0.01, 0.01, 0.01]
    lines = commands_of(problem, 1e-4, tmp_path)
    assert f"read_data {tmp_path / SPHERES}" in lines
    assert any(line.endswith("type 2 zplane 0.0") for line in lines)
    assert "fix motion all nve/sphere" in lines


PROGRAM = """#!{python}
import sys
print("LIGGGHTS (Version LIGGGHTS-PUBLIC 3.8.0, compiled some day)", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "run":
        print(f"Loop time of 0.5 on 1 procs for {{words[1]}} steps with {atoms} atoms", flush=True)
        print("Neighbor list builds = 3", flush=True)
    if words[0] == "gravity-of-the-moon":
        print("ERROR: Unknown command", flush=True)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    def made(atoms):
        file = tmp_path / liggghts.PROGRAM
        file.write_text(PROGRAM.format(python=sys.executable, atoms=atoms))
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return made


def test_liggghts_is_tuned_and_run_in_parts(drum, program):
    program(2 * MANY)
    with liggghts.LiggghtsRun(problem_of(drum)) as run:
        run.tune()
        assert run.version == "3.8.0"
        assert len(run.tried) == len(liggghts.SKINS)
        run.begin(5)
        clock, core = run.run(10)
        run.run(10)
        assert clock > 0.0
        assert core >= 0.0
        assert run.rebuilds() == 6.0


def test_lost_clusters_and_errors_of_liggghts_end_the_comparison(drum, program):
    program(2 * MANY - 2)
    with liggghts.LiggghtsRun(problem_of(drum)) as run, pytest.raises(SkipCase, match="5998 spheres in place of 6000"):
        run.tune()
    with liggghts.LiggghtsRun(problem_of(drum)) as run:
        run._send("gravity-of-the-moon")
        with pytest.raises(SkipCase, match="Unknown command"):
            run._wait("nothing")


def test_a_missing_liggghts_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="apt install liggghts"):
        require_peer("liggghts", None, 1)
