"""Checks of forces before a run: the time step for a drag, and the function of a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.timestep import reference_speed
from pdem.features.external_forces.kernels import sphere_drag
from pdem.features.external_forces.parameters import forces_of
from pdem.features.external_forces.section import ARRAY
from pdem.foundation import exact_math
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.case.model import Case
    from pdem.features.external_forces.section import Force

DRAG_WARNING, DRAG_ERROR = 0.2, 4.0
"""Drag coefficient times step over mass above which velocities are inaccurate, and above which they grow."""


def force_findings(case: Case, step: float) -> Iterator[Finding]:
    """Yield the findings on the forces of a case with a time step [s].

    Raises
    ------
    CaseError
        If a file cannot be read, or its function is invalid.
    """
    functions = iter(forces_of(case))
    for index, force in enumerate(case.forces):
        subject = f"forces[{index}]"
        if force.kind == ARRAY:
            text = "is zero until a script calls simulation.set_external_force; `pdem run` does not"
            yield Finding("info", subject, text)
            continue
        own = next(functions)
        if force.start >= case.time.end:
            text = f"begins at {force.start:g} s, not before the end of the run at {case.time.end:g} s: it never acts"
            yield Finding("warning", subject, text)
        if force.kind == "drag":
            yield from _drag_findings(case, force, step, subject)
        elif not own.takes_parameters:
            text = (
                "is a function, whose stiffness is not known: the step must resolve it (time.step below 0.1 over its "
                "largest frequency)"
            )
            yield Finding("info", subject, text)


def _drag_findings(case: Case, force: Force, step: float, subject: str) -> Iterator[Finding]:
    """Yield a finding if the drag of the lightest particle is strong for the step."""
    fluid = exact_math.hypot(*(force.fluid_velocity or (0.0,)))
    speed = reference_speed(case) + fluid
    for name, radius in smallest_radii(case).items():
        density = case.materials[name].density
        if density is None or force.material not in (None, name):
            continue
        mass = 4.0 / 3.0 * math.pi * density * radius**3
        coefficient = (force.linear or 0.0) + (force.quadratic or 0.0) * speed
        if force.viscosity is not None:
            coefficient = sphere_drag(radius, speed, force.viscosity, force.density or 0.0)
        share = coefficient * step / mass
        if share <= DRAG_WARNING:
            continue
        level, what = ("error", "velocities grow") if share >= DRAG_ERROR else ("warning", "it is inaccurate")
        limit = DRAG_ERROR if share >= DRAG_ERROR else DRAG_WARNING
        yield Finding(
            level,  # type: ignore[arg-type]
            subject,
            f"the drag of {name} of radius {radius:.3g} m, {coefficient:.3g} kg/s at {speed:.3g} m/s, times the step "
            f"over the mass is {share:.3g}; above {limit:g} {what}: time.step = {0.1 * mass / coefficient:.2g} or less",
        )
