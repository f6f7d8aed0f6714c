"""README and pages lead to what is there: their links, commands, examples of Python."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pdem.foundation.fields import written_fields
from pdem.output.snapshots.snapshot_files import ParticleSnapshots

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MADE = ("_build", "generated", "jupyter_execute")
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE),
]
CHANGELOG = ROOT / "CHANGELOG.md"
LONGEST_LINE, LONGEST_ENTRY = 100, 20
"""Characters of a line of prose; words of an entry of the changelog."""

TEXT = PAGES[0].read_text(encoding="utf-8")
RESULTS = (DOCS / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [one for one in targets if "://" not in one and not (page.parent / one).exists()]
    assert not missing


def prose(page: Path) -> list[str]:
    """Return the lines of a page outside of code, tables, headings, links to pictures and formulas."""
    text = re.sub(
        r"^( *)(`{3,}).*?^\1\2 *$|^\$\$.*?\$\$|\A---\n.*?^---$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    return [line for line in text.splitlines() if not re.match(r" *[|#!<:]", line)]


@pytest.mark.parametrize("page", [*PAGES, CHANGELOG], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lines_are_short(page: Path) -> None:
    """But for a word, a link or code that cannot be divided, and for pages that programs write."""
    if page.parent.parent.name == "validation" or page.name in ("keys.md", "summary.md"):
        return
    for line in prose(page):
        divided = re.sub(r"`[^`]*`|\*\*.*?\*\*|\]\([^)]*\)|\$[^$]*\$", "x", line.strip())
        assert len(line) <= LONGEST_LINE or len(divided) <= LONGEST_LINE - 10, line


def test_entries_of_the_changelog_are_short() -> None:
    entries = re.findall(r"^- (.*(?:\n  .*)*)", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(entries) > 20
    for entry in entries:
        assert len(re.sub(r"\]\([^)]*\)", "]", entry).split()) <= LONGEST_ENTRY, entry
        assert not re.search(r"\(#\d", entry), f"an issue without an address: {entry}"


def test_every_page_is_linked_from_a_page_that_one_begins_with() -> None:
    for page in PAGES[2:]:
        folder = page.parent
        begin = "index.md" if page.name != "index.md" or folder == DOCS else "../index.md"
        if page == DOCS / "index.md":
            assert "(docs/index.md)" in TEXT
            continue
        text = (folder / begin).read_text(encoding="utf-8")
        name = page.name if page.name != "index.md" else f"{folder.name}/index.md"
        listed = re.search(rf"^{page.stem}$", text, re.MULTILINE)
        assert listed or f"({name})" in text or f"(docs/{page.name})" in TEXT, page


def test_each_command_is_explained_and_named() -> None:
    from pdem.cli import main

    told = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        if not command.hidden:
            assert f"`pdem {name}" in told
            assert f"`{name}`" in TEXT or f"`pdem {name}" in TEXT


def test_no_example_writes_over_the_results_of_another() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    blocks += re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), re.DOTALL)
    for run in (block for block in blocks if "simulation.run()" in block):
        assert "output.folder" in run

    assert "output.folder" in run


def test_the_lines_that_read_results_are_right_for_varying_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "hopper"
    series = ParticleSnapshots(folder / "particles.vtkhdf")
    random, means = np.random.default_rng(1), []
    for step, count in enumerate((5, 5, 3, 7, 3, 5)):
        columns = {field.name: field.allocate(count) for field in written_fields()}
        columns["position"][:] = random.random((count, 3))
        means.append((count, columns["position"][:, 2].mean()))
        series.write(0.1 * step, step, columns)
    (folder / "series.csv").write_text("step [1],time [s],translation [J]\n0,0.0,2.0\n1,0.1,3.0\n")
    (lines,) = (block for block in re.findall(r"```python\n(.*?)```", RESULTS, re.DOTALL) if "h5py" in block)
    exec(compile(lines, "results.md", "exec"), {})
    *shown, last = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert last == ["0.1", "3.0"]
    assert [(int(count), float(mean)) for _, count, mean, _ in shown] == means
