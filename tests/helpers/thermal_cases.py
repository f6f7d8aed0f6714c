"""Small cases with heat: the steel spheres of Lethe's heated packed bed, one by one, in chains, and on a floor."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import pdem

RADIUS, DENSITY, CAPACITY, CONDUCTIVITY, MODULUS, POISSON = 0.0032, 7747.0, 464.0, 42.0, 200e9, 0.29
"""The steel spheres of the heated packed bed of Lethe."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
EFFECTIVE = MODULUS / (2.0 * (1.0 - POISSON**2))
STEP = 1e-6

HEAD = f"""
[time]
step = {STEP}
end = 1e5
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
outside = "keep"
[materials.steel]
density = {DENSITY}
youngs_modulus = {MODULUS}
poisson_ratio = {POISSON}
conductivity = {CONDUCTIVITY}
heat_capacity = {CAPACITY}
emissivity = 0.5
[materials.store]
density = {DENSITY}
youngs_modulus = {MODULUS}
poisson_ratio = {POISSON}
conductivity = {CONDUCTIVITY}
heat_capacity = 1e15
emissivity = 0.5
[interactions.default]
friction = 0.3
restitution = 0.8
"""

FROZEN = """
[[stages]]
name = "heating"
motion = "frozen"
"""


def case_of(*sections, heat="", folder="."):
    return pdem.Case.from_text("\n".join((HEAD, f"[heat]\n{heat}", *sections)), folder)


def group(places, temperature, material="steel", more=""):
    rows = ", ".join(f"[{x!r}, {y!r}, {z!r}]" for x, y, z in np.asarray(places, np.float64).tolist())
    return f"""
[[particles]]
material = "{material}"
radius = {RADIUS}
positions = [{rows}]
temperature = {temperature!r}
{more}
"""


def overlap_for(force):
    """Return the overlap of two equal spheres that press on each other with a force [m]."""
    return (3.0 * force / (4.0 * EFFECTIVE * math.sqrt(RADIUS / 2.0))) ** (2.0 / 3.0)


def conductance_for(force, conductivity=CONDUCTIVITY, radius=RADIUS / 2.0, modulus=EFFECTIVE):
    return 2.0 * conductivity * (3.0 * force * radius / (4.0 * modulus)) ** (1.0 / 3.0)


def chain(count, force):
    return [(k * (2.0 * RADIUS - overlap_for(force)), 0.0, 0.0) for k in range(count)]


def run_for(case, time):
    simulation = pdem.Simulation(case, threads=1)
    simulation.advance(round(time / STEP))
    return simulation


def temperatures(simulation):
    columns = simulation.gather()
    return columns["temperature"][np.argsort(columns["id"])]


def exact_heat(simulation):
    """Return the heat of all particles without rounding."""
    (feature,) = (one for one in simulation.system.features if one.name == "heat")
    values = feature.particle_energies(simulation.system, simulation.system.particles)["heat"]
    return sum(map(Fraction, values.tolist()))


FLOOR = """
[[walls]]
name = "floor"
shape = "plane"
material = "steel"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
"""


def on_the_floor(heat="", wall="", more="", height=RADIUS, gravity=9.81, stage=""):
    text = HEAD.replace('outside = "keep"', f'outside = "keep"\ngravity = [0.0, 0.0, {-gravity}]')
    grain = group([(0.0, 0.0, height)], 300.0, more=more)
    return pdem.Case.from_text("\n".join((text, f"[heat]\n{heat}", FLOOR + wall, grain, stage)))


def resting_height(load):
    effective = 1.0 / ((1.0 - POISSON**2) / MODULUS * 2.0)
    return RADIUS - (3.0 * load / (4.0 * effective * math.sqrt(RADIUS))) ** (2.0 / 3.0)
