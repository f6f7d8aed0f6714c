"""``[walls.wear]``: what particles take off walls."""

from __future__ import annotations

from typing import Literal

from pdem.case.sections.base import Positive, Section, entry


class Wear(Section):
    """``wear``: depth of wear of each facet, in ``walls.vtkhdf``. The mesh keeps its shape."""

    model: Literal["archard", "finnie"] = entry(
        "Model of wear. By sliding: `coefficient * normal force * sliding distance`; or by impacts: `coefficient * "
        "m v**2 * f(angle)`, with Finnie's function of the angle."
    )
    coefficient: Positive = entry(
        "Coefficient in 1/Pa. Archard: the wear coefficient over the hardness of the wall, K / H. Finnie: the "
        "fraction of the particles that cut, over four times the plastic flow pressure, c / (4 p).",
        unit="1/Pa",
    )
