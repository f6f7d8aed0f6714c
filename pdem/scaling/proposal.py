"""A page for a proposal for computing time: the case, the machine, measured and expected scaling, what is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.foundation.memory import BYTES_PER_PARTICLE
from pdem.output.summary import counted, duration, quantity
from pdem.scaling import figures
from pdem.scaling.report import measured_sections, plan_sections, rehearsal_section
from pdem.scaling.results import has_results, read_plan, read_rehearsal, read_results
from pdem.scaling.section import Section
from pdem.simulation.forecast import disk_needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.containers.mesh import Mesh
    from pdem.scaling.results import Results

_HOUR = 3600.0


@dataclass(frozen=True)
class Request:
    """What is to be run.

    Attributes
    ----------
    ranks, threads : int
        Of each run.
    runs : int
        How many runs.
    particles : int
        Of each run.
    """

    ranks: int
    threads: int
    runs: int
    particles: int

    @property
    def cores(self) -> int:
        """Threads of all ranks."""
        return self.ranks * self.threads


@dataclass(frozen=True)
class Evidence:
    """What a folder holds about scaling.

    Attributes
    ----------
    results : Results or None
        Measured runs.
    plan, rehearsal : dict or None
        As `pdem scaling plan` and `pdem scaling rehearse` write them.
    """

    results: Results | None
    plan: Mapping[str, Any] | None
    rehearsal: Mapping[str, Any] | None

    @classmethod
    def of(cls, folder: Path) -> Evidence:
        """Return what a folder holds.

        Raises
        ------
        InputError
            If it holds nothing of it, or a file is damaged.
        """
        results = read_results(folder) if has_results(folder) else None
        found = cls(results, read_plan(folder), read_rehearsal(folder))
        if found == cls(None, None, None):
            raise InputError(
                f"{folder}: holds nothing about scaling; pdem scaling run, plan or rehearse write it with "
                f"--output {folder}"
            )
        return found

    def core_seconds(self, ranks: int, threads: int) -> tuple[float, str]:
        """Return the time of a particle and step on one core, at so many ranks [s], and where it is from.

        Raises
        ------
        InputError
            If nothing that is known comes near that number of ranks.
        """
        known = [*self._measured(threads), *self._of_rows(self.rehearsal, threads, "rehearsal"),
                 *self._of_rows(self.plan, threads, "plan")]  # fmt: skip
        if not known:
            raise InputError(
                f"nothing is known of ranks with {threads} threads; give --threads of what was measured"
            )
        nearest = min(known, key=lambda one: abs(math.log(one[0] / ranks)))
        if abs(math.log2(nearest[0] / ranks)) > 1.0:
            raise InputError(
                f"nothing is known of {ranks} ranks, the nearest is {nearest[0]}; pdem scaling rehearse CASE "
                f"--ranks {ranks} finds out"
            )
        return nearest[1], f"{nearest[2]} of {counted(nearest[0], 'rank')}"

    def _measured(self, threads: int) -> list[tuple[int, float, str]]:
        points = [] if self.results is None else self.results.points
        return [(one.ranks, one.cores / one.rate, "measurement") for one in points if one.threads == threads]

    @staticmethod
    def _of_rows(document: Mapping[str, Any] | None, threads: int, name: str) -> list[tuple[int, float, str]]:
        if document is None or document["threads"] != threads:
            return []
        return [
            (row["ranks"], row["seconds_per_step"] * row["ranks"] * threads / row["particles"], name)
            for row in document["rows"]
            if "seconds_per_step" in row and row.get("particles")
        ]


def proposal_sections(
    case: Case, meshes: Sequence[Mesh], request: Request, evidence: Evidence, *, plots: bool
) -> list[Section]:
    """Return the sections of the page: what is asked for comes first, then the case, then the evidence.

    Raises
    ------
    InputError
        If nothing is known of that number of ranks.
    """
    sections = [_asked_for(case, meshes, request, evidence), _case_section(case, meshes, request)]
    if plots:
        sections[0].picture = figures.evidence_figure(evidence.results, evidence.plan, evidence.rehearsal)
    if evidence.results is not None:
        sections += measured_sections(evidence.results, evidence.plan, plots=plots)
    if evidence.rehearsal is not None:
        sections.append(rehearsal_section(evidence.rehearsal))
    if evidence.plan is not None:
        sections += plan_sections(evidence.plan, plots=plots)
    return sections


def _asked_for(case: Case, meshes: Sequence[Mesh], request: Request, evidence: Evidence) -> Section:
    each, source = evidence.core_seconds(request.ranks, request.threads)
    steps = round(case.time.end / case.resolved_step())
    core_seconds = each * request.particles * steps
    wall, disk = core_seconds / request.cores, disk_needs(case, request.particles, meshes)
    memory = _bytes_of_rank(request, evidence)
    shape = f"{counted(request.ranks, 'rank')} x {counted(request.threads, 'thread')}"
    text = (
        f"{counted(request.runs, 'run')} of {quantity(request.particles)} particles and {quantity(steps)} steps on "
        f"{shape}. Time of a particle and step on a core: {1e9 * each:.4g} ns, by the {source}; neither queues nor "
        "repeated runs are in it."
    )
    rows = [
        ["cores", f"{request.cores:,}"],
        ["time of a run", duration(wall)],
        ["core hours of a run", f"{core_seconds / _HOUR:,.4g}"],
        ["core hours in all", f"{request.runs * core_seconds / _HOUR:,.4g}"],
        ["memory of a rank", f"{memory / 1e9:.3g} GB"],
        ["memory in all", f"{request.ranks * memory / 1e9:.4g} GB"],
        ["storage of a run", f"{disk.total / 1e9:.4g} GB"],
        ["storage in all", f"{request.runs * disk.total / 1e9:.4g} GB"],
    ]
    return Section("What is asked for", text, ("what", "how much"), rows)


def _bytes_of_rank(request: Request, evidence: Evidence) -> float:
    """Return the memory that a rank needs at most: twice its part, as made in the nearest rehearsal if there is one."""
    own = request.particles / request.ranks
    rows = [] if evidence.rehearsal is None else evidence.rehearsal["rows"]
    if not rows:
        return 2.0 * own * BYTES_PER_PARTICLE
    row = min(rows, key=lambda one: abs(math.log(one["ranks"] / request.ranks)))
    return 2.0 * float(row["memory"]) * own / max(row["owned"], 1)


def _case_section(case: Case, meshes: Sequence[Mesh], request: Request) -> Section:
    domain = case.domain
    sides = " x ".join(f"{b - a:.4g}" for a, b in zip(domain.lower, domain.upper, strict=True))
    laws = sorted({interaction.law for interaction in case.interactions.values()})
    rows = [
        ["title", case.title or case.source],
        ["particles", f"{request.particles:,}"],
        ["domain", f"{sides} m, periodic: {', '.join(map(str, domain.periodic)).lower()}"],
        ["contact laws", ", ".join(laws)],
        ["walls", f"{len(case.walls)} with {sum(mesh.facet_count for mesh in meshes):,} facets"],
        ["time step", f"{case.resolved_step():.4g} s"],
        ["simulated time", f"{case.time.end:g} s"],
        ["detection", case.detection.method],
        ["division", case.decomposition.method],
    ]
    return Section("The case", "", ("what", "which"), rows)
