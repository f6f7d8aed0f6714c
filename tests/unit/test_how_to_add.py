"""The worked examples of docs/developers/how-to-add, each run as if it were part of the sources."""

from __future__ import annotations

import re
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import pdem
from helpers import warmth
from pdem.case.explain.keys import explain
from pdem.contact.law.models import PARTS
from pdem.containers.mesh_files import reading
from pdem.foundation.errors import MeshError

PAGES = Path(__file__).resolve().parents[2] / "docs" / "developers" / "how-to-add"
TETRAHEDRON = "OFF # comment\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 0 3 2\n"
CASE = """
[time]
step = 1e-4
end = 2e-3
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.2, 0.2, 0.2]
[materials.glass]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.glass-glass]
friction = 0.5
restitution = 0.6
[[particles]]
material = "glass"
radius = 0.002
velocity = [0.3, 0.0, 0.4]
positions = [[0.01, 0.02, 0.02], [0.1, 0.1, 0.1]]
[output]
folder = "results"
snapshots_every = 2e-3
"""


def example(page):
    """Return the names that the file of a page defines."""
    (text,) = re.findall(r"```python\n(# pdem/.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    module = types.ModuleType("example")
    exec(compile(text, page, "exec"), module.__dict__)
    return module


def test_every_page_of_recipes_names_files_and_is_in_the_table():
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for page in PAGES.glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in index


@given(overlap=st.floats(1e-6, 1e-4), pull=st.floats(0.0, 1.0))
def test_the_pull_of_the_law_part_is_the_derivative_of_its_energy(overlap, pull):
    part = example("law-part.md").CONSTANT_PULL
    c = types.SimpleNamespace(modulus=1e6, pull=pull)
    force, factor, load = part.elastic(overlap, 1e-3, c, 1e6 * overlap, 1.0)
    assert (force + load, factor) == (pytest.approx(1e6 * overlap), 1.0)
    low, high = (part.energy(one, 1e-3, c, 0.5e6 * one**2) for one in (0.999 * overlap, 1.001 * overlap))
    assert (high - low) / (0.002 * overlap) == pytest.approx(force, rel=1e-6, abs=1e-8)


def test_a_case_names_the_law_part(monkeypatch):
    monkeypatch.setitem(PARTS["adhesion"], "constant-pull", example("law-part.md").CONSTANT_PULL)
    line = 'adhesion = {model = "constant-pull", pull = 1e-3}'
    case = pdem.Case.from_text(CASE.replace("restitution = 0.6", f"restitution = 0.6\n{line}"))
    assert dict(case.interactions["glass-glass"].adhesion) == {"model": "constant-pull", "pull": 1e-3}
    with pytest.raises(pdem.CaseError, match="pull"):
        pdem.Case.from_text(CASE.replace("restitution = 0.6", f"restitution = 0.6\n{line.replace('1e-3', '-1.0')}"))
    assert "constant-pull" in explain("interactions.adhesion")


@pytest.mark.compiles
def test_the_output_field_is_in_snapshots(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    warmth.register(monkeypatch, example("output-field.md").Travelled)
    simulation = pdem.Simulation(pdem.Case.from_text(CASE), threads=1)
    simulation.run()
    simulation.close()
    last = pdem.Results("results")[-1]
    assert np.allclose(last["travelled"], 0.5 * 2e-3, rtol=1e-12, atol=0.0)


def test_the_command_counts_particles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(CASE, encoding="utf-8")
    census = example("command.md").census
    result = CliRunner().invoke(census, ["two.toml"], standalone_mode=False)
    assert (result.output, result.return_value) == ("glass: 2\n", 0)
    result = CliRunner().invoke(census, ["two.toml", "--set", "particles.0.radius=-1"], standalone_mode=False)
    assert result.return_value == 2


def test_the_mesh_format_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(reading._READERS, ".off", example("mesh-format.md").read_off)
    file = tmp_path / "corner.off"
    file.write_text(TETRAHEDRON, encoding="utf-8")
    surface = reading.read_surface(file)
    assert surface.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert (surface.start.tolist(), surface.loops.tolist()) == ([0, 3, 6, 9, 12], [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2])
    file.write_text(TETRAHEDRON.replace("OFF", "COFF"), encoding="utf-8")
    with pytest.raises(MeshError, match=r"corner.off: cannot be read .*OFF"):
        reading.read_surface(file)
