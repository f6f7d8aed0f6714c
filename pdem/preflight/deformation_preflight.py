"""Findings of `pdem check` on a deforming box: its total deformation, and the resolution by the time step."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.deformation import AXES, deformation_in, deformations, deforms
from pdem.case.groups.group_sizes import largest_cluster_reach
from pdem.case.groups.shapes import has_clusters
from pdem.case.rules.deformation_rules import grains_may_pull
from pdem.case.timestep import contact_force, spring_of
from pdem.numerics.sums import ExactSums
from pdem.preflight.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.preflight.population import Population

FASTEST = 0.1
"""Displacement of the sides of the box per step in smallest radii, above which there is a warning."""

FARTHEST = 100.0
"""Logarithmic strain beyond which lengths are clipped."""

DENSEST = 0.9
"""Solid fraction that hardly any grains reach without large overlaps, in two and in three dimensions."""

MOST_LOADED = 12, 0.74
"""Contacts per grain, and solid fraction, of the densest packing of equal spheres, which carries the largest load."""


def deformation_findings(
    case: Case, particles: Population, step: float, meshes: Sequence[Mesh] = ()
) -> Iterator[Finding]:
    """Yield findings on the deformation of the box of a case, with a time step [s]. Collective."""
    if not deforms(case):
        return
    if particles.count == 0:
        text = "the box deforms, and there are no particles; fill it by [[particles]]: later none can come into it"
        yield Finding("error", "deformation", text)
        return
    strain, largest, shear = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.0
    for number, time in _intervals(case):
        wanted = deformation_in(case, number)
        for axis, one in wanted.axes.items():
            strain[AXES.index(axis)] += (one.strain_rate or 0.0) * time
        largest = list(map(max, largest, strain))
        shear += 0.0 if wanted.shear is None else (wanted.shear.rate or 0.0) * time
    lengths = [one * _factor(by) for one, by in zip(_lengths(case), strain, strict=True)]
    if not case.stages:
        shown = ", ".join(f"{length:.4g}" for length in lengths[: case.domain.dimension])
        text = f"the box {deformation_in(case, -1)}; at time.end it is {shown} m long"
        yield Finding("info", "deformation", text + (f", sheared by {shear:.4g}" if shear else ""))
    yield from _too_small(case, particles, lengths)
    yield from _too_dense(case, particles, lengths)
    yield from _outgrown_walls(case, meshes, largest)
    yield from _too_much_stress(case, particles)
    yield from _too_much_tension(case, particles)
    yield from _too_much_shear(case)
    yield from _too_fast(case, particles, step)


def _factor(strain: float) -> float:
    """Return the factor by which a strain changes a length, clipped to stay away from 0 and infinity."""
    return math.exp(min(max(strain, -FARTHEST), FARTHEST))


def _lengths(case: Case) -> list[float]:
    return np.subtract(case.domain.upper, case.domain.lower).tolist()


def _intervals(case: Case) -> list[tuple[int, float]]:
    """Return the stages with their durations [s], up to the first stage with a duration that depends on the run."""
    if not case.stages:
        return [(-1, case.time.end)]
    found, left = [], case.time.end
    for number, stage in enumerate(case.stages):
        if stage.until is not None:
            break
        length = left if stage.end is None else min(stage.end, left)
        found.append((number, length))
        left -= length
    return found


def _too_small(case: Case, particles: Population, lengths: list[float]) -> Iterator[Finding]:
    if not particles.count:
        return
    least = 4.0 * max(float(particles.radii.max()), largest_cluster_reach(case))
    for axis, length in enumerate(lengths):
        if case.domain.periodic[axis] and length < least:
            text = (
                f"would make the box {length:.4g} m long along {AXES[axis]}, less than two of the largest diameters "
                f"({least:.4g} m): the run stops before; end it earlier, or begin with a larger box"
            )
            yield Finding("warning", "deformation", text)


def _outgrown_walls(case: Case, meshes: Sequence[Mesh], strain: Sequence[float]) -> Iterator[Finding]:
    """Warn of walls that span the box but do not reach its sides after the largest strain."""
    lower, upper = np.array(case.domain.lower), np.array(case.domain.upper)
    grown = 0.5 * (upper - lower) * [_factor(one) for one in strain]
    low, high = 0.5 * (lower + upper) - grown, 0.5 * (lower + upper) + grown
    for wall, mesh in zip(case.walls, meshes, strict=False):
        begin, end = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        spans = np.array(case.domain.periodic) & (begin <= lower) & (end >= upper)
        for axis in np.flatnonzero(spans & ((begin > low) | (end < high))).tolist():
            text = (
                f"reaches from side to side of the box along {AXES[axis]}, from {begin[axis]:.4g} to "
                f"{end[axis]:.4g} m, until the box grows beyond it, to {low[axis]:.4g} to {high[axis]:.4g} m: grains "
                "pass beside it; make it longer, which may be beyond the domain"
            )
            yield Finding("warning", f"wall {wall.name}", text)


def _too_dense(case: Case, particles: Population, lengths: list[float]) -> Iterator[Finding]:
    """Warn if prescribed strains compress the box beyond the densest packing of its grains. Collective."""
    driven = any(one.stresses for _, one in deformations(case))
    if not particles.count or has_clusters(case) or case.walls or driven:
        return
    dimension, radius, solid = case.domain.dimension, particles["radius"], ExactSums(("solid",))
    solid.add("solid", 4.0 / 3.0 * np.pi * radius**3 if dimension == 3 else np.pi * radius**2)
    volume = ExactSums(solid.names, particles.over.add(solid.limbs)).values()["solid"]
    begin, end = (volume / math.prod(sides[:dimension]) for sides in (_lengths(case), lengths))
    if end > max(DENSEST, begin):
        text = (
            f"would bring the solid fraction from {begin:.3g} to {end:.3g}, and grains of one size fill at most about "
            "0.64 at random (discs 0.84): the run stops where overlaps exceed limits.largest_overlap; end it "
            "earlier, or give a stress in place of the strain rate"
        )
        yield Finding("warning", "deformation", text)


def _too_much_stress(case: Case, particles: Population) -> Iterator[Finding]:
    """Warn of stresses that exceed the capacity of contacts at the largest overlap, for grains of the mean radius.

    Bonds may bear more than contacts.
    """
    wanted = max((abs(stress) for _, one in deformations(case) for stress in one.stresses), default=0.0)
    if not particles.count or wanted <= 0.0 or has_clusters(case) or case.bonds:
        return
    radius, materials = float(particles.radii.mean()), sorted({group.material for group in case.particles})
    overlap = case.limits.largest_overlap * radius
    force = max(
        (contact_force(case, pair, 0.5 * radius, overlap) for pair in combinations_with_replacement(materials, 2)),
        default=math.inf,
    )
    contacts, solid = MOST_LOADED
    area = 4.0 * math.pi * radius**2 if case.domain.dimension == 3 else 2.0 * math.pi * radius
    borne = contacts * solid * force / area
    if wanted > borne:
        unit = "Pa" if case.domain.dimension == 3 else "N/m"
        text = (
            f"wants a stress of {wanted:.3g} {unit}, and grains of the case bear at most about {borne:.3g} {unit} "
            f"before they overlap by more than limits.largest_overlap ({case.limits.largest_overlap:g} of the radius), "
            "which stops the run: want less, or give stiffer grains"
        )
        yield Finding("warning", "deformation", text)


def _too_much_tension(case: Case, particles: Population) -> Iterator[Finding]:
    """Warn of tensions above the strength of adhesion, if all contacts were as strong as between the smallest grains.

    The strength is Rumpf's for the densest packing. Along a single axis it is multiplied by the dimension, the strength
    if all contacts were along this axis. Bonds may bear more than contacts.
    """
    dimension = case.domain.dimension
    tensions = [-one.mean_stress for _, one in deformations(case) if one.mean_stress is not None]
    axes = [axis for _, one in deformations(case) for axis in one.axes.values()]
    tensions += [-axis.stress / dimension for axis in axes if axis.stress is not None]
    if max(tensions, default=0.0) <= 0.0 or not particles.count or has_clusters(case) or case.bonds:
        return
    radius, materials = float(particles.radii.min()), sorted({group.material for group in case.particles})
    pairs = combinations_with_replacement(materials, 2)
    pulls = [spring_of(case, pair).pull_off(0.5 * radius) for pair in pairs]
    contacts, solid = MOST_LOADED
    area = 4.0 * math.pi * radius**2 if dimension == 3 else 2.0 * math.pi * radius
    held = contacts * solid * max(pulls) / area
    if max(tensions) > held and all(pulls):
        unit = "Pa" if dimension == 3 else "N/m"
        text = (
            f"wants a tension that adhesion does not hold: at most about {held:.3g} {unit} in the mean of all axes, by "
            f"{max(pulls):.3g} N of a contact; the box grows on and on: want less, or give more adhesion"
        )
        yield Finding("warning", "deformation", text)


def _too_much_shear(case: Case) -> Iterator[Finding]:
    """Warn of shear stresses above the pressure across the layers, which no flow of grains carries without adhesion.

    Without tensile contact forces no principal stress is a tension: the square of the shear stress is at most the
    product of the pressures along both axes, which hardly differ in shear (da Cruz et al. 2005).
    """
    if grains_may_pull(case):
        return
    for where, one in deformations(case):
        if one.shear is None or one.shear.stress is None:
            continue
        across = one.axes.get(one.shear.gradient_along)
        pressure = one.mean_stress if across is None else across.stress
        if pressure is None or abs(one.shear.stress) <= pressure:
            continue
        stage = "" if where[0] == "domain" else f" of stage {case.stages[int(where[1])].name}"
        text = (
            f"the shear stress{stage}, {one.shear.stress:.3g}, is larger than the pressure of {pressure:.3g} across "
            "the layers: grains without adhesion bear less, so that the box shears ever faster, up to largest_rate, "
            "and never gets there; want less, or give a shear rate"
        )
        yield Finding("warning", "deformation", text)


def _too_fast(case: Case, particles: Population, step: float) -> Iterator[Finding]:
    """Warn if the sides of the box move farther in a step than grains can follow."""
    if not particles.count:
        return
    smallest, lengths = float(particles.radii.min()), _lengths(case)
    for where, one in deformations(case):
        ways = [abs(rate.strain_rate or 0.0) * lengths[AXES.index(axis)] for axis, rate in one.axes.items()]
        if one.shear is not None:
            ways.append(abs(one.shear.rate or 0.0) * lengths[AXES.index(one.shear.gradient_along)])
        way = 0.5 * step * max(ways, default=0.0)
        if way > FASTEST * smallest:
            stage = "" if where[0] == "domain" else f" of stage {case.stages[int(where[1])].name}"
            text = (
                f"the deformation{stage} moves grains at the sides of the box by {way / smallest:.3g} of the smallest "
                f"radius in a step (a run stops above 1): deform more slowly, or reduce time.step"
            )
            yield Finding("error" if way > smallest else "warning", "deformation", text)
