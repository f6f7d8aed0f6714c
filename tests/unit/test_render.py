"""Pictures show what is in the snapshots."""

from __future__ import annotations

import math
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pdem.foundation.errors import CheckpointError, InputError, PdemError
from pdem.foundation.fields import Field, written_fields
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.output.pictures import scene
from pdem.output.pictures.colour_scale import prefixed, scale_of
from pdem.output.pictures.colours import Choice, coloured_particles, coloured_walls
from pdem.output.pictures.edges import sharp_edges
from pdem.output.pictures.render import render
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, WALL_FILE, ParticleSnapshots, WallSnapshots

SIZE = (160, 120)
TIMES = (0.0, 0.1, 0.2)


def particles(count: int, speed: float = 1.0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    columns = {field.name: field.allocate(count) for field in written_fields()}
    columns["id"] = np.arange(count)
    columns["radius"] = np.full(count, 0.1)
    columns["position"] = random.random((count, 3))
    columns["velocity"] = np.full((count, 3), speed / np.sqrt(3))
    return columns


def run(folder: Path, count: int = 20, walls: bool = True) -> Path:
    """Write a run of three snapshots: particles that become faster in a box of six walls that moves."""
    series = ParticleSnapshots(folder / PARTICLE_FILE, attributes={"title": "A box"})
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    facets = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    pressure = Field("pressure", np.float64, (), "Pa", "for colours")
    wall_series = WallSnapshots(
        folder / WALL_FILE, np.arange(7) * 4, facets.ravel(), np.arange(6), facet_fields=(pressure,)
    )
    for step, time in enumerate(TIMES):
        series.write(time, step, particles(count, speed=1.0 + step))
        if walls:
            none = np.zeros((6, 3))
            pressed = {"pressure": 2e5 * (1.0 + step) * (np.arange(6) == 2)}  # on the wall in front
            wall_series.write(time, step, corners + 0.1 * step, {"force": none, "torque": none}, None, pressed)
    return folder


def pixels(path: Path) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as opened:
        return np.asarray(opened.convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("run"))


@pytest.fixture
def pyvista() -> None:
    pytest.importorskip("pyvista")


@pytest.mark.usefixtures("pyvista")
def test_a_picture_has_its_size_and_shows_spheres_walls_and_a_scale(folder: Path, tmp_path: Path) -> None:
    (whole,) = render(folder, tmp_path / "new" / "a.png", size=SIZE)
    (bare,) = render(folder, tmp_path / "b.png", size=SIZE, wall_opacity=0.0)
    assert whole == tmp_path / "new" / "a.png"
    picture = pixels(whole)
    assert picture.shape == (SIZE[1], SIZE[0], 3)
    strength = picture.max(axis=2) - picture.min(axis=2)
    middle = strength[30:90, 40:100]
    assert (middle > 60).mean() > 0.1, "coloured spheres in the middle"
    assert (strength[30:90, 140:155] > 60).any(), "a colour scale at the right"
    assert np.abs(picture - pixels(bare))[20:100, 20:120].mean() > 1, "walls are seen"


@pytest.mark.usefixtures("pyvista")
def test_colours_follow_the_speed(folder: Path, tmp_path: Path) -> None:
    means = []
    for time in (0.0, 0.21):  # the nearest snapshot is taken
        (path,) = render(folder, tmp_path / "c.png", time=time, size=SIZE, limits=(0.9, 3.1), wall_opacity=0.0)
        picture = pixels(path)[30:90, 40:100]
        spheres = picture.max(axis=2) - picture.min(axis=2) > 60
        means.append(picture[spheres].mean(axis=0))
    slow, fast = means
    assert slow[2] > slow[0], "slow is blue"
    assert fast[0] > 2 * fast[2], "fast is yellow"


@pytest.mark.usefixtures("pyvista")
@pytest.mark.parametrize("options", [{"colour_by": "pressure", "limits": (0.0, 6e5)},
                                   {"colour_walls_by": "pressure", "wall_limits": (0.0, 6e5)}])  # fmt: skip
def test_walls_are_coloured_by_their_fields(folder: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    """The wall in front is pressed on, more and more: it is solid and takes on the colours; the others do not."""
    levels, shares = [], []
    colours = options | {"colour_map": "gray", "wall_colour_map": "gray"}
    for time, view in (*((time, "front") for time in TIMES), (TIMES[-1], (0.0, 1.0, 0.0))):
        (path,) = render(folder, tmp_path / "w.png", time=time, size=SIZE, view=view, **colours)
        middle = pixels(path)[40:90, 50:100].mean(axis=2)
        levels.append(np.median(middle))
        shares.append((np.abs(middle - levels[-1]) < 5.0).mean())
    assert levels[0] + 30 < levels[1] < levels[2] - 30
    assert shares[0] > 0.9, "nothing is seen through it; it moves on, and later there are spheres before it"
    assert shares[3] < 0.5, "the wall behind lets spheres be seen"


@pytest.mark.usefixtures("pyvista")
def test_materials_have_names_and_a_colour_each(tmp_path: Path) -> None:
    """The colours of classes are in the picture, in patches beside their names and on the spheres."""
    case = '[materials.coal]\ndensity = 1.0\n[materials.unused]\ndensity = 1.0\n[materials."iron ore"]\ndensity = 2.0\n'
    series = ParticleSnapshots(tmp_path / PARTICLE_FILE, attributes={"case": case})
    columns = particles(20)
    columns["material"] = 2 * (np.arange(20, dtype=np.int32) % 2)
    series.write(0.0, 0, columns)
    opened = scene.open_scene(tmp_path)
    shown = coloured_particles(opened, [0], Choice("material", "viridis"))
    assert shown is not None
    assert (shown.scale.label, shown.scale.names) == ("material", ("coal", "unused", "iron ore"))
    wanted = shown.scale.colours(np.array([0.0, 2.0]))
    assert shown.scale.ticks == (0.0, 2.0)
    assert abs(wanted[0].astype(int) - wanted[1]).max() > 100
    pytest.importorskip("pyvista")
    (path,) = render(tmp_path, tmp_path / "m.png", size=(640, 480), colour_by="material")
    bar = pixels(path)[:, 565:585].reshape(-1, 3)
    for colour in wanted:
        assert np.count_nonzero(np.abs(bar - colour).max(axis=1) < 3) > 50
    given = coloured_particles(opened, [0], Choice("material", "viridis", (0.0, 1.0)))
    assert given is not None
    assert given.scale.names == ()


@pytest.mark.parametrize(("field", "none"), [("flexible", 0), ("fragment", -1)])
def test_labels_have_colours_of_their_own(tmp_path: Path, field: str, none: int) -> None:
    """Particles of eight spheres each have numbers that differ by eight; more come in with the last snapshot."""
    pytest.importorskip("matplotlib")
    label = Field(field, np.int64, (), "1", "for colours")
    series = ParticleSnapshots(tmp_path / PARTICLE_FILE, (*written_fields(), label))
    numbers = none + 1 + 8 * np.arange(5)
    for step, present in enumerate([3] * 50 + [5]):
        labels = np.append(numbers[:present].repeat(8), none)
        series.write(step, step, {**particles(len(labels)), field: labels})
    opened = scene.open_scene(tmp_path)
    shown = coloured_particles(opened, range(51), Choice(field, "viridis"))
    assert shown is not None
    assert shown.scale.ticks == ()
    of_all = shown.scale.colours(np.append(numbers, none).astype(float)).astype(int)
    apart = np.abs(of_all[:, None] - of_all).max(axis=2)
    assert apart[~np.eye(6, dtype=bool)].min() > 30
    assert np.ptp(of_all[-1]) == 0
    assert np.ptp(of_all[:-1], axis=1).min() > 60


@given(seed=st.integers(0, 1000))
def test_only_sharp_edges_are_drawn_whichever_way_facets_go_round(seed: int) -> None:
    """A cube of four squares a side: its 12 edges, and not those between squares."""
    pyvista = pytest.importorskip("pyvista")
    random, faces, points = np.random.default_rng(seed), list[int](), list[np.ndarray]()
    for axis, side, x, y in product(range(3), (0.0, 1.0), (0.0, 0.5), (0.0, 0.5)):
        corners = np.array([[side, x, y], [side, x + 0.5, y], [side, x + 0.5, y + 0.5], [side, x, y + 0.5]])
        corners = np.roll(corners, axis, axis=1)
        faces += [4, *range(len(points), len(points) + 4)]
        points += list(corners[::-1] if random.random() < 0.5 else corners)
    edges = sharp_edges(pyvista.PolyData(np.array(points), faces=faces))
    ends = edges.points[edges.lines.reshape(-1, 3)[:, 1:]]
    assert np.isin(ends, (0.0, 1.0)).all(axis=1).sum(axis=1).min() >= 2, "on an edge of the cube"
    assert np.linalg.norm(np.diff(ends, axis=1), axis=2).sum() == pytest.approx(12.0)


@pytest.mark.usefixtures("pyvista")
def test_particles_may_be_left_out(folder: Path, tmp_path: Path) -> None:
    (path,) = render(folder, tmp_path / "p.png", size=SIZE, particles=False, axes=False)
    strength = np.ptp(pixels(path), axis=2)
    assert strength.max() < 60, "neither spheres nor a scale"


@pytest.mark.usefixtures("pyvista")
def test_ends_of_scales_have_numbers(folder: Path) -> None:
    """Round ones beyond the data, or those that are given."""
    found, every = scene.open_scene(folder), range(3)
    speed = coloured_particles(found, every, Choice("speed", "viridis"))
    assert speed is not None
    assert speed.scale.ticks == (0.0, 1.0, 2.0, 3.0)
    assert (speed.scale.low, speed.scale.high, speed.scale.label) == (0.0, 3.0, "speed [m/s]")
    exact = coloured_particles(found, every, Choice("speed", "viridis", (0.93, 3.1)))
    assert exact is not None
    assert exact.scale.ticks == (0.93, 1.5, 2.0, 2.5, 3.1)
    material = coloured_particles(found, every, Choice("material", "viridis"))
    assert material is not None
    assert material.scale.ticks == (0.0, 1.0)
    pressure = coloured_walls(found, every, Choice("pressure", "viridis"), beside=True)
    assert pressure is not None
    assert pressure.scale.label == "wall pressure [kPa]"
    assert pressure.scale.ticks == (0.0, 200.0, 400.0, 600.0)
    assert pressure.scale.high == pytest.approx(6e5)
    assert pressure.walls == {2}


def test_particles_at_rest_have_no_colours_of_noise(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    columns = particles(20, speed=1e-7)
    ParticleSnapshots(tmp_path / PARTICLE_FILE).write(0.0, 0, columns)
    speed = coloured_particles(scene.open_scene(tmp_path), range(1), Choice("speed", "viridis"))
    assert speed is not None
    assert 0.01 < speed.scale.high < 0.1


@pytest.mark.parametrize(
    ("size", "unit", "expected"),
    [
        (0.004, "m", (1e3, "mm")), (0.5, "m", (1.0, "m")), (2e-7, "m", (1e9, "nm")), (9.9e-10, "m", (1e9, "nm")),
        (2.5e5, "Pa", (1e-3, "kPa")), (3e7, "Pa", (1e-6, "MPa")), (9e3, "N", (1.0, "N")), (2e9, "s", (1.0, "s")),
        (0.02, "s", (1e3, "ms")), (1e-30, "J", (1e12, "pJ")), (0.0, "m", (1.0, "m")), (1e-3, "1", (1.0, "1")),
        (1e-3, "kg", (1e3, "g")), (2e-6, "kg", (1e6, "mg")), (0.2, "kg", (1.0, "kg")), (2e-3, "kg/s", (1e3, "g/s")),
        (2.0, "rad/s", (30 / math.pi, "rpm")), (math.inf, "N", (1.0, "N")), (5e-3, "m/s", (1e3, "mm/s")),
    ],
)  # fmt: skip
def test_numbers_of_scales_are_short(size: float, unit: str, expected: tuple[float, str]) -> None:
    factor, shown = prefixed(size, unit)
    assert shown == expected[1]
    assert factor == pytest.approx(expected[0], rel=1e-12)


@given(
    st.floats(-1e6, 1e6), st.floats(1e-9, 1e9), st.sampled_from(("m", "1", "Pa", "rad/s")), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_any_scale_shows_all_values_between_its_ends(
    low: float, span: float, unit: str, exact: bool, whole: bool
) -> None:
    pytest.importorskip("matplotlib")
    assume(low + span > low)
    scale = scale_of("field", unit, "viridis", (low, low + span), exact=exact, whole=whole)
    slack = 1e-9 * (abs(low) + span)
    assert scale.low <= low + slack
    assert scale.high >= low + span - slack
    ticks = np.array(scale.ticks)
    assert 2 <= len(ticks) <= 8
    assert (np.diff(ticks) > 0.0).all()
    np.testing.assert_allclose(ticks[[0, -1]] / scale.factor, [scale.low, scale.high], rtol=1e-9, atol=slack)


@pytest.mark.usefixtures("pyvista")
def test_the_bar_of_a_film_has_the_colours_of_the_map(folder: Path, tmp_path: Path) -> None:
    """A palette of the most frequent colours alone has a bar in a few steps."""
    image = pytest.importorskip("PIL.Image")
    (film,) = render(folder, tmp_path / "f.gif", size=(320, 240))
    with image.open(film) as opened:
        frame = np.asarray(opened.convert("RGB")).astype(int)
    bar = frame[80:165, 287]
    strips = np.unique(bar, axis=0)
    assert len(strips) >= 30
    from matplotlib import colormaps

    of_map = (255 * colormaps["viridis"](np.linspace(0, 1, 256))[:, :3]).round()
    assert max(np.abs(of_map - one).max(axis=1).min() for one in strips) <= 8


@pytest.mark.usefixtures("pyvista")
def test_all_snapshots_become_numbered_pictures_or_a_film(folder: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    numbered = render(folder, tmp_path / "f.png", every=True, size=(64, 48))
    assert [path.name for path in numbered] == ["f-0000.png", "f-0001.png", "f-0002.png"]
    assert pixels(numbered[0]).tolist() != pixels(numbered[2]).tolist()
    (film,) = render(folder, tmp_path / "f.gif", size=(64, 48))
    with image.open(film) as opened:
        assert opened.n_frames == 3


@pytest.mark.usefixtures("pyvista")
def test_a_film_is_written_and_tells_how_far_it_is(folder: Path, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    said: list[str] = []
    (film,) = render(folder, tmp_path / "f.mp4", size=(64, 48), say=said.append)
    frames, seconds = ffmpeg.count_frames_and_secs(str(film))
    assert (frames, seconds) == (3, pytest.approx(0.15, abs=0.02))
    assert said == ["frame 1 of 3", "frame 2 of 3", "frame 3 of 3"]


@pytest.mark.usefixtures("pyvista")
def test_a_time_without_a_snapshot_is_told(folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    for time in (9.0, 0.12, 0.1):
        render(folder, tmp_path / "t.png", time=time, size=(64, 48), say=said.append)
    assert said == [
        "no snapshot at 9 s: taking the last of 3, at 0.2 s",
        "no snapshot at 0.12 s: taking the nearest of 3, at 0.1 s",
    ]


@pytest.mark.usefixtures("pyvista")
@pytest.mark.parametrize("count", [0, 1])
def test_few_particles_and_no_walls_are_drawn(tmp_path: Path, count: int) -> None:
    run(tmp_path, count, walls=False)
    (path,) = render(tmp_path / PARTICLE_FILE, tmp_path / "n.png", size=SIZE, view="top")
    assert pixels(path).std() > 1


@pytest.mark.usefixtures("pyvista")
def test_a_checkpoint_is_drawn_with_the_walls_beside_it(folder: Path, tmp_path: Path) -> None:
    checkpoint = folder / "checkpoint-000000002.h5"
    write_checkpoint(checkpoint, {"particles": particles(20, speed=3.0)}, {"time": 0.2, "title": "A box"})
    (one,) = render(folder, tmp_path / "a.png", size=SIZE)
    (other,) = render(checkpoint, tmp_path / "b.png", size=SIZE)
    assert np.abs(pixels(one) - pixels(other)).mean() < 0.5, "the same but for noise in the shadows"


@pytest.mark.usefixtures("pyvista")
@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"view": "below"}, "view 'below' is unknown.*three-quarter"),
        ({"view": (0.0, 0.0, 0.0)}, "no direction"),
        ({"colour_map": "rainbows"}, "colour map 'rainbows'"),
        ({"colour_by": "charge"}, "no field 'charge'.*velocity.*; walls have pressure"),
        ({"colour_by": "wear"}, "no field 'wear'.*; walls have pressure; give the walls the key wear"),
        ({"colour_walls_by": "wear"}, "no field 'wear' to colour walls by; they have pressure; give .* the key wear"),
        ({"wall_colour_map": "rainbows"}, "colour map 'rainbows'"),
        ({"limits": (2.0, 1.0)}, "no range"),
    ],
)
def test_impossible_arguments_are_named(folder: Path, tmp_path: Path, arguments: dict[str, Any], fact: str) -> None:
    with pytest.raises(InputError, match=fact):
        render(folder, tmp_path / "a.png", **arguments)
    assert not list(tmp_path.iterdir())


def test_an_unknown_picture_format_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.tiff.*\.png, \.gif or \.mp4"):
        render(folder, tmp_path / "a.tiff")


def test_without_pyvista_the_remedy_is_given(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyvista", None)
    with pytest.raises(PdemError, match=r"pip install 'polydem\[render\]'"):
        render(folder, tmp_path / "a.png")


@pytest.mark.usefixtures("pyvista")
def test_without_imageio_the_remedy_is_given(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio", None)
    with pytest.raises(PdemError, match=r"imageio.*polydem\[render\].*\.gif"):
        render(folder, tmp_path / "a.mp4")


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither particles\.vtkhdf nor a checkpoint"):
        scene.open_scene(tmp_path)
    with pytest.raises(CheckpointError, match=r"nothing\.vtkhdf"):
        scene.open_scene(tmp_path / "nothing.vtkhdf")


def test_frames_hold_particles_walls_and_an_outline(folder: Path) -> None:
    found = scene.open_scene(folder)
    assert list(found.times) == list(TIMES)
    frame = found.frame(1)
    assert (frame.time, frame.title) == (0.1, "A box")
    assert frame.values("speed") == pytest.approx(np.full(20, 2.0))
    assert frame.values("radius").tolist() == [0.1] * 20
    assert frame.walls is not None
    assert frame.walls.vertices.max() == 1.1
    outline = frame.outline()
    assert outline.min(axis=0) == pytest.approx((particles(20)["position"] - 0.1).min(axis=0))
    assert outline.max(axis=0) == pytest.approx(np.full(3, 1.1))
    assert scene.nearest_frame(found, None) == 2
    assert frame.unit("speed") == frame.unit("velocity") == "m/s"
    assert (frame.is_whole("material"), frame.is_whole("speed")) == (True, False)
    assert frame.outline(particles=False).tolist() == frame.walls.vertices.tolist()
