"""Forces of a case as arguments of kernels: functions, and rows of parameters."""

from __future__ import annotations

import math
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.messages import nearest_key_hint
from pdem.case.python_files import FROM_FILE, variables_of
from pdem.case.sections.particles import BoxRegion, CylinderRegion
from pdem.features.external_forces.kernels import (
    BALL,
    BOX,
    CYLINDER,
    EVERYWHERE,
    OWN,
    PARAMETERS,
    OwnForce,
    constant_force,
    drag_by_speed,
    drag_of_fluid,
)
from pdem.features.external_forces.section import ARRAY
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError, InputError
from pdem.numerics.function_digest import digest_of
from pdem.numerics.function_trials import check_compiles, check_values, place_of
from pdem.particles.regions import bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.case.sections.schema import CaseData
    from pdem.features.external_forces.section import Force

TRIAL = (0.5, (0.1371, 0.2129, 0.3253), (1.1, -2.3, 0.7), 1e-3, 1e-5, 7)
"""Arguments for the trial of a function: time, position, velocity, radius, mass, id."""

AT = "at time 0.5, position (0.1371, 0.2129, 0.3253), velocity (1.1, -2.3, 0.7), radius 0.001, mass 1e-05, id 7"


def has_array(case: CaseData) -> bool:
    """Return whether a script sets forces for each particle of a case."""
    return any(force.kind == ARRAY for force in case.forces)


def forces_of(case: CaseData) -> tuple[OwnForce, ...]:
    """Return the forces of a case that are functions: all kinds except `ARRAY`.

    Raises
    ------
    CaseError
        If a file cannot be read, or its function is invalid.
    """
    return tuple(_force_of(case, index) for index, force in enumerate(case.forces) if force.kind != ARRAY)


def _force_of(case: CaseData, index: int) -> OwnForce:
    force, name = case.forces[index], f"forces[{index}]"
    limits = _limits(case, force)
    if force.kind == "uniform":
        own: tuple[float, ...] = (*(force.force or (0.0,) * 3), *(force.acceleration or (0.0,) * 3))
        return OwnForce(name, constant_force, "uniform", row_of(limits, own), takes_parameters=True)
    fluid = force.fluid_velocity or (0.0,) * 3
    if force.kind == "drag" and force.viscosity is not None:
        own = (*fluid, force.viscosity, force.density or 0.0)
        return OwnForce(name, drag_of_fluid, "fluid", row_of(limits, own), takes_parameters=True)
    if force.kind == "drag":
        own = (*fluid, force.linear or 0.0, force.quadratic or 0.0)
        return OwnForce(name, drag_by_speed, "drag", row_of(limits, own), takes_parameters=True)
    where = f'{case.source}: {name}.kind = "{force.kind}"'
    function = _function_of_file(case, force.kind, where)
    try:
        return force_of_function(function, limits, name)
    except InputError as error:
        raise CaseError(f"{where}: {error}") from None


def _function_of_file(case: CaseData, kind: str, where: str) -> Callable[..., Any]:
    file, name = kind.removeprefix(FROM_FILE).rsplit(":", 1)
    path = case.file(file)
    variables = variables_of(path, where)
    if name not in variables:
        functions = [key for key, value in variables.items() if isinstance(value, types.FunctionType)]
        hint = nearest_key_hint(name, functions) if functions else "the file has no function"
        raise CaseError(f"{where}: {path} has no {name}; {hint}")
    function: Callable[..., Any] = variables[name]
    return function


def force_of_function(
    function: Callable[..., Any], limits: tuple[float, ...] | None = None, name: str = ""
) -> OwnForce:
    """Try a function, and return it as a force.

    Parameters
    ----------
    function : callable
        ``function(time, position, velocity, radius, mass, id)``, a plain function.
    limits : tuple of float, optional
        Begin of the row of parameters, see `limits_of`; by default it acts on all particles.
    name : str
        Name in messages; by default the name of the function.

    Raises
    ------
    InputError
        If it fails, does not return three finite numbers for a usual particle, or cannot be compiled.
    """
    if not isinstance(function, types.FunctionType):
        raise InputError(
            f"a force is a {type(function).__name__}; give a plain function: def f(time, position, velocity, radius, "
            "mass, id): return fx, fy, fz"
        )
    wanted = "the force (x, y, z) in N, three numbers"
    check_values(function, TRIAL, (0, 0, 0), wanted, AT)
    check_compiles(function, TRIAL)
    row = row_of(limits_of() if limits is None else limits)
    return OwnForce(name or place_of(function), function, digest_of(function), row)


def limits_of(material: int = -1, start: float = -math.inf, end: float = math.inf) -> tuple[float, ...]:
    """Return the begin of a row of parameters of a force that acts everywhere: material or -1, and times [s]."""
    return (float(material), start, end, float(EVERYWHERE), *8 * (0.0,), math.nan)


def row_of(limits: tuple[float, ...], own: tuple[float, ...] = ()) -> tuple[float, ...]:
    """Return a row of parameters: the limits, and the parameters of the force itself."""
    return (*limits, *own, *(PARAMETERS - OWN - len(own)) * (0.0,))


def _limits(case: CaseData, force: Force) -> tuple[float, ...]:
    material = -1 if force.material is None else case.material_index(force.material)
    end = math.inf if force.end is None else force.end
    start = force.start or -math.inf  # the kick at time 0 covers half a step before it
    if force.region is None:
        return limits_of(material, start, end)
    region, middle = force.region, math.nan
    if case.domain.dimension == 2:  # as for sensors, x and y alone count
        lower, upper = bounds(region)
        middle = 0.5 * float(lower[2] + upper[2])
    if isinstance(region, BoxRegion):
        shape, numbers = BOX, [*region.lower, *region.upper]
    elif isinstance(region, CylinderRegion):
        axis = np.array(region.axis) / exact_math.hypot(*region.axis)
        shape = CYLINDER
        numbers = [*region.centre, *axis.tolist(), region.radius, 0.5 * region.length]
    else:
        shape, numbers = BALL, [*region.centre, region.radius]
    return (float(material), start, end, float(shape), *numbers, *(8 - len(numbers)) * (0.0,), middle)
