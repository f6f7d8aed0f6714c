"""Flat parts of a picture, in front of the scene: colour bars, title, scale bar, axes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pdem.output.pictures.colour_scale import prefixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.output.pictures.colour_scale import Scale

LINE_COLOUR = "#2b3440"
"""Colour of texts and lines."""

_LINE = 43, 52, 64
AXIS_COLOURS = (192, 57, 43), (39, 128, 59), (44, 90, 160)
"""Colours of the directions of x, y and z."""

_LEFT, _WIDTH = 0.885, 0.016
_PLACES = {1: ((0.25, 0.46),), 2: ((0.58, 0.3), (0.17, 0.3))}
"""Left edge and width of bars as fractions of the picture width; lower ends and heights of one bar, or of two."""
_STRIPS = 256
_PATCH = 0.05  # largest height of a class's patch
_SCALE_BAR = 0.025, 0.022, 0.2  # left end, height, and largest length as a fraction of the width
_AXES_AT, _AXIS = (0.93, 0.075), 0.045  # origin, and length of an axis as a fraction of the height
_SEEN = 0.12  # fraction of an axis below which it points to the camera and is not drawn


def add_bars(plotter: Any, scales: list[Scale], points: float) -> None:
    """Add the bars of one scale, or of two, at the right edge; `points` are pixels per pixel of a standard picture."""
    for scale, (begin, height) in zip(scales, _PLACES.get(len(scales), ()), strict=False):
        (_add_classes if scale.names else _add_numbers)(plotter, scale, (begin, height), points)
        add_words(plotter, scale.label, (_LEFT + 0.5 * _WIDTH, begin + height + 0.045), 18 * points, to="middle")


def _add_numbers(plotter: Any, scale: Scale, place: tuple[float, float], points: float) -> None:
    """Add the bar of a scale with its numbers on the right."""
    low, high = scale.ticks[0], scale.ticks[-1]
    _add_strips(plotter, scale.colours(np.linspace(scale.low, scale.high, _STRIPS)), place)
    for tick in scale.ticks:
        at = place[0] + place[1] * (tick - low) / (high - low)
        add_words(plotter, f"{tick:.4g}", (_LEFT + 1.6 * _WIDTH, at), 15 * points)


def _add_classes(plotter: Any, scale: Scale, place: tuple[float, float], points: float) -> None:
    """Add a patch for each class, the first one on top, with its name on the left, as space permits."""
    count = len(scale.ticks)
    each = min(place[1] / count, _PATCH)
    begin = place[0] + place[1] - count * each
    _add_strips(plotter, scale.colours(np.array(scale.ticks[::-1])), (begin, count * each))
    for row, name in enumerate(scale.shown_names):
        at = begin + each * (count - row - 0.5)
        add_words(plotter, name, (_LEFT - 0.6 * _WIDTH, at), 15 * points, to="right")


def _add_strips(plotter: Any, colours: NDArray[np.uint8], place: tuple[float, float]) -> None:
    """Add a bar of strips of some colours (n, 3); `place` has its lower end and height, as fractions of the height."""
    edges = place[0] + place[1] * np.linspace(0.0, 1.0, len(colours) + 1)
    corners = np.array([[x, y] for y in edges for x in (_LEFT, _LEFT + _WIDTH)])
    first = 2 * np.arange(len(colours))
    _add_faces(plotter, corners[np.column_stack((first, first + 1, first + 3, first + 2))], colours)


def add_scale_bar(plotter: Any, width: float, points: float) -> None:
    """Add a bar of a round length at the lower left.

    Parameters
    ----------
    plotter : pyvista.Plotter
        The picture.
    width : float
        Width of the picture, in the middle of the scene [m].
    points : float
        Pixels per pixel of a standard picture.
    """
    left, bottom, largest = _SCALE_BAR
    length = round_length(largest * width)
    factor, unit = prefixed(length, "m")
    across, up = (points / size for size in plotter.window_size)
    right = left + length / width
    boxes = (
        (left, right, 0.0, 4.0), (left, left + 2.0 * across, -4.0, 8.0), (right - 2.0 * across, right, -4.0, 8.0)
    )  # fmt: skip
    faces = [[(a, bottom + low * up), (b, bottom + low * up), (b, bottom + high * up), (a, bottom + high * up)]
             for a, b, low, high in boxes]  # fmt: skip
    _add_faces(plotter, np.array(faces), np.tile(np.array(_LINE, np.uint8), (len(faces), 1)))
    text = f"{length * factor:.4g} {unit}"
    add_words(plotter, text, (right + 8.0 * across, bottom + 2.0 * up), 15 * points)


def round_length(largest: float) -> float:
    """Return the largest number of the form 1, 2 or 5 times a power of ten that is not above `largest`."""
    power = 10.0 ** np.floor(np.log10(largest))
    return float(max(digit * power for digit in (1.0, 2.0, 5.0) if digit * power <= largest * (1.0 + 1e-9)))


def add_axes(plotter: Any, right: Floats, above: Floats, points: float) -> None:
    """Add the directions of x, y and z at the lower right.

    Parameters
    ----------
    plotter : pyvista.Plotter
        The picture.
    right, above : (3,) arrays
        Unit vectors to the right and to the top of the picture.
    points : float
        Pixels per pixel of a standard picture.
    """
    size = np.array(plotter.window_size, float)
    length = _AXIS * size[1]
    towards = np.cross(right, above)
    for axis in np.argsort(towards):  # what is nearer to the camera covers the rest
        name, colour = "xyz"[axis], AXIS_COLOURS[axis]
        way = np.array([right[axis], above[axis]])
        share = float(np.linalg.norm(way))
        if share < _SEEN:
            continue
        sideways = 1.5 * points * np.array([-way[1], way[0]]) / share
        tip, neck = length * way, length * way - min(0.4 * share * length, 9.0 * points) * way / share
        shaft = [-sideways, neck - sideways, neck + sideways, sideways]
        head = [neck - 3.0 * sideways, tip, tip, neck + 3.0 * sideways]
        faces = np.array([shaft, head]) / size + _AXES_AT
        _add_faces(plotter, faces, np.tile(np.array(colour, np.uint8), (2, 1)))
        place = np.add(_AXES_AT, (tip + 11.0 * points * way / share) / size)
        add_words(plotter, name, (float(place[0]), float(place[1])), 15 * points, to="middle")


def add_words(
    plotter: Any, text: str, place: tuple[float, float], size: float, *, to: Literal["left", "middle", "right"] = "left"
) -> None:
    """Add a text at a position (fractions of width and height) that is its middle, or the middle of one of its ends."""
    actor = plotter.add_text(
        text, position=place, viewport=True, font_size=round(size), color=LINE_COLOUR, font_file=_font()
    )
    style = actor.GetTextProperty()
    style.SetFontSize(max(1, round(size)))
    style.SetVerticalJustificationToCentered()
    if to == "middle":
        style.SetJustificationToCentered()
    elif to == "right":
        style.SetJustificationToRight()


@cache
def _font() -> str:
    """Return the file of a font that has the letters of most languages; it is a part of matplotlib."""
    from matplotlib import get_data_path

    return str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")


def _add_faces(plotter: Any, corners: Floats, colours: NDArray[np.uint8]) -> None:
    """Add quadrilaterals (n, 4, 2), in fractions of width and height, of some colours (n, 3)."""
    from pyvista import PolyData
    from vtkmodules.vtkRenderingCore import vtkActor2D, vtkCoordinate, vtkPolyDataMapper2D

    points = np.zeros((4 * len(corners), 3))
    points[:, :2] = corners.reshape(-1, 2)
    loops = np.arange(len(points)).reshape(-1, 4)
    faces = PolyData(points, faces=np.insert(loops, 0, 4, axis=1).ravel())
    faces.cell_data["colour"] = colours
    faces.set_active_scalars("colour", preference="cell")
    coordinate, mapper, actor = vtkCoordinate(), vtkPolyDataMapper2D(), vtkActor2D()
    coordinate.SetCoordinateSystemToNormalizedViewport()
    mapper.SetTransformCoordinate(coordinate)
    mapper.SetInputData(faces)
    mapper.SetScalarModeToUseCellData()
    actor.SetMapper(mapper)
    plotter.add_actor(actor)
