"""The particles from which a simulation starts."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from helpers.fills import case_of, checked
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import CaseError
from pdem.foundation.fields import FIELDS
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.output.snapshots.exports import SnapshotBox, write_csv
from pdem.particles.clearance import touching_walls


def test_a_case_without_particles_has_empty_columns() -> None:
    particles = initial_particles(case_of())
    for name in ("id", "material", "radius", "position", "velocity", "angular_velocity"):
        assert particles[name].shape == (0, *FIELDS[name].shape)
        assert particles[name].dtype == FIELDS[name].dtype


def test_groups_are_numbered_one_after_the_other() -> None:
    case = case_of(
        "radius = 0.02\npositions = [[0.5, 0.5, 0.9], [0.1, 0.1, 0.9]]\nangular_velocity = [0, 0, 7]",
        'radius = 0.03\nfill = {arrangement = "cubic", upper = [1, 1, 0.3]}',
        "radius = 0.01\nfill = {count = 5, lower = [0, 0, 0.5]}\nvelocity = [1, 2, 3]",
    )
    particles = checked(case)
    np.testing.assert_array_equal(particles["id"], np.arange(len(particles["id"])))
    np.testing.assert_array_equal(particles["radius"][:2], 0.02)
    np.testing.assert_array_equal(particles["radius"][2:-5], 0.03)
    np.testing.assert_array_equal(particles["velocity"][-5:], [[1.0, 2.0, 3.0]] * 5)
    np.testing.assert_array_equal(particles["angular_velocity"][:3], [[0, 0, 7], [0, 0, 7], [0, 0, 0]])
    assert np.all(particles["material"] == 1)


@pytest.mark.parametrize("periodic", ["[false, false, false]", "[true, true, true]", "[true, false, true]"])
@pytest.mark.parametrize(
    "fill",
    [
        'radius = 0.031\nfill = {arrangement = "cubic"}',
        'radius = 0.031\nfill = {arrangement = "hexagonal", gap = 0.2, jitter = 1.0}',
        'radius = 0.031\nfill = {arrangement = "hexagonal", gap = 0.0, jitter = 0.0}',
        "radius = 0.04\nfill = {volume_fraction = 0.25}",
        'radius = {distribution = "power-law", exponent = -3, min = 0.005, max = 0.2}\nfill = {volume_fraction = 0.3}',
        'radius = {distribution = "uniform", min = 0.02, max = 0.04}\nfill = {arrangement = "hexagonal", count = 300}',
    ],
)
def test_fills_do_not_overlap_and_stay_inside(fill: str, periodic: str) -> None:
    particles = checked(case_of(fill, periodic=periodic))
    assert len(particles["id"]) > 100


@pytest.mark.parametrize("arrangement", ["random", "cubic", "hexagonal"])
def test_two_dimensions_fill_one_plane(arrangement: str) -> None:
    amount = "volume_fraction = 0.4, " if arrangement == "random" else ""
    text = f'radius = 0.02\nfill = {{{amount}arrangement = "{arrangement}"}}\nvelocity = {{random = 1.0}}'
    case = case_of(text, periodic="[true, false, false]")
    case.override("domain.dimension=2")
    particles = checked(case)
    assert np.all(particles["position"][:, 2] == 0.5)
    assert np.all(particles["velocity"][:, 2] == 0.0)
    assert np.pi * 0.02**2 * len(particles["id"]) > 0.395


def test_close_packing_is_dense() -> None:
    case = case_of('radius = 0.02\nfill = {arrangement = "hexagonal", gap = 0.0, jitter = 0.0}')
    assert 4 / 3 * np.pi * 0.02**3 * len(checked(case)["id"]) > 0.62


def test_lattices_fill_from_below() -> None:
    case = case_of('radius = 0.02\nfill = {arrangement = "hexagonal", count = 700}')
    assert checked(case)["position"][:, 2].max() < 0.1
    case.override("domain.gravity=[9.81, 0, 0]")
    assert checked(case)["position"][:, 0].min() > 0.9


def test_the_volume_fraction_is_reached_by_the_last_particle() -> None:
    case = case_of(
        'radius = {distribution = "uniform", min = 0.02, max = 0.06}\n'
        'fill = {volume_fraction = 0.1, shape = "cylinder", centre = [0.5, 0.5, 0.5], axis = [0, 1, 1],'
        "radius = 0.3, length = 0.6}"
    )
    particles = checked(case)
    volume = 4 / 3 * np.pi * particles["radius"] ** 3 / (np.pi * 0.3**2 * 0.6)
    assert volume[:-1].sum() < 0.1 <= volume.sum()
    offset, axis = particles["position"] - 0.5, np.array([0, 1, 1]) / np.sqrt(2)
    across = np.linalg.norm(np.cross(offset, axis), axis=1)
    assert np.all(across + particles["radius"] <= 0.3)
    assert np.all(np.abs(offset @ axis) + particles["radius"] <= 0.3)


@pytest.mark.parametrize("arrangement", ["random", "cubic"])
def test_excluded_regions_stay_free(arrangement: str) -> None:
    case = case_of(
        f'radius = 0.03\n[particles.fill]\narrangement = "{arrangement}"\ncount = 400\n'
        'exclude = [{shape = "sphere", centre = [0.2, 0.2, 0.2], radius = 0.2},'
        '{shape = "box", lower = [0.6, 0, 0], upper = [1, 1, 0.3]},'
        '{shape = "cylinder", centre = [0.5, 0.5, 0.7], axis = [1, 0, 0], radius = 0.1, length = 2}]'
    )
    position = checked(case)["position"]
    assert np.linalg.norm(position - 0.2, axis=1).min() >= 0.23
    assert not np.any((position[:, 0] > 0.57) & (position[:, 2] < 0.3))
    assert np.hypot(position[:, 1] - 0.5, position[:, 2] - 0.7).min() >= 0.13


@pytest.mark.parametrize("arrangement", ["random", "hexagonal"])
def test_walls_are_avoided(arrangement: str, tmp_path: Path) -> None:
    mesh = Mesh([[0, 0, 0.1], [1, 0, 0.9], [1, 1, 0.9], [0, 1, 0.1]], [[0, 1, 2, 3]])
    mesh.write(tmp_path / "slope.vtk")
    group = f'radius = 0.03\nfill = {{arrangement = "{arrangement}", count = 900}}'
    wall = '\n[[walls]]\nmesh = "slope.vtk"\nmaterial = "other"'
    case = case_of(group + wall, directory=tmp_path)
    position = checked(case)["position"]
    arrays = (mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert touching_walls(position, np.full(900, 0.03), *arrays)[0].size == 0
    case.override("particles[0].fill.avoid_walls=false")
    assert touching_walls(checked(case)["position"], np.full(900, 0.03), *arrays)[0].size > 10


def test_groups_keep_clear_of_each_other_in_any_order() -> None:
    fine = 'radius = {distribution = "uniform", min = 0.01, max = 0.02}\nfill = {volume_fraction = 0.1}'
    coarse = "radius = 0.15\nfill = {count = 8}"
    lattice = 'radius = 0.03\nfill = {arrangement = "cubic", count = 200}'
    given = "radius = 0.1\npositions = [[0.3, 0.3, 0.15]]"
    for order in ([fine, coarse, lattice, given], [given, lattice, coarse, fine], [lattice, fine, given, coarse]):
        assert len(checked(case_of(*order, periodic="[true, true, false]"))["id"]) > 1000


def test_sizes_and_velocities_belong_to_the_id() -> None:
    text = (
        'radius = {{distribution = "uniform", min = 0.005, max = 0.02}}\nfill = {{count = {0}}}\n'
        "velocity = {{random = 0.5, seed = 3}}"
    )
    few, many = checked(case_of(text.format(50))), checked(case_of(text.format(400)))
    np.testing.assert_array_equal(few["radius"], many["radius"][:50])
    np.testing.assert_array_equal(few["velocity"], many["velocity"][:50])
    assert np.abs(many["velocity"]).max() < 0.5
    assert np.abs(many["velocity"].mean(axis=0)).max() < 0.06
    assert np.unique(many["velocity"]).size == 1200


def test_the_same_case_gives_the_same_bits() -> None:
    case = case_of('radius = {distribution = "uniform", min = 0.01, max = 0.05}\nfill = {volume_fraction = 0.2}')
    first, second = initial_particles(case), initial_particles(case)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    case.override("particles[0].fill.seed=1")
    assert not np.array_equal(initial_particles(case)["position"], first["position"])


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (
            "fill = {volume_fraction = 0.44, attempts = 20}",
            r"particles\[0\]\.fill: gave up at \d+ of \d+ particles \(the largest go first, so",
        ),
        (
            "fill = {volume_fraction = 0.7}",
            r"particles\[0\]\.fill\.volume_fraction = 0\.7: these \d+ particles have 0\.7\d* of the region's volume; "
            r"random places hold about 0\.3, \d+ of them",
        ),
        ('fill = {arrangement = "cubic", count = 1000}', "only 125 of 1000 particles fit"),
        ("fill = {count = 1, upper = [0.1, 1, 1], attempts = 20}", "gave up at 0 of 1 particles"),
        ('fill = {arrangement = "cubic", count = 1, upper = [0.1, 1, 1]}', "only 0 of 1 particles fit"),
    ],
)
def test_what_does_not_fit_is_refused_with_numbers(fill: str, expected: str) -> None:
    with pytest.raises(CaseError, match=expected):
        initial_particles(case_of(f"radius = 0.09\n{fill}"))


@pytest.mark.parametrize(
    "group",
    [
        "radius = 1e-5\nfill = {volume_fraction = 0.3}",
        "radius = 0.01\nfill = {count = 1000000000000}",
        'radius = 1e-5\nfill = {arrangement = "hexagonal"}',
        'radius = 1e-5\nfill = {arrangement = "cubic", count = 1000000000000}',
    ],
)
def test_more_than_the_machine_holds_is_refused(group: str) -> None:
    with pytest.raises(CaseError, match=r"asks for more than .* check the unit of the radius"):
        initial_particles(case_of(group))


def test_two_particles_at_one_point_are_refused_with_both_ids() -> None:
    case = case_of("radius = 0.01\npositions = [[0.5, 0.5, 0.5], [0, 0, 0], [0.5, 0.5, 0.5]]")
    with pytest.raises(CaseError, match=r"particles 0 and 2 are at one point \(0\.5, 0\.5, 0\.5\)"):
        initial_particles(case)


TABLE = "# x y z radius\n0.1 0.2 0.3 0.01\n\n0.4,0.5,0.6,0.02  # the second\n"


def file_case(path: Path) -> Case:
    return case_of(f'file = "{path.name}"', directory=path.parent)


def test_text_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "four.txt"
    path.write_text(TABLE)
    particles = initial_particles(file_case(path))
    np.testing.assert_array_equal(particles["position"], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    np.testing.assert_array_equal(particles["radius"], [0.01, 0.02])
    path.write_text("0.1 0.2 0.3 0.01 1 2 3\n")
    case = file_case(path)
    np.testing.assert_array_equal(initial_particles(case)["velocity"], [[1, 2, 3]])
    case.override("particles[0].velocity=[0, 0, 1]")
    np.testing.assert_array_equal(initial_particles(case)["velocity"], [[0, 0, 1]])
    path.write_text("# nothing\n")
    assert len(initial_particles(file_case(path))["id"]) == 0


def test_array_files_and_checkpoints_are_read(tmp_path: Path) -> None:
    columns = {
        "position": np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
        "radius": np.array([0.01, 0.02]),
        "velocity": np.array([[1.0, 2, 3], [4, 5, 6]]),
        "angular_velocity": np.array([[7.0, 8, 9], [0, 1, 2]]),
    }
    np.savez(tmp_path / "a.npz", **columns)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        for name, values in columns.items():
            file[name] = values
    with h5py.File(tmp_path / "c.h5", "w") as file:
        for name, values in columns.items():
            file[f"particles/{name}"] = values
    state = {**columns, "id": np.array([0, 1]), "material": np.array([2, 2], dtype=np.int32)}
    write_checkpoint(tmp_path / "d.h5", {"particles": state}, {"step": 3})
    for name in ("a.npz", "b.h5", "c.h5", "d.h5"):
        particles = initial_particles(file_case(tmp_path / name))
        assert all(np.array_equal(particles[key], values) for key, values in columns.items()), name
        assert particles["material"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE + "0.1 nan 0.3 0.01\n", "line 5 holds a number that is not finite"),
        (TABLE + "0.1 0.2 0.3\n", "line 5 has 3 columns; allowed: 4"),
        (TABLE + "0.1 0.2 0.3 0.1 1 2 3\n", r"line 5 has 7 columns; .*like the lines before it \(4\)"),
        (TABLE + "0.1 0.2 zero 0.1\n", 'line 5: "zero" is not a number'),
        (TABLE + "0.1 0.2 0.3 -0.1\n", "line 5: radius -0.1 m; it must be greater than 0"),
        ("\x00\udcff", "is neither text in UTF-8 nor"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CaseError, match=expected) as caught:
        initial_particles(file_case(path))
    assert 'particles[0].file = "bad.txt"' in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"radius": np.array([0.1, -0.1])}, "particle 1: radius -0.1 m"),
        ({"position": np.array([[0, 0, 0], [0, np.inf, 0]])}, "particle 1 holds a number that is not finite"),
        ({"position": np.zeros((2, 2))}, r"'position' is float64 of shape \(2, 2\); needed: numbers \(n, 3\)"),
        ({"position": np.array([["a"] * 3] * 2)}, "needed: numbers"),
        ({"velocity": np.zeros((3, 3))}, "'velocity' is float64 of shape"),
        ({"radius": np.zeros(())}, "'radius' is float64 of shape"),
        ({"radius": None}, "has no array 'radius'"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, change: dict, expected: str) -> None:
    columns = {"position": np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), "radius": np.array([0.01, 0.02]), **change}
    np.savez(tmp_path / "a.npz", **{name: values for name, values in columns.items() if values is not None})
    with pytest.raises(CaseError, match=expected):
        initial_particles(file_case(tmp_path / "a.npz"))


def test_an_exported_table_is_told_from_where_to_begin(tmp_path: Path) -> None:
    path = tmp_path / "particles-000000010.csv"
    columns = {"id": np.arange(2), "position": np.ones((2, 3)), "radius": np.ones(2), "velocity": np.ones((2, 3))}
    write_csv(path, 0.0, columns, SnapshotBox(np.zeros(3), np.eye(3), (False, False, False)))
    with pytest.raises(CaseError, match=r"is a table of 'pdem export'.* begin from a checkpoint"):
        initial_particles(file_case(path))


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.h5", "checkpoint-000000010.h5"])
def test_empty_files_are_refused(name: str, tmp_path: Path) -> None:
    """A copy that was cut short before its first byte is not a run without particles."""
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(CaseError, match="is empty, 0 bytes"):
        initial_particles(file_case(tmp_path / name))


def test_folders_and_snapshots_name_the_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    with pytest.raises(CaseError, match=r'file = "results": is a folder; it holds no checkpoint'):
        initial_particles(file_case(folder))
    state = {"position": np.zeros((1, 3)), "radius": np.ones(1), "material": np.zeros(1, np.int32)}
    for step in (3, 12):
        write_checkpoint(folder / f"checkpoint-{step:09d}.h5", {"particles": state}, {"step": step})
    (folder / "particles.vtkhdf").write_bytes(b"anything")
    for name in ("results", "results/particles.vtkhdf"):
        case = case_of(f'file = "{name}"', directory=tmp_path)
        with pytest.raises(CaseError, match=r"newest checkpoint is .*results/checkpoint-000000012\.h5"):
            initial_particles(case)


def test_torn_and_missing_files_are_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "whole.h5", {"particles": {"radius": np.ones(3)}}, {})
    np.savez(tmp_path / "whole.npz", radius=np.ones(1000))
    for name, expected in (
        ("whole.h5", "checkpoint|bytes"),
        ("whole.npz", "not a usable .npz"),
        ("none.h5", "no such"),
    ):
        path = tmp_path / f"torn-{name}"
        if (tmp_path / name).exists():
            path.write_bytes((tmp_path / name).read_bytes()[:600])
        with pytest.raises(CaseError, match=expected) as caught:
            initial_particles(file_case(path))
        assert len(str(caught.value).splitlines()) == 1
    path = tmp_path / "torn.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(CaseError, match="cannot be read"):
        initial_particles(file_case(path))


def test_a_checkpoint_of_several_materials_is_no_group(tmp_path: Path) -> None:
    state = {"position": np.eye(3), "radius": np.full(3, 0.1), "material": np.array([0, 1, 1])}
    write_checkpoint(tmp_path / "a.h5", {"particles": state}, {})
    with pytest.raises(CaseError, match="holds particles of 2 materials"):
        initial_particles(file_case(tmp_path / "a.h5"))


def test_radii_from_a_file_are_checked_against_the_periodic_box(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0.1 0.2 0.3 0.3\n")
    case = case_of('file = "a.txt"', periodic="[true, false, false]", directory=tmp_path)
    with pytest.raises(CaseError, match=r"domain\.upper\[0\]: makes the periodic box 1 m wide along x"):
        initial_particles(case)
    (tmp_path / "a.txt").write_text("0.1 0.2 0.3 0.25\n")
    assert len(initial_particles(case)["id"]) == 1


def test_positions_are_wrapped_into_the_periodic_box() -> None:
    case = case_of("radius = 0.1\npositions = [[1.25, -0.25, 1.5]]", periodic="[true, true, false]")
    np.testing.assert_allclose(initial_particles(case)["position"], [[0.25, 0.75, 1.5]])
