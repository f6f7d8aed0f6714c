"""Study of breakage: drops, repeated impacts, sizes of fragments, and a bed under a plate, beside the theory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from pdem.features.breakage.fragment_curve import fragment_curve, passing_at
from pdem.features.breakage.size_tables import SIZE_TABLES
from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.breakage_runs import (
    APPROACH,
    COUNT,
    DENSITY,
    GREATEST,
    IMPACT,
    LARGE,
    LAYERS,
    MASS,
    MEDIAN,
    PRESS_STEP,
    RADIUS,
    SPREAD,
    bed,
    breakage_of,
    dropped,
    impacts_until_broken,
    size_index,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.run.simulation import Simulation
    from pdem.verification.study import Notebook

DROPS = 1000
"""Spheres that drop at each energy."""

RATIOS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Energies of impacts over the median fracture energy."""

IMPACTS = ((5.0, 0.9), (5.0, 0.75), (5.0, 0.5), (5.0, 0.4), (5.0, 0.3), (2.5, 0.5), (2.5, 0.4), (2.5, 0.3))
"""Exponents of damage, and energies of equal impacts over the first strength."""

SIZES = (1.2, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Sizes of the parent over those at which the mass of larger fragments is compared."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield tables of drops, impacts, fragments and a bed."""
    with notebook.plot("drops", 2) as axes:
        yield FindingTable("Broken fraction of 1,000 drops", "theory", _drops(axes[0]), _DROPS)
        yield FindingTable("Mass of fragments above a size", "table", _sizes(axes[1]), _SIZES)
    yield FindingTable("Equal impacts until a sphere breaks", "theory", _impacts(), _IMPACTS)
    yield FindingTable("Replacement", "exact", _replacement(), _REPLACEMENT, 3)
    with notebook.plot("bed", 2) as axes:
        yield FindingTable("A bed of spheres under a plate", "exact", _bed(*axes), _BED, 4)


_DROPS = "Spheres of 10 mm on a rigid floor, by specific energy over the median. Allowed: three standard deviations."
_SIZES = (
    "Of all spheres that break at three times the median. Allowed: 1 %, or chance if that is more; what is cut from "
    "fragments that are larger than the room between the contacts takes up to 2 % from sizes above 1 / 2."
)
_IMPACTS = "Restitution 1; damage by the implicit equation of Tavares, solved here by another method."
_REPLACEMENT = (
    "Spheres that turn at up to 300 rad/s strike the floor at an angle. Angular momentum is about their centres."
)
_BED = (
    "The index is the mean over the mass of the logarithm of the ratio in which sizes have fallen; fines are counted."
)


def _share(ratio: float) -> float:
    """Return the share of spheres with a strength below a ratio of the median."""
    return float(ndtr(math.log(ratio * (GREATEST - 1.0) / (GREATEST - ratio)) / SPREAD))


def _drops(axes: Any) -> list[StudyFinding]:
    """Return the broken fractions of drops at several energies."""
    findings = []
    for ratio in RATIOS:
        simulation, share = dropped(DROPS, ratio * MEDIAN), _share(ratio)
        simulation.advance(IMPACT)
        chance = 3.0 * math.sqrt(share * (1.0 - share) / DROPS)
        broken = breakage_of(simulation).broken / DROPS
        axes.plot(ratio, broken, "o", color="C0")
        findings.append(StudyFinding(f"E / E50 = {ratio:g}", broken, share, 0.0, margin=chance))
    line = np.linspace(0.02, 3.98, 200)
    axes.plot(line, [_share(one) for one in line.tolist()], "-", color="C1")
    axes.set(xlabel="specific energy over the median", ylabel="broken share", title="drops, line: theory")
    return findings


def _sizes(axes: Any) -> list[StudyFinding]:
    """Return the mass of fragments above several sizes, over the mass of their parents."""
    simulation = dropped(DROPS, 3.0 * MEDIAN)
    simulation.advance(IMPACT)
    events, own = breakage_of(simulation).events.joined(), simulation.particles
    curve = fragment_curve(SIZE_TABLES["copper"], float(events["t10"][0]))
    order = np.argsort(own.id)
    born = own.radius[order][own.id[order] >= DROPS] / RADIUS
    parent = np.repeat(np.arange(len(events["id"])), events["fragments"])
    findings = []
    for n in SIZES:
        shares = np.bincount(parent, np.where(born > 1.0 / n, born**3, 0.0), len(events["id"]))
        chance = 3.0 * float(shares.std()) / math.sqrt(len(shares))
        allowed, expected = max(0.01, chance) + (0.02 if n < 2.0 else 0.0), 1.0 - passing_at(curve, n**-3)
        findings.append(StudyFinding(f"above 1 / {n:g}", float(shares.mean()), expected, 0.0, margin=allowed))
    size = np.geomspace(0.1, 1.0, 100)
    above = [born[born > one].dot(born[born > one] ** 2) / len(events["id"]) for one in size]
    axes.plot(size, above, "-", size, [1.0 - passing_at(curve, one**3) for one in size.tolist()], "--")
    axes.set(xlabel="size over that of the parent", ylabel="mass of larger fragments", title="fragments, dashed: table")
    return findings


def _impacts() -> list[StudyFinding]:
    """Return the number of the impact by which a sphere breaks."""
    return [
        StudyFinding(f"exponent {exponent:g}, x = {ratio:g}", impacts_until_broken(exponent, ratio), number, 0.0)
        for exponent, ratio in IMPACTS
        for number in (_theory_of_impacts(exponent, ratio),)
    ]  # fmt: skip


def _theory_of_impacts(exponent: float, ratio: float) -> float:
    """Return the number of equal impacts until the strength has fallen to their energy."""
    strength, number = 1.0, 1
    while strength > ratio:
        strength, number = strength * (1.0 - _damage(ratio / strength, exponent)), number + 1
    return number


def _damage(ratio: float, exponent: float) -> float:
    def difference(damage: float) -> float:
        return (2.0 * exponent * ratio / (2.0 * exponent - 5.0 * damage + 5.0)) ** (0.4 * exponent) - damage

    # the slope of the difference is 0 at its least value, between the two roots
    least = (2.0 * exponent + 5.0 - (2.0 * exponent * ratio * _slope(exponent, ratio))) / 5.0
    return float(brentq(difference, 0.0, min(least, 1.0), xtol=1e-15))


def _slope(exponent: float, ratio: float) -> float:
    """Return the factor of the denominator at which the power grows like the damage."""
    twice = 2.0 * exponent
    return float((twice / (twice * ratio)) ** (1.0 / (1.0 + 0.4 * exponent)))


def _replacement() -> list[StudyFinding]:
    """Return the largest changes at the replacements of spheres that turn and strike at an angle."""
    simulation, found = dropped(200, 2.0 * MEDIAN), []
    random, feature = np.random.default_rng(1), breakage_of(simulation)
    simulation.particles.angular_velocity[:] = random.uniform(-300.0, 300.0, (200, 3))
    simulation.particles.velocity[:, :2] = random.uniform(-5.0, 5.0, (200, 2))
    replace = feature.act

    def act(*arguments: Any) -> None:
        before = _totals(simulation), simulation.energies()
        replace(*arguments)
        found.append((*before, _totals(simulation), simulation.energies()))

    feature.act = act  # type: ignore[method-assign, assignment]
    simulation.advance(IMPACT)
    return _changes(simulation, found)


def _totals(simulation: Simulation) -> dict[int, Any]:
    """Return mass, centre, momentum and angular momentum of each sphere, by its first ancestor."""
    own = simulation.particles
    mass = DENSITY * 4.0 / 3.0 * math.pi * own.radius**3
    spin = (0.4 * mass * own.radius**2)[:, None] * own.angular_velocity
    columns = (mass, own.position.copy(), own.velocity.copy(), spin)
    return {int(one): tuple(column[row] for column in columns) for row, one in enumerate(own.id.tolist())}


def _changes(simulation: Simulation, found: list[Any]) -> list[StudyFinding]:
    """Return the largest relative changes over all replacements."""
    events, worst = breakage_of(simulation).events.joined(), np.zeros(4)
    rows = {int(one): row for row, one in enumerate(events["id"].tolist())}
    for before, ledger, after, then in found:
        for one in sorted(set(before) - set(after)):
            row = rows[one]
            first, number = int(events["first_fragment"][row]), int(events["fragments"][row])
            mass, *vectors = (np.array(part) for part in zip(*(after[first + k] for k in range(number)), strict=True))
            worst[:3] = np.maximum(worst[:3], _relative(before[one], mass, *vectors))
        worst[3] = max(worst[3], abs(then["residual"] - ledger["residual"]) / ledger["elastic"])
    names = ("centre of mass, over the radius", "momentum", "angular momentum", "energy, with the term breakage")
    findings = [at_most(f"{name}: largest change", value, 1e-12) for name, value in zip(names, worst, strict=True)]
    least = float(events["released"].min())
    findings.append(StudyFinding("spheres that have broken", len(events["id"])))
    findings.append(at_most("least energy released by an event, negative [J]", -least, 0.0))
    return findings


def _relative(parent: Any, mass: Any, place: Any, velocity: Any, spin: Any) -> Any:
    """Return the relative changes of centre, momentum and angular momentum of a sphere without its fines."""
    kept, way, speed = mass.sum(), place - parent[1], velocity - parent[2]
    moment = (mass[:, None] * way).sum(axis=0) / (kept * RADIUS)
    momentum = (mass[:, None] * speed).sum(axis=0) / (kept * np.abs(parent[2]).max())
    turning = (mass[:, None] * np.cross(way, speed) + spin).sum(axis=0)
    expected = parent[3] * kept / parent[0]
    return [np.abs(moment).max(), np.abs(momentum).max(), np.abs(turning - expected).max() / np.abs(expected).max()]


def _bed(work: Any, sizes: Any) -> list[StudyFinding]:
    """Return the energy balance and the fall of sizes of a bed under a plate that approaches."""
    simulation, rows, worst = bed(), [], 0.0
    for _ in range(24):
        simulation.advance(500)
        one = simulation.energies()
        if breakage_of(simulation).broken:
            worst = max(worst, abs(one["residual"]) / one["wall_work"])
        rows.append((1e3 * APPROACH * simulation.time, one["wall_work"], one["breakage"], size_index(simulation)))
    way, done, broken, index = np.array(rows).T
    work.plot(way, done, "-", label="work of the plate")
    work.plot(way, broken, "--", label="breakage")
    work.set(xlabel="way of the plate [mm]", ylabel="energy [J]", title="bed under a plate")
    work.legend()
    sizes.plot(way, index, "-")
    sizes.set(xlabel="way of the plate [mm]", ylabel="index of sizes", title="sizes only fall")
    return [
        at_most("largest residual over the work of the plate, from the first break on", worst, 1e-3),
        at_most("largest rise of a mean size between two outputs", float(max(0.0, -np.diff(index).min())), 0.0),
        StudyFinding("spheres that have broken", breakage_of(simulation).broken),
        StudyFinding("share of breakage in the work", broken[-1] / done[-1]),
        StudyFinding("index of sizes at the end", index[-1]),
    ]


PARAMETERS = {
    "ore": f"{DENSITY:g} kg/m3, E = 70 GPa, spheres of 10 mm, {1e3 * MASS:.3g} g; constants of a copper ore, unchecked",
    "strength": f"model tavares, {LARGE:g} J/kg of large spheres, median {MEDIAN:.4g} J/kg, spread {SPREAD:g}",
    "bed": f"{COUNT * COUNT * LAYERS} spheres, E = 20 GPa, plate at {APPROACH:g} m/s, steps of {PRESS_STEP:g} s",
}
"""Parameters for the page of the study."""
