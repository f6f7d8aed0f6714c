"""``[bonds.NAME]``: bonds between spheres, their sections, stiffness, strength and damping."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, NotNegative, Positive, Section, Seed, entry

CUT = 3.0
"""Number of standard deviations from the mean at which a normal distribution of strengths is cut."""


class Metres(Section):
    """``{metres = ...}``: a radius in m, instead of a fraction of the smaller sphere."""

    branch: ClassVar[str] = f"{BRANCH}metres"
    metres: Positive = entry("The radius, in m.", unit="m")


def _radius_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    return Metres.branch if isinstance(value, dict) else f"{BRANCH}share"


SectionRadius = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}share")] | Annotated[Metres, Tag(Metres.branch)], Discriminator(_radius_branch)
]


class WeibullStrength(Section):
    """``{distribution = "weibull", mean = ..., modulus = ...}``: strengths with a Weibull distribution.

    The strength of a bond follows from the ids of its two particles and from `seed`.
    """

    branch: ClassVar[str] = f"{BRANCH}weibull"
    distribution: Literal["weibull"] = entry("The law of the scatter.")
    mean: Positive = entry("Mean of the strength, in Pa.", unit="Pa")
    modulus: Annotated[float, Field(ge=1.0, le=1000.0)] = entry("Weibull modulus: larger values scatter less.")
    by: Literal["pair"] = entry("Each pair of particles has its own strength.", default="pair")
    seed: Seed = entry("Seed of the random strengths.", default=0)


class NormalStrength(Section):
    """``{distribution = "normal", mean = ..., deviation = ...}``: normally distributed, cut at three deviations.

    The strength of a bond follows from the ids of its two particles and from `seed`.
    """

    branch: ClassVar[str] = f"{BRANCH}normal"
    distribution: Literal["normal"] = entry("The law of the scatter.")
    mean: Positive = entry("Mean of the strength, in Pa.", unit="Pa")
    deviation: Positive = entry("Standard deviation before the cut, in Pa; less than a third of the mean.", unit="Pa")
    by: Literal["pair"] = entry("Each pair of particles has its own strength.", default="pair")
    seed: Seed = entry("Seed of the random strengths.", default=0)


def _strength_branch(value: Any) -> str:
    if isinstance(value, Section):
        return value.branch
    return f"{BRANCH}{value.get('distribution')}" if isinstance(value, dict) else f"{BRANCH}number"


Strength = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}number")]
    | Annotated[WeibullStrength, Tag(WeibullStrength.branch)]
    | Annotated[NormalStrength, Tag(NormalStrength.branch)],
    Discriminator(_strength_branch),
]


class BondSection(Section):
    """``[bonds.NAME]``: elastic bonds between spheres from the start of the run or of a stage on, until they break.

    A bond joins two centres like a short rod with a round section: it resists elongation, shear, bending and twist.
    Snapshots of bonds are in ``bonds.vtkhdf``, bonds that have broken in ``breaks.csv``, and the fragments of the last
    snapshot in ``fragments.csv``. Bonds count in stresses.
    """

    between: Name | None = entry(
        'Materials of the spheres that are joined, as "a-b" in either order, if they are nearer than `gap`.',
        default=None,
    )
    gap: NotNegative | None = entry(
        "Largest gap between the surfaces of two joined spheres, in m; overlapping spheres are joined as well.",
        default=None,
        unit="m",
    )
    file: Name | None = entry(
        "Instead of `between` and `gap`: a text file with the ids of two particles in each line, separated by a comma "
        "or blanks.",
        default=None,
    )
    stage: Name | None = entry(
        "Name of a stage: the bonds are made at its beginning; without it at the start of the run. Pairs that are "
        "bonded already stay as they are.",
        default=None,
    )
    section: Literal["beam", "springs"] = entry(
        '"beam": a beam from centre to centre; "springs": springs spread over the section, which are stiffer in shear '
        "than a slender beam.",
        default="beam",
    )
    beam_theory: Literal["timoshenko", "euler-bernoulli"] = entry(
        'Theory of beams: "timoshenko", with shear deformation, or "euler-bernoulli", without.', default="timoshenko"
    )
    shear_coefficient: Annotated[float, Field(gt=0.0, le=1.0)] | None = entry(
        "Fraction of the section that carries shear in a Timoshenko beam; by default 0.9 for solid sections, and the "
        "formula of Cowper for tubes (about 0.5 if they are thin).",
        default=None,
    )
    radius: SectionRadius = entry(
        "Radius of the section as a fraction of the radius of the smaller sphere, at most 1, or in m: "
        "`radius = {metres = 4e-4}`.",
        default=1.0,
    )
    inner_radius: SectionRadius | None = entry(
        "Inner radius of a tube, in the form of `radius` and smaller; without it the section is solid.", default=None
    )
    youngs_modulus: Positive = entry("Young's modulus of the bonds, in Pa.", unit="Pa")
    poisson_ratio: Annotated[float, Field(gt=-1.0, lt=0.5)] = entry(
        "Poisson's ratio of the bonds, in (-1, 0.5); with `youngs_modulus` it gives the shear modulus."
    )
    tensile_strength: Strength | None = entry(
        "Largest tensile stress of the section in Pa, or a distribution; without it bonds do not break by tension and "
        "bending.",
        default=None,
        unit="Pa",
    )
    shear_strength: Strength | None = entry(
        "Largest shear stress of the section in Pa, or a distribution; without it bonds do not break by shear and "
        "twist.",
        default=None,
        unit="Pa",
    )
    friction_angle: Annotated[float, Field(ge=0.0, lt=90.0)] = entry(
        "Compression along a bond adds its stress times the tangent of this angle to `shear_strength`, in degrees.",
        default=0.0,
        unit="degrees",
    )
    fracture_energy: Positive | None = entry(
        'With `criterion = "energy"`: stored energy over area at which a bond breaks, in J/m^2.',
        default=None,
        unit="J/m^2",
    )
    criterion: Literal["stress", "force", "energy"] = entry(
        '"stress": a bond breaks when the largest stress of its section reaches a strength; "force": when the ratios '
        'of load and strength of all four modes add up to 1; "energy": when its stored energy over its area reaches '
        "`fracture_energy`.",
        default="stress",
    )
    moment_factor: Annotated[float, Field(ge=0.0, le=1.0)] = entry(
        "Factor of bending and twisting moments in the stresses, from 0 to 1.", default=1.0
    )
    damping_ratio: Annotated[float, Field(ge=0.0, le=1.0)] = entry(
        "Damping of elongation, shear, bending and twist over the critical damping of two free spheres.", default=0.0
    )
    conductivity: Positive | None = entry(
        "With `heat`: conductivity of the bonds in W/(m K), over the area and length of the section; by default the "
        "harmonic mean of both particles.",
        default=None,
        unit="W/(m K)",
    )
    contact: Literal["after-break", "always", "never"] = entry(
        'Contact of two joined spheres: "after-break": after the bond has broken; "always": in addition to the bond; '
        '"never": not even after the break.',
        default="after-break",
    )
