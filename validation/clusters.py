"""Study of rigid clusters: closed forms of tops, impacts and falls, and with the long runs heaps and beds.

A check is an entry of `CHECKS`; the functions are in `validation.cluster_checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.verification.study import FindingTable, StudyFinding
from validation import cluster_checks as checks
from validation.cluster_heap import heap
from validation.cluster_packing import packing
from validation.parts import in_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pdem.verification.study import Notebook, StudyResult


class Check(NamedTuple):
    """A check of the study.

    Attributes
    ----------
    name : str
        Name of its picture.
    title : str
        Title of its table.
    run : callable
        Takes axes and whether long runs are included, and returns findings.
    """

    name: str
    title: str
    run: Callable[[Any, bool], list[StudyFinding]]


CHECKS = (
    Check("top", "free top with moments 1 : 2 : 3, Jacobi's functions", checks.top),
    Check("energy", "free top about its middle axis", checks.energy),
    Check("impact", "the end of a slender rod hits a smooth floor", checks.impact),
    Check("several", "several simultaneous contacts", checks.several),
    Check("sliding", "a slender rod slides down on a smooth floor", checks.sliding_down),
    Check("single", "a cluster of one sphere is a sphere", checks.single),
)
"""The quick checks; add an entry for a new check."""


def run(notebook: Notebook) -> Iterator[StudyResult]:
    """Yield a table for each check, and with `Notebook.full` tables of heaps and of beds."""
    for check in CHECKS:
        with notebook.plot(check.name) as axes:
            findings = check.run(axes, notebook.full)
        yield FindingTable(check.title, "exact", findings)
    if notebook.full:
        yield from in_parts(notebook, (heap, packing))
