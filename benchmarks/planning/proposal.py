"""A page for a proposal for computing time: requested resources, case, machine, measured and expected scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.foundation.errors import InputError
from pdem.foundation.memory import BYTES_PER_PARTICLE
from pdem.output.summary import counted, duration, quantity
from pdem.report.section import ReportSection
from pdem.run.forecast import disk_needs
from pdem.scaling import figures
from pdem.scaling.report import measured_sections, plan_sections, rehearsal_section
from pdem.scaling.results import has_results, read_plan, read_rehearsal, read_results

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.scaling.results import ScalingResults

_HOUR = 3600.0


@dataclass(frozen=True)
class Request:
    """Planned runs.

    Attributes
    ----------
    ranks, threads : int
        Ranks of each run, and threads of each rank.
    runs : int
        Number of runs.
    particles : int
        Particles of each run.
    """

    ranks: int
    threads: int
    runs: int
    particles: int

    @property
    def cores(self) -> int:
        """Threads of all ranks."""
        return self.ranks * self.threads


class _Known(NamedTuple):
    """Ranks, time of a particle-step on a core [s], particles per rank, and the source of these numbers."""

    ranks: int
    seconds: float
    each: float
    name: str


@dataclass(frozen=True)
class Evidence:
    """Results on scaling in a folder.

    Attributes
    ----------
    results : ScalingResults or None
        Measured runs.
    plan, rehearsal : dict or None
        Documents of `pdem scaling plan` and `pdem scaling rehearse`.
    """

    results: ScalingResults | None
    plan: Mapping[str, Any] | None
    rehearsal: Mapping[str, Any] | None

    @classmethod
    def of(cls, folder: Path) -> Evidence:
        """Return the results on scaling in a folder.

        Raises
        ------
        InputError
            If the folder contains none, or a file is damaged.
        """
        results = read_results(folder) if has_results(folder) else None
        found = cls(results, read_plan(folder), read_rehearsal(folder))
        if found == cls(None, None, None):
            raise InputError(
                f"{folder}: holds nothing about scaling; pdem scaling run, plan or rehearse write it with "
                f"--output {folder}"
            )
        return found

    def core_seconds(self, request: Request) -> tuple[float, str]:
        """Return the time of a particle-step on one core [s], and its source.

        Among results for nearly the same number of ranks, the one with the most similar number of particles per rank
        counts.

        Raises
        ------
        InputError
            If there is no result near that number of ranks.
        """
        ranks, threads, each = request.ranks, request.threads, request.particles / request.ranks
        known = [*self._measured(threads), *self._of_rows(self.rehearsal, threads, "rehearsal"),
                 *self._of_rows(self.plan, threads, "plan")]  # fmt: skip
        if not known:
            raise InputError(f"nothing is known of ranks with {threads} threads; give --threads of what was measured")
        near = [one for one in known if abs(math.log2(one.ranks / ranks)) <= 1.0]
        if not near:
            nearest = min(known, key=lambda one: abs(math.log(one.ranks / ranks)))
            raise InputError(
                f"nothing is known of {ranks} ranks, the nearest is {nearest.ranks}; pdem scaling rehearse CASE "
                f"--ranks {ranks} --particles-per-rank {each:.0f} finds out"
            )
        unlike = [max(abs(math.log2(one.each / each)) - 1.0, 0.0) for one in near]  # a factor of two counts as similar
        found = near[min(range(len(near)), key=lambda k: (unlike[k], abs(math.log(near[k].ranks / ranks))))]
        source = f"{found.name} of {counted(found.ranks, 'rank')} with {quantity(round(found.each))} particles each"
        if abs(math.log2(found.each / each)) > 1.0:
            source += (
                f", not the {quantity(round(each))} of this request: pdem scaling rehearse CASE --ranks {ranks} "
                f"--particles-per-rank {each:.0f} gives a time for these"
            )
        return found.seconds, source

    def _measured(self, threads: int) -> list[_Known]:
        points = [] if self.results is None else self.results.points
        return [
            _Known(one.ranks, one.cores / one.rate, max(one.particles, 1) / one.ranks, "measurement")
            for one in points
            if one.threads == threads
        ]

    @staticmethod
    def _of_rows(document: Mapping[str, Any] | None, threads: int, name: str) -> list[_Known]:
        if document is None or document["threads"] != threads:
            return []
        return [
            _Known(
                row["ranks"],
                row["seconds_per_step"] * row["ranks"] * threads / row["particles"],
                row["particles"] / row["ranks"],
                name,
            )
            for row in document["rows"]
            if "seconds_per_step" in row and row.get("particles")
        ]


def proposal_sections(
    case: Case, meshes: Sequence[Mesh], request: Request, evidence: Evidence, *, plots: bool
) -> list[ReportSection]:
    """Return the sections of the page: the requested resources first, then the case, then the evidence.

    Raises
    ------
    InputError
        If there is no result near that number of ranks.
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


def _asked_for(case: Case, meshes: Sequence[Mesh], request: Request, evidence: Evidence) -> ReportSection:
    each, source = evidence.core_seconds(request)
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
    return ReportSection("What is asked for", text, ("what", "how much"), rows)


def _bytes_of_rank(request: Request, evidence: Evidence) -> float:
    """Return the upper limit of a rank's memory: twice that of its part, as in the nearest rehearsal, if any."""
    own = request.particles / request.ranks
    rows = [] if evidence.rehearsal is None else evidence.rehearsal["rows"]
    if not rows:
        return 2.0 * own * BYTES_PER_PARTICLE
    row = min(rows, key=lambda one: abs(math.log(one["ranks"] / request.ranks)))
    return 2.0 * float(row["memory"]) * own / max(row["owned"], 1)


def _case_section(case: Case, meshes: Sequence[Mesh], request: Request) -> ReportSection:
    domain = case.domain
    sides = " x ".join(f"{b - a:.4g}" for a, b in zip(domain.lower, domain.upper, strict=True))
    laws = sorted({interaction.law for interaction in case.interactions.values()})
    rows = [
        ["title", case.title or case.source],
        ["particles", f"{request.particles:,}"],
        ["domain in the case file", f"{sides} m, periodic: {', '.join(map(str, domain.periodic)).lower()}"],
        ["contact laws", ", ".join(laws)],
        ["walls", f"{len(case.walls)} with {sum(mesh.facet_count for mesh in meshes):,} facets"],
        ["time step", f"{case.resolved_step():.4g} s"],
        ["simulated time", f"{case.time.end:g} s"],
        ["detection", case.detection.method],
        ["division", case.decomposition.method],
    ]
    return ReportSection("The case", "", ("what", "which"), rows)
