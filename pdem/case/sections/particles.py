"""The groups of particles of a case: sizes, initial positions and velocities."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, NotNegative, Positive, Section, Seed, Vector, entry
from pdem.case.sections.shapes import Orientation
from pdem.case.sections.sizes import Radius
from pdem.case.sections.thermal import GroupHeat
from pdem.case.sections.units import AngularVelocity

Points = Annotated[tuple[Vector, ...], Field(strict=False, min_length=1)]


class BoxRegion(Section):
    """A box from `lower` to `upper` (m)."""

    branch: ClassVar[str] = f"{BRANCH}box"
    shape: Literal["box"] = "box"
    lower: Vector = entry(unit="m")
    upper: Vector = entry(unit="m")


class CylinderRegion(Section):
    """A cylinder of `radius` (m) about `centre` (m), `length` (m) long along the direction `axis`."""

    branch: ClassVar[str] = f"{BRANCH}cylinder"
    shape: Literal["cylinder"]
    centre: Vector = entry(unit="m")
    axis: Vector
    radius: Positive = entry(unit="m")
    length: Positive = entry(unit="m")


class SphereRegion(Section):
    """A ball about `centre` (m) of the given `radius` (m)."""

    branch: ClassVar[str] = f"{BRANCH}sphere"
    shape: Literal["sphere"]
    centre: Vector = entry(unit="m")
    radius: Positive = entry(unit="m")


def _shape_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    return f"{BRANCH}{value.get('shape', 'box')}" if isinstance(value, dict) else f"{BRANCH}box"


Region = Annotated[
    Annotated[BoxRegion, Tag(BoxRegion.branch)]
    | Annotated[CylinderRegion, Tag(CylinderRegion.branch)]
    | Annotated[SphereRegion, Tag(SphereRegion.branch)],
    Discriminator(_shape_branch),
]


class FillKeys(Section):
    """``fill = {...}``: particles placed without overlap in a region."""

    arrangement: Literal["random", "packed", "cubic", "hexagonal"] = entry(
        "Random positions; a dense packing, up to random close packing (0.64 of equal spheres, 0.84 of discs of two "
        "sizes); or the sites of a simple cubic or close-packed lattice, lowest sites first. Packed groups with a "
        "number are packed together, and so mix.",
        default="random",
    )
    count: Annotated[int, Field(ge=0, lt=2**40)] | None = entry("Number of particles.", default=None)
    volume_fraction: Annotated[float, Field(gt=0.0, lt=0.92)] | None = entry(
        "Instead of `count`: volume of the particles over the volume of the region (in 2D: areas).", default=None
    )
    mass: Positive | None = entry(
        "Instead of `count`: mass of all particles in kg, met as nearly as whole particles can. A lattice with none "
        "of the three fills all its sites, a packing fills the region until it jams, or to a `pressure`.",
        default=None,
        unit="kg",
    )
    gap: NotNegative = entry(
        "Lattices: least distance between surfaces, as a fraction of the largest diameter.", default=0.05
    )
    jitter: Annotated[float, Field(ge=0.0, le=1.0)] = entry(
        "Lattices: random displacement of each site, as a fraction of the largest one without overlap.", default=0.5
    )
    seed: Seed = entry("Seed of the random sizes and positions, which depend on it and on the particle id.", default=0)
    attempts: Annotated[int, Field(ge=1, le=10**6)] = entry(
        "Random arrangement: number of positions that are tried for each particle, before placed particles are "
        "moved to make room.",
        default=20000,
    )
    avoid_walls: bool = entry("Whether to leave out positions that touch a wall.", default=True)
    exclude: Annotated[tuple[Region, ...], Field(strict=False)] = entry("Regions that are kept free.", default=())
    connected_to: Vector | None = entry(
        "A point (m): of the region only the part is filled that is connected with it without crossing a wall, as "
        "the inside of a container, closed or open. `volume_fraction` is then that of this part. Gaps narrower than "
        "0.7 of the smallest diameter let nothing through.",
        default=None,
        unit="m",
    )
    pressure: Positive | None = entry(
        "Packings: instead of `count` the pressure in Pa (in 2D N/m) to which particles are pressed, without "
        "friction, with the forces of the case's contact law; their number follows, and their radii differ from the "
        "given ones by one factor that makes up for less than a particle.",
        default=None,
        unit="Pa",
    )


class BoxFill(BoxRegion, FillKeys):
    """``fill`` of a box: the whole domain unless `lower` and `upper` are given."""

    lower: Vector = entry(unit="m", follows=True)
    upper: Vector = entry(unit="m", follows=True)


class CylinderFill(CylinderRegion, FillKeys):
    """``fill`` of a cylinder."""


class SphereFill(SphereRegion, FillKeys):
    """``fill`` of a ball."""


Fill = Annotated[
    Annotated[BoxFill, Tag(BoxRegion.branch)]
    | Annotated[CylinderFill, Tag(CylinderRegion.branch)]
    | Annotated[SphereFill, Tag(SphereRegion.branch)],
    Discriminator(_shape_branch),
]


class RandomVelocity(Section):
    """Each component of the velocity is uniform in [-`random`, `random`] m/s, keyed by particle id."""

    branch: ClassVar[str] = f"{BRANCH}random"
    random: NotNegative = entry(unit="m/s")
    seed: Seed = 0


def _velocity_branch(value: Any) -> str:
    return RandomVelocity.branch if isinstance(value, (dict, RandomVelocity)) else f"{BRANCH}vector"


Velocity = Annotated[
    Annotated[Vector, Tag(f"{BRANCH}vector")] | Annotated[RandomVelocity, Tag(RandomVelocity.branch)],
    Discriminator(_velocity_branch),
]


class ParticleGroup(GroupHeat, Section):
    """``[[particles]]``: particles of one material, with exactly one of `fill`, `file` and `positions`."""

    material: str = entry("Name of a material with a density.")
    radius: Radius | None = entry(
        "Radius in m, or a size distribution; not with `file`, which holds the radii.", default=None, unit="m"
    )
    fill: Fill | None = entry("A region to be filled.", default=None)
    file: Name | None = entry(
        "File with particles, relative to the folder of the case: text with the columns x y z radius [vx vy vz], "
        "`.npz` or HDF5 with `position`, `radius`, optional `velocity` and `angular_velocity`, or a checkpoint.",
        default=None,
    )
    positions: Points | None = entry("Centres of the particles, in m.", default=None, unit="m")
    velocity: Velocity | None = entry(
        "Initial velocity in m/s; it replaces the velocities of a file. Without both the particles are at rest.",
        default=None,
        unit="m/s",
    )
    angular_velocity: AngularVelocity | None = entry(
        "Initial angular velocity in rad/s, or `{rpm = [0, 0, 20]}`; otherwise as `velocity`.",
        default=None,
        unit="rad/s",
    )
    liquid: NotNegative = entry(
        "Volume of the liquid that each particle carries over its own volume, for bridges with `carried_volume`.",
        default=0.0,
    )
    shape: Name | None = entry(
        "Name of a shape: each particle is a rigid cluster of spheres, or flexible if the shape has bonds. `radius` is "
        "then that of the sphere of the same volume; without it particles are as large as the shape is drawn. "
        "Positions are those of centres of mass. Fills keep balls about the whole clusters apart.",
        default=None,
    )
    orientation: Orientation = entry(
        "Orientation of clusters: random (depending on the id), as the shape was defined, or rotated from there "
        "about an axis.",
        default="random",
    )
    fixed: bool = entry(
        "Fix the particles: they never move, as a rough bottom or grains that are glued to a wall, and touch "
        "particles that move as these touch each other. They touch neither each other nor walls, may overlap both, "
        "need no density, and count neither in sensors nor in the numbers of the series. Of clusters the spheres "
        "are fixed. The series has the force and torque (about the origin) of the other particles on them: "
        "`NAME_force_x`, ..., `NAME_torque_z`.",
        default=False,
    )
    name: Name | None = entry(
        'Name of a group that is fixed, with which its columns begin; `"fixed"` unless given.', default=None
    )


def with_domain(group: Any, domain: Any) -> Any:
    """Return the table of a group, with the corners of the domain for missing corners of a box fill."""
    if not (isinstance(group, dict) and isinstance(group.get("fill"), dict) and isinstance(domain, dict)):
        return group
    fill = group["fill"]
    if fill.get("shape", "box") != "box":
        return group
    # an invalid corner is reported for the domain
    corners = {key: domain[key] if is_corner(domain.get(key)) else [0.0] * 3 for key in ("lower", "upper")}
    return {**group, "fill": {**corners, **fill}}


def is_corner(value: Any) -> bool:
    """Return whether a value of a document is a list of three numbers."""
    return isinstance(value, list) and len(value) == 3 and all(type(part) in (int, float) for part in value)
