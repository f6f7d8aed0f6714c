"""Section of the case file for a periodic box that deforms: ``[domain.deformation]``."""

from __future__ import annotations

from typing import Literal

from pdem.case.base import Section

AxisName = Literal["x", "y", "z"]


class AxisDeformation(Section):
    """``x``, ``y``, ``z`` of a deformation: what the box does along this axis.

    Attributes
    ----------
    strain_rate : float
        Rate of the logarithmic strain, in 1/s; negative where the box gets shorter. The length is then
        ``exp(strain_rate time)`` times what it was.
    """

    strain_rate: float


class ShearDeformation(Section):
    """``shear`` of a deformation: the box shears, with Lees-Edwards images across the gradient axis.

    Attributes
    ----------
    velocity_along : {"x", "y", "z"}
        Axis along which the box moves.
    gradient_along : {"x", "y", "z"}
        Axis along which this velocity grows.
    rate : float
        Velocity gradient, in 1/s: what is a metre farther along the gradient axis is faster by so many m/s.
    """

    velocity_along: AxisName
    gradient_along: AxisName
    rate: float


class Deformation(Section):
    """``[domain.deformation]``: the periodic box deforms, as a whole, and particles move with it.

    Only periodic axes deform; those that are not named stay as they are. The centre of the box rests. What is given
    here holds from the begin of the run, or in a stage from the begin of that stage on; ``{}`` lets the box rest.
    Positions and velocities are those in space: velocities have the part of the box in them. ``translation`` of the
    energy ledger is that of the motion relative to the box, ``box_work`` what the deformation delivers.

    Attributes
    ----------
    x, y, z : AxisDeformation or None
        Along each axis.
    shear : ShearDeformation or None
        Besides these.
    """

    x: AxisDeformation | None = None
    y: AxisDeformation | None = None
    z: AxisDeformation | None = None
    shear: ShearDeformation | None = None

    @property
    def axes(self) -> dict[str, AxisDeformation]:
        """What is given for axes, by their names."""
        found = {"x": self.x, "y": self.y, "z": self.z}
        return {name: axis for name, axis in found.items() if axis is not None}

    def __str__(self) -> str:
        """Return what the box does, for people."""
        does = [f"strains by {axis.strain_rate:g} 1/s along {name}" for name, axis in self.axes.items()]
        if self.shear is not None:
            axes = f"along {self.shear.velocity_along}, gradient along {self.shear.gradient_along}"
            does.append(f"shears by {self.shear.rate:g} 1/s ({axes})")
        return ", ".join(does) or "rests"
