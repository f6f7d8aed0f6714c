"""What is found where two runs differ, as a page of text."""

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
        ``motion``: they differ from a step on; ``begin``: where both begin to be known; ``blow-up``: one blows up;
        ``altered``: a checkpoint was altered after the run had written it; ``record``: what the runs wrote down
        differs, and computed again they are the same; ``none``: they are the same.
    runs : tuple of two str
        The folders A and B.
    step : int
        At which they differ first; of kind ``none`` the last one that was compared.
    time : float
        The same in A [s].
    before : int or None
        Last step at which they are known to be the same, None if there is none.
    entry : Entry or None
        The first particle, column and both values.
    compared : Comparison or None
        All columns that differ at this step.
    contact : ContactPair or None
        The first contact that differs, at this step or a later one, with its inputs.
    text : str
        Of a blow-up the error, of an altered checkpoint its folder, of a record what may have been.
    changes : tuple
        Differences of their cases, but for output: key, value of A, value of B.
    notes : tuple of str
        Versions, proofs.
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
        """Whether they differ."""
        return self.kind != "none"

    def __str__(self) -> str:
        """Return the page."""
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
                "and that went on from there:"
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
