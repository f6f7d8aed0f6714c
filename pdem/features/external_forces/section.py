"""``[[forces]]``: forces on particles beside those of contacts and gravity."""

from __future__ import annotations

from pdem.case.sections.base import Name, NotNegative, Positive, Section, Vector, entry
from pdem.case.sections.particles import Region


class Force(Section):
    """``[[forces]]``: a force on every particle, or on those of a material or in a region."""

    kind: Name = entry(
        '"uniform": the same force or acceleration for all; "drag": against the motion relative to a fluid; '
        '"python:FILE.py:NAME", a function `NAME(time, position, velocity, radius, mass, id)` in a file relative to '
        'the folder of the case that returns the force (x, y, z) in N, see docs/scripting.md; or "array": a force, a '
        "drag and the velocity of a fluid for each particle, zero until a script gives them by "
        "`simulation.set_external_force`."
    )
    force: Vector | None = entry('"uniform": on each particle, in N.', default=None, unit="N")
    acceleration: Vector | None = entry(
        '"uniform", in place of `force`: in m/s^2, times the mass of each particle.', default=None, unit="m/s^2"
    )
    linear: Positive | None = entry('"drag": force over relative speed, in kg/s.', default=None, unit="kg/s")
    quadratic: Positive | None = entry(
        '"drag": force over the square of the relative speed, in kg/m; may be given together with `linear`.',
        default=None,
        unit="kg/m",
    )
    viscosity: Positive | None = entry(
        '"drag", in place of both: of the fluid, in Pa s; the force on a sphere of radius R and relative speed u is '
        "that of Stokes, 6 pi viscosity R u.",
        default=None,
        unit="Pa s",
    )
    density: Positive | None = entry(
        '"drag" with `viscosity`: of the fluid, in kg/m^3; the force is then that of Schiller and Naumann, 6 pi '
        "viscosity R u (1 + 0.15 Re^0.687) up to a Reynolds number of 1000, beyond it the drag coefficient is 0.44.",
        default=None,
        unit="kg/m^3",
    )
    fluid_velocity: Vector | None = entry(
        '"drag": velocity of the fluid, in m/s; at rest by default.', default=None, unit="m/s"
    )
    material: Name | None = entry("Let the force act on particles of this material only.", default=None)
    region: Region | None = entry(
        "Let the force act only on particles with centres in a box, cylinder or ball.", default=None
    )
    start: NotNegative = entry("Time from which the force acts, in s.", default=0.0, unit="s")
    end: Positive | None = entry(
        "Time until which the force acts, in s; by default to the end.", default=None, unit="s"
    )


ARRAY = "array"
"""Kind of force that a script gives for each particle."""
