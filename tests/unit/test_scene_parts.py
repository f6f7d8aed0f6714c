"""Pictures of parts of a scene: hidden walls and cut planes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation.errors import InputError
from pdem.foundation.fields import written_fields
from pdem.output.pictures.render import render
from pdem.output.pictures.scene import SceneFrame, Walls, open_scene
from pdem.output.pictures.scene_parts import PartialScene, cut_plane
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, WALL_FILE, ParticleSnapshots, WallSnapshots

FRONT = np.array([0.0, -1.0, 0.0])
NAMES = "left", "right", "front", "back", "floor", "lid"
CASE = "\n".join(f'[[walls]]\nname = "{name}"' for name in NAMES)
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
FACETS = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


class OneFrame:
    """A scene of one frame."""

    def __init__(self, frame: SceneFrame) -> None:
        self.times: Sequence[float] = (0.0,)
        self._frame = frame

    def frame(self, index: int) -> SceneFrame:
        return self._frame


def frame_of(positions: np.ndarray, **more: np.ndarray) -> SceneFrame:
    columns = {"position": positions, "radius": np.full(len(positions), 0.01), **more}
    areas = {"number": np.arange(6.0)}
    walls = Walls(CORNERS, np.arange(7) * 4, FACETS.ravel(), np.arange(6, dtype=np.int32), areas)
    return SceneFrame(0.0, "", columns, walls, wall_names=NAMES)


def area(walls: Walls) -> float:
    loops = np.split(walls.facet_vertices, walls.facet_start[1:-1])
    total = 0.0
    for loop in loops:
        points = walls.vertices[loop] - walls.vertices[loop[0]]
        total += 0.5 * float(np.linalg.norm(np.cross(points[1:-1], points[2:]).sum(axis=0)))
    return total


@given(st.sampled_from("xyz"), st.floats(0.05, 0.95), st.sampled_from("<>"), st.integers(0, 100))
def test_a_cut_box_keeps_its_side(axis: str, distance: float, side: str, seed: int) -> None:
    """Walls have the area of the remaining part, with the fields of their facets; particles remain by their centres."""
    pytest.importorskip("pyvista")
    positions = np.random.default_rng(seed).random((30, 3))
    plane = cut_plane(f"{axis}{side}{distance!r}", FRONT)
    whole = frame_of(positions)
    part = PartialScene(OneFrame(whole), (), [plane]).frame(0)
    along = "xyz".index(axis)
    below = positions[:, along] <= distance
    expected = positions[below if side == "<" else ~below]
    np.testing.assert_array_equal(part.columns["position"], expected)
    assert (part.total, len(part.columns["radius"])) == (30, len(expected))
    share = distance if side == "<" else 1.0 - distance
    assert part.walls is not None
    assert area(part.walls) == pytest.approx(1.0 + 4.0 * share, abs=1e-5), "VTK cuts in single precision"
    np.testing.assert_array_equal(part.walls.fields["number"], part.walls.facet_wall)
    heights = part.walls.vertices[:, along]
    assert (heights <= distance + 1e-6).all() if side == "<" else (heights >= distance - 1e-6).all()
    assert whole.walls is not None
    assert area(whole.walls) == pytest.approx(6.0)


def test_the_part_before_the_camera_is_left_out() -> None:
    for direction in ((0.0, -1.0, 0.0), (0.3, 1.0, 0.2)):
        plane = cut_plane("y = 0.25", np.array(direction))
        assert plane.keeps(np.array([[0.0, 0.25 - direction[1], 0.0], [0.0, 0.25 + direction[1], 0.0]])).tolist() == [
            True, False,
        ]  # fmt: skip
    oblique = cut_plane("1,1,0=0.1", np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(oblique.normal, [np.sqrt(0.5), np.sqrt(0.5), 0.0])
    assert oblique.distance == pytest.approx(0.1 / np.sqrt(2.0)), "points with 1 x + 1 y = 0.1"
    edge_on = cut_plane("z=0.5", FRONT)
    assert edge_on.keeps(np.array([[0.0, 0.0, 0.4], [0.0, 0.0, 0.6]])).tolist() == [True, False]


def test_clusters_are_not_divided() -> None:
    cluster = np.array([1, 1, 2, 2, 0])
    positions = np.array([[0.2, 0, 0], [0.7, 0, 0], [0.4, 0, 0], [0.9, 0, 0], [0.6, 0, 0]])
    plane = cut_plane("x<0.5", FRONT)
    part = PartialScene(OneFrame(frame_of(positions, cluster=cluster)), (), [plane]).frame(0)
    assert part.columns["position"][:, 0].tolist() == [0.2, 0.7]
    assert part.total == 3


def test_walls_are_hidden_by_name_or_pattern() -> None:
    scene = OneFrame(frame_of(np.full((1, 3), 0.5)))
    part = PartialScene(scene, ("lid", "*t"), ()).frame(0)
    assert part.walls is not None
    assert part.walls.facet_wall.tolist() == [3, 4]
    assert part.walls.fields["number"].tolist() == [3.0, 4.0]
    assert len(part.walls.vertices) == 6, "vertices of hidden walls do not widen the view"
    assert area(part.walls) == pytest.approx(2.0)
    assert part.total is None


def test_an_empty_part_has_no_facets() -> None:
    pytest.importorskip("pyvista")
    part = PartialScene(OneFrame(frame_of(np.zeros((0, 3)))), (), [cut_plane("z>5", FRONT)]).frame(0)
    assert part.walls is not None
    assert (len(part.walls.facet_wall), len(part.walls.vertices), part.walls.facet_start.tolist()) == (0, 0, [0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a run of 40 particles in a box of six walls with names."""
    path = tmp_path_factory.mktemp("parts")
    columns = {field.name: field.allocate(40) for field in written_fields()}
    columns |= {"id": np.arange(40), "radius": np.full(40, 0.08), "position": np.random.default_rng(3).random((40, 3))}
    ParticleSnapshots(path / PARTICLE_FILE, attributes={"case": CASE}).write(0.0, 0, columns)
    none = np.zeros((6, 3))
    walls = WallSnapshots(path / WALL_FILE, np.arange(7) * 4, FACETS.ravel(), np.arange(6))
    walls.write(0.0, 0, CORNERS, {"force": none, "torque": none})
    return path


def test_names_are_those_of_the_case(folder: Path) -> None:
    assert open_scene(folder).frame(0).wall_names == NAMES


def test_pictures_of_parts(folder: Path, tmp_path: Path) -> None:
    """Without the solid front wall and with a cut the particles are seen; a cut at the back shows none of them."""
    pytest.importorskip("pyvista")
    image = pytest.importorskip("PIL.Image")
    strong = {}
    options: dict[str, Any] = {"size": (160, 120), "view": "front", "wall_opacity": 1.0, "colour_by": "radius"}
    for name, more in {"whole": {}, "hidden": {"hide": ["front"]}, "cut": {"cut": ["y=0.5"]},
                       "back": {"cut": ["y=0.999"]}}.items():  # fmt: skip
        (path,) = render(folder, tmp_path / f"{name}.png", **options, **more)
        with image.open(path) as opened:
            strong[name] = (np.ptp(np.asarray(opened.convert("RGB")).astype(int)[30:100, 40:110], axis=2) > 60).mean()
    assert strong["whole"] < 0.05
    assert strong["hidden"] > strong["cut"] > 0.1
    assert strong["back"] < 0.01


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"cut": ["w=1"]}, r"cut 'w=1' is no plane; give x=0\.1.*in m"),
        ({"cut": ["x"]}, "cut 'x' is no plane"),
        ({"cut": ["x=nan"]}, "no plane"),
        ({"cut": ["0,0,0=1"]}, "no plane"),
        ({"cut": ["1,2=1"]}, "no plane"),
        ({"cut": ["x=1=2"]}, "no plane"),
        ({"cut": ["z>7"]}, r"leave nothing to draw; the whole scene reaches over x = .* to .* m, y = "),
        ({"hide": ["*"], "cut": ["z>7"]}, "leave nothing to draw"),
        ({"hide": ["lit"]}, "no wall 'lit' to hide; did you mean 'lid'"),
        ({"hide": ["lid", "door_*"]}, "no wall 'door_.' to hide; give one of left, right, front"),
    ],
)
def test_impossible_parts_are_named(folder: Path, tmp_path: Path, arguments: dict[str, Any], fact: str) -> None:
    pytest.importorskip("pyvista")
    with pytest.raises(InputError, match=fact):
        render(folder, tmp_path / "a.png", **arguments)
    assert not list(tmp_path.iterdir())


def test_a_run_without_named_walls_has_none_to_hide(tmp_path: Path) -> None:
    columns = {field.name: field.allocate(1) for field in written_fields()}
    columns["radius"] = np.ones(1)
    ParticleSnapshots(tmp_path / PARTICLE_FILE).write(0.0, 0, columns)
    pytest.importorskip("pyvista")
    with pytest.raises(InputError, match="no wall to hide by the name 'lid'"):
        render(tmp_path, tmp_path / "a.png", hide=["lid"])
