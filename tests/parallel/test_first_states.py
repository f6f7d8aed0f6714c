"""Ranks make the particles of a case together: each a part, all the same as one process, wherever they come from."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.engine.ranks import exchange_of
from pdem.foundation.errors import CaseError
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.preflight.open_sides import falling_findings, fixed_particles
from pdem.preflight.population import Population
from pdem.preflight.preflight import preflight

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 0.8, 1], periodic = [true, false, false], gravity = [1.0, 2.0, -9.81]}
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
"""
ROD = "[shapes.rod]\nspheres = [[0, 0, 0, 0.05], [0.05, 0, 0, 0.05]]\n"
SIZES = '{distribution = "power-law", exponent = -3, min = 0.01, max = 0.03}'
GROUPS = {
    "positions": "radius = 0.01\npositions = [[0.1, 0.1, 0.1], [0.2, 0.1, 0.1], [0.9, 0.7, 0.9]]",
    "cubic": f'radius = {SIZES}\nfill = {{arrangement = "cubic", volume_fraction = 0.05, seed = 3}}',
    "hexagonal": 'radius = 0.02\nfill = {arrangement = "hexagonal", lower = [0, 0.1, 0], upper = [1, 0.6, 0.5]}',
    "random": f"radius = {SIZES}\nfill = {{count = 300, lower = [0, 0, 0.6], upper = [1, 0.8, 1.0]}}\n"
    "velocity = {random = 1.0}",
    "packed": 'radius = 0.09\nfill = {arrangement = "packed", volume_fraction = 0.4, upper = [1, 0.8, 0.5], seed = 2}',
    "jammed": 'radius = 0.09\nfill = {arrangement = "packed", lower = [0, 0, 0.5]}',
    "pressed": 'radius = 0.09\nfill = {arrangement = "packed", pressure = 1e3, lower = [0, 0, 0.5]}',
    "rods": 'shape = "rod"\nfill = {arrangement = "packed", volume_fraction = 0.4, lower = [0, 0, 0.5]}',
    "fraction": f"radius = {SIZES}\nfill = {{volume_fraction = 0.2, seed = 5}}",
}


def case_of(*groups, folder="."):
    text = (
        BASE
        + (ROD if GROUPS["rods"] in groups else "")
        + "".join(f'[[particles]]\nmaterial = "grain"\n{group}\n' for group in groups)
    )
    return Case.from_text(text, folder)


def together(case, communicator):
    """Return the particles of all ranks, sorted by id, on each of them."""
    mine = initial_particles(case, over=exchange_of(case, communicator, 1))
    parts = communicator.allgather(mine)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in mine}
    order = np.argsort(joined["id"], kind="stable")
    return {name: column[order] for name, column in joined.items()}, [len(part["id"]) for part in parts]


def check_same(case, communicator):
    found, counts = together(case, communicator)
    whole = initial_particles(case)
    for name, column in whole.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    return counts


@pytest.mark.ranks(1, 2, 3, slow=(4, 8))
@pytest.mark.parametrize(
    "names",
    [
        ("positions", "cubic"), ("hexagonal", "positions", "random"), ("cubic",), ("fraction",),
        ("positions",), (), ("random", "hexagonal"), ("positions", "packed"), ("rods", "positions"),
    ],
)  # fmt: skip
def test_all_ranks_have_together_what_one_process_has(ranks, names, communicator):
    check_together(ranks, names, communicator)


@pytest.mark.ranks(2, 3, slow=(1, 4, 8))  # which ask each other thousands of times
@pytest.mark.parametrize("names", [("jammed", "positions"), ("pressed",)])
def test_all_ranks_press_as_one_process_does(ranks, names, communicator):
    check_together(ranks, names, communicator)


def check_together(ranks, names, communicator):
    counts = check_same(case_of(*(GROUPS[name] for name in names)), communicator)
    if sum(counts) > 200:
        assert max(counts) <= 1.2 * sum(counts) / ranks + 5


@pytest.mark.ranks(1, 2, 4, slow=(8,))
@pytest.mark.parametrize("kind", ["txt", "npz", "compressed", "h5", "checkpoint"])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_files_are_read_by_parts(ranks, kind, count, communicator, shared_path):
    rng = np.random.default_rng(7)
    columns = {"position": rng.random((count, 3)) * 0.8, "radius": rng.uniform(1e-4, 2e-4, count)}
    columns["velocity"] = rng.normal(size=(count, 3))
    path = shared_path / ("table." + {"compressed": "npz", "checkpoint": "h5"}.get(kind, kind))
    if communicator.rank == 0:
        if kind == "txt":
            rows = np.column_stack([columns["position"], columns["radius"], columns["velocity"]])
            lines = [" ".join(map(repr, row)) for row in rows.tolist()]
            path.write_text("# a comment\n" + "".join(f"{line}\n\n" for line in lines).rstrip("\n"))
        elif kind == "h5":
            with h5py.File(path, "w") as file:
                for name, column in columns.items():
                    file[name] = column
        elif kind == "checkpoint":
            write_checkpoint(path, {"particles": columns}, {})
        else:
            {"npz": np.savez, "compressed": np.savez_compressed}[kind](path, **columns)
    communicator.barrier()
    case = case_of(f'file = "{path.name}"', folder=shared_path)
    check_same(case, communicator)
    assert len(together(case, communicator)[0]["id"]) == count


@pytest.mark.ranks(1, 3, slow=(4,))
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.1 0.2 zero 0.01", 'line 178: "zero" is not a number'),
        ("0.1 0.2 0.3", "line 178 has 3 columns"),
        ("0.1 0.2 nan 0.01", "line 178 holds a number that is not finite"),
    ],
)
def test_all_ranks_are_told_of_the_line_that_is_wrong(ranks, line, message, communicator, shared_path):
    path = shared_path / "table.txt"
    if communicator.rank == 0:
        good = "".join(f"{0.01 * (row % 50):.3f} 0.2 {0.005 * (row // 50):.3f} 0.001\n" for row in range(250))
        lines = good.splitlines()
        lines[177] = line
        path.write_text("\n".join(lines))
    communicator.barrier()
    case = case_of('file = "table.txt"', folder=shared_path)
    with pytest.raises(CaseError, match=message):
        initial_particles(case, over=exchange_of(case, communicator, 1))


@pytest.mark.ranks(1, 2, 4)
@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("radius = 0.05\npositions = [[0.1, 0.1, 0.1], [0.7, 0.4, 0.3], [0.7, 0.4, 0.3]]", "particles 1 and 2 are at"),
        ('radius = 0.1\nfill = {arrangement = "cubic", count = 900}', r"only \d+ of 900 particles fit"),
        ("radius = 0.02\nfill = {volume_fraction = 0.7}", "of the region's volume"),
    ],
)
def test_all_ranks_are_told_what_does_not_fit(ranks, group, message, communicator):
    case = case_of(group)
    with pytest.raises(CaseError, match=message):
        initial_particles(case, over=exchange_of(case, communicator, 1))


@pytest.mark.ranks(1, 3)
def test_particles_without_a_wall_below_are_counted_over_all_ranks(ranks, communicator):
    floor = '[[walls]]\nshape = "plane"\npoint = [0.3, 0.4, 0]\nsize = 0.4\nnormal = [0, 0, 1]\nmaterial = "steel"\n'
    steel = "[materials.steel]\n[interactions.grain-steel]\nfriction = 0.5\nrestitution = 0.4\n"
    group = f'[[particles]]\nmaterial = "grain"\n{GROUPS["random"]}\n'
    case = Case.from_text(BASE.replace("[1.0, 2.0, -9.81]", "[0, 0, -9.81]") + steel + group + floor)
    meshes, over = read_walls(case), exchange_of(case, communicator, 1)
    whole = initial_particles(case, meshes)
    populations = (Population(initial_particles(case, meshes, over=over), over), Population(whole))
    found, expected = (list(falling_findings(case, one, meshes, fixed_particles(case, one))) for one in populations)
    assert found == expected
    beside = np.abs(whole["position"][:, :2] - [0.3, 0.4]).max(axis=1) - 0.2
    least, most = (beside > whole["radius"]).sum(), (beside > 0.5 * whole["radius"]).sum()
    number = int(found[0].message.split("below ")[1].split()[0])
    assert 0 < least <= number <= most < 300


@pytest.mark.ranks(1, 3, timeout=60)
def test_all_checks_of_a_box_that_strains_are_those_of_one_process(ranks, communicator):
    """Its solid fraction at the end is a sum over all ranks, which all of them take part in."""
    strains = "deformation = {x = {strain_rate = -1.0}, y = {strain_rate = -1.0}}}"
    box = BASE.replace("gravity = [1.0, 2.0, -9.81]}", strains).replace("true, false, false", "true, true, true")
    group = f'[[particles]]\nmaterial = "grain"\n{GROUPS["fraction"]}\n'
    case = Case.from_text(box + group)
    over = exchange_of(case, communicator, 1)
    found = preflight(case, initial_particles(case, over=over), [], ranks, 1, over)
    (text,) = (one.message for one in found if "solid fraction" in one.message)
    assert "would bring the solid fraction from 0.2 to 1.48" in text
    alone = preflight(case, initial_particles(case), [], ranks, 1)
    assert [one for one in found if one.subject == "deformation"] == [
        one for one in alone if one.subject == "deformation"
    ]


@pytest.mark.ranks(1, 2, 3, slow=(8,))
@pytest.mark.parametrize("group", ["random", "hexagonal", "rods", "positions"])
@pytest.mark.parametrize("gravity", ["[0, 0, -9.81]", "[1.0, 2.0, -9.81]", "[0, 0, 0]"])
def test_impacts_beds_and_lengths_are_judged_as_by_one_process(ranks, group, gravity, communicator):
    floor = '[[walls]]\nshape = "plane"\nnormal = [0, 0.1, 1]\nmaterial = "steel"\n'
    steel = "[materials.steel]\n[interactions.grain-steel]\nfriction = 0.5\nrestitution = 0.4\n"
    text = BASE.replace("[1.0, 2.0, -9.81]", gravity) + steel + (ROD if group == "rods" else "")
    case = Case.from_text(f'{text}[[particles]]\nmaterial = "grain"\n{GROUPS[group]}\n{floor}')
    meshes, over = read_walls(case), exchange_of(case, communicator, 1)
    found = preflight(case, initial_particles(case, meshes, over=over), meshes, ranks, 1, over)
    alone = preflight(case, initial_particles(case, meshes), meshes, ranks, 1)
    judged = ("stiffness", "sizes", "units", "gravity")
    assert [one for one in found if one.subject in judged] == [one for one in alone if one.subject in judged]
    assert {one.subject for one in found} >= {"sizes"}
