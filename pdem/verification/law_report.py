"""Report on the contact laws of a case: proofs, rebounds, the largest stable step; and a picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pdem.foundation.version import VERSION
from pdem.output.pictures.figure import can_draw, empty_figure, png_of
from pdem.output.run_folder import LAW_FILES
from pdem.output.summary import counted
from pdem.preflight.findings import Finding
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.verification.law_impacts import Rebounds, Stability
    from pdem.verification.law_proof import Proof
    from pdem.verification.law_subjects import Subject

ENOUGH = "they can run all the same with --no-laws"


@dataclass(frozen=True)
class LawReport:
    """The results for one interaction.

    Attributes
    ----------
    subject : Subject
        The interaction.
    proofs : sequence of Proof
        Outcomes of all checks.
    rebounds : Rebounds
        Restitution of central impacts at several speeds.
    stability : Stability
        Energy of oblique impacts with several time steps.
    """

    subject: Subject
    proofs: Sequence[Proof]
    rebounds: Rebounds
    stability: Stability

    @property
    def title(self) -> str:
        """The interaction with its materials."""
        first, second = self.subject.materials
        return f"{self.subject.key}: {first} on {'wall of ' if self.subject.is_wall else ''}{second}"

    def findings(self) -> Iterator[Finding]:
        """Yield one finding for each failed proof, and one finding for all remaining proofs."""
        subject = f"law of {self.subject.key}"
        held = [proof for proof in self.proofs if proof.holds]
        for proof in self.proofs:
            if not proof.holds:
                yield Finding(proof.level, subject, str(proof))
        step = self.stability.largest
        stable = f"largest stable step found {step:.3g} s" if step else "no stable step found"
        yield Finding("info", subject, f"{counted(len(held), 'proof')} of {len(self.proofs)} hold; {stable}")

    def rebound_table(self) -> str:
        """Return the rebounds as a text table."""
        wanted = f"restitution of the case {self.rebounds.wanted:g}, time step {self.rebounds.step:.3g} s"
        return f"{self.title} ({wanted})\n{self._rebounds(3).text(0, '  ')}"

    def _rebounds(self, digits: int) -> Table:
        """Return a table of impact speeds with `digits` digits, and rebounds."""
        found = zip(self.rebounds.speed, self.rebounds.found, self.rebounds.sticks, strict=True)
        rows = [(f"{speed:.{digits}g}", "sticks" if sticks else f"{ratio:.4f}") for speed, ratio, sticks in found]
        return Table(("impact speed [m/s]", "rebound over impact speed"), rows)

    def markdown(self) -> str:
        """Return the report as a section in Markdown."""
        verdicts = ("holds" if one.holds else f"**{one.level}**: {one.remedy}" for one in self.proofs)
        rows = [
            (proof.name, f"{proof.value:.3g}", f"{proof.limit:.3g}", verdict)
            for proof, verdict in zip(self.proofs, verdicts, strict=True)
        ]
        text = (
            f"Restitution of the case {self.rebounds.wanted:g}. Largest stable step found "
            f"{self.stability.largest:.4g} s; an impact lasts {self.stability.duration:.4g} s by the declared "
            f"stiffness, and the step of the case is {self.subject.step:.4g} s.\n"
        )
        proved = Table(("to be shown", "found", "at most", ""), rows)
        return "\n\n".join([f"## {self.title}", proved.markdown(), self._rebounds(4).markdown(), text])

    def record(self) -> dict[str, Any]:
        """Return the report as a dictionary for JSON."""
        subject, rebounds, stability = self.subject, self.rebounds, self.stability
        proofs = [
            {"name": one.name, "value": one.value, "limit": one.limit, "holds": one.holds, "level": one.level}
            | ({} if one.holds else {"remedy": one.remedy})
            for one in self.proofs
        ]
        return {
            "interaction": subject.key, "materials": list(subject.materials), "wall": subject.is_wall,
            "law": subject.table.law.version, "radius_m": subject.radius, "speed_m_per_s": subject.speed,
            "step_s": subject.step, "proofs": proofs,
            "rebounds": {
                "speed_m_per_s": rebounds.speed.tolist(), "rebound": rebounds.found.tolist(),
                "sticks": rebounds.sticks.tolist(), "restitution": rebounds.wanted, "step_s": rebounds.step,
            },
            "stability": {
                "step_s": stability.step.tolist(), "energy_after_over_before": stability.gain.tolist(),
                "largest_s": stability.largest, "duration_s": stability.duration,
            },
        }  # fmt: skip


def law_files(source: str, reports: Sequence[LawReport]) -> dict[str, bytes]:
    """Return the files of a report by name: a page, the numbers, and a picture if matplotlib is installed."""
    page, numbers, picture = LAW_FILES
    head = f"# Contact laws of {source}\n\nProved by pdem {VERSION} on contacts that it made, before the first step.\n"
    text = "\n".join([head, *(one.markdown() for one in reports)])
    record = {"pdem": VERSION, "case": source, "laws": [one.record() for one in reports]}
    files = {page: text.encode(), numbers: json.dumps(record, indent=1).encode()}
    return {**files, picture: _picture(reports)} if can_draw() else files


def _picture(reports: Sequence[LawReport]) -> bytes:
    """Return a PNG picture with the rebounds and the stable steps of all laws.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    figure = empty_figure(9.0, 3.2 * len(reports))
    panels = figure.subplots(len(reports), 2, squeeze=False)
    for report, (left, right) in zip(reports, panels, strict=True):
        rebounds, stability = report.rebounds, report.stability
        left.semilogx(rebounds.speed, rebounds.found, "o-")
        left.axhline(rebounds.wanted, color="0.6", linestyle="--")
        left.set(xlabel="impact speed [m/s]", ylabel="rebound over impact speed", ylim=(0.0, None), title=report.title)
        right.loglog(stability.step, stability.gain, ".-")
        right.axvline(report.subject.step, color="0.6", linestyle="--")
        right.set(xlabel="time step [s]", ylabel="energy after over before", title="dashed: step of the case")
    return png_of(figure, 120)
