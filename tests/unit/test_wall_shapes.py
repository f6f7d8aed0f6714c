"""Walls by their measures: closed forms of areas and volumes, deviations, defects, keys and their errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pdem import wall_contacts
from pdem.case.explain.keys import explain
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.sections.round_walls import ScrewWall
from pdem.case.wall_files import read_walls
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import CaseError, MeshError
from pdem.preflight.preflight import preflight
from pdem.preflight.restart_checks import check_continuable
from pdem.preflight.wall_checks import mesh_findings

HEAD = """
[time]
step = 1e-4
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
periodic = [{periodic}, false, false]
[materials.steel]
[output]
folder = "results"
"""
AXIS = [1.0, 2.0, 2.0]
FRAME = "centre = [0.1, 0.2, 0.3]\naxis = [1.0, 2.0, 2.0]\n"


def case_with(keys: str, periodic: str = "false") -> Case:
    return Case.from_text(f'{HEAD.format(periodic=periodic)}[[walls]]\nmaterial = "steel"\n{keys}')


def mesh_with(keys: str) -> Mesh:
    return read_walls(case_with(keys))[0]


def sampled(mesh: Mesh) -> np.ndarray:
    """Return points all over the facets, their corners and middles included."""
    points = [mesh.vertices]
    random = np.random.default_rng(3)
    for facet in range(mesh.facet_count):
        corners = mesh.vertices[mesh.loop(facet)]
        points += [corners.mean(axis=0)[None], random.dirichlet(np.ones(len(corners)), 12) @ corners]
        points.append(0.5 * (corners + np.roll(corners, 1, axis=0)))
    return np.concatenate(points)


def along_and_across(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    axis, offset = np.array(AXIS) / 3.0, points - [0.1, 0.2, 0.3]
    along = offset @ axis
    return along, np.linalg.norm(offset - along[:, None] * axis, axis=1)


PI = math.pi
SLANT = math.hypot(0.3, 0.5)
CLOSED = [
    # keys, area, volume, largest radius
    ('shape = "box"\nlower = [0.0, 0.0, -0.2]\nupper = [0.1, 0.3, 0.5]', 0.62, 0.021, None),
    (f'shape = "cylinder"\n{FRAME}radius = 0.3\nlength = 0.5', 0.48 * PI, 0.045 * PI, 0.3),
    (f'shape = "cone"\n{FRAME}radii = [0.3, 0.0]\nlength = 0.5', PI * 0.3 * (0.3 + SLANT), 0.015 * PI, 0.3),
    (f'shape = "cone"\n{FRAME}radii = [0.0, 0.3]\nlength = 0.5', PI * 0.3 * (0.3 + SLANT), 0.015 * PI, 0.3),
    (
        f'shape = "cone"\n{FRAME}radii = [0.1, 0.3]\nlength = 0.5',
        PI * (0.1 + 0.4 * math.hypot(0.2, 0.5)),
        PI * 0.5 / 3.0 * 0.13,
        0.3,
    ),
    (f'shape = "tube"\n{FRAME}inner_radius = 0.2\nouter_radius = 0.3\nlength = 0.5', PI * (0.5 + 0.1), 0.025 * PI, 0.3),
    ('shape = "sphere"\ncentre = [0.1, 0.2, 0.3]\nradius = 0.3', 0.36 * PI, 0.036 * PI, 0.3),
    (f'shape = "blade"\n{FRAME}normal = [1, 0, 0]\nlength = 0.5\nwidth = 0.2\nthickness = 0.01', 0.214, 0.001, None),
    (
        f'shape = "blade"\n{FRAME}normal = [1, 0, 0]\nlength = 0.5\nwidth = 0.2\nthickness = 0.02\nbend_radius = 0.1',
        0.2 + 2 * 0.01 + 2 * 0.2 * 0.02,
        0.002,
        0.11,
    ),
]


@pytest.mark.parametrize(("keys", "area", "volume", "radius"), CLOSED)
def test_closed_shapes_have_the_area_and_volume_of_the_true_ones(
    keys: str, area: float, volume: float, radius: float | None
) -> None:
    shares = [None] if radius is None else [1 / 50, 1 / 400, 1 / 4000]
    for share in shares:
        mesh = mesh_with(keys if share is None or radius is None else f"{keys}\ndeviation = {share * radius!r}")
        report = mesh.report()
        assert report.closed
        assert report.normals_outward
        assert not report.slivers
        assert not report.self_intersections
        assert not report.hanging_nodes
        assert not report.non_manifold_edges
        assert not report.dropped_facets
        tolerance = 1e-12 if share is None else 6.0 * share
        assert report.volume == pytest.approx(volume, rel=tolerance)
        assert mesh.facet_areas.sum() == pytest.approx(area, rel=tolerance)


@pytest.mark.parametrize("share", [0.2, 1 / 30, 1 / 400, 1 / 3000])
def test_no_facet_lies_farther_beside_a_round_surface_than_the_deviation(share: float) -> None:
    limit, rounding = 0.3 * share, 1e-12
    cylinder = mesh_with(f'shape="cylinder"\n{FRAME}radius=0.3\nlength=0.5\ncaps="none"\ndeviation={limit!r}')
    along, across = along_and_across(sampled(cylinder))
    assert np.abs(across - 0.3).max() <= limit + rounding
    assert np.abs(across - 0.3).max() > 0.02 * limit
    assert np.abs(along).max() <= 0.25 + rounding
    for radii in ((0.3, 0.0), (0.02, 0.3)):
        cone = mesh_with(f'shape="cone"\n{FRAME}radii={list(radii)}\nlength=0.5\ncaps="none"\ndeviation={limit!r}')
        along, across = along_and_across(sampled(cone))
        slope = (radii[1] - radii[0]) / 0.5
        beside = np.abs(across - (0.5 * sum(radii) + slope * along)) / math.hypot(1.0, slope)
        assert beside.max() <= limit + rounding
    ball = mesh_with(f'shape="sphere"\ncentre=[0.1, 0.2, 0.3]\nradius=0.3\ndeviation={limit!r}')
    lies = np.linalg.norm(sampled(ball) - [0.1, 0.2, 0.3], axis=1)
    assert np.abs(lies - 0.3).max() <= limit + rounding
    bent = mesh_with(
        f'shape="blade"\naxis=[0, 0, 1]\nnormal=[0, 1, 0]\nlength=0.5\nwidth=0.9\nbend_radius=0.3\ndeviation={limit!r}'
    )
    across = np.hypot(*(sampled(bent)[:, :2] - [0.0, 0.3]).T)
    assert np.abs(across - 0.3).max() <= limit + rounding


SCREW = 'shape = "screw"\nradius = 0.3\ninner_radius = 0.1\nlength = 1.0\npitch = 0.4\naxis = [0, 0, 1]\n'


@pytest.mark.parametrize("share", [1 / 30, 1 / 400])
@pytest.mark.parametrize("hand", ["right", "left"])
def test_the_blade_of_a_screw_lies_beside_its_helicoid_by_the_deviation(share: float, hand: str) -> None:
    limit = 0.3 * share
    mesh = mesh_with(f'{SCREW}hand = "{hand}"\nshaft = false\ndeviation = {limit!r}')
    points = sampled(mesh)
    across, turn = np.hypot(*points[:, :2].T), np.arctan2(points[:, 1], points[:, 0])
    turn = -turn if hand == "left" else turn
    height = points[:, 2] + 0.5 - 0.4 * turn / (2.0 * math.pi)
    along = np.abs(height - 0.4 * np.round(height / 0.4))  # on any of its turns
    radial = np.maximum(0.0, np.maximum(across - 0.3, 0.1 - across))
    assert np.hypot(along, radial).max() <= limit
    assert np.abs(points[:, 2]).max() <= 0.5 + 1e-12
    assert across.max() >= 0.3 - 1e-12
    assert mesh.facet_areas.sum() == pytest.approx(_helicoid_area(), rel=6.0 * share)


def _helicoid_area() -> float:
    """Return the area of 2.5 turns of a helicoid: the integral of sqrt(r^2 + (p / 2 pi)^2) over radius and angle."""
    step = 0.4 / (2.0 * math.pi)

    def integral(r: float) -> float:
        return 0.5 * (r * math.hypot(r, step) + step**2 * math.asinh(r / step))

    return 2.0 * math.pi * 2.5 * (integral(0.3) - integral(0.1))


@pytest.mark.parametrize("shaft", ["true", "false"])
@pytest.mark.parametrize("hand", ["right", "left"])
@pytest.mark.parametrize("length", [1.02, 0.99, 0.31, 0.42])
def test_thick_screws_are_closed(shaft: str, hand: str, length: float) -> None:
    keys = SCREW.replace("length = 1.0", f"length = {length}")
    mesh = mesh_with(f'{keys}hand = "{hand}"\nshaft = {shaft}\nthickness = 0.02')
    report = mesh.report()
    assert report.closed
    assert report.normals_outward
    assert not report.slivers
    assert not report.self_intersections
    assert not report.dropped_facets
    turns = (length - 0.02) / 0.4
    blade = math.pi * (0.3**2 - 0.1**2) * 0.02 * turns
    volume = blade + (math.pi * 0.1**2 * length if shaft == "true" else 0.0)
    assert report.volume == pytest.approx(volume, rel=0.02)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    assert (low[2], high[2]) == (-0.5 * length, 0.5 * length)


def test_a_sheet_on_a_shaft_meets_it_corner_by_corner() -> None:
    case = case_with(SCREW)
    mesh = read_walls(case)[0]
    report = mesh.report()
    assert report.pieces == 1
    assert not report.hanging_nodes
    assert not report.self_intersections
    levels = [level for level, _ in mesh_findings(case, mesh, 0.01, made=True)]
    assert set(levels) == {"info"}


@pytest.mark.parametrize("centre", [(-0.9, 0.3, 0.95), (-0.3, 0.3, 0.95), (-0.05, 0.3, 0.98)])
def test_a_sheet_on_a_surface_touches_as_the_corner_on_one_side_of_it(centre: tuple[float, ...]) -> None:
    """An edge of three facets, as that of a sheet on a shaft: what is on its other side does not matter."""
    corners = [[x, y, z] for x, z in ((-5, 0), (0, 0), (5, 0), (0, 5)) for y in (-5, 5)]
    corner = [[0, 2, 3, 1], [2, 3, 7, 6]]
    meshes = Mesh(corners, corner), Mesh(corners, [*corner, [2, 4, 5, 3]])
    one, other = (wall_contacts(np.array(centre), 1.0, mesh) for mesh in meshes)
    assert len(one) == len(other) >= 2
    for name in ("overlap", "normal", "point", "count"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-15)


def test_a_plane_without_a_size_fills_the_domain_and_reaches_beyond() -> None:
    level = mesh_with('shape = "plane"\nnormal = [0.0, 0.0, -3.0]\npoint = [9.0, 9.0, -1.0]')
    assert level.facet_normals.tolist() == [[0.0, 0.0, -1.0]]
    assert level.vertices.min(axis=0) == pytest.approx([-1.5, -1.5, -1.0], abs=1e-12)
    assert level.vertices.max(axis=0) == pytest.approx([1.5, 1.5, -1.0], abs=1e-12)
    oblique = mesh_with('shape = "plane"\nnormal = [1.0, 1.0, 1.0]')
    assert np.abs(oblique.vertices.sum(axis=1)).max() < 1e-12
    assert oblique.facet_areas.sum() == pytest.approx(3.0 * math.sqrt(3.0) / 4.0 * 9.0)  # a regular hexagon
    sized = mesh_with('shape = "plane"\nnormal = [1.0, 1.0, 1.0]\nsize = 0.5\npoint = [0.1, 0.2, 0.3]')
    assert sized.facet_areas.sum() == pytest.approx(0.25)
    assert sized.vertices.mean(axis=0) == pytest.approx([0.1, 0.2, 0.3])


def test_a_plane_across_a_periodic_side_passes_the_checks() -> None:
    case = case_with('shape = "plane"\nnormal = [0.0, 0.0, 1.0]', periodic="true")
    mesh = read_walls(case)[0]
    assert not [text for level, text in mesh_findings(case, mesh, 0.4, made=True) if level != "info"]


def test_faces_of_a_box_are_left_open_by_name() -> None:
    mesh = mesh_with('shape="box"\nlower=[0, 0, 0]\nupper=[1, 2, 3]\nopen=["+z", "-x"]')
    assert mesh.facet_count == 4
    assert {tuple(normal) for normal in mesh.facet_normals.tolist()} == {
        (1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("caps", "centres"), [("lower", [-0.5]), ("upper", [0.5]), ("none", []), ("both", [-0.5, 0.5])]
)
def test_caps_close_the_ends_that_they_name(caps: str, centres: list[float]) -> None:
    mesh = mesh_with(f'shape="cylinder"\naxis=[0, 0, 2]\nradius=0.1\nlength=1.0\ncaps="{caps}"')
    across = np.abs(mesh.facet_normals[:, 2]) > 0.5
    heights = {float(mesh.vertices[mesh.loop(facet)][0, 2]) for facet in np.flatnonzero(across)}
    assert sorted(heights) == centres


def test_a_chute_leads_down_by_its_inclination() -> None:
    mesh = mesh_with(
        'shape="chute"\nstart=[0.1, 0, 0.5]\ndirection=[2, 0, 7]\ninclination=0.5\nlength=0.8\nwidth=0.2\nheight=0.05'
    )
    floor = int(np.argmax(mesh.facet_areas))
    assert mesh.facet_count == 3
    assert mesh.facet_areas.sum() == pytest.approx(0.8 * (0.2 + 2 * 0.05))
    assert mesh.facet_normals[floor] == pytest.approx([math.sin(0.5), 0.0, math.cos(0.5)])
    low = mesh.vertices[mesh.loop(floor)].min(axis=0)
    assert low == pytest.approx([0.1, -0.1, 0.5 - 0.8 * math.sin(0.5)])


@pytest.mark.parametrize("keys", [keys for keys, *_ in CLOSED] + [SCREW])
def test_a_case_with_a_shape_is_written_and_read_back(keys: str) -> None:
    case = case_with(keys)
    again = Case.from_text(case.to_toml())
    assert again.walls == case.walls
    one, other = (read_walls(each)[0] for each in (case, again))
    assert one.vertices.tobytes() == other.vertices.tobytes()
    assert case.walls[0].name == case.walls[0].shape


CYLINDER = 'shape = "cylinder"\naxis = [0, 0, 1]\nlength = 1.0\n'


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("", r"walls\[0\]: needs a surface: mesh = "),
        ('mesh = "a.stl"\nshape = "box"', r'walls\[0\]: has both shape = "box" and a mesh; keep one of them'),
        ('shape = "cube"', r'walls\[0\]\.shape = "cube": must be one of "mesh", "plane", "box"'),
        (f"{CYLINDER}radius = -1.0", r"walls\[0\]\.radius = -1\.0: must be greater than 0"),
        (f"{CYLINDER}radius = 0.1\nheight = 1", r"walls\[0\]\.height = 1: is not a key; .*length"),
        (f"{CYLINDER}", r"walls\[0\]\.radius: is missing"),
        (f"{CYLINDER}radius = 0.1\ncaps = 'top'", r'caps = "top": must be "both", "lower", "upper" or "none"'),
        (f"{CYLINDER}radius = 0.1\ndeviation = 0.1", r"deviation = 0\.1: must be less than the largest radius 0\.1 m"),
        (
            f"{CYLINDER}radius = 0.1\ndeviation = 1e-18",
            r"deviation = 1e-18: would make about 7e\+08 facets, more than 10,000,000; .*0\.00025 m is the default",
        ),
        ('shape = "sphere"\nradius = 0.1\ndeviation = 1e-9', r"would make about 5\.8e\+08 facets"),
        (f"{SCREW}deviation = 1e-9", r"would make about .* facets"),
        (
            SCREW.replace("pitch = 0.4", "pitch = 1e-6"),
            r"walls\[0\]\.deviation: would make about .* facets, .*make the wall shorter",
        ),
        ('shape = "cylinder"\naxis = [0, 0, 0]\nradius = 1.0\nlength = 1.0', r"walls\[0\]\.axis = .*not a direction"),
        ('shape = "plane"\nnormal = [0, 0, 0]', r"walls\[0\]\.normal = .* is not a direction"),
        ('shape = "plane"\nnormal = [0, 0, 1]\npoint = [0, 0, 7]', r"walls\[0\]\.point = .* outside the domain"),
        ('shape = "box"\nlower = [0, 0, 0]\nupper = [1, 0, 1]', r"upper\[1\] = 0: must be greater than lower"),
        ('shape = "box"\nlower = [0, 0, 0]\nupper = [1, 1, 1]\nopen = ["z"]', r'open\[0\] = "z": must be "-x", "\+x"'),
        (
            'shape = "box"\nlower = [0, 0, 0]\nupper = [1, 1, 1]\nopen = ["-x", "+x", "-y", "+y", "-z", "+z"]',
            r"open = .* leaves nothing",
        ),
        ('shape = "cone"\naxis = [0, 0, 1]\nradii = [0.0, 0.0]\nlength = 1.0', r"radii = .* are both 0"),
        (
            'shape = "tube"\naxis = [0, 0, 1]\ninner_radius = 0.3\nouter_radius = 0.2\nlength = 1.0',
            r"inner_radius = 0\.3: must be less than outer_radius \(0\.2 m\)",
        ),
        (SCREW.replace("inner_radius = 0.1", "inner_radius = 0.4"), r"inner_radius = 0\.4: must be less than radius"),
        (f"{SCREW}thickness = 0.5", r"thickness = 0\.5: must be less than pitch \(0\.4 m\)"),
        (
            'shape = "blade"\naxis = [0, 0, 1]\nnormal = [0, 0, 2]\nlength = 1.0\nwidth = 0.1',
            r"normal = .* is along axis",
        ),
        (
            'shape = "blade"\naxis = [0, 0, 1]\nnormal = [0, 1, 0]\nlength = 1.0\nwidth = 0.7\nbend_radius = 0.1',
            r"width = 0\.7: goes round bend_radius more than once",
        ),
        (
            'shape = "chute"\nstart = [0, 0, 0]\ndirection = [0, 0, 1]\ninclination = 0.1\nlength = 1.0\nwidth = 0.1',
            r"direction = .* is along up",
        ),
    ],
)
def test_bad_measures_name_wall_key_number_and_remedy(keys: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        case_with(keys)


def test_measures_far_apart_are_an_error_that_names_the_wall() -> None:
    with pytest.raises(MeshError, match=r'walls\[0\]\.shape = "cylinder": .*measures'):
        mesh_with(f"{CYLINDER}radius = 1e-14")


def test_every_key_of_a_shape_is_explained() -> None:
    assert "1/400 of the largest radius" in explain("walls.deviation")
    for key in ScrewWall.model_fields:
        assert "value:" in explain(f"walls.{key}")


def test_preflight_of_a_case_with_shapes_has_no_warnings() -> None:
    text = 'shape = "cylinder"\naxis = [0, 1, 0]\nradius = 0.5\nlength = 0.2\n'
    case = case_with(text)
    meshes = read_walls(case)
    found = list(preflight(case, initial_particles(case, meshes), meshes))
    found = [one for one in found if one.subject == "wall cylinder"]
    assert found
    assert {one.level for one in found} == {"info"}


def test_a_restart_keeps_the_measures_of_its_walls() -> None:
    old = case_with(f"{CYLINDER}radius = 0.1\nrotation = {{rate = 1.0, axis = [0, 0, 1]}}")
    check_continuable(old, case_with(f"{CYLINDER}radius = 0.1\nrotation = {{rate = 2.0, axis = [0, 0, 1]}}"))
    check_continuable(old, case_with(f"{CYLINDER}radius = 0.1\nsurface = {{velocity = [1, 0, 0]}}"))
    for keys, key in (
        (f"{CYLINDER}radius = 0.2", "radius"),
        (f"{CYLINDER}radius = 0.1\ndeviation = 1e-4", "deviation"),
        ('shape = "sphere"\nradius = 0.1', "shape"),
    ):
        with pytest.raises(CaseError, match=rf"walls\[0\]\.{key} of wall .*: a restart keeps the meshes"):
            check_continuable(old, case_with(keys))
