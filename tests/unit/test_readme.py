"""The README leads to what is there: its links, its pages, its examples of Python."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pdem.foundation.fields import written_fields
from pdem.output.snapshots import ParticleSnapshots

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = PAGES[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert targets
    missing = [one for one in targets if "://" not in one and not (page.parent / one).exists()]
    assert not missing


def test_every_page_is_linked() -> None:
    assert all(f"(docs/{page.name})" in TEXT for page in PAGES[1:])


def test_each_command_is_in_the_table() -> None:
    from pdem.cli import main

    assert all(f"`pdem {name}" in TEXT for name in main.commands if not main.commands[name].hidden)


def test_no_example_writes_over_the_results_of_another() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (run,) = (block for block in blocks if "simulation.run()" in block)
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
    (lines,) = (block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "h5py" in block)
    exec(compile(lines, "README.md", "exec"), {})
    *shown, last = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert last == ["0.1", "3.0"]
    assert [(int(count), float(mean)) for _, count, mean, _ in shown] == means
