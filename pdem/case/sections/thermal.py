"""Keys for the heat of materials, particles, insertions and walls; `pdem.features.heat.section` has the rest."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Discriminator, Field, Tag

from pdem.case.sections.base import BRANCH, Name, Positive, Section, entry

Values = Annotated[tuple[float, ...], Field(strict=False, min_length=2)]
Temperatures = Annotated[tuple[Positive, ...], Field(strict=False, min_length=2)]


class TemperatureTable(Section):
    """``temperature_table``: temperature against time, linear between its times, constant before and after."""

    times: Values | None = entry("Times in increasing order, in s.", default=None, unit="s")
    values: Temperatures | None = entry("Temperatures at these times, in K.", default=None, unit="K")
    file: Name | None = entry(
        "In place of the two lists: a text file with a column for each, relative to the folder of the case.",
        default=None,
    )


class ConductivityTable(Section):
    """``conductivity = {temperatures = ..., values = ...}``: conductivity as a function of temperature.

    It is linear between the temperatures, and constant below the first and above the last one.
    """

    branch: ClassVar[str] = f"{BRANCH}table"
    temperatures: Temperatures = entry("Temperatures in increasing order, in K.", unit="K")
    values: Temperatures = entry("Conductivity at each of the temperatures, in W/(m K).", unit="W/(m K)")


def _conductivity_branch(value: Any) -> str:
    return ConductivityTable.branch if isinstance(value, (dict, Section)) else f"{BRANCH}number"


Conductivity = Annotated[
    Annotated[Positive, Tag(f"{BRANCH}number")] | Annotated[ConductivityTable, Tag(ConductivityTable.branch)],
    Discriminator(_conductivity_branch),
]


class MaterialHeat(BaseModel):
    """Keys of a material for heat."""

    conductivity: Conductivity | None = entry(
        "With `heat`: thermal conductivity in W/(m K), a number or a table against temperature.",
        default=None,
        unit="W/(m K)",
    )
    heat_capacity: Positive | None = entry(
        "With `heat`: specific heat capacity in J/(kg K); needed for particles.", default=None, unit="J/(kg K)"
    )
    contact_modulus: Positive | None = entry(
        "With `heat`: the real Young's modulus in Pa, from which the areas of contacts follow if `youngs_modulus` is "
        "smaller than in reality; by default `youngs_modulus`.",
        default=None,
        unit="Pa",
    )
    emissivity: Annotated[float, Field(ge=0.0, le=1.0)] | None = entry(
        "With `heat.radiation`: emissivity of the surface, from 0 to 1.", default=None
    )
    roughness: Positive | None = entry(
        'With `heat.contact = "solid-gas"`: root mean square of the heights of the surface, in m.',
        default=None,
        unit="m",
    )
    roughness_slope: Positive | None = entry(
        'With `heat.contact = "solid-gas"`: root mean square of the slopes of the surface.', default=None
    )
    microhardness: Positive | None = entry(
        'With `heat.contact = "solid-gas"`: hardness of the asperities, in Pa.', default=None, unit="Pa"
    )
    accommodation: Annotated[float, Field(gt=0.0, le=1.0)] | None = entry(
        'With `heat.contact = "solid-gas"`: thermal accommodation of the gas at the surface, from 0 to 1.', default=None
    )


class GroupHeat(BaseModel):
    """The key of heat in groups of particles and in insertions."""

    temperature: Positive | None = entry(
        "With `heat`: temperature at the beginning, in K; by default `heat.temperature`.", default=None, unit="K"
    )


class WallHeat(BaseModel):
    """Keys of a wall for heat; a wall without any of them is insulated."""

    temperature: Positive | None = entry(
        "With `heat`: temperature of the wall, in K. Walls without a temperature and a heat rate are insulated.",
        default=None,
        unit="K",
    )
    temperature_table: TemperatureTable | None = entry(
        "In place of `temperature`: temperature as a function of time.", default=None
    )
    heat_rate: float | None = entry(
        "In place of `temperature`: heat that the wall gives to the particles that touch it, in W; negative if it "
        "cools. The wall has one temperature, at which this heat flows.",
        default=None,
        unit="W",
    )
