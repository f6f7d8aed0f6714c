"""What can be said about a run before its first step.

Each finding has the number and the remedy. Errors are what makes a run pointless, warnings what makes it
doubtful or slow.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.checks import AXES, meeting_pairs
from pdem.case.clearance import overlapping_pairs, touching_walls
from pdem.case.driven_preflight import driven_findings
from pdem.case.findings import STEP_ERROR, STEP_WARNING, Finding, Level
from pdem.case.memory import (
    BYTES_PER_FACET,
    BYTES_PER_FACET_AND_RANK,
    BYTES_PER_PARTICLE,
    BYTES_PER_PROCESS,
    memory_size,
)
from pdem.case.messages import shown_key
from pdem.case.sections import OUTPUT_SHARES, Time
from pdem.case.timestep import automatic_step, step_limits
from pdem.case.wall_checks import mesh_findings, unit_doubts
from pdem.foundation.machine import cores_of_all_ranks, has_openmp
from pdem.output.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.mesh import Mesh

    Particles = Mapping[str, NDArray[Any]]

HEAVY_DAMPING = 0.1
"""Restitution up to which damping is so heavy that a coarse step falsifies it before any other."""

HEAVY_DAMPING_STEP = 1.0 / 3.0
"""Part of the automatic step, of its usual fraction, up to which heavy damping is out of doubt."""

OVERLAP_WARNING = 0.05
"""Initial overlap, over the smaller radius, from which on particles fly apart noticeably."""

TRAVEL_WARNING = 0.1
"""Way per step over radius from which on particles may pass thin obstacles or one another."""


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
        *_time_step(case, step),
        *_heavy_damping(case, step),
        *_travel(particles, step),
        *_outside(case, particles),
        *_overlaps(case, particles),
        *_walls_hit(case, particles, meshes),
    ]
    findings += [Finding("warning", subject, text) for subject, text in unit_doubts(case, meshes, particles)]
    for wall, mesh in zip(case.walls, meshes, strict=True):
        said = mesh_findings(case, mesh, particles)
        findings += [Finding(level, f"wall {wall.name}", text) for level, text in said]
    return [
        *findings,
        *driven_findings(case, particles, meshes, step),
        *_intervals(case, step),
        *_memory(particles, meshes, ranks),
        *_processes(particles, ranks, threads),
    ]


def _level(value: float, warning: float, error: float) -> Level:
    if value > error:
        return "error"
    return "warning" if value > warning else "info"


def _share(value: float) -> str:
    return f"{100.0 * value:.3g} %"


def _time_step(case: Case, step: float) -> Iterator[Finding]:
    worst = {limit.name: limit for limit in reversed(step_limits(case))}
    automatic = ' or step = "auto"'
    for name, limit in worst.items():
        part = step / limit.time
        level = _level(part, STEP_WARNING[name], STEP_ERROR[name])
        what = "time" if name == "Rayleigh" else "contact time"
        text = f"{step:.4g} s is {_share(part)} of the {name} {what} {limit.time:.4g} s of {limit.subject}"
        if level != "info":
            text += f"; use at most {STEP_WARNING[name] * limit.time:.3g} s{automatic}"
        yield Finding(level, "time step", text)


def _heavy_damping(case: Case, step: float) -> Iterator[Finding]:
    fraction = Time.model_fields["step_fraction"].default
    keys = _heavily_damped(case)
    if not keys or not step_limits(case):
        return
    automatic = automatic_step(case, fraction)
    if step <= HEAVY_DAMPING_STEP * automatic:
        return
    text = f"{step:.4g} s is above a third of the automatic step {automatic:.4g} s; use at most "
    text += f"{_rounded_down(HEAVY_DAMPING_STEP * automatic):.3g} s, "
    text += f'or step = "auto" with time.step_fraction = {_rounded_down(HEAVY_DAMPING_STEP * fraction):.3g}'
    for key, restitution in keys.items():
        reason = f"up to {HEAVY_DAMPING:g} a rebound is the first to suffer from a coarse step"
        yield Finding("warning", "time step", f"{key} = {restitution:g}: {reason}, and {text}")


def _heavily_damped(case: Case) -> dict[str, float]:
    """Return the restitutions of heavily damped contacts that can happen, by their key in the case."""
    laws = [case.interaction(first, second) for first, second, _ in meeting_pairs(case)]
    return {
        shown_key(["interactions", key, "restitution"]): law.restitution
        for key, law in case.interactions.items()
        if law.restitution <= HEAVY_DAMPING and any(law is met for met in laws)
    }


def _rounded_down(value: float) -> float:
    """Return a positive number cut to three digits, so that it still is below the limit when shown."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / unit) * unit


def _travel(particles: Particles, step: float) -> Iterator[Finding]:
    if len(particles["radius"]) == 0:
        yield Finding("warning", "particles", "there are none; the run only moves walls")
        return
    ways = np.linalg.norm(particles["velocity"], axis=1) * step / particles["radius"]
    fastest = int(np.argmax(ways))
    if ways[fastest] > TRAVEL_WARNING:
        text = f"particle {particles['id'][fastest]} moves {_share(ways[fastest])} of its radius in one step"
        yield Finding(
            "warning", "time step", f"{text}; more than {_share(TRAVEL_WARNING)} is not safe: shorten it"
        )


def _outside(case: Case, particles: Particles) -> Iterator[Finding]:
    position = particles["position"]
    for axis in range(3):
        if case.domain.periodic[axis]:
            continue
        beyond = (position[:, axis] < case.domain.lower[axis]) | (position[:, axis] > case.domain.upper[axis])
        if beyond.any():
            first = int(np.argmax(beyond))
            limits = f"[{case.domain.lower[axis]:g}, {case.domain.upper[axis]:g}]"
            where = f"particle {particles['id'][first]} at {AXES[axis]} = {position[first, axis]:g} m"
            text = f"{int(beyond.sum())} particles are outside {limits} m, the first is {where}"
            yield Finding("error", "domain", f"{text}; move them or widen domain.lower and domain.upper")


def _overlaps(case: Case, particles: Particles) -> Iterator[Finding]:
    radius = particles["radius"]
    pairs, overlaps = overlapping_pairs(particles["position"], radius, case.domain)
    if len(pairs) == 0:
        if len(radius):
            yield Finding("info", "overlaps", "no particles overlap")
        return
    relative = overlaps / radius[pairs].min(axis=1)
    worst = int(np.argmax(relative))
    level = _level(relative[worst], OVERLAP_WARNING, case.limits.largest_overlap)
    first, second = particles["id"][pairs[worst]]
    text = f"{len(pairs)} pairs overlap, at most {_share(relative[worst])} of the smaller radius "
    text += f"(particles {first} and {second})"
    if level != "info":
        text += "; such particles fly apart: move them, or check the unit of the radii"
    yield Finding(level, "overlaps", text)


def _walls_hit(case: Case, particles: Particles, meshes: Sequence[Mesh]) -> Iterator[Finding]:
    radius = particles["radius"]
    for wall, mesh in zip(case.walls, meshes, strict=True):
        hit, depth, facet = touching_walls(
            particles["position"], radius, mesh.vertices, mesh.facet_start, mesh.facet_vertices
        )
        if hit.size == 0:
            continue
        relative = depth / radius[hit]
        worst = int(np.argmax(relative))
        level = _level(relative[worst], OVERLAP_WARNING, case.limits.largest_overlap)
        text = f"{hit.size} particles overlap it, at most {_share(relative[worst])} of the radius "
        text += f"(particle {particles['id'][hit[worst]]}, facet {facet[worst]})"
        if level != "info":
            text += "; move them, or let their fill avoid walls"
        yield Finding(level, f"wall {wall.name}", text)


def _intervals(case: Case, step: float) -> Iterator[Finding]:
    for key, share in OUTPUT_SHARES.items():
        interval = getattr(case.output, key)
        if interval < step and interval != case.time.end / share:  # only what the user chose
            text = f"output.{key} = {interval:g} s is shorter than the time step {step:.4g} s; lengthen it"
            yield Finding("warning", "output", text)


def _memory(particles: Particles, meshes: Sequence[Mesh], ranks: int) -> Iterator[Finding]:
    facets = sum(mesh.facet_count for mesh in meshes)
    each = facets * BYTES_PER_FACET_AND_RANK + BYTES_PER_PROCESS
    needed = len(particles["radius"]) * BYTES_PER_PARTICLE + facets * BYTES_PER_FACET + ranks * each
    there = memory_size()
    level: Level = "info" if there is None else _level(needed / there, 0.8, 1.0)
    text = f"about {needed / 2**30:.2g} GiB in all"
    if there is not None:
        text += f", this machine has {there / 2**30:.3g} GiB"
    if level != "info":
        text += "; use fewer particles or more machines"
    yield Finding("warning" if level == "error" and ranks > 1 else level, "memory", text)


def _processes(particles: Particles, ranks: int, threads: int) -> Iterator[Finding]:
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
    count = len(particles["radius"])
    if ranks > max(count, 1):
        yield Finding("warning", "processes", f"{ranks} ranks for {count} particles: some have nothing to do")
