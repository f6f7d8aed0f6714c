"""Packings under a pressure: frictionless, with the forces of a contact law in equilibrium.

The radii of all particles grow or shrink by a common factor until the contact stress has the target pressure. The
number of particles changes until this factor is nearly 1, so that it corrects for less than the volume of one particle.
The stress is the sum of forces times branches over the volume of the region (Love 1927); its mean over the axes is the
pressure.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.particles.packings import soft_spheres
from pdem.particles.packings.packing_task import Law

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.particles.packings.contact_forces import ContactForces
    from pdem.particles.packings.packing_task import Packing, Task

TOLERANCE = 1e-3
"""Tolerance of the relative difference between the pressure and its target."""

DEEPEST, SHALLOWEST = 0.05, 3e-7
"""Largest mean overlap over the diameter that is allowed under a pressure, and the smallest that balances."""

_BALANCED = 1e-7
"""Limit for balanced forces: mean square of the total force on a particle over the mean square force of a contact; a
ratio of forces of three in ten thousand."""

_UNJAMMED = 0.02
"""Largest overlap in an unloaded packing, over the mean overlap that is expected under the pressure."""

_LOAD = {2: 1.07, 3: 1.22}
"""Pressure over the mean force and inverse squared diameter (2D: inverse diameter): fraction x contacts / pi.

Values for packings that have just jammed, in 2D with 4 contacts at 0.84, in 3D with 6 at 0.64.
"""

_SAME = 1e-3
"""Difference of two factors over the strain, below which different pressures mean that particles have rearranged."""

_GROWN, _MOST_TRIES, _MOST_ROUNDS = 8.0, 40, 8


class _Press:
    """The law in the units of a packing, and the expected overlap.

    Attributes
    ----------
    strain : float
        Expected mean overlap over the diameter.
    """

    def __init__(self, task: Task, forces: ContactForces, reach: Floats) -> None:
        self.task, self.forces = task, forces
        spheres = task.drawn_spheres([reach]).radius
        size, dimension = 2.0 * math.sqrt(exact_math.total(spheres * spheres) / len(spheres)), task.domain.dimension
        effective = 0.5 * float(spheres.min())
        typical = forces.pressure * (size if dimension == 2 else size * size) / _LOAD[dimension]
        unit = forces.stiffness * exact_math.power(effective, forces.size_power)
        depth = exact_math.power(typical / unit, 1.0 / forces.power)
        self.strain = depth / size
        self._unit = unit * exact_math.power(depth, forces.power - 1.0)
        _require_reason(task, forces, self.strain)
        hardness = np.array(forces.walls)[task.surroundings.wall_of(task.facets)] if len(task.facets) else ()
        self.law = Law(
            depth, forces.power > 1.0, effective if forces.size_power else 0.0,
            np.asarray(hardness) / forces.stiffness, _UNJAMMED * self.strain, _BALANCED,
        )  # fmt: skip

    def pressure(self, found: Packing) -> float:
        """Return the pressure of a packing over its target."""
        if found.reason == soft_spheres.DONE:
            return 0.0
        stress = self._unit * found.virial / (self.task.domain.dimension * self.task.room())
        return stress / self.forces.pressure


def _require_reason(task: Task, forces: ContactForces, strain: float) -> None:
    """Raise an error for a pressure with overlaps too large for any contact law, or too small for rounding."""
    if SHALLOWEST <= strain <= DEEPEST:
        return
    limit = DEEPEST if strain > DEEPEST else SHALLOWEST
    at = forces.pressure * exact_math.power(limit / strain, forces.power)
    unit = "Pa" if task.domain.dimension == 3 else "N/m"
    text = f"{task.requests[0].where}.pressure = {forces.pressure:g} {unit} presses particles into each other by about "
    text += f"{100.0 * strain:.2g} % of their diameter; "
    if strain > DEEPEST:
        text += f"contact laws hold up to {100.0 * limit:g} %: ask for less than {at:.2g} {unit}, "
        text += "or give a stiffer material"
    else:
        text += f"balance is found from {100.0 * limit:g} % on: ask for more than {at:.2g} {unit}, or leave pressure "
        text += "out: then particles just touch"
    raise CaseError(text)


def require_reasonable(task: Task, reach: Floats) -> None:
    """Raise an error for an unreasonable pressure, before a packing of particles with radii `reach` (n,) [m] is made.

    Raises
    ------
    CaseError
        With the limit in the message.
    """
    forces = task.requests[0].forces
    if forces is not None:
        _Press(task, forces, reach)


def pressed(task: Task, reach: Floats, found: Packing, bar: Any) -> tuple[Floats, Packing, float]:
    """Press a packing of one group, with particles that just touch.

    Returns
    -------
    reach : (n,) array
        Radii of the particles [m], multiplied by the factor.
    found : Packing
        The packing in equilibrium.
    factor : float
        Growth factor of all particles.

    Raises
    ------
    CaseError
        If the pressure is unreasonable, or cannot be reached.
    """
    forces = task.requests[0].forces
    assert forces is not None
    scale = 1.0
    for round_ in range(_MOST_ROUNDS):
        press = _Press(task, forces, reach)
        scale, found = _grown(press, reach, found, bar)
        count = _count_of_same_volume(task, reach, scale)
        if count == len(reach) or round_ == _MOST_ROUNDS - 1:
            break
        more = task.reaches(0, count)
        places = found.places.of(slice(min(count, len(reach))))
        if count > len(reach):
            places = places.joined(task.seeds(0, len(reach), more[len(reach) :]))
        reach, found = more, task.relax(places, [more], bar)
    return scale * reach, found, scale


def _count_of_same_volume(task: Task, reach: Floats, scale: float) -> int:
    """Return the number of particles of full size with the same volume as these particles times a factor."""
    wanted = exact_math.total(task.volumes(0, reach * scale))
    volumes = np.cumsum(task.volumes(0, task.reaches(0, 2 * len(reach) + 2)))
    return max(int(np.argmin(np.abs(volumes - wanted))) + 1, 1)


def _grown(press: _Press, reach: Floats, found: Packing, bar: Any) -> tuple[float, Packing]:
    """Return the growth factor at which particles have the pressure, and the packing."""
    scale, power = 1.0 + press.strain, press.forces.power
    below: tuple[float, float] | None = None
    above: tuple[float, float] | None = None
    for _ in range(_MOST_TRIES):
        found = press.task.relax(found.places, [reach], bar, scale=scale, law=press.law)
        pressure = press.pressure(found)
        if abs(pressure - 1.0) < TOLERANCE:
            return scale, found
        # overlaps grow approximately in proportion to the size, and the pressure with their power
        root = exact_math.power(pressure, 1.0 / power)
        below, above = (below, (scale, root)) if root > 1.0 else ((scale, root), above)
        if below is not None and above is not None and above[0] - below[0] < _SAME * press.strain:
            below = above = None  # particles have rearranged: earlier pressures no longer apply
        scale = _next_scale(scale, root, below, above, press.strain)
    raise CaseError(
        f"{press.task.requests[0].where}.pressure = {press.forces.pressure:g}: {len(reach)} particles were pressed "
        f"{_MOST_TRIES} times and had {pressure:.3g} of it at last; enlarge the region, so that it holds more of them"
    )


def _next_scale(
    scale: float, root: float, below: tuple[float, float] | None, above: tuple[float, float] | None, strain: float
) -> float:
    """Return the next factor to try: by linear interpolation, or by a step proportional to the missing pressure."""
    if below is None or above is None:
        return scale + strain * float(np.clip(1.0 - root, -_GROWN, 1.0))
    (low, at_low), (high, at_high) = below, above
    if at_low == 0.0:
        return 0.5 * (low + high)
    share = (1.0 - at_low) / (at_high - at_low)
    return low + float(np.clip(share, 0.05, 0.95)) * (high - low)
