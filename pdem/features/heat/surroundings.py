"""Heat between a particle and its surroundings: convection in a fluid, and radiation.

A sphere of diameter d in a fluid of conductivity k_f loses ``h A`` over the difference of temperatures, with
``h = Nu k_f / d`` and ``A = pi d^2``. The Nusselt number Nu is a function of the Reynolds number and the Prandtl number
``Pr = c mu / k_f`` of the fluid:

* W. E. Ranz, W. R. Marshall, Chem. Eng. Prog. 48 (1952) 141 and 173, for a single sphere;
* D. J. Gunn, Int. J. Heat Mass Transfer 21 (1978) 467, for beds, with the porosity e; from 0.35 to 1, and Reynolds
  numbers up to 1e5.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pdem.numerics.kernel_factory import inlined_exactly
from pdem.numerics.portable.powers import power

STEFAN_BOLTZMANN = 5.670374419e-8
"""Constant of Stefan and Boltzmann [W/(m^2 K^4)] (CODATA 2018)."""

_THIRD = 1.0 / 3.0


class FluidRow(NamedTuple):
    """Properties of a fluid.

    Attributes
    ----------
    conductivity : float
        Heat conductivity [W/(m K)].
    density : float
        Density [kg/m^3].
    viscosity : float
        Dynamic viscosity [Pa s], positive.
    prandtl : float
        Prandtl number.

    """

    conductivity: float
    density: float
    viscosity: float
    prandtl: float


@inlined_exactly
def nusselt_ranz_marshall(reynolds: float, prandtl: float) -> float:
    """Return the Nusselt number of a single sphere, ``2 + 0.6 Re^(1/2) Pr^(1/3)``."""
    return 2.0 + 0.6 * math.sqrt(reynolds) * power(prandtl, _THIRD)


@inlined_exactly
def nusselt_gunn(reynolds: float, prandtl: float, porosity: float) -> float:
    """Return the Nusselt number of a sphere in a bed.

    ``(7 - 10 e + 5 e^2) (1 + 0.7 Re^0.2 Pr^(1/3)) + (1.33 - 2.4 e + 1.2 e^2) Re^0.7 Pr^(1/3)``

    Parameters
    ----------
    reynolds : float
        Reynolds number of the superficial speed, which is the porosity times the relative speed of the fluid.
    prandtl : float
        Prandtl number.
    porosity : float
        Share of the volume that the fluid has, e.
    """
    root = power(prandtl, _THIRD)
    at_rest, flowing = 7.0 - porosity * (10.0 - 5.0 * porosity), 1.33 - porosity * (2.4 - 1.2 * porosity)
    return at_rest * (1.0 + 0.7 * power(reynolds, 0.2) * root) + flowing * power(reynolds, 0.7) * root


@inlined_exactly
def _reynolds(radius: float, speed: float, fluid: FluidRow) -> float:
    return 2.0 * radius * abs(speed) * fluid.density / fluid.viscosity


@inlined_exactly
def convection(radius: float, speed: float, fluid: FluidRow) -> float:
    """Return the conductance between a single sphere and a fluid [W/K], after Ranz and Marshall.

    Parameters
    ----------
    radius : float
        Radius of the sphere [m].
    speed : float
        Speed of the fluid relative to the sphere [m/s].
    fluid : FluidRow
        Properties of the fluid.
    """
    number = nusselt_ranz_marshall(_reynolds(radius, speed, fluid), fluid.prandtl)
    return 2.0 * math.pi * radius * fluid.conductivity * number


@inlined_exactly
def convection_in_bed(radius: float, speed: float, porosity: float, fluid: FluidRow) -> float:
    """Return the conductance between a sphere of a bed and a fluid [W/K], after Gunn.

    Parameters
    ----------
    radius : float
        Radius of the sphere [m].
    speed : float
        Speed of the fluid between the spheres, relative to the sphere [m/s].
    porosity : float
        Share of the volume that the fluid has.
    fluid : FluidRow
        Properties of the fluid.
    """
    number = nusselt_gunn(_reynolds(radius, porosity * speed, fluid), fluid.prandtl, porosity)
    return 2.0 * math.pi * radius * fluid.conductivity * number


@inlined_exactly
def radiated(temperature: float, other: float, factor: float) -> float:
    """Return the heat that a body radiates, less the heat that it receives [W]: ``factor (T^4 - T_o^4)``.

    The difference of the fourth powers is a product, which has all digits also for close temperatures.

    Parameters
    ----------
    temperature, other : float
        Absolute temperatures of the body and of its surroundings [K].
    factor : float
        Emissivity times area times `STEFAN_BOLTZMANN` [W/K^4].
    """
    squares = temperature * temperature + other * other
    return factor * squares * (temperature + other) * (temperature - other)
