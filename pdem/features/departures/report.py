"""The balance of mass: mass inside, and departures through each side, in the series and at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.columns import LEFT, SIDES, balance_columns
from pdem.engine.views.bodies import bodies_of
from pdem.numerics.sums import ExactSums
from pdem.output.summary import counted

if TYPE_CHECKING:
    from pdem.engine.system import System
    from pdem.features.departures.left import Left


def balance_values(system: System, gone: Left) -> dict[str, float]:
    """Return the values of the columns of `pdem.case.columns`, the same on every rank. Collective."""
    inside = ExactSums(("mass",))
    inside.add("mass", bodies_of(system).mass)
    inside.normalise()
    total = ExactSums(("mass",), system.exchange.add(inside.limbs)).values()["mass"]
    whole = ExactSums((LEFT,), gone.mass.limbs.sum(axis=0, keepdims=True)).values()[LEFT]
    found: dict[str, float] = {"mass": total, LEFT: int(gone.count.sum()), f"{LEFT}_mass": whole}
    for side, count, mass in zip(SIDES, gone.count.tolist(), gone.mass.values().values(), strict=True):
        found |= {f"{LEFT}_{side}": count, f"{LEFT}_mass_{side}": mass}
    return {name: found[name] for name, *_ in balance_columns(system.case)}


def departure_lines(system: System, gone: Left) -> list[str]:
    """Return a line for the report that ends a run, if anything has left the domain."""
    number = int(gone.count.sum())
    if not number:
        return []
    whole = ExactSums((LEFT,), gone.mass.limbs.sum(axis=0, keepdims=True)).values()[LEFT]
    sides = ", ".join(
        f"{gone.count[k]} through {SIDES[k]}" for k in np.argsort(-gone.count, kind="stable") if gone.count[k]
    )
    how = "" if system.case.domain.outside == "remove" else ", once they moved too fast to be computed"
    return [
        f"left the domain: {counted(number, 'particle')}, {whole:.6g} kg: {sides}; removed{how} "
        f'(domain.outside = "{system.case.domain.outside}")'
    ]
