"""Pictures and films of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from tqdm import tqdm

from pdem.foundation.errors import InputError, PdemError, how_to_install
from pdem.foundation.files import whole_file
from pdem.foundation.terminal import ERRORS
from pdem.output.pictures.colours import Choice, assigned, coloured_particles, coloured_walls
from pdem.output.pictures.overlay import AXIS_COLOURS
from pdem.output.pictures.picture import Camera, Look, draw, import_pyvista
from pdem.output.pictures.scene import nearest_frame, open_scene
from pdem.output.pictures.scene_parts import PartialScene, cut_plane
from pdem.output.saving import saving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.output.pictures.colour_scale import Scale
    from pdem.output.pictures.scene import Scene, SceneFrame

VIEWS: dict[str, tuple[float, float, float]] = {
    "three-quarter": (0.55, -1.0, 0.5),
    "isometric": (1.0, -1.0, 1.0),
    "front": (0.0, -1.0, 0.0),
    "back": (0.0, 1.0, 0.0),
    "side": (1.0, 0.0, 0.0),
    "left": (-1.0, 0.0, 0.0),
    "top": (0.0, 0.0, 1.0),
    "bottom": (0.0, 0.0, -1.0),
}
"""Directions from the scene towards the camera, by name."""

DEFAULT_VIEW = "three-quarter"
FILMS = (".gif", ".mp4")
"""Extensions of output files that hold all frames."""

_OF_A_SCALE = 48  # colours of a film in .gif
_PROGRESS_LINES = 10  # for a film, without a terminal


class LookOptions(TypedDict, total=False):
    """Options of a picture; the defaults are in `DEFAULT_LOOK`.

    Attributes
    ----------
    size : tuple of int
        Width and height in pixels.
    particles : bool
        Whether particles, or contacts, are drawn.
    colour_by : str, optional
        ``speed`` or a field; the length of a vector field. With contacts one of their columns. A field that only walls
        have, such as ``wear``, ``pressure`` or ``sliding_power``, colours the walls, and particles get a single colour.
    colour_map : str
        A colour map of matplotlib.
    limits : tuple of float, optional
        Values at the ends of the colour map; from the data if None.
    colour_walls_by : str, optional
        A field of walls, or the length of a vector field (``force``), in addition to `colour_by` for particles. Walls
        with 0 everywhere keep their own colours.
    wall_colour_map, wall_limits
        The same for walls.
    hide : sequence of str
        Names of walls that are not drawn, or patterns with ``*``.
    cut : sequence of str
        Planes that cut the scene: ``y=0`` leaves out the part between the plane and the camera, ``y<0`` and ``y>0``
        the part on which this does not hold; ``1,1,0=0.1`` has a normal vector in place of an axis [m]. Particles
        are not divided: those with centres beyond a plane are left out.
    axes : bool
        Whether the directions of x, y and z are drawn.
    wall_opacity : float, optional
        0 hides walls, 1 makes them solid; walls inside other walls are three times as opaque. The default is 0.15, and
        1 for walls with the colours of a field.
    """

    size: tuple[int, int]
    particles: bool
    colour_by: str | None
    colour_map: str
    limits: tuple[float, float] | None
    colour_walls_by: str | None
    wall_colour_map: str
    wall_limits: tuple[float, float] | None
    hide: Sequence[str]
    cut: Sequence[str]
    axes: bool
    wall_opacity: float | None


DEFAULT_LOOK = LookOptions(
    size=(1280, 960), particles=True, colour_by=None, colour_map="viridis", limits=None, colour_walls_by=None,
    wall_colour_map="plasma", wall_limits=None, hide=(), cut=(), axes=True, wall_opacity=None,
)  # fmt: skip
"""Default options of a picture."""


def render(
    source: Path | str,
    output: Path | str,
    *,
    time: float | None = None,
    every: bool = False,
    contacts: bool = False,
    bonds: bool = False,
    view: str | tuple[float, float, float] | None = None,
    frames_per_second: float = 20.0,
    say: Callable[[str], object] | None = None,
    **look: Unpack[LookOptions],
) -> list[Path]:
    """Draw a run.

    Parameters
    ----------
    source : path
        An output folder, a particle snapshot file or a checkpoint.
    output : path
        File to write: ``.png`` for a picture, ``.gif`` or ``.mp4`` for a film of all snapshots.
    time : float, optional
        Simulated time (s) of the snapshot; the nearest one is drawn, the last one if None.
    every : bool
        Draw all snapshots; with a ``.png`` they are numbered ``NAME-0000.png``, ...
    contacts : bool
        Draw force chains instead of particles: tubes along the contacts, with radii that grow with the normal force.
        They are coloured by `colour_by`, a column of contacts, by default ``normal_force``.
    bonds : bool
        Draw bonds instead of particles: tubes with the radius of their section, coloured by a column of bonds, by
        default ``tensile_stress``.
    view : str or tuple of float, optional
        A name of VIEWS, or the direction from the scene towards the camera. If None, flat systems are drawn from the
        top and all other systems from the front, a little from the right and above.
    frames_per_second : float
        Frames per second of a film.
    say : callable, optional
        Called with lines about the chosen snapshot and the progress of a film.
    **look
        Size, colours and walls, see `LookOptions`.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    PdemError
        When pyvista (or, for ``.mp4``, imageio with its ffmpeg) is not installed.
    CheckpointError
        When `source` cannot be read.
    InputError
        When `source` has no snapshot or an argument is invalid.
    """
    output = Path(output)
    ending = output.suffix.lower()
    if ending not in (".png", *FILMS):
        raise InputError(f"{output}: no such picture format; end the output in .png, .gif or .mp4")
    if contacts and bonds:
        raise InputError("contacts and bonds are drawn in two pictures; choose one of both")
    options = _complete_look(look, "normal_force" if contacts else "tensile_stress" if bonds else "speed")
    for choice in _choices(options):
        _check_colours(choice)
    scene = open_scene(source, contacts=contacts, bonds=bonds)
    if ending == ".mp4":
        _import_imageio()
    report = say or (lambda _: None)
    indices = range(len(scene.times)) if every or ending in FILMS else [_snapshot_index(scene, time, report)]
    direction = _direction(scene, indices, view)
    scene = _part_of(scene, options, direction)
    camera = _camera(scene, indices, direction, particles=options["particles"])
    of_particles, of_walls = assigned(scene.frame(indices[0]), *_choices(options))
    shown = coloured_particles(scene, indices, of_particles)
    walls = coloured_walls(scene, indices, of_walls, beside=shown is not None and options["particles"])
    picture = Look(
        options["size"], shown, walls, options["wall_opacity"], options["particles"], options["axes"],
        _decimals(scene.times), 1 if ending in FILMS else 2,
    )  # fmt: skip
    pictures = (draw(scene.frame(index), camera, picture) for index in _with_progress(indices, report))
    with saving(output):
        output.parent.mkdir(parents=True, exist_ok=True)
    if ending == ".gif":
        return _write_gif(output, pictures, frames_per_second, picture.scales)
    if ending == ".mp4":
        return _write_film(output, pictures, frames_per_second)
    return _write_pictures(output, pictures, numbered=every)


def _complete_look(given: LookOptions, colour_by: str) -> LookOptions:
    """Return the options completed by defaults; `colour_by` is the default of the field.

    Raises
    ------
    TypeError
        If there is no such option.
    """
    unknown = sorted(set(given) - set(DEFAULT_LOOK))
    if unknown:
        raise TypeError(f"render() got an unexpected keyword argument {unknown[0]!r}")
    options: LookOptions = {**DEFAULT_LOOK, **given}
    if options["colour_by"] is None:
        options["colour_by"] = colour_by
    return options


def _choices(options: LookOptions) -> tuple[Choice, Choice]:
    """Return the choices of colours for particles and walls."""
    return (
        Choice(options["colour_by"] or "", options["colour_map"], options["limits"]),
        Choice(options["colour_walls_by"] or "", options["wall_colour_map"], options["wall_limits"]),
    )


def _snapshot_index(scene: Scene, time: float | None, say: Callable[[str], object]) -> int:
    """Return the index of the snapshot nearest to a time; report its time if it differs."""
    index = nearest_frame(scene, time)
    if time is not None and not np.isclose(scene.times[index], time, rtol=1e-3):
        which = "the last" if index == len(scene.times) - 1 else "the nearest"
        say(f"no snapshot at {time:g} s: taking {which} of {len(scene.times)}, at {scene.times[index]:.6g} s")
    return index


def _decimals(times: Sequence[float]) -> int | None:
    """Return the decimals that show times [s] to a tenth of their distance; None for a single time."""
    distances = np.diff(times)
    positive = distances[distances > 0.0]
    return max(0, int(np.ceil(1.0 - np.log10(np.median(positive))))) if len(positive) else None


def _with_progress(indices: Sequence[int], say: Callable[[str], object]) -> Iterator[int]:
    """Yield the snapshots to draw: with a progress line on a terminal, otherwise with a line at every tenth."""
    several = len(indices) > 1
    bar = tqdm(indices, desc="frames", unit="frame", disable=None if several else True, leave=False, file=ERRORS)
    for number, index in enumerate(bar):
        done = number * _PROGRESS_LINES // len(indices)
        if several and bar.disable and done > (number - 1) * _PROGRESS_LINES // len(indices):
            say(f"frame {number + 1} of {len(indices)}")
        yield index


def _check_colours(choice: Choice) -> None:
    import_pyvista()
    from matplotlib import colormaps

    if choice.colour_map not in colormaps:
        raise InputError(
            f"colour map {choice.colour_map!r} is unknown; give one of matplotlib, such as viridis or turbo"
        )
    limits = choice.limits
    if limits is not None and not limits[0] < limits[1]:
        raise InputError(f"limits {limits[0]:g} and {limits[1]:g} leave no range; give the smaller one first")


def _direction(scene: Scene, indices: Sequence[int], view: str | tuple[float, float, float] | None) -> Floats:
    """Return the direction (3,) towards the camera, of length 1, of a view."""
    if view is None:
        view = "top" if all(_is_flat(scene.frame(index)) for index in (indices[0], indices[-1])) else DEFAULT_VIEW
    if isinstance(view, str) and view not in VIEWS:
        raise InputError(f"view {view!r} is unknown; give a direction or one of {', '.join(VIEWS)}")
    direction = np.array(VIEWS[view] if isinstance(view, str) else view, dtype=np.float64)
    length = np.linalg.norm(direction)
    if not 0 < length < np.inf:
        raise InputError(f"view {view} is no direction; give x y z from the scene towards the camera")
    found: Floats = direction / length
    return found


def _part_of(scene: Scene, options: LookOptions, direction: Floats) -> Scene:
    """Return the part of a scene to draw."""
    planes = [cut_plane(text, direction) for text in options["cut"]]
    return PartialScene(scene, options["hide"], planes) if options["hide"] or planes else scene


def _camera(scene: Scene, indices: Sequence[int], direction: Floats, *, particles: bool) -> Camera:
    """Return a camera with which the first and the last frame fit into the picture."""
    frames = [scene.frame(index) for index in (indices[0], indices[-1])]
    if isinstance(scene, PartialScene):
        scene.require_something(indices)
    return Camera(direction, np.concatenate([frame.outline(particles=particles) for frame in frames]))


def _is_flat(frame: SceneFrame) -> bool:
    heights = frame.columns["position"][:, 2]
    return len(heights) > 1 and frame.walls is None and float(np.ptp(heights)) == 0.0


def _write_pictures(output: Path, pictures: Iterator[NDArray[np.uint8]], numbered: bool) -> list[Path]:
    from PIL import Image

    written = []
    for number, picture in enumerate(pictures):
        path = output.with_name(f"{output.stem}-{number:04d}{output.suffix}") if numbered else output
        with saving(path), whole_file(path) as new:
            Image.fromarray(picture).save(new)
        written.append(path)
    return written


def _write_gif(
    output: Path, pictures: Iterator[NDArray[np.uint8]], frames_per_second: float, scales: Sequence[Scale]
) -> list[Path]:
    """Write a film of pictures of 256 colours each, including the colours of the scales, so that bars are smooth."""
    from PIL import Image

    bars = [scale.colours(np.linspace(scale.low, scale.high, _OF_A_SCALE)) for scale in scales]
    fixed = np.concatenate([np.array(AXIS_COLOURS, np.uint8), *bars])
    frames = [_of_few_colours(Image.fromarray(picture), fixed) for picture in pictures]
    milliseconds = round(1000 / frames_per_second)
    with saving(output), whole_file(output) as new:
        frames[0].save(new, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    return [output]


def _of_few_colours(picture: Any, fixed: NDArray[np.uint8]) -> Any:
    """Return a picture with a palette of the colours `fixed` (n, 3) and of the most frequent colours in the picture."""
    from PIL import Image

    own = picture.quantize(256 - len(fixed), dither=Image.Dither.NONE).getpalette()[: 3 * (256 - len(fixed))]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*fixed.ravel().tolist(), *own])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def _write_film(output: Path, pictures: Iterator[NDArray[np.uint8]], frames_per_second: float) -> list[Path]:
    imageio, settings = _import_imageio(), {"macro_block_size": 2, "ffmpeg_log_level": "fatal"}
    with saving(output), whole_file(output) as new:
        with imageio.get_writer(new, fps=frames_per_second, **settings) as writer:
            for picture in pictures:
                writer.append_data(picture)
        _require_whole_film(new)
    return [output]


def _require_whole_film(path: Path) -> None:
    """Require that a film can be read: the encoder does not report its failures to imageio.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    from imageio_ffmpeg import count_frames_and_secs

    try:
        count_frames_and_secs(path)
    except RuntimeError:
        raise OSError("the encoder has not come to its end, as on a full disk") from None


def _import_imageio() -> Any:
    try:
        import imageio
        import imageio_ffmpeg  # noqa: F401 - the plugin of imageio for films
    except ImportError as error:
        raise PdemError(
            f"films in .mp4 need imageio and imageio-ffmpeg, which are missing: {how_to_install('render')}, "
            "or end the output in .gif"
        ) from error
    return imageio
