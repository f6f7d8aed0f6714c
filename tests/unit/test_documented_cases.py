"""Every TOML block of the documentation is a case that passes its checks and runs, or has what it leaves out added."""

from __future__ import annotations

import re

import pytest
import tomli_w

import pdem
from helpers.documented import FRAMES, blocks, documents, fences, is_study, pages, write_beside
from pdem.case.groups.initial import initial_particles
from pdem.case.wall_files import read_walls
from pdem.preflight.preflight import preflight
from pdem.sweeps.sections import CalibrationPlan, SweepPlan
from pdem.sweeps.setup import read_setup

pytestmark = pytest.mark.compiles

STEPS = 120
"""How many steps each case runs: over several events of insertions and outlets."""

NOT_RUN = 0
"""How many blocks have a comment that says why they are not run."""

BLOCKS = blocks()
KEYS = re.compile(r"^\[\[?[a-z_]+[].]", re.MULTILINE)


def test_no_block_is_left_out():
    assert len(BLOCKS) >= 30
    assert len([one for one in BLOCKS if one.not_run]) == NOT_RUN
    for page in pages():
        for kind, line, text, said in fences(page):
            assert set(said) <= {"frame", "not run"}, f"{page}:{line}"
            if kind not in ("toml", "{code-cell}"):
                assert not KEYS.search(text), f"{page}:{line} holds keys of a case: begin it with ```toml"


def test_frames_are_used():
    names = {path.stem for path in FRAMES.glob("*.toml")}
    assert {one.frame for one in BLOCKS} == names


@pytest.mark.parametrize("block", [one for one in BLOCKS if not one.not_run], ids=str)
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, document in enumerate(documents(block)):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_beside(block, document, folder)
        file = folder / "block.toml"
        file.write_text(tomli_w.dumps(document), encoding="utf-8")
        if not is_study(document):
            run(pdem.Case.read(file), folder)
            continue
        setup = read_setup(CalibrationPlan if "targets" in document else SweepPlan, file)
        cases = [setup.case_of(*one) for one in setup.runs] or [setup.case]
        run(cases[-1], folder)


def run(case, folder):
    """Check a case, and run its first steps with all output."""
    meshes = read_walls(case)
    findings = preflight(case, initial_particles(case, meshes), meshes)
    assert [str(one) for one in findings if one.level == "error"] == []
    case.override(f"output.folder={str(folder / 'results')!r}")
    simulation = pdem.Simulation(case, threads=1)
    simulation.write()
    simulation.advance(STEPS)
    simulation.write(checkpoint=True)
    simulation.close()
    assert pdem.Results(folder / "results").series["step"].tolist() == [0, STEPS]
    assert pdem.Simulation.restart(folder / "results", threads=1).step == STEPS
