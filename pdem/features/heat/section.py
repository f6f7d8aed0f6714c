"""``[heat]``: exchange of heat between particles, walls, a fluid and surroundings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pdem.case.sections.base import AutoOrPositive, Positive, Section, Vector, entry

ROOM_TEMPERATURE = 293.15
"""Temperature of everything without a temperature in the case [K]."""


class GapGas(Section):
    """``gas``: the gas in the gaps of rough contacts, for ``contact = "solid-gas"``."""

    conductivity: Positive = entry("Thermal conductivity of the gas, in W/(m K).", unit="W/(m K)")
    prandtl: Positive = entry("Prandtl number of the gas.", default=0.71)
    heat_capacity_ratio: Annotated[float, Field(gt=1.0, le=2.0)] = entry(
        "Ratio of the heat capacities at constant pressure and at constant volume.", default=1.4
    )
    mean_free_path: Positive = entry("Mean free path of the molecules, in m.", default=68e-9, unit="m")


class Convection(Section):
    """``convection``: exchange of heat with a fluid of a given temperature and velocity."""

    temperature: Positive = entry("Temperature of the fluid, in K.", unit="K")
    conductivity: Positive = entry("Thermal conductivity of the fluid, in W/(m K).", unit="W/(m K)")
    density: Positive = entry("Density of the fluid, in kg/m^3.", default=1.2, unit="kg/m^3")
    viscosity: Positive = entry("Dynamic viscosity of the fluid, in Pa s.", default=1.8e-5, unit="Pa s")
    heat_capacity: Positive = entry(
        "Specific heat capacity of the fluid, in J/(kg K).", default=1006.0, unit="J/(kg K)"
    )
    velocity: Vector = entry("Velocity of the fluid, in m/s.", default=(0.0, 0.0, 0.0), unit="m/s")
    law: Literal["ranz-marshall", "gunn"] = entry(
        'Nusselt number: `"ranz-marshall"` for single spheres, `"gunn"` for beds of a `porosity`.',
        default="ranz-marshall",
    )
    porosity: Annotated[float, Field(ge=0.35, le=1.0)] | None = entry(
        'With `law = "gunn"`: share of the fluid in the volume of the bed, from 0.35 to 1.', default=None
    )


class Radiation(Section):
    """``radiation``: radiation of the surfaces of particles, with the emissivity of their materials."""

    to: Literal["surroundings", "neighbours"] = entry(
        '`"surroundings"` of a given temperature, or `"neighbours"`: the particles and walls that a particle touches '
        "share its view."
    )
    temperature: Positive | None = entry(
        'With `to = "surroundings"`: temperature of the surroundings, in K.', default=None, unit="K"
    )


class Heat(Section):
    """``[heat]``: temperatures of particles, which change by contacts, motion, walls, fluid and radiation.

    Heat moves in whole quanta: the sum of all heat is exact.
    """

    contact: Literal["solid", "solid-gas", "none"] = entry(
        'Conduction at contacts: `"solid"`, through the area of contact; `"solid-gas"`, with rough surfaces and the '
        '`gas` in the gaps; `"none"`.',
        default="solid",
    )
    from_motion: bool = entry(
        "Turn the energy that contacts lose into heat of the two bodies, by damping, sliding, rolling, twisting and "
        "plastic deformation. Needs `output.energies`.",
        default=True,
    )
    temperature: Positive = entry(
        "Temperature at the beginning of groups and insertions without their own, in K.",
        default=ROOM_TEMPERATURE,
        unit="K",
    )
    every: AutoOrPositive = entry(
        'Interval between two steps of heat, in s; `"auto"`: in motion 50 time steps, some impacts; in frozen '
        "stages between 1/5000 (few particles) and 1/100 (2,000 and more) of the shortest time constant of a particle. "
        "Longer steps are divided where temperatures would oscillate.",
        default="auto",
        unit="s",
    )
    clusters: Literal["one", "members"] = entry(
        'Temperatures of rigid clusters: `"one"` for the whole cluster, or one for each of its `"members"`, which then '
        "exchange no heat with each other.",
        default="one",
    )
    gas: GapGas | None = entry('The gas in gaps, for `contact = "solid-gas"`.', default=None)
    convection: Convection | None = entry("Exchange of heat with a fluid.", default=None)
    radiation: Radiation | None = entry("Exchange of heat by radiation.", default=None)
