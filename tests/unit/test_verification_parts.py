"""Parts of long studies: one that was interrupted goes on after the last part that it has finished."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pdem.verification.study import FindingTable, Notebook, StudyFinding, at_most
from validation.parts import KEPT_PARTS, in_parts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Parts:
    """Two parts of a study, the second of which is interrupted at first."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.stops = True

    def first(self, notebook: Notebook) -> FindingTable:
        self.calls.append("first")
        with notebook.plot("line") as axes:
            axes.plot([0, 1], [0, 1])
        notebook.earlier += 5.0
        return FindingTable(
            "one", "exact", [StudyFinding("a", 1.0, 1.01, 0.02, margin=0.1), at_most("b", 2.0, 3.0)], "so", 3
        )

    def second(self, notebook: Notebook) -> Iterator[FindingTable]:
        self.calls.append("second")
        yield FindingTable("two", "", [StudyFinding("c", 4.0)])
        if self.stops:
            raise KeyboardInterrupt
        yield FindingTable("three", "", [StudyFinding("d", 5.0)])

    def run(self, notebook: Notebook) -> list[FindingTable]:
        return list(in_parts(notebook, (self.first, self.second)))


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    made = Parts()
    with pytest.raises(KeyboardInterrupt):
        made.run(Notebook(tmp_path, full=True))
    made.stops = False
    return made


def test_what_is_done_is_not_done_again(parts: Parts, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path, full=True)
    found = parts.run(notebook)
    assert parts.calls == ["first", "second", "second"]
    assert found[0] == Parts().first(Notebook(tmp_path / "other"))
    assert [table.title for table in found] == ["one", "two", "three"]
    assert notebook.plots == [tmp_path / "line.png"]
    assert 5.0 < notebook.earlier < 60.0
    assert not (tmp_path / KEPT_PARTS).exists(), "the next study begins anew"
    parts.run(Notebook(tmp_path, full=True))
    assert parts.calls[3:] == ["first", "second"]


def test_a_quick_study_keeps_nothing_and_takes_nothing(parts: Parts, tmp_path: Path) -> None:
    parts.run(Notebook(tmp_path))
    assert parts.calls[2:] == ["first", "second"]


@pytest.mark.parametrize("text", ["torn {", "[]", None])
def test_what_another_pdem_has_kept_or_nobody_can_read_is_computed_anew(
    parts: Parts, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / KEPT_PARTS
    kept = json.loads(path.read_text())
    assert list(kept["parts"]) == ["first"]
    kept["made_by"]["sources"] = "others"
    path.write_text(json.dumps(kept) if text is None else text)
    parts.run(Notebook(tmp_path, full=True))
    assert parts.calls[2:] == ["first", "second"]
