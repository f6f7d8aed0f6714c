"""Flat parts of pictures: the scale bar, the axes, the legend of sizes, the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation.fields import written_fields
from pdem.output.pictures.colours import Choice, coloured_particles, coloured_walls
from pdem.output.pictures.overlay import round_length
from pdem.output.pictures.picture import Camera
from pdem.output.pictures.render import render
from pdem.output.pictures.scene import SceneFrame, Walls, open_scene
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE, WALL_FILE, ParticleSnapshots, WallSnapshots

SIZE = 640, 480


def run(folder: Path, radii: list[float], edge: float = 1.0) -> Path:
    """Write a snapshot of spheres along the middle of a horizontal square with sides of a given length."""
    count = len(radii)
    columns = {field.name: field.allocate(count) for field in written_fields()}
    columns |= {"id": np.arange(count), "radius": np.array(radii)}
    columns["position"][:, 0] = edge * (np.arange(count) + 0.5) / count
    columns["position"][:, 1] = 0.5 * edge
    folder.mkdir(exist_ok=True)
    ParticleSnapshots(folder / PARTICLE_FILE).write(0.0, 0, columns)
    corners = edge * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)
    walls = WallSnapshots(folder / WALL_FILE, np.array([0, 4]), np.arange(4), np.zeros(1, np.int32))
    walls.write(0.0, 0, corners, {"force": np.zeros((1, 3)), "torque": np.zeros((1, 3))})
    return folder


def pixels(path: Path) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as opened:
        assert opened.mode == "RGB", "no palette"
        return np.asarray(opened).astype(int)


def drawn(folder: Path, path: Path, **options: Any) -> np.ndarray:
    pytest.importorskip("pyvista")
    (written,) = render(folder, path, size=SIZE, **options)
    return pixels(written)


@given(st.floats(1e-12, 1e12))
def test_lengths_of_scale_bars_are_round(largest: float) -> None:
    found = round_length(largest)
    digits = f"{found:.9e}"
    assert digits[0] in "125"
    assert digits[1:11] == ".000000000"
    assert 0.39 * largest < found <= largest * (1.0 + 1e-8)


@pytest.mark.parametrize("edge", [0.03, 1.0])
def test_the_scale_bar_has_its_length_on_the_walls(tmp_path: Path, edge: float) -> None:
    """The square seen from the top is as wide as the bar says."""
    radius = 1e-3 * edge
    picture = drawn(run(tmp_path / "run", [radius], edge), tmp_path / "a.png", view="top", wall_opacity=1.0)
    dark = picture[466:472].max(axis=2).min(axis=0) < 90
    bar = np.flatnonzero(dark[:300])
    bar = bar[: np.argmax(np.diff(bar, append=10**6) > 2) + 1]  # the text begins after a gap
    square = np.flatnonzero(np.abs(picture[250] - picture[250, 320]).max(axis=1) < 6)
    camera = Camera(np.array([0.0, 0.0, 1.0]), edge * np.array([[0, 0, 0], [1, 1, 0]], float))
    expected = round_length(0.2 * camera.width(SIZE))
    assert np.ptp(bar) / np.ptp(square) == pytest.approx(expected / edge, rel=0.03)


def test_axes_point_as_the_view_says(tmp_path: Path) -> None:
    """From the front x (red) is to the right and z (blue) to the top; y points away and is not drawn."""
    folder = run(tmp_path / "run", [0.1])
    with_axes = drawn(folder, tmp_path / "a.png", view="front")[380:, 560:]
    without = drawn(folder, tmp_path / "b.png", view="front", axes=False)[380:, 560:]
    assert np.ptp(without, axis=2).max() < 40
    red, green, blue = (with_axes[:, :, one] for one in range(3))
    rows, columns = np.nonzero((red > green + 60) & (red > blue + 60))
    assert np.ptp(columns) > 10 > np.ptp(rows)
    rows, columns = np.nonzero(blue > red + 60)
    assert np.ptp(rows) > 10 > np.ptp(columns)
    assert not ((green > red + 40) & (green > blue + 40)).any()


def test_few_sizes_have_a_class_each(tmp_path: Path) -> None:
    """Names with units people use, the largest on top; the colours of the legend are those of the spheres."""
    folder = run(tmp_path / "run", [0.1, 0.15, 0.1 * (1.0 + 1e-9), 0.2, 0.15])
    shown = coloured_particles(open_scene(folder), [0], Choice("radius", "viridis"))
    assert shown is not None
    assert shown.scale.shown_names == ["0.2 m", "0.15 m", "0.1 m"]
    assert shown.scale.label == "radius"
    colours = shown.scale.colours(np.array([0.1, 0.15, 0.1 * (1.0 + 1e-9), 0.2]))
    assert colours[0].tolist() == colours[2].tolist()
    assert len({tuple(one) for one in colours.tolist()}) == 3
    legend = drawn(folder, tmp_path / "a.png", colour_by="radius")[:, 568:576].reshape(-1, 3)
    for colour in colours:
        assert np.count_nonzero(np.abs(legend - colour).max(axis=1) < 3) > 50


def test_many_sizes_have_a_bar_between_the_extremes(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", np.linspace(4e-3, 6e-3, 21).tolist())
    shown = coloured_particles(open_scene(folder), [0], Choice("radius", "viridis"))
    assert shown is not None
    assert (shown.scale.names, shown.scale.label) == ((), "radius [mm]")
    assert shown.scale.ticks == (4.0, 4.5, 5.0, 5.5, 6.0)
    given_limits = coloured_particles(
        open_scene(run(tmp_path / "few", [0.1])), [0], Choice("radius", "gray", (0.0, 1.0))
    )
    assert given_limits is not None
    assert given_limits.scale.names == ()


class OneScene:
    """A scene of one frame."""

    def __init__(self, frame: SceneFrame) -> None:
        self.times: Sequence[float] = (0.0,)
        self._frame = frame

    def frame(self, index: int) -> SceneFrame:
        return self._frame


def test_small_negative_values_do_not_extend_a_scale(tmp_path: Path) -> None:
    """Springs of friction return a little power: the bar of a loss begins at 0, unless values are truly negative."""
    low = {}
    for name, least in (("small", -1e-3), ("large", -0.5)):
        frame = open_scene(run(tmp_path / name, [0.1, 0.1, 0.1])).frame(0)
        assert frame.walls is not None
        walls = Walls(
            frame.walls.vertices, np.array([0, 3, 6]), np.array([0, 1, 2, 2, 3, 0]), np.zeros(2, np.int32),
            {"power": np.array([least, 1.0])},
        )  # fmt: skip
        shown = coloured_walls(OneScene(replace(frame, walls=walls)), [0], Choice("power", "viridis"), beside=False)
        assert shown is not None
        low[name] = shown.scale.low
    assert low["small"] == 0.0
    assert low["large"] <= -0.5
