"""Report of the first difference between two runs, as a page of text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.output.compare import Comparison
    from pdem.replays.contact_inputs import ContactPair
    from pdem.replays.first_entry import Entry

_COLUMNS = 12
_CHANGES = 8
_WIDEST = 46


@dataclass(frozen=True)
class FirstDifference:
    """The first difference between two runs.

    Attributes
    ----------
    kind : str
        ``motion``: they differ from a step on; ``begin``: they differ at the first common step; ``blow-up``: one blows
        up; ``altered``: a checkpoint was altered after the run had written it; ``record``: the records of the runs
        differ, although both agree when computed again; ``none``: no difference.
    runs : tuple of two str
        Output folders of runs A and B.
    step : int
        First step that differs; for kind ``none`` the last compared step.
    time : float
        Time of this step in A [s].
    before : int or None
        Last step at which both runs agree, None if unknown.
    entry : Entry or None
        The first differing particle and column, with both values.
    compared : Comparison or None
        All columns that differ at this step.
    contact : ContactPair or None
        The first contact that differs, at this step or later, with its inputs.
    text : str
        For ``blow-up`` the error, for ``altered`` the folder of the checkpoint, for ``record`` a possible reason.
    changes : tuple
        Differences of the cases, outputs excluded: key, value in A, value in B.
    notes : tuple of str
        Remarks on versions and proofs.
    """

    kind: str
    runs: tuple[str, str]
    step: int
    time: float
    before: int | None = None
    entry: Entry | None = None
    compared: Comparison | None = None
    contact: ContactPair | None = None
    text: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def found(self) -> bool:
        """Whether the runs differ."""
        return self.kind != "none"

    def __str__(self) -> str:
        """Return the report as a page of text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"A = {self.runs[0]}, B = {self.runs[1]}"
        yield self._head()
        if self.entry is not None:
            yield f"  {self.entry}"
        if self.compared is not None:
            rows = [*self.compared.missing, *map(str, self.compared.columns)]
            yield from (f"  {row}" for row in rows[:_COLUMNS])
            if len(rows) > _COLUMNS:
                yield f"  and {len(rows) - _COLUMNS} more columns"
        yield from self._contact_lines()
        if self.changes:
            texts = [f"{key} is {old} in A, {new} in B" for key, old, new in self.changes[:_CHANGES]]
            more = [f"and {len(self.changes) - _CHANGES} more"] if len(self.changes) > _CHANGES else []
            yield f"cases differ: {'; '.join([*texts, *more])}"
        elif self.found:
            yield "the cases are the same"
        yield from self.notes

    def _head(self) -> str:
        where = f"step {self.step} ({self.time:.9g} s)"
        since = "" if self.before is None else f"the same until step {self.before}, "
        return {
            "motion": f"{since}different at {where}:",
            "begin": f"different at {where}, the first step that both have:",
            "blow-up": f"{since}at {where} one of them blows up: {self.text}",
            "altered": (
                f"{since}different at {where}: the checkpoint of {self.text} was altered after the run had written it, "
                "and the run continued from it:"
            ),
            "record": f"{since}different at {where}, and the same when they are computed again here: {self.text}",
            "none": f"no difference: the same motion until {where}",
        }[self.kind]

    def _contact_lines(self) -> Iterator[str]:
        if self.contact is None:
            if self.kind == "motion":
                yield "no contact differs"
            return
        yield f"first contact that differs: {self.contact.name}, at step {self.contact.step} (* where values differ)"
        rows = list(self.contact.lines())
        width = max(len(label) for label, *_ in rows)
        for label, left, right, differs in rows:
            mark = "*" if differs else " "
            if not differs:
                yield f"{mark} {label:<{width}}  {left}"
            elif max(len(left), len(right)) <= _WIDEST:
                yield f"{mark} {label:<{width}}  {left:<{_WIDEST}}  {right}"
            else:
                yield f"{mark} {label:<{width}}  A {left}"
                yield f"{mark} {'':<{width}}  B {right}"
