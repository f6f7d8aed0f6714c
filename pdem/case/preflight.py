"""Checks of a run before its first step.

Each finding has the number and the remedy. An error makes a run pointless, a warning makes it doubtful or slow.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.driven_wall_preflight import driven_findings
from pdem.case.findings import Finding, Level, end_problem
from pdem.case.insertion_preflight import inserted_number, insertion_findings
from pdem.case.particle_checks import OVERLAP_WARNING, level_of, particle_findings, particle_name, share
from pdem.case.sections import OUTPUT_SHARES
from pdem.case.sensor_preflight import sensor_findings
from pdem.case.timestep import impact_conditions, step_limits, step_scale
from pdem.case.unit_checks import material_unit_warnings
from pdem.case.wall_checks import mesh_findings, wall_unit_warnings
from pdem.case.wall_speeds import speed_findings
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.mesh import Mesh

    Particles = Mapping[str, NDArray[Any]]


def preflight(
    case: Case, particles: Particles, meshes: Sequence[Mesh], ranks: int = 1, threads: int = 1
) -> list[Finding]:
    """Check a run before its first step.

    Parameters
    ----------
    case : Case
        The case.
    particles : mapping of str to ndarray
        Of all ranks, by name of the field (`pdem.case.initial.initial_particles`).
    meshes : sequence of Mesh
        Of the walls, in the order of the case.
    ranks, threads : int
        Processes, and threads of each.

    Returns
    -------
    list of Finding
        In the order of the checks.

    Raises
    ------
    CaseError
        If a file of particles cannot be read.
    """
    step = case.resolved_step()
    findings = [
        *_length(case, step),
        *_steps(case, step, len(particles["radius"])),
        *material_unit_warnings(case),
        *particle_findings(case, particles, step, impact_conditions(case), partial(particle_name, particles)),
        *overlap_findings(case, particles),
        *wall_findings(case, particles, meshes),
        *insertion_findings(case, step, len(particles["radius"])),
        *sensor_findings(case, step),
    ]
    findings += [
        Finding("warning", subject, text) for subject, text in wall_unit_warnings(case, meshes, particles)
    ]
    for wall, mesh in zip(case.walls, meshes, strict=True):
        texts = mesh_findings(case, mesh, particles)
        findings += [Finding(level, f"wall {wall.name}", text) for level, text in texts]
    return [
        *findings,
        *speed_findings(case, particles, meshes, step),
        *driven_findings(case, particles, meshes, step),
        *_intervals(case, step),
        *_memory(len(particles["radius"]) + inserted_number(case), meshes, ranks),
        *_processes(len(particles["radius"]) + inserted_number(case), ranks, threads),
    ]


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


def overlap_findings(case: Case, particles: Particles) -> Iterator[Finding]:
    """Report the largest overlap between particles."""
    radius = particles["radius"]
    pairs, overlaps = overlapping_pairs(particles["position"], radius, case.domain)
    if len(pairs) == 0:
        if len(radius):
            yield Finding("info", "overlaps", "no particles overlap")
        return
    relative = overlaps / radius[pairs].min(axis=1)
    worst = int(np.argmax(relative))
    level = level_of(relative[worst], OVERLAP_WARNING, case.limits.largest_overlap)
    first, second = particles["id"][pairs[worst]]
    text = f"{len(pairs)} pairs overlap, at most {share(relative[worst])} of the smaller radius "
    text += f"(particles {first} and {second})"
    if level != "info":
        text += "; such particles fly apart: move them, or check the unit of the radii"
    yield Finding(level, "overlaps", text)


def wall_findings(case: Case, particles: Particles, meshes: Sequence[Mesh]) -> Iterator[Finding]:
    """Report the largest overlap of particles with each wall at time 0."""
    radius = particles["radius"]
    for wall, mesh in zip(case.walls, meshes, strict=True):
        hit, depth, facet = touching_walls(
            particles["position"], radius, mesh.vertices, mesh.facet_start, mesh.facet_vertices
        )
        if hit.size == 0:
            continue
        relative = depth / radius[hit]
        worst = int(np.argmax(relative))
        level = level_of(relative[worst], OVERLAP_WARNING, case.limits.largest_overlap)
        text = f"{hit.size} particles overlap it, at most {share(relative[worst])} of the radius "
        text += f"(particle {particles['id'][hit[worst]]}, facet {facet[worst]})"
        if level != "info":
            text += "; move them, or let their fill avoid walls"
        yield Finding(level, f"wall {wall.name}", text)


def _intervals(case: Case, step: float) -> Iterator[Finding]:
    for key, parts in OUTPUT_SHARES.items():
        interval = getattr(case.output, key)
        if interval < step and interval != case.time.end / parts:  # only what the user chose
            text = f"output.{key} = {interval:g} s is shorter than the time step {step:.4g} s; lengthen it"
            yield Finding("warning", "output", text)


def _memory(particles: int, meshes: Sequence[Mesh], ranks: int) -> Iterator[Finding]:
    facets = sum(mesh.facet_count for mesh in meshes)
    each = facets * BYTES_PER_FACET_AND_RANK + BYTES_PER_PROCESS
    needed = particles * BYTES_PER_PARTICLE + facets * BYTES_PER_FACET + ranks * each
    available = memory_size()
    level: Level = "info" if available is None else level_of(needed / available, 0.8, 1.0)
    text = f"about {needed / 2**30:.2g} GiB in all"
    if available is not None:
        text += f", this machine has {available / 2**30:.3g} GiB"
    if level != "info":
        text += "; use fewer particles or more machines"
    yield Finding("warning" if level == "error" and ranks > 1 else level, "memory", text)


def _processes(count: int, ranks: int, threads: int) -> Iterator[Finding]:
    cores = cores_of_all_ranks()
    text = (
        f"{counted(ranks, 'rank')} x {counted(threads, 'thread')} on {counted(cores, 'core')} of this machine"
    )
    if ranks * threads > cores:
        remedy = "right on several machines; on one they wait for each other: use fewer"
        yield Finding("warning", "processes", f"{text}: {remedy}")
    else:
        yield Finding("info", "processes", text)
    if threads > 1 and not has_openmp():
        text = "no OpenMP library is found: threads fall asleep after each loop, and are slow to wake"
        remedy = "install libgomp (package libgomp1 or libgomp), or use ranks"
        yield Finding("warning", "processes", f"{text}; {remedy}")
    if ranks > max(count, 1):
        yield Finding("warning", "processes", f"{ranks} ranks for {count} particles: some have nothing to do")
