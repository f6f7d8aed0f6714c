"""One picture of a frame: lit spheres inside translucent walls, a colour scale, title and time.

The graphics library draws spheres as impostors, one triangle each, so that millions are possible. No display is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import PdemError, how_to_install
from pdem.output.pictures.edges import sharp_edges
from pdem.output.pictures.overlay import LINE_COLOUR, add_axes, add_bars, add_scale_bar, add_words
from pdem.output.pictures.tubes import tube_radii
from pdem.output.summary import body_count, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.output.pictures.colour_scale import Scale
    from pdem.output.pictures.colours import Coloured
    from pdem.output.pictures.scene import SceneFrame, Walls

_BACKGROUND_BOTTOM, _BACKGROUND_TOP = "#ffffff", "#dfe6ee"
_WALL_COLOURS = ("#8fa3b8", "#8795a5", "#7a9a8d", "#9a8ba8", "#a89f7f", "#7f93b4")
_PLAIN = 184, 190, 197
"""Colour of particles without a field."""
_WALL_OPACITY, _INNER_OPACITY = 0.15, 3.0
_EDGE_OPACITY = 0.35
_VIEW_ANGLE = 25.0
_FILLED_HEIGHT, _FILLED_WIDTH = 0.8, 0.74  # below the text
_SHIFT_LEFT, _SHIFT_DOWN = 0.1, 0.05
_REFERENCE_HEIGHT = 960
_SHADOW_SAMPLES = 16, 64  # of films and pictures; few samples leave a pattern of dots
_TUBE_SIDES = 12
_SHADOW_RADIUS = 6.0
_LIGHTS = (((-0.6, 0.9, 1.0), 0.75), ((0.9, 0.1, 0.8), 0.3), ((0.0, 0.3, 1.0), 0.2))


@dataclass(frozen=True)
class Camera:
    """Direction and extent of a view.

    Attributes
    ----------
    direction : ndarray (3,)
        From the scene towards the camera, of length 1.
    outline : ndarray (k, 3)
        Points to fit into the picture (m).
    """

    direction: Floats
    outline: Floats

    @property
    def lower(self) -> Floats:
        """Lower corner of the box around the outline (m)."""
        return self.outline.min(axis=0)

    @property
    def upper(self) -> Floats:
        """Upper corner of the box around the outline (m)."""
        return self.outline.max(axis=0)

    @property
    def centre(self) -> Floats:
        """Centre of the box (m), the origin of the picture."""
        return (self.lower + self.upper) / 2

    @property
    def above(self) -> Floats:
        """Unit vector to the top of the picture."""
        return np.cross(self.direction, self.right)

    @property
    def right(self) -> Floats:
        """Unit vector to the right of the picture."""
        right: Floats = np.cross(self.up, self.direction)
        return right / np.linalg.norm(right)

    def distance(self, size: tuple[int, int]) -> float:
        """Return the distance from the centre [m] at which the outline just fits between text and colour bars."""
        points = self.outline - self.centre
        tangent = np.tan(np.radians(_VIEW_ANGLE / 2))
        upright = np.abs(points @ self.above) / (_FILLED_HEIGHT * tangent)
        sideways = np.abs(points @ self.right) / (_FILLED_WIDTH * tangent * size[0] / size[1])
        return float((np.maximum(upright, sideways) + points @ self.direction).max())

    def width(self, size: tuple[int, int]) -> float:
        """Return the width of the picture in the plane through the centre [m]."""
        return 2.0 * self.distance(size) * float(np.tan(np.radians(_VIEW_ANGLE / 2))) * size[0] / size[1]

    @property
    def up(self) -> Floats:
        """Upward direction of the picture: z, but y in a view along z."""
        along_z = abs(self.direction[2]) > np.cos(np.radians(8))
        return np.array([0.0, 1.0, 0.0]) if along_z else np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Look:
    """Style of a picture.

    Attributes
    ----------
    size : tuple of int
        Size in pixels.
    particles, walls : Coloured or None
        Colours of particles, or contacts, and of walls; None for a single colour.
    wall_opacity : float or None
        Opacity of the walls; None for the default.
    shows_particles : bool
        Whether particles, or contacts, are drawn.
    axes : bool
        Whether the directions of x, y and z are drawn.
    decimals : int or None
        Decimals of the time [s]; None for four significant digits.
    sampling : int
        Pixels drawn per pixel along each axis: 2 gives smooth edges, 1 takes a third of the time (films).
    """

    size: tuple[int, int]
    particles: Coloured | None
    walls: Coloured | None = None
    wall_opacity: float | None = None
    shows_particles: bool = True
    axes: bool = True
    decimals: int | None = None
    sampling: int = 2

    @property
    def scales(self) -> list[Scale]:
        """The scales of a picture, from top to bottom."""
        shown = [self.particles] if self.shows_particles else []
        return [one.scale for one in (*shown, self.walls) if one is not None and one.scale.ticks]

    @property
    def scale(self) -> float:
        """Pixels drawn per pixel of a picture of normal height."""
        return self.sampling * self.size[1] / _REFERENCE_HEIGHT


def import_pyvista() -> Any:
    """Return pyvista, with its warnings on a missing display silenced.

    Raises
    ------
    PdemError
        When it is not installed.
    """
    try:
        import pyvista
        from vtkmodules.vtkCommonCore import vtkLogger
    except ImportError as error:
        raise PdemError(f"pictures need pyvista, which is not installed: {how_to_install('render')}") from error
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    return pyvista


def draw(frame: SceneFrame, camera: Camera, look: Look) -> NDArray[np.uint8]:
    """Return one picture as an array of colours, shape (height, width, 3)."""
    pyvista = import_pyvista()
    pixels = [look.sampling * length for length in look.size]
    plotter = pyvista.Plotter(off_screen=True, window_size=pixels, lighting="none")
    try:
        plotter.render_window.SetMultiSamples(0)  # supersampling smooths edges already
        plotter.set_background(_BACKGROUND_BOTTOM, top=_BACKGROUND_TOP)
        for position, intensity in _LIGHTS:
            plotter.add_light(pyvista.Light(position=position, light_type="camera light", intensity=intensity))
        if look.shows_particles:
            add = _add_particles if frame.contacts is None else _add_chains
            add(plotter, frame, camera, look)
        if frame.walls is None:
            _add_outline(plotter, camera, look)
        else:
            _add_walls(plotter, frame.walls, camera, look)
        add_bars(plotter, look.scales, look.scale)
        _add_text(plotter, frame, look)
        add_scale_bar(plotter, camera.width(look.size), look.scale)
        if look.axes:
            add_axes(plotter, camera.right, camera.above, look.scale)
        _place_camera(plotter, camera, look)
        if frame.contacts is None and look.shows_particles:
            _add_shadows(plotter, frame, _SHADOW_SAMPLES[look.sampling > 1])
        return _downsampled(plotter.screenshot(return_img=True), look.size)
    finally:
        plotter.close()


def _add_particles(plotter: Any, frame: SceneFrame, camera: Camera, look: Look) -> None:
    """Add the spheres in single precision, as their shader needs; relative to the scene's centre it is enough."""
    from vtkmodules.vtkRenderingCore import vtkActor
    from vtkmodules.vtkRenderingOpenGL2 import vtkOpenGLSphereMapper

    whole = np.isfinite(frame.columns["position"]).all(axis=1)
    if not whole.any():
        return
    centres = (frame.columns["position"][whole] - camera.centre).astype(np.float32)
    cloud = import_pyvista().PolyData(centres)
    cloud["radius"] = frame.columns["radius"][whole].astype(np.float32)
    cloud["colour"] = _colours(frame, look)[whole]
    cloud.set_active_scalars("colour")
    mapper = vtkOpenGLSphereMapper()
    mapper.SetInputData(cloud)
    mapper.SetScaleArray("radius")
    actor = vtkActor()
    actor.SetMapper(mapper)
    surface = actor.GetProperty()
    surface.SetAmbient(0.25)
    surface.SetDiffuse(0.85)
    surface.SetSpecular(0.2)
    surface.SetSpecularPower(30)
    plotter.add_actor(actor)


def _colours(frame: SceneFrame, look: Look) -> NDArray[np.uint8]:
    """Return the colours (n, 3) of all particles, contacts or bonds."""
    if look.particles is None:
        number = len(frame.columns["radius"] if frame.contacts is None else frame.contacts["normal_force"])
        return np.tile(np.array(_PLAIN, np.uint8), (number, 1))
    return look.particles.scale.colours(frame.values(look.particles.field))


def _add_chains(plotter: Any, frame: SceneFrame, camera: Camera, look: Look) -> None:
    """Add a tube along each contact or bond."""
    assert frame.contacts is not None
    radius = tube_radii(frame)
    if not len(radius):
        return
    begin = frame.contacts["centre"] - camera.centre
    ends = np.stack((begin, begin + frame.contacts["branch"]), axis=1).reshape(-1, 3)
    lines = np.column_stack((np.full(len(radius), 2), np.arange(len(ends)).reshape(-1, 2)))
    mesh = import_pyvista().PolyData(ends, lines=lines.ravel())
    mesh["width"] = np.repeat(radius, 2)
    mesh["colour"] = np.repeat(_colours(frame, look), 2, axis=0)
    tubes = mesh.tube(scalars="width", absolute=True, n_sides=_TUBE_SIDES, capping=True)
    plotter.add_mesh(tubes, scalars="colour", rgb=True, ambient=0.3, diffuse=0.8, specular=0.2)


def _add_walls(plotter: Any, walls: Walls, camera: Camera, look: Look) -> None:
    """Add each wall with its sharp edges: as a tinted, translucent surface, or in the colours of a field."""
    if not len(walls.facet_wall):
        return
    lower, upper = walls.vertices.min(axis=0), walls.vertices.max(axis=0)
    margin = 1e-3 * (upper - lower)
    for wall in np.unique(walls.facet_wall):
        one = walls.only(walls.facet_wall == wall)
        surface = import_pyvista().PolyData(walls.vertices - camera.centre, faces=one.faces())
        vertices = walls.vertices[one.facet_vertices]
        inside = (vertices.min(axis=0) > lower + margin) & (vertices.max(axis=0) < upper - margin)
        coloured = look.walls is not None and int(wall) in look.walls.walls
        opacity = _opacity(look, coloured, bool(np.count_nonzero(inside) > 1))
        if opacity == 0.0:
            continue
        if look.walls is not None and coloured:
            surface.cell_data["colour"] = look.walls.scale.colours(one.values(look.walls.field))
            plotter.add_mesh(surface, scalars="colour", rgb=True, opacity=opacity, ambient=0.6, diffuse=0.4)
        else:
            colour = _WALL_COLOURS[int(wall) % len(_WALL_COLOURS)]
            plotter.add_mesh(surface, color=colour, opacity=opacity, ambient=0.4, diffuse=0.6)
        _add_edges(plotter, surface, look)


def _opacity(look: Look, coloured: bool, inner: bool) -> float:
    """Return the opacity of a wall, which depends on its colouring and on whether it is inside other walls."""
    if look.wall_opacity is None and coloured:
        return 1.0
    usual = _WALL_OPACITY if look.wall_opacity is None else look.wall_opacity
    return min(1.0, usual * (_INNER_OPACITY if inner else 1.0))


def _add_edges(plotter: Any, surface: Any, look: Look) -> None:
    edges = sharp_edges(surface)
    if edges.n_points:
        width = 1.2 * look.scale
        plotter.add_mesh(edges, color=LINE_COLOUR, opacity=_EDGE_OPACITY, line_width=width, lighting=False)


def _add_outline(plotter: Any, camera: Camera, look: Look) -> None:
    """Add the edges of the bounding box, for scenes without walls."""
    half = (camera.upper - camera.lower) / 2
    box = import_pyvista().Box(np.stack([-half, half], axis=1).ravel())
    _add_edges(plotter, box, look)


def _add_text(plotter: Any, frame: SceneFrame, look: Look) -> None:
    """Add title, time and number of particles at the upper left."""
    count = body_count(frame.columns)
    particles = (
        counted(count, "particle") if frame.total is None else f"{count:,} of {counted(frame.total, 'particle')}"
    )
    time = f"{frame.time:.4g}" if look.decimals is None else f"{round(frame.time, look.decimals):.12g}"
    if frame.title:
        add_words(plotter, frame.title, (0.025, 0.945), 22 * look.scale)
    add_words(plotter, f"t = {time} s    {particles}", (0.025, 0.905 if frame.title else 0.945), 16 * look.scale)


def _place_camera(plotter: Any, camera: Camera, look: Look) -> None:
    """Place the camera so that the whole outline just fits between the text and the colour scale."""
    plotter.camera.position = tuple(camera.direction * camera.distance(look.size))
    plotter.camera.focal_point = (0.0, 0.0, 0.0)
    plotter.camera.up = tuple(camera.up)
    plotter.camera.view_angle = _VIEW_ANGLE
    plotter.camera.SetWindowCenter(_SHIFT_LEFT, _SHIFT_DOWN)
    plotter.reset_camera_clipping_range()


def _add_shadows(plotter: Any, frame: SceneFrame, samples: int) -> None:
    """Darken the gaps between spheres (ambient occlusion), which gives depth to a bed."""
    radii = frame.columns["radius"]
    if len(radii):
        typical = float(np.median(radii))
        plotter.enable_ssao(radius=_SHADOW_RADIUS * typical, bias=0.1 * typical, kernel_size=samples, blur=True)


def _downsampled(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the picture in its final size; averaging the supersampled pixels smooths all edges."""
    from PIL import Image

    return np.asarray(Image.fromarray(image[:, :, :3]).resize(size, Image.Resampling.BOX))
