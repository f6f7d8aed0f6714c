"""Checks of a run before its first step.

Each finding states the number and the remedy. After an error a run is pointless, after a warning doubtful or slow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.flexible import FLEXIBLE
from pdem.case.groups.group_sizes import largest_cluster_reach, sphere_limits
from pdem.case.sections.general import OUTPUT_SHARES
from pdem.case.sections.wall_shapes import ShapeWall
from pdem.case.stage_cases import walls_present
from pdem.case.timestep import impact_conditions, step_limits, step_scale
from pdem.containers.exchange import Alone
from pdem.containers.group import on_first_rank
from pdem.features.insertions.preflight import inserted_number
from pdem.features.preflight import feature_findings, findings_on_particles
from pdem.foundation.machine import cores_of_all_ranks, has_openmp
from pdem.foundation.memory import (
    BYTES_PER_FACET,
    BYTES_PER_FACET_AND_RANK,
    BYTES_PER_PARTICLE,
    BYTES_PER_PROCESS,
    memory_size,
)
from pdem.output.summary import counted
from pdem.particles.clearance import overlapping_pairs, touching_walls
from pdem.preflight.deformation_preflight import deformation_findings
from pdem.preflight.driven_wall_preflight import driven_findings
from pdem.preflight.estimates.beds import bed_depth
from pdem.preflight.estimates.impacts import expected_impact, pull_of
from pdem.preflight.estimates.lengths import length_findings
from pdem.preflight.estimates.stiffness import stiffness_findings
from pdem.preflight.estimates.stillness import stillness_findings
from pdem.preflight.far_places import place_findings
from pdem.preflight.findings import Finding, Level, end_problem
from pdem.preflight.open_sides import falling_findings, falling_inlet_findings, fixed_particles
from pdem.preflight.particle_checks import OVERLAP_WARNING, level_of, particle_findings, particle_name, share
from pdem.preflight.population import Population
from pdem.preflight.shape_preflight import shape_findings
from pdem.preflight.stage_preflight import stage_findings
from pdem.preflight.surface_preflight import surface_findings
from pdem.preflight.thin_walls import thin_wall_findings
from pdem.preflight.unit_checks import material_unit_warnings
from pdem.preflight.wall_checks import mesh_findings, side_warnings, wall_unit_warnings
from pdem.preflight.wall_speeds import speed_findings, turning_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.timestep import ImpactConditions
    from pdem.containers.exchange import Exchange
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.array_types import Floats

NO_OVERLAPS = "no particles overlap"


def preflight(
    case: Case,
    particles: Mapping[str, NDArray[Any]],
    meshes: Sequence[Mesh],
    ranks: int = 1,
    threads: int = 1,
    over: Exchange | None = None,
    crowded: Sequence[str] | None = None,
) -> list[Finding]:
    """Check a run before its first step. Collective.

    Parameters
    ----------
    case : Case
        The case.
    particles : mapping of str to ndarray
        Particles of this rank, inside its subdomain, by name of the field
        (`pdem.case.groups.initial.initial_particles`).
    meshes : sequence of Mesh
        Meshes of the walls, in the order of the case.
    ranks, threads : int
        Number of processes, and number of threads per process.
    over : Exchange, optional
        The ranks; by default this process alone.
    crowded : sequence of str, optional
        Lines about nodes with more threads than cores, if the nodes of the run are known.

    Returns
    -------
    list of Finding
        All findings in the order of the checks, on all ranks.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    over = Alone() if over is None else over
    population, step = Population(particles, over), case.resolved_step()
    moving, ground = population.moving(), fixed_particles(case, population)
    conditions = replace(impact_conditions(case), impact=expected_impact(case, moving, meshes))
    of_particles = [
        *particle_findings(case, population, step, conditions, particle_name),
        *of_stiffness(case, moving, conditions),
        *_of_contacts(case, population, moving, meshes),
        *thin_wall_findings(case, moving, meshes),
        *falling_findings(case, population, meshes, ground),
        *findings_on_particles(case, population, step),
    ]
    of_box = list(deformation_findings(case, population, step, meshes))
    there = walls_present(case, 0)
    sides = [list(side_warnings(moving, mesh)) if first else [] for mesh, first in zip(meshes, there, strict=True)]

    def all_findings() -> list[Finding]:
        return [
            *(Finding("info", "case", line) for line in case.earlier_names),
            *_length(case, step),
            *_steps(case, step, population.count),
            *_fixed(population.count - moving.count),
            *material_unit_warnings(case),
            *place_findings(case, population),
            *length_findings(case, population, radii_of(case, population), step),
            *of_particles,
            *feature_findings(case, step, float(population.radii.min(initial=np.inf))),
            *falling_inlet_findings(case, meshes, ground),
            *stage_findings(case, step, population.count),
            *of_box,
            *shape_findings(case),
            *_findings_on_walls(case, population, meshes, step, sides),
            *_intervals(case, step),
            *_memory(population.count + inserted_number(case), meshes, ranks),
            *_processes(population.count + inserted_number(case), ranks, threads, crowded),
        ]

    return on_first_rank(over, all_findings)


def _of_contacts(case: Case, particles: Population, moving: Population, meshes: Sequence[Mesh]) -> list[Finding]:
    """Return the findings on overlaps at time 0, and on whether anything moves. Collective."""
    overlaps = list(overlap_findings(case, particles))
    walls = list(wall_findings(case, moving, meshes))
    touch = bool(walls) or any(one.message != NO_OVERLAPS for one in overlaps)
    return [*overlaps, *walls, *stillness_findings(case, moving, touch=touch)]


def radii_of(case: Case, particles: Population) -> Floats:
    """Return the extreme radii of particles at time 0 and of inserted particles [m]."""
    return np.concatenate((particles.radii, *(sphere_limits(case, one) or () for one in case.insertions)))


def of_stiffness(case: Case, particles: Population, conditions: ImpactConditions) -> Iterator[Finding]:
    """Yield the findings on the stiffness of contacts. Collective."""
    radii = radii_of(case, particles)
    pull = pull_of(case)
    gravity = float(np.linalg.norm(pull))
    depth = bed_depth(case, particles, pull) if gravity else 0.0
    number = particles.count + inserted_number(case)
    yield from stiffness_findings(case, conditions, radii, (depth, gravity), number)


def _findings_on_walls(
    case: Case, particles: Population, meshes: Sequence[Mesh], step: float, sides: Sequence[Sequence[str]]
) -> Iterator[Finding]:
    """Yield the findings on meshes and motions of walls; `sides` has the warnings on particles on the wrong side."""
    for subject, text in wall_unit_warnings(case, meshes, particles):
        yield Finding("warning", subject, text)
    radii, largest = particles.radii, float(particles.radii.max(initial=0.0))
    for wall, mesh, wrong_side in zip(case.walls, meshes, sides, strict=True):
        for level, text in mesh_findings(case, mesh, largest, made=isinstance(wall, ShapeWall)):
            yield Finding(level, f"wall {wall.name}", text)
        for text in wrong_side:
            yield Finding("warning", f"wall {wall.name}", text)
    yield from turning_findings(case)
    yield from speed_findings(case, radii, meshes, step)
    yield from surface_findings(case, radii, meshes, step)
    yield from driven_findings(case, radii, particles.count, meshes, step)


def _length(case: Case, step: float) -> Iterator[Finding]:
    if text := end_problem(case, step):
        yield Finding("error", "time", text)


def _steps(case: Case, step: float, count: int) -> Iterator[Finding]:
    """Report the time step, its source, and the number of steps."""
    limits = step_limits(case)
    if case.time.step != "auto":
        source = "given by time.step"
    elif limits:
        smallest = min(limits, key=lambda limit: step_scale([limit]))
        part = share(step / smallest.time)
        source = f"automatic: {part} of the {smallest.name} time {smallest.time:.4g} s of {smallest.subject}"
    else:
        source = "automatic: the interval of the series, since nothing but walls can ever move"
    yield Finding("info", "time step", f"{step:.4g} s, {source}; {round(case.time.end / step):,} steps")
    if not count and not case.insertions:
        yield Finding("warning", "particles", "there are none; the run only moves walls")


def _fixed(number: int) -> Iterator[Finding]:
    if number:
        yield Finding("info", "particles", f"{counted(number, 'sphere')} fixed")


def overlap_findings(case: Case, particles: Population) -> Iterator[Finding]:
    """Report the largest overlap between particles. Collective; particles must be in the subdomains of their ranks."""
    columns, over = particles.columns, particles.over
    given = {name: columns[name] for name in ("id", "radius", "position")}
    # fixed particles count as one body, which may overlap itself
    none = np.zeros(len(columns["id"]), np.int64)
    bodies = columns.get("cluster", none) + columns.get(FLEXIBLE, none)  # no sphere belongs to both
    given["cluster"] = np.where(columns.get("fixed", none) != 0, -1, bodies)
    # the spheres of a shape are on the owner of its centre, at a distance up to the reach of the shape
    rows, ranks = over.near(particles["position"], 2.0 * particles["radius"] + largest_cluster_reach(case))
    away = ranks != over.rank
    copies = over.route({name: column[rows[away]] for name, column in given.items()}, ranks[away])
    ids, radius, position, cluster = (np.concatenate((given[name], copies[name])) for name in given)
    pairs, overlaps = overlapping_pairs(position, radius, case.domain)
    apart = (cluster[pairs[:, 0]] != cluster[pairs[:, 1]]) | (cluster[pairs[:, 0]] == 0)
    pairs, overlaps = pairs[apart], overlaps[apart]
    # The rank that owns the smaller particle counts the pair, because a ghost of the larger particle reaches it.
    smaller = np.lexsort((ids[pairs], radius[pairs]), axis=1)[:, :1]
    mine = np.take_along_axis(pairs, smaller, axis=1)[:, 0] < len(particles["radius"])
    pairs, overlaps = pairs[mine], overlaps[mine]
    relative = overlaps / radius[pairs].min(axis=1)
    number = int(over.add(np.array([len(pairs)]))[0])
    if number == 0:
        if particles.count:
            yield Finding("info", "overlaps", NO_OVERLAPS)
        return
    worst = float(over.largest(np.array([relative.max(initial=0.0)]))[0])
    level = level_of(worst, OVERLAP_WARNING, case.limits.largest_overlap)
    deepest = np.flatnonzero(relative == worst)[:1]
    first, second = over.first(sorted(ids[pairs[deepest[0]]].tolist()) if len(deepest) else None)
    text = f"{number} pairs overlap, at most {share(worst)} of the smaller radius (particles {first} and {second})"
    if level != "info":
        text += "; such particles fly apart: move them, or check the unit of the radii"
    yield Finding(level, "overlaps", text)


def wall_findings(case: Case, particles: Population, meshes: Sequence[Mesh]) -> Iterator[Finding]:
    """Report the largest overlap of particles with each wall at time 0. Collective."""
    radius = particles["radius"]
    for wall, mesh, first in zip(case.walls, meshes, walls_present(case, 0), strict=True):
        if not first:
            continue
        hit, depth, facets = touching_walls(
            particles["position"], radius, mesh.vertices, mesh.facet_start, mesh.facet_vertices
        )
        number = int(particles.over.add(np.array([len(hit)]))[0])
        if number == 0:
            continue
        relative, facet = np.full(len(radius), -np.inf), np.full(len(radius), -1)
        relative[hit], facet[hit] = depth / radius[hit], facets
        worst, row = particles.worst(relative)
        assert row is not None
        at = np.flatnonzero((relative == worst) & (particles["id"] == row.number))
        where = particles.over.first(int(facet[at[0]]) if len(at) else None)
        level = level_of(worst, OVERLAP_WARNING, case.limits.largest_overlap)
        verb = "overlaps" if number == 1 else "overlap"
        text = f"{counted(number, 'particle')} {verb} it, at most {share(worst)} of the radius "
        text += f"(particle {row.number}, facet {where})"
        if level != "info":
            text += "; move them, or let their fill avoid walls"
        yield Finding(level, f"wall {wall.name}", text)


def _intervals(case: Case, step: float) -> Iterator[Finding]:
    for key, parts in OUTPUT_SHARES.items():
        interval = getattr(case.output, key)
        if interval < step and interval != case.time.end / parts:  # only intervals chosen by the user
            text = f"output.{key} = {interval:g} s is shorter than the time step {step:.4g} s; lengthen it"
            yield Finding("warning", "output", text)


def _memory(count: int, meshes: Sequence[Mesh], ranks: int) -> Iterator[Finding]:
    facets = sum(mesh.facet_count for mesh in meshes)
    each = facets * BYTES_PER_FACET_AND_RANK + BYTES_PER_PROCESS
    needed = count * BYTES_PER_PARTICLE + facets * BYTES_PER_FACET + ranks * each
    available = memory_size()
    level: Level = "info" if available is None else level_of(needed / available, 0.8, 1.0)
    text = f"about {needed / 2**30:.2g} GiB in all"
    if available is not None:
        text += f", this machine has {available / 2**30:.3g} GiB"
    if level != "info":
        text += "; use fewer particles or more machines"
    yield Finding("warning" if level == "error" and ranks > 1 else level, "memory", text)


def _crowding(ranks: int, threads: int, crowded: Sequence[str] | None) -> Finding:
    if crowded:
        more = f" (and {counted(len(crowded) - 1, 'more node')})" if len(crowded) > 1 else ""
        return Finding("warning", "processes", f"{crowded[0]}{more}: they wait for each other: use fewer")
    cores = cores_of_all_ranks()
    text = f"{counted(ranks, 'rank')} x {counted(threads, 'thread')}"
    if crowded is not None:
        return Finding("info", "processes", text)
    text += f" on {counted(cores, 'core')} of this machine"
    if ranks * threads <= cores:
        return Finding("info", "processes", text)
    remedy = "right on several machines; on one they wait for each other: use fewer"
    return Finding("warning", "processes", f"{text}: {remedy}")


def _processes(count: int, ranks: int, threads: int, crowded: Sequence[str] | None) -> Iterator[Finding]:
    yield _crowding(ranks, threads, crowded)
    if threads > 1 and not has_openmp():
        text = "no OpenMP library is found: threads fall asleep after each loop, and are slow to wake"
        remedy = "install libgomp (package libgomp1 or libgomp), or use ranks"
        yield Finding("warning", "processes", f"{text}; {remedy}")
    if ranks > max(count, 1):
        yield Finding("warning", "processes", f"{ranks} ranks for {count} particles: some have nothing to do")
