"""Proofs of contact laws for the commands, before a run and in ``pdem check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pdem.cli.common import echo_to_stderr, is_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from pdem.case.model import Case
    from pdem.preflight.findings import Finding
    from pdem.verification.law_report import LawReport

    Command = TypeVar("Command", bound=Callable[..., Any])

REMEDY = "--no-laws runs the case all the same"


def laws_option(command: Command) -> Command:
    """Add ``--laws`` and ``--no-laws``."""
    return click.option(
        "--laws/--no-laws",
        default=None,
        help="Test all contact laws before the run, or none. By default only laws with functions of your own are "
        "tested, which takes some seconds each, and up to a minute once to compile.",
    )(command)


def law_reports(case: Case, wanted: bool | None) -> list[LawReport]:
    """Return the reports on the contact laws of a case: all laws (True), no laws (False), or laws of users (None)."""
    from pdem.case.laws import recipes_of

    own = any(use.part.digest for recipe in recipes_of(case).values() for use in recipe.uses)
    if wanted is False or not (wanted or own):
        return []
    from pdem.verification.laws import prove_laws

    return prove_laws(case, all_laws=bool(wanted))


def findings_on_laws(reports: Sequence[LawReport]) -> list[Finding]:
    """Return all findings of several reports."""
    return [finding for report in reports for finding in report.findings()]


def prove_before_run(
    communicator: Any, case: Case, wanted: bool | None, *, quiet: bool
) -> tuple[list[Finding], Mapping[str, bytes]]:
    """Prove the laws of a case on the first rank before its run; return findings, and files for its output. Collective.

    Warnings are written to standard error.

    Raises
    ------
    CaseError
        If a proof fails.
    """
    from pdem.engine.ranks import on_first

    def work() -> tuple[list[Finding], Mapping[str, bytes]]:
        reports = law_reports(case, wanted)
        if not reports:
            return [], {}
        from pdem.verification.law_report import law_files

        return findings_on_laws(reports), law_files(case.source, reports)

    findings, files = on_first(communicator, work)
    _refuse(case, findings)
    if is_root(communicator) and not quiet:
        for finding in findings:
            if finding.level == "warning":
                echo_to_stderr(str(finding))
    return findings, files


def _refuse(case: Case, findings: Sequence[Finding]) -> None:
    from pdem.foundation.errors import CaseError

    lines = [f"{case.source}: {one.subject}: {one.message}" for one in findings if one.level == "error"]
    if lines:
        raise CaseError("\n".join([*lines, f"{case.source}: a contact law has failed its proofs; {REMEDY}"]))
