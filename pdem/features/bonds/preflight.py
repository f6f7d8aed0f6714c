"""Findings on bonds before a run: numbers, stiffness, strength, and the longest stable step of the actual bonds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE_SHAPE
from pdem.case.groups.shapes import shape_of, used_shapes
from pdem.containers.group import on_first_rank
from pdem.features.bonds.bond_limits import limit_of, limits_of_shapes, network_among
from pdem.features.bonds.section import WeibullStrength
from pdem.features.bonds.selection import NEEDED, bonds_of_all, kinds_of_stage
from pdem.features.bonds.shape_bonds import kinds_of_shapes, links_of, require_flexible_shapes
from pdem.output.summary import counted
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.features.bonds.bond_steps import BondNetwork
    from pdem.features.bonds.kernel import BondColumns
    from pdem.features.bonds.section import BondSection
    from pdem.foundation.array_types import Floats, Integers
    from pdem.preflight.population import Population

    Columns = Mapping[str, NDArray[Any]]

STEP_SHARE = 0.5
"""Ratio of the time step to the longest stable step above which motion is inaccurate."""

_SHOWN = 5


def bond_findings(case: CaseData, particles: Population, step: float) -> list[Finding]:
    """Return the findings on the bonds of a case, for a time step [s]. Collective.

    Raises
    ------
    CaseError
        On all ranks, if particles cannot be joined.
    """
    if not case.bonds:
        return []
    on_first_rank(particles.over, lambda: require_flexible_shapes(case))
    mine = {name: particles[name] for name in NEEDED if name in particles.columns}
    table = particles.over.collect(mine)

    def all_findings() -> list[Finding]:
        assert table is not None, "the first rank has all particles"
        order = np.argsort(table["id"], kind="stable")
        ordered = {name: column[order] for name, column in table.items()}
        pairs, columns = bonds_of_all(case, ordered)
        network = network_among(case, ordered, pairs, columns)
        of_sample = set(kinds_of_stage(case, 0)) - set(kinds_of_shapes(case))
        return [
            *_flexible(case, ordered),
            *(_numbers(ordered, network.rows) if len(pairs) else ()),
            *(_stiffness(case, particles, network) if of_sample else ()),
            *_step(case, network, step),
            *_strength(case, pairs, columns),
            *_made_later(case),
        ]

    return on_first_rank(particles.over, all_findings)


def _made_later(case: CaseData) -> Iterator[Finding]:
    """Report the kinds of bonds that do not begin with the run."""
    first = kinds_of_stage(case, 0)
    for name, section in case.bonds.items():
        if name not in first:
            text = f"are made at the beginning of stage {section.stage}, and are not checked before"
            yield Finding("info", f"bonds {name}", text)


def _flexible(case: CaseData, table: Columns) -> Iterator[Finding]:
    """Report the spheres and bonds of flexible particles, and their number at the start of the run."""
    for number, (name, shape) in enumerate(case.shapes.items()):
        if shape.bonds is None or name not in used_shapes(case):
            continue
        spheres = len(shape_of(case, name).radius)
        text = f"flexible: bonds.{shape.bonds} joins its {counted(spheres, 'sphere')} by "
        text += f"{counted(len(links_of(case, name)), 'bond')}"
        here = int((table[FLEXIBLE_SHAPE] == number + 1).sum()) if FLEXIBLE_SHAPE in table else 0
        text += f"; {counted(here // spheres, 'particle')} at the start"
        more = [one.name for one in case.insertions if one.shape == name]
        yield Finding("info", f"shape {name}", text + (f", more by insertion {', '.join(more)}" if more else ""))


def _numbers(table: Columns, rows: Integers) -> Iterator[Finding]:
    """Report the number of bonds, and the spheres without bonds."""
    count = np.bincount(rows.ravel(), minlength=len(table["id"]))
    joined = count[count > 0]
    text = f"{len(rows):,} join {len(joined):,} spheres, {joined.mean():.3g} of each ({joined.min()} to {joined.max()})"
    yield Finding("info", "bonds", text)
    alone = table["id"][count == 0]
    if len(alone):
        shown = ", ".join(map(str, alone[:_SHOWN].tolist())) + (", ..." if len(alone) > _SHOWN else "")
        verb = "sphere has" if len(alone) == 1 else "spheres have"
        yield Finding("info", "bonds", f"{len(alone):,} {verb} none: {shown}")


def _stiffness(case: CaseData, particles: Population, network: BondNetwork) -> Iterator[Finding]:
    """Report the stiffness of the bonded sample under uniform strain, which is an upper bound."""
    if case.domain.dimension == 2:
        return
    sides = np.where(
        case.domain.periodic, np.subtract(case.domain.upper, case.domain.lower), particles.upper - particles.lower
    )
    square = (network.branch**2).sum(axis=1)
    normal, shear = (float((network.stiffness[:, mode] * square).sum()) for mode in range(2))
    volume = float(np.prod(sides))
    bulk, rigidity = normal / (9.0 * volume), (2.0 * normal + 3.0 * shear) / (30.0 * volume)
    young = 9.0 * bulk * rigidity / (3.0 * bulk + rigidity)
    text = f"in the box around all spheres they are at most as stiff as a solid of Young's modulus {young:.3g} Pa"
    yield Finding("info", "bonds", f"{text} (bulk modulus {bulk:.3g} Pa), if spread evenly")


def _step(case: CaseData, network: BondNetwork, step: float) -> Iterator[Finding]:
    """Compare the time step with the longest stable step of present bonds, and of flexible particles still to come."""
    limits = [*([limit_of(network)] if len(network.rows) else []), *limits_of_shapes(case)]
    if not limits:
        return
    limit = min(limits, key=lambda one: one.time)
    share = step / limit.time
    text = f"{step:.4g} s is {100.0 * share:.3g} % of the longest stable step {limit.time:.4g} s of {limit.subject}"
    if share > STEP_SHARE:
        text += f"; use at most {STEP_SHARE * limit.time:.3g} s"
    yield Finding("error" if share >= 1.0 else "warning" if share > STEP_SHARE else "info", "time step", text)


def _strength(case: CaseData, pairs: Integers, columns: BondColumns) -> Iterator[Finding]:
    """Report the loads at which bonds of each kind break, and the kinds that never break."""
    for number, (name, section) in enumerate(case.bonds.items()):
        mine = np.flatnonzero(columns.kind == number)
        if not len(mine):  # it begins with a later stage, or its flexible particles are inserted later
            continue
        tensile, _, energy = columns.strength[mine].T
        area, bending, _ = columns.section[mine].T
        if not np.isfinite(columns.strength[mine]).any():
            text = "have no strength: they never break"
        elif section.criterion == "energy":
            text = f"break at a stored energy of {_ends(energy * area)} J"
        elif not np.isfinite(tensile).any():
            text = "break by shear and twist alone, since there is no tensile_strength"
        else:
            text = f"break at a tension of {_ends(tensile * area)} N"
            text += f" or a bending moment of {_ends(tensile / bending)} N m" if section.moment_factor > 0.0 else ""
            text += _weakest(section, pairs[mine], tensile)
        yield Finding("info", f"bonds {name}", text)


def _weakest(section: BondSection, pairs: Integers, tensile: Floats) -> str:
    """Return a text on the weakest bond and on its expected strength; an empty text without a Weibull distribution."""
    law = section.tensile_strength
    if not isinstance(law, WeibullStrength):
        return ""
    least = int(np.argmin(tensile))
    lower, higher = pairs[least].tolist()
    expected = law.mean * float(len(pairs)) ** (-1.0 / law.modulus)
    text = f"; the weakest of {len(pairs):,} has {tensile[least]:.3g} Pa (particles {lower} and {higher}), on average "
    return f"{text}{expected:.3g} Pa"


def _ends(values: NDArray[Any]) -> str:
    """Return the smallest and the largest value as text."""
    low, high = float(values.min()), float(values.max())
    return f"{low:.3g}" if high <= low * (1.0 + 1e-9) else f"{low:.3g} to {high:.3g}"
