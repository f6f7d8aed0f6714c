"""Section of the case file for a periodic box that deforms: ``[domain.deformation]``."""

from __future__ import annotations

from typing import Literal

from pdem.case.sections.base import Positive, Section, entry

AxisName = Literal["x", "y", "z"]


class AxisDeformation(Section):
    """``x``, ``y``, ``z`` of a deformation: strain rate or stress along this axis, exactly one of both."""

    strain_rate: float | None = entry(
        "Rate of the logarithmic strain, in 1/s, negative for compression. The length of the box is multiplied by "
        "`exp(strain_rate time)`.",
        default=None,
        unit="1/s",
    )
    stress: float | None = entry(
        "Wanted pressure along this axis, in Pa (in 2D N/m): `stress_xx` of the series, from contacts and motion. "
        "The box shortens while the pressure is lower, and lengthens while it is higher; see `pdem.motion.box_servo`.",
        default=None,
        unit="Pa",
    )

    def __str__(self) -> str:
        """Return the deformation in words."""
        if self.stress is not None:
            return f"goes to {self.stress:g} Pa"
        return f"strains by {self.strain_rate or 0.0:g} 1/s"


class ShearDeformation(Section):
    """``shear`` of a deformation: the box shears, with Lees-Edwards images across the gradient axis."""

    velocity_along: AxisName = entry("Axis along which the box moves.")
    gradient_along: AxisName = entry("Axis along which this velocity increases.")
    rate: float | None = entry(
        "Velocity gradient, in 1/s. Exactly one of `rate` and `stress` is given.", default=None, unit="1/s"
    )
    stress: float | None = entry(
        "Wanted shear stress, in Pa, positive if it drives a positive rate: the negative of `stress_xy` for these "
        "axes in the series.",
        default=None,
        unit="Pa",
    )


_AXIS_TEXT = "Strain rate or stress along this axis."


class Deformation(Section):
    """``[domain.deformation]``: the periodic box deforms as a whole, and particles move with it.

    Only periodic axes deform; axes that are not named do not change. The centre of the box is at rest. The deformation
    begins with the run, or in a stage with that stage; ``{}`` keeps the box at rest. Positions and velocities are those
    in space: velocities include the motion of the box. In the energy balance, ``translation`` is the energy of the
    motion relative to the box, and ``box_work`` the work of the deformation.
    """

    x: AxisDeformation | None = entry(_AXIS_TEXT, default=None)
    y: AxisDeformation | None = entry(_AXIS_TEXT, default=None)
    z: AxisDeformation | None = entry(_AXIS_TEXT, default=None)
    mean_stress: float | None = entry(
        "Wanted mean of the pressures along all axes, in Pa: `pressure` of the series. To reach it, all periodic axes "
        "without a strain rate or stress of their own strain at the same rate.",
        default=None,
        unit="Pa",
    )
    shear: ShearDeformation | None = entry("Simple shear, in addition to `x`, `y` and `z`.", default=None)
    largest_rate: Positive | None = entry(
        "Largest strain rate of axes that are driven by a stress, in 1/s: the box deforms at this rate until only a "
        "tenth of the stress is missing. The default is that of an inertial number `rate d sqrt(rho / P)` of 0.01 "
        "for the largest of the wanted stresses.",
        default=None,
        unit="1/s",
    )

    @property
    def stresses(self) -> list[float]:
        """All wanted stresses [Pa]."""
        found = [axis.stress for axis in self.axes.values()]
        found += [self.mean_stress, None if self.shear is None else self.shear.stress]
        return [one for one in found if one is not None]

    @property
    def axes(self) -> dict[str, AxisDeformation]:
        """Deformations of single axes, by the names of the axes."""
        found = {"x": self.x, "y": self.y, "z": self.z}
        return {name: axis for name, axis in found.items() if axis is not None}

    def __str__(self) -> str:
        """Return the deformation of the box in words."""
        does = [f"{axis} along {name}" for name, axis in self.axes.items()]
        if self.mean_stress is not None:
            does.append(f"goes to a mean stress of {self.mean_stress:g} Pa")
        if self.shear is not None:
            axes, stress = (
                f"along {self.shear.velocity_along}, gradient along {self.shear.gradient_along}",
                self.shear.stress,
            )
            what = f"by {self.shear.rate or 0.0:g} 1/s" if stress is None else f"to {stress:g} Pa"
            does.append(f"shears {what} ({axes})")
        return ", ".join(does) or "rests"
