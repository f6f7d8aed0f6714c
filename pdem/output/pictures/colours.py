"""Colours of pictures of a scene: the chosen fields of particles and walls, and the limits of their scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.pictures.colour_scale import Scale, class_scale, label_scale, level_scale, scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.output.pictures.scene import Scene, SceneFrame

    Limits = tuple[float, float] | None

_FRAMES_FOR_LIMITS = 20
_UPPER_PERCENTILE = 99.5
_OF_SIZE = ("radius",)
"""Fields with scales that do not begin at 0, and with a class for each value if there are few."""
_LABELS = {"fragment": 0, "flexible": 1}
"""Fields of labels, whose order has no meaning, and their smallest labels; particles without a label have less."""
_MOST_LEVELS = 6
_NEARLY_ZERO = 0.02
"""Fraction of the largest value: smaller negative values, such as the power of springs, do not extend a scale."""
_SAME = 1e-6  # relative difference of values in one class
_AT_REST = 0.01
"""Speeds below this fraction of the speed after a fall by a diameter are noise."""
_GRAVITY = 9.81


class Choice(NamedTuple):
    """Choice of a field and its colours, from the user's options.

    Attributes
    ----------
    field : str
        Field of particles, contacts or walls; empty for a single colour.
    colour_map : str
        A colour map of matplotlib.
    limits : tuple of float or None
        Values at the ends of the scale, None for the limits of the data.
    """

    field: str
    colour_map: str
    limits: Limits = None


class Coloured(NamedTuple):
    """A field, its scale, and the indices of the coloured walls, empty for particles."""

    field: str
    scale: Scale
    walls: frozenset[int] = frozenset()


def assigned(frame: SceneFrame, particles: Choice, walls: Choice) -> tuple[Choice, Choice]:
    """Return the choices for particles and walls; a field that only walls have is moved to the walls."""
    fields = {} if frame.walls is None else frame.walls.fields
    if not walls.field and particles.field in fields and not frame.has(particles.field):
        return particles._replace(field=""), particles
    return particles, walls


def coloured_particles(scene: Scene, indices: Sequence[int], choice: Choice) -> Coloured | None:
    """Return the colours of particles, or of contacts if these are drawn; None for a single colour.

    Scales end at a percentile, so that a few fast particles do not darken all. Each material has its own colour,
    and each radius as well if there are few.

    Raises
    ------
    InputError
        If there is no such field.
    """
    if not choice.field:
        return None
    frames = list(_sampled(scene, indices))
    found = [one.values(choice.field) for one in frames]
    names = frames[0].names.get(choice.field, ())
    if names and choice.limits is None:
        present = np.unique(np.concatenate(found)).tolist()
        return Coloured(choice.field, class_scale(choice.field, names, present))
    if choice.field in _LABELS and choice.limits is None:
        last = scene.frame(indices[-1]).values(choice.field)  # with the particles that have come in since
        labels = np.unique(np.concatenate((*found, last)))
        return Coloured(choice.field, label_scale(choice.field, labels[labels >= _LABELS[choice.field]].tolist()))
    unit = frames[0].unit(choice.field)
    levels = _few_levels(found) if choice.field in _OF_SIZE and choice.limits is None else []
    if levels:
        return Coloured(choice.field, level_scale(choice.field, unit, choice.colour_map, levels))
    limits = choice.limits or _limits(found, _UPPER_PERCENTILE, choice.field not in _OF_SIZE)
    if choice.limits is None and choice.field == "speed":
        limits = limits[0], max(limits[1], *(_noise_of(one) for one in frames))
    whole, exact = all(one.is_whole(choice.field) for one in frames), choice.limits is not None
    return Coloured(choice.field, scale_of(choice.field, unit, choice.colour_map, limits, exact=exact, whole=whole))


def coloured_walls(scene: Scene, indices: Sequence[int], choice: Choice, *, beside: bool) -> Coloured | None:
    """Return the colours of walls; walls on which the field is 0 everywhere keep their own colours.

    `beside` is whether particles have a scale as well.

    Raises
    ------
    InputError
        If there are no walls, or they have no such field.
    """
    if not choice.field:
        return None
    walls = [one.walls for one in _sampled(scene, indices) if one.walls is not None]
    if not walls:
        raise InputError(f"no walls to colour by {choice.field!r}: the run has written none")
    found = [one.values(choice.field) for one in walls]
    limits = choice.limits or _limits(found, 100.0, True)
    numbers = {int(wall) for one, values in zip(walls, found, strict=True) for wall in one.facet_wall[values != 0.0]}
    every = {int(wall) for one in walls for wall in one.facet_wall}
    name = f"wall {choice.field}" if beside else choice.field
    scale = scale_of(
        name, walls[0].units.get(choice.field, "1"), choice.colour_map, limits, exact=choice.limits is not None
    )
    return Coloured(choice.field, scale, frozenset(numbers or every))


def _sampled(scene: Scene, indices: Sequence[int]) -> Iterator[SceneFrame]:
    chosen = list(indices)
    return (scene.frame(index) for index in chosen[:: max(1, len(chosen) // _FRAMES_FOR_LIMITS)])


def _limits(columns: Sequence[Floats], percentile: float, from_zero: bool) -> tuple[float, float]:
    """Return the range of the finite values, up to a percentile of each column; many ranges begin at 0."""
    finite = [one for values in columns if len(one := values[np.isfinite(values)])]
    low = min((float(one.min()) for one in finite), default=0.0)
    high = max((float(np.percentile(one, percentile)) for one in finite), default=1.0)
    if from_zero and -_NEARLY_ZERO * high < low < high / 2:
        low = 0.0
    return (low, high) if high > low else (low, low + (abs(low) or 1.0))


def _few_levels(columns: Sequence[Floats]) -> list[float]:
    """Return the distinct values in ascending order if there are few; empty otherwise."""
    values = np.unique(np.concatenate(columns))
    values = values[np.isfinite(values)]
    new = np.diff(values, prepend=-np.inf) > _SAME * np.abs(values)
    return values[new].tolist() if 1 <= np.count_nonzero(new) <= _MOST_LEVELS else []


def _noise_of(frame: SceneFrame) -> float:
    """Return the speed below which particles of a frame count as resting [m/s]."""
    radius = frame.columns["radius"]
    return _AT_REST * float(np.sqrt(4.0 * _GRAVITY * np.median(radius))) if len(radius) else 0.0
