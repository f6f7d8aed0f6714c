"""``[[forces]]``: forces on particles beside those of contacts and gravity."""

from __future__ import annotations

from pdem.case.sections.base import Name, NotNegative, Positive, Section, Vector
from pdem.case.sections.particles import Region


class Force(Section):
    """``[[forces]]``: a force on every particle, or on those of a material or in a region.

    Attributes
    ----------
    kind : str
        "uniform": the same force or acceleration for all; "drag": against the motion relative to a fluid; or
        "python:FILE.py:NAME", a function ``NAME(time, position, velocity, radius, mass, id)`` in a file relative to the
        folder of the case that returns the force (x, y, z) in N, see docs/scripting.md.
    force : tuple of 3 float or None
        "uniform": on each particle, in N.
    acceleration : tuple of 3 float or None
        "uniform", in place of `force`: in m/s^2, times the mass of each particle.
    linear : float or None
        "drag": force over relative speed, in kg/s.
    quadratic : float or None
        "drag": force over the square of the relative speed, in kg/m; may be given together with `linear`.
    viscosity : float or None
        "drag", in place of both: of the fluid, in Pa s; the force on a sphere of radius R and relative speed u is that
        of Stokes, 6 pi viscosity R u.
    density : float or None
        "drag" with `viscosity`: of the fluid, in kg/m^3; the force is then that of Schiller and Naumann,
        6 pi viscosity R u (1 + 0.15 Re^0.687) up to a Reynolds number of 1000, beyond it the drag coefficient is 0.44.
    fluid_velocity : tuple of 3 float or None
        "drag": velocity of the fluid, in m/s; at rest by default.
    material : str or None
        Let the force act on particles of this material only.
    region : region or None
        Let the force act only on particles with centres in a box, cylinder or ball.
    start : float
        Time from which the force acts, in s.
    end : float or None
        Time until which the force acts, in s; by default to the end.
    """

    kind: Name
    force: Vector | None = None
    acceleration: Vector | None = None
    linear: Positive | None = None
    quadratic: Positive | None = None
    viscosity: Positive | None = None
    density: Positive | None = None
    fluid_velocity: Vector | None = None
    material: Name | None = None
    region: Region | None = None
    start: NotNegative = 0.0
    end: Positive | None = None
