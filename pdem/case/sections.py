"""The sections of a case that describe the run: time, domain, detection, decomposition, limits, output."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pdem.case.base import (
    AutoOrCount,
    AutoOrNotNegative,
    AutoOrPositive,
    AutoOrSizes,
    Flags,
    Positive,
    Section,
    Vector,
)


class Time(Section):
    """``[time]``: length of the step and of the run.

    Attributes
    ----------
    step : float or "auto"
        Time step in s; ``"auto"`` is `step_fraction` of the smallest limit (`pdem.case.timestep`), and needs particles
        to take it from, unless nothing but walls can ever move.
    step_fraction : float
        Part of the smallest limit that ``step = "auto"`` takes, in (0, 1]. With 0.1 an impact of two
        particles lasts at least ten steps, in practice about twenty. Where a restitution is 0.1 or less, it takes
        0.0333 at most.
    end : float
        Simulated time at which the run ends, in s.
    """

    step: AutoOrPositive = "auto"
    step_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 0.1
    end: Positive


class Domain(Section):
    """``[domain]``: the box in which particles live, and what acts on all of them.

    Attributes
    ----------
    lower, upper : tuple of 3 float
        Corners of the box, in m.
    periodic : tuple of 3 bool
        Axes along which the box repeats.
    outside : {"keep", "remove"}
        What becomes of particles whose centre leaves the box through a side that is not periodic: nothing, or
        they are taken out, and their energy is that of ``outflow`` in the ledger.
    gravity : tuple of 3 float
        Acceleration in m/s^2.
    dimension : {2, 3}
        2 keeps centres in a plane of constant z and detects contacts in x and y; particles stay spheres.
    """

    lower: Vector
    upper: Vector
    periodic: Flags = (False, False, False)
    outside: Literal["keep", "remove"] = "keep"
    gravity: Vector = (0.0, 0.0, 0.0)
    dimension: Literal[2, 3] = 3


def _direction(value: Any) -> Any:
    return "top-down" if value == "auto" else value


class Detection(Section):
    """``[detection]``: how contacts are found. Of all this only `walls` and `wall_lever_arm` change results.

    Attributes
    ----------
    method : str
        ``"hgrid"`` (hierarchical grid, any size ratio), or one of its rivals.
    direction : {"top-down", "bottom-up"}
        In which order the levels of the hierarchical grid look for partners; ``"auto"`` is top-down.
    levels : int or "auto"
        Number of levels of the hierarchical grid.
    cell_sizes : tuple of float or "auto"
        Cell size of each level, in m.
    skin : float or "auto"
        Width by which the lists of near pairs reach beyond contact, as a fraction of each level's largest
        radius; 0 detects in every step, ``"auto"`` is tuned while running by measured times.
    walls : {"signed", "h2"}
        How the contacts of a sphere with a mesh are resolved: by the signed contact sum, the same for every mesh of
        a surface and without jumps over concave creases, or by the double hierarchy method as published.
    wall_lever_arm : {"radius", "contact"}
        Of the friction between a sphere and a wall: the radius, with which a rolling sphere goes as far as one that
        does not sink in, or the distance from the centre to the contact point, as published with that method. With
        the radius the torques of ``wall_loads`` differ from the moments of ``nodal_forces``, which act on the
        surface, by overlap times friction.
    """

    method: Literal["hgrid", "linked-cell", "nbs", "sorting", "screening", "brute-force"] = "hgrid"
    direction: Annotated[Literal["top-down", "bottom-up"], BeforeValidator(_direction)] = "top-down"
    levels: AutoOrCount = "auto"
    cell_sizes: AutoOrSizes = "auto"
    skin: AutoOrNotNegative = "auto"
    walls: Literal["signed", "h2"] = "signed"
    wall_lever_arm: Literal["radius", "contact"] = "radius"


class Decomposition(Section):
    """``[decomposition]``: how the domain is divided among ranks. It never changes results.

    Attributes
    ----------
    method : {"bisection", "slabs"}
        Cuts in two across the longest axis of each part, again and again; or all cuts across the longest axis.
    balance : {"auto", "always", "never"}
        When space is cut anew by measured work: when waiting has cost more than that would; whenever lists are
        made; never.
    """

    method: Literal["bisection", "slabs"] = "bisection"
    balance: Literal["auto", "always", "never"] = "auto"


class Limits(Section):
    """``[limits]``: beyond them a run stops, because its results would mean nothing.

    Attributes
    ----------
    largest_overlap : float
        Of any contact, as a fraction of the radius of the smaller partner, in (0, 1]. Hard particles stay
        below 0.01; 0.5 only catches what has gone wrong. Deliberately deep impacts need more.
    """

    largest_overlap: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5


class Output(Section):
    """``[output]``: what is written, and when.

    Attributes
    ----------
    folder : str
        Where all files of the run go.
    fields_every : float
        Interval of snapshots, in s; unless given, a hundredth of the run.
    series_every : float
        Interval of energies, loads and counters, in s; unless given, a thousandth of the run.
    checkpoint_every : float
        Interval of checkpoints, in s; unless given, a tenth of the run.
    energies : bool
        Whether contacts keep account of stored and lost energies. Without, only energies that follow from the state are
        written; contacts remember less, and the run is faster. The motion has the same bits.
    """

    folder: Annotated[str, Field(min_length=1)] = "results"
    fields_every: Positive
    series_every: Positive
    checkpoint_every: Positive
    energies: bool = True


OUTPUT_SHARES = {"fields_every": 100, "series_every": 1000, "checkpoint_every": 10}
"""How many intervals of each output a run has unless they are given."""
