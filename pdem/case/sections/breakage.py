"""Breakage of a material: ``[materials.NAME.breakage]``, and the limits of ``[breakage]``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, AutoOrPositive, Name, NotNegative, Positive, Section, Seed, entry

SizeRow = Annotated[tuple[float, float, float], Field(strict=False)]
SizeRows = Annotated[tuple[SizeRow, ...], Field(strict=False, min_length=2)]


def _table_branch(value: Any) -> str:
    return f"{BRANCH}name" if isinstance(value, str) else f"{BRANCH}rows"


SizeTable = Annotated[
    Annotated[Name, Tag(f"{BRANCH}name")] | Annotated[SizeRows, Tag(f"{BRANCH}rows")], Discriminator(_table_branch)
]
"""The name of a table, or its rows."""


class FragmentSizes(Section):
    """``fragments``: sizes of the fragments, by the share t10 of their mass below a tenth of the parent's size."""

    t10_largest: Annotated[float, Field(gt=0.0, le=100.0)] = entry(
        "Largest t10 in percent: `t10 = t10_largest (1 - exp(-rate x))`.", default=67.7
    )
    rate: Positive = entry(
        "Growth of t10 with x, the specific energy over the median fracture energy of those particles that it "
        'breaks (`"tavares"`, `"python:..."`, `"stress"`: over that at the threshold), or for `"ab-t10"` over 1 J/kg.',
        default=0.029,
    )
    table: SizeTable = entry(
        'Family of size distributions: a name, `"copper"`, or rows `[n, alpha, beta]`: the share below the size '
        "of the parent over n is the incomplete beta function of t10 with these parameters.",
        default="copper",
    )


class BreakageSection(Section):
    """``[materials.NAME.breakage]``: spheres of the material break into smaller spheres.

    A sphere breaks when its share of the elastic energy of a contact, over its mass, exceeds its strength.
    """

    model: Name = entry(
        'Distribution of strengths: `"tavares"`, a fracture energy by size, log-normal; `"ab-t10"`, an energy that '
        'impacts add up to, exponential; `"stress"`, a force over the square of the diameter, Weibull; or '
        '`"python:FILE.py:NAME"`, a function of radius and share.'
    )
    fracture_energy: Positive | None = entry(
        'With `"tavares"`: median fracture energy of large spheres, in J/kg.', default=None, unit="J/kg"
    )
    size: Positive | None = entry(
        'With `"tavares"`: diameter at which the median is twice that of large spheres; with `"ab-t10"` and '
        '`"stress"`: the diameter to which `rate` and `strength` belong. In m.',
        default=None,
        unit="m",
    )
    exponent: NotNegative | None = entry(
        'With `"tavares"`: exponent of the diameter; with `"stress"`: `strength` falls with this power of it.',
        default=None,
    )
    spread: Positive | None = entry(
        'With `"tavares"`: standard deviation of the logarithm of the fracture energy; with `"stress"`: modulus of '
        "the Weibull distribution, larger for less spread.",
        default=None,
    )
    greatest: Annotated[float, Field(gt=1.0)] | None = entry(
        'With `"tavares"`: greatest fracture energy over the median; by default 4.', default=None
    )
    rate: Positive | None = entry(
        'With `"ab-t10"`: logarithm of the share that survives falls by this per J/kg beyond `threshold`, in kg/J.',
        default=None,
        unit="kg/J",
    )
    threshold: NotNegative | None = entry(
        'With `"ab-t10"`: specific energy of an impact without effect, in J/kg; by default 0.',
        default=None,
        unit="J/kg",
    )
    strength: Positive | None = entry(
        'With `"stress"`: median of normal force over the square of the diameter at which spheres break, in Pa.',
        default=None,
        unit="Pa",
    )
    damage: Annotated[float, Field(ge=1.0)] | None = entry(
        'With `"tavares"` and `"python:..."`: exponent gamma of the damage by impacts that do not break, about 5; '
        "without it these do not weaken.",
        default=None,
    )
    fragments: FragmentSizes = entry("Sizes of the fragments.", default=FragmentSizes())
    smallest: Positive = entry(
        "Radius of the smallest fragments, in m; spheres of less than twice this radius do not break. It determines "
        "the time step and the number of fragments.",
        unit="m",
    )
    fines: Literal["count", "keep"] = entry(
        'Fragments smaller than `smallest`: `"count"` takes their mass out of the run, counted by size; `"keep"` '
        "makes spheres of the radius `smallest` of it.",
        default="count",
    )
    pieces: Literal["members"] | None = entry(
        'With clusters: `"members"`, a cluster breaks into its spheres, which may break further.', default=None
    )
    seed: Seed = entry("Seed of the strengths and of the fragments.", default=0)


class MaterialBreakage(BaseModel):
    """The key of a material for breakage."""

    breakage: BreakageSection | None = entry("Breakage of the spheres of the material.", default=None)


class BreakageLimits(Section):
    """``[breakage]``: when spheres that break are replaced by fragments, and how many fragments there may be.

    ``[materials.NAME.breakage]`` has the strengths and the fragments of a material.
    """

    every: Positive | None = entry(
        "Interval between two replacements, in s; by default each step in which a sphere breaks. Lists of neighbours "
        "are built at each of them.",
        default=None,
        unit="s",
    )
    loading_time: AutoOrPositive = entry(
        "Time for which a load at the strength may still grow before the sphere breaks, in s, where it does not fall "
        'before; `"auto"`: the duration of an impact of the largest sphere at its median strength.',
        default="auto",
        unit="s",
    )
    most_fragments: Annotated[int, Field(ge=1)] = entry(
        "Number of fragments at which the run stops.", default=1_000_000
    )
