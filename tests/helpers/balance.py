"""What has come into a run is inside, has left the domain, or was taken out by an outlet: to the last particle."""

from __future__ import annotations

import numpy as np


def require_balance(case, rows, start=None):
    """Require it of the rows of a series; return numbers that have come in, left, and were taken out at its end.

    `start` are number and mass of the particles at time 0 that no insertion has brought; those of the first row by
    default.
    """
    names = list(getattr(rows, "names", None) or rows.dtype.names)
    came = sum((rows[f"{one.name}_count"] for one in case.insertions), np.zeros(len(rows["step"]), np.int64))
    mass = sum((rows[f"{one.name}_mass"] for one in case.insertions), np.zeros(len(rows["step"])))
    outlets = [f"{one.name}_{'passed' if one.region is None else 'removed'}" for one in case.sensors if one.remove]
    gone = sum((rows[f"{one}_count"] for one in outlets), rows["left"])
    gone_mass = sum((rows[one] for one in outlets), rows["left_mass"])
    if start is None:
        start = (rows["particles"] + gone - came)[0], (rows["mass"] + gone_mass - mass)[0]
    assert (start[0] + came == rows["particles"] + gone).all()
    scale = start[1] + mass.max() + 1e-300
    np.testing.assert_allclose(start[1] + mass, rows["mass"] + gone_mass, rtol=0.0, atol=1e-12 * scale)
    sides = [name for name in names if name.startswith(("left_-", "left_+"))]
    if sides:
        assert (sum(rows[name] for name in sides) == rows["left"]).all()
        masses = sum(rows[name.replace("left_", "left_mass_")] for name in sides)
        np.testing.assert_allclose(masses, rows["left_mass"], rtol=0.0, atol=1e-12 * scale)
    return int(came[-1]), int(rows["left"][-1]), int(gone[-1] - rows["left"][-1])
