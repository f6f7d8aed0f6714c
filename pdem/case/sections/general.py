"""The sections of a case that describe the run: time, domain, detection, decomposition, limits, output."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pdem.case.sections.base import (
    AutoOrCount,
    AutoOrNotNegative,
    AutoOrPositive,
    AutoOrSizes,
    Flags,
    Name,
    Positive,
    Section,
    Seed,
    Vector,
    entry,
)
from pdem.case.sections.deformation import Deformation
from pdem.case.sections.gravity import GravityTable
from pdem.containers.exchange import PartitionMethod
from pdem.features.collisions.section import CollisionsToCount


class Time(Section):
    """``[time]``: length of the step and of the run."""

    step: AutoOrPositive = entry(
        'Time step in s; `"auto"` is `step_fraction` of the smallest limit, which needs particles, unless only '
        "walls can ever move.",
        default="auto",
        unit="s",
    )
    step_fraction: Annotated[float, Field(gt=0.0, le=1.0)] = entry(
        "The automatic step as a fraction of the smallest limit, in (0, 1]. With 0.1 an impact of two particles "
        "lasts at least ten steps, in practice about twenty. If a restitution is 0.1 or less, at most 0.0333 is "
        "used.",
        default=0.1,
    )
    end: Positive = entry("Simulated time at which the run ends, in s.", unit="s")


class Domain(Section):
    """``[domain]``: the box of the particles, and gravity."""

    lower: Vector = entry("Corner of the box with the smallest coordinates, in m.", unit="m")
    upper: Vector = entry("Corner of the box with the largest coordinates, in m.", unit="m")
    periodic: Flags = entry("Whether the box is periodic along x, y and z.", default=(False, False, False))
    outside: Literal["remove", "keep"] = entry(
        "Whether particles are removed or kept when their centre has left the box through a side that is not "
        "periodic. They are removed at every 64th step. Kept particles that fall freely, with no wall below them, are "
        "removed as soon as they move by more than half of their radius in a step. The series counts the removed "
        "particles, in total and by side: `left`, `left_mass`, `left_-z`, ...; their energy is added to `outflow` of "
        "the energy balance.",
        default="remove",
    )
    gravity: Vector = entry("Acceleration in m/s^2.", default=(0.0, 0.0, 0.0), unit="m/s^2")
    gravity_table: GravityTable | None = entry(
        "In place of `gravity`: acceleration as a function of time, for containers that tilt.", default=None
    )
    deformation: Deformation | None = entry("How a periodic box deforms.", default=None)
    dimension: Literal[2, 3] = entry(
        "2 keeps centres in a plane of constant z and detects contacts in x and y; particles stay spheres.", default=3
    )


def _direction(value: Any) -> Any:
    return "top-down" if value == "auto" else value


class Detection(Section):
    """``[detection]``: method of contact detection. Only `walls` and `wall_lever_arm` change results."""

    method: Literal["hgrid", "linked-cell", "nbs", "sorting", "screening", "brute-force"] = entry(
        '`"hgrid"` (hierarchical grid, any size ratio), or another method, for comparison.', default="hgrid"
    )
    direction: Annotated[
        Literal["top-down", "bottom-up"],
        BeforeValidator(_direction, json_schema_input_type=Literal["top-down", "bottom-up", "auto"]),
    ] = entry(
        'Order in which the levels of the hierarchical grid are searched; `"auto"` is top-down.', default="top-down"
    )
    levels: AutoOrCount = entry("Number of levels of the hierarchical grid.", default="auto")
    cell_sizes: AutoOrSizes = entry("Cell size of each level, in m.", default="auto", unit="m")
    skin: AutoOrNotNegative = entry(
        "Skin of the neighbour lists as a fraction of each level's largest radius. With 0 new lists are made in "
        'every step; `"auto"` tunes the skin during the run by measured times. It is then the mean of a level: '
        "faster particles have larger skins, so that a few fast particles do not shorten the life of the lists, and "
        "slow ones have short lists.",
        default="auto",
    )
    walls: Literal["signed", "h2"] = entry(
        "How the contacts of a sphere with a mesh are resolved: by the signed contact sum, the same for every mesh "
        "of a surface and without jumps over concave creases, or by the double hierarchy method as published.",
        default="signed",
    )
    wall_lever_arm: Literal["radius", "contact"] = entry(
        "Lever arm of friction between a sphere and a wall: the radius, so that a sphere rolls as far as one "
        "without overlap, or the distance from the centre to the contact point, as published with that method. With "
        "the radius the torques of `wall_loads` differ from the moments of `nodal_forces`, which act on the "
        "surface, by overlap times friction.",
        default="radius",
    )


class Decomposition(Section):
    """``[decomposition]``: division of the domain among ranks. It never changes results."""

    method: PartitionMethod = entry(
        '`"bisection"`: each part is cut in two across its longest axis, again and again; `"slabs"`: all cuts are '
        "across the longest axis. See `decomposition.partitioners`.",
        default="bisection",
    )
    balance: Literal["auto", "always", "never"] = entry(
        'When space is cut again by measured work: `"auto"` when ranks have waited longer than a new cut would '
        'take, `"always"` whenever lists are made, or never.',
        default="auto",
    )


class Limits(Section):
    """``[limits]``: limits beyond which a run stops, because its results would be meaningless."""

    largest_overlap: Annotated[float, Field(gt=0.0, le=1.0)] = entry(
        "Largest overlap of any contact, as a fraction of the radius of the smaller particle, in (0, 1]. Hard "
        "particles stay below 0.01; 0.5 stops only faulty runs. Intended deep impacts need more.",
        default=0.5,
    )


class Perturbation(Section):
    """``[perturbation]``: slightly smaller radii; repetitions then show which results of a run are due to chance."""

    size: Annotated[float, Field(gt=0.0, le=1e-3)] = entry(
        "Largest fraction by which radii are reduced, of particles at time 0 and of inserted ones. 1e-12 is far "
        "below what any measurement can see, so results differ only by the growth of this difference in collisions.",
        default=1e-12,
    )
    seed: Seed = entry(
        "Seed of the fractions, which differ from particle to particle: another seed gives another repetition.",
        default=0,
    )


class Output(Section):
    """``[output]``: folder and intervals of the output."""

    folder: Annotated[str, Field(min_length=1)] = entry("Folder of all files of the run.", default="results")
    snapshots_every: Positive = entry(
        "Interval of snapshots, in s; by default a hundredth of the run.", unit="s", follows=True
    )
    series_every: Positive = entry(
        "Interval of energies, loads and counters, in s; by default a two-hundredth of the run.", unit="s", follows=True
    )
    checkpoint_every: Positive = entry(
        "Interval of checkpoints, in s; by default a tenth of the run.", unit="s", follows=True
    )
    checkpoints_kept: Annotated[int, Field(ge=1)] = entry(
        "Number of checkpoints that are kept: the newest two, and earlier ones spread over the run, from which "
        "`pdem replay` begins. With 1 only the newest is kept. Checkpoints at the end of stages are kept in "
        "addition.",
        default=6,
    )
    energies: bool = entry(
        "Whether contacts keep account of stored and lost energies. If not, only energies that follow from the "
        "state are written, contacts need less memory, and the run is faster. The motion has the same bits.",
        default=True,
    )
    stress: bool = entry(
        "Whether the series has stress, fabric and coordination of all particles, over the volume of the domain; "
        "`[[sensors]]` have those of regions. With a box that deforms the series always has them.",
        default=False,
    )
    contacts_every: Positive | None = entry(
        "Interval, in s, at which all contacts are written into `contacts.vtkhdf`, with their forces; by default "
        "never. Snapshots have contacts where it is `snapshots_every`, a multiple of that, or that over a whole "
        "number.",
        default=None,
        unit="s",
    )
    contact_ages: bool = entry(
        "Whether contacts remember how long they have lasted. This takes one more number for each contact, and "
        "kernels of its own. The motion has the same bits.",
        default=False,
    )
    contact_ends: bool = entry(
        "Whether the series counts why contacts have ended since the begin of the run: they have separated, a bridge "
        "or another adhesion has ruptured, a particle or wall has been removed, or a bond has joined two particles. "
        "The motion has the same bits.",
        default=False,
    )
    mean_wall_loads: Annotated[tuple[Name, ...], Field(strict=False)] = entry(
        'Names of walls, or patterns such as `"*"` for all: the series has the mean force, torque and power of the '
        "particles on them over all steps since the last line that was due, and the largest force and torque in one "
        "of these steps. The other columns of loads are those of the step of the line.",
        default=(),
    )
    collision_energies: CollisionsToCount | None = entry("Count collisions by the energy that they lose.", default=None)


OUTPUT_SHARES = {"snapshots_every": 100, "series_every": 200, "checkpoint_every": 10}
"""Default number of intervals of each output in a run."""
