"""What is said of adhesion before a run: numbers, limits and remedies."""

from __future__ import annotations

import math

import pytest

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.foundation.errors import CaseError
from pdem.preflight.preflight import preflight

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [0.1, 0.1, 0.1], gravity = [0, 0, -9.81]}
materials.grain = {density = 2500.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
adhesion = {ADHESION}
[[particles]]
material = "grain"
radius = 1e-3
positions = [[0.05, 0.05, 0.05], [0.06, 0.05, 0.05]]
"""
WATER = 'model = "liquid-bridge", surface_tension = 0.07, contact_angle = 30.0'


def bad(adhesion: str, *overrides: str) -> list[str]:
    """Return warnings and errors of a case in which grains stick."""
    case = Case.from_text(BASE.replace("{ADHESION}", f"{{{adhesion}}}"))
    for assignment in overrides:
        case.override(assignment)
    found = preflight(case, initial_particles(case), [], 1, 1)
    return [str(one) for one in found if one.level != "info" and one.subject != "floor"]


def about(found: list[str], subject: str) -> list[str]:
    return [line for line in found if f": {subject}: " in line]


@pytest.mark.parametrize(
    "adhesion",
    [
        'model = "jkr", work_of_adhesion = 0.05',
        'model = "dmt", work_of_adhesion = 0.05',
        'model = "linear", cohesion_energy_density = 1e5',
        f"{WATER}, relative_volume = 0.01",
        f"{WATER}, volume = 1e-12",
        f"{WATER}, carried_volume = 0.02",
    ],
)
def test_usual_adhesion_is_not_warned_of(adhesion):
    found = bad(adhesion, *(["particles.0.liquid=0.01"] if "carried" in adhesion else []))
    assert not about(found, "adhesion")
    assert not about(found, "liquid bridges")
    assert not about(found, "time step")


@pytest.mark.parametrize(
    ("adhesion", "level", "said"),
    [
        ('model = "jkr", work_of_adhesion = 110.0', "warning", "theories of contacts hold up to about 10 %"),
        ('model = "jkr", work_of_adhesion = 2000.0', "error", "a run ends at"),
        ('model = "dmt", work_of_adhesion = 2000.0', "error", "a run ends at"),
        ('model = "linear", cohesion_energy_density = 5e6', "error", "more than their stiffness holds them apart"),
        ('model = "linear", cohesion_energy_density = 5e5, area = "double"', "warning", "% of it"),
    ],
)  # fmt: skip
def test_adhesion_that_presses_particles_together_is_told(adhesion, level, said):
    (line,) = about(bad(adhesion), "adhesion")
    assert line.startswith(f"{level}: adhesion: interactions.grain-grain.adhesion presses particles of radius 0.001 m")
    assert said in line
    assert line.endswith("make the adhesion weaker or the particles stiffer")


def test_a_spring_that_is_softer_than_the_pull_is_an_error():
    k = 2.0 * math.pi * 1e5 * 5e-4
    soft = 'model = "linear", cohesion_energy_density = 1e5'
    for share, level in ((1.01, ""), (0.99, "error")):
        law = f'{soft}}}\nlaw = "linear"\nnormal_stiffness = {share * k}\nrolling = {{model = "spring", friction = 0.1'
        assert [line.partition(":")[0] for line in about(bad(law), "adhesion")] == ([level] if level else [])


@pytest.mark.parametrize(
    ("key", "value", "limit"),
    [("volume", 6e-11, "3e-11"), ("relative_volume", 0.06, "0.03"), ("carried_volume", 0.06, "0.03")],
)
def test_bridges_beyond_the_pendular_state_are_told(key, value, limit):
    carried = ["particles.0.liquid=0.01"] if "carried" in key else []
    (line,) = about(bad(f"{WATER}, {key} = {value}", *carried), "liquid bridges")
    assert f"interactions.grain-grain.adhesion.{key} = {value:g}" in line
    assert "bridges of 6e-11 m3" in line
    assert line.endswith(f"use at most {limit}")


def test_contacts_that_reach_across_the_domain_are_an_error():
    (line,) = about(bad(f"{WATER}, volume = 1e-3"), "adhesion")
    assert "contacts last up to a gap of 0.126 m, for which the domain of 0.1 m along x is too short" in line
    text = "domain.periodic=[true, true, true]"
    (line,) = about(bad(f"{WATER}, volume = 1.2e-4", text), "adhesion")
    assert "for which the periodic box of 0.1 m along x is too short (0.128 m)" in line


def test_a_step_in_which_contacts_are_pulled_apart_is_told():
    """Of JKR's distance of 0.6 micrometres in a step of 0.1 ms, at twice the sticking speed."""
    adhesion = 'model = "jkr", work_of_adhesion = 0.1'
    (line,) = [line for line in bad(adhesion, "time.step=1e-4") if "pulled apart" in line]
    assert line.startswith("warning: time step: interactions.grain-grain.adhesion: at ")
    most = float(line.rpartition("use at most ")[2].removesuffix(" s"))
    assert not [line for line in bad(adhesion, f"time.step={0.99 * most}") if "pulled apart" in line]


def test_adhesion_that_needs_elastic_spheres_is_refused_for_a_law_in_a_file(tmp_path):
    (tmp_path / "laws.py").write_text(
        "import pdem\n\n\ndef normal(overlap, radius, c):\n    return c.k * overlap, c.k\n\n\n"
        'mine = pdem.contact_law(normal=normal, power=1.0, tangential="spring", coefficients={"k": "N/m"})\n',
        encoding="utf-8",
    )
    text = BASE.replace("{ADHESION}", '{model = "jkr", work_of_adhesion = 0.1}')
    text = text.replace("friction = 0.5", 'law = "python:laws.py:mine"\nk = 1e4\nfriction = 0.5')
    with pytest.raises(CaseError, match='"jkr" is no adhesion for the normal force') as raised:
        Case.from_text(text, tmp_path).resolved_step()
    assert "interactions.grain-grain.adhesion.model" in str(raised.value)


def test_bridges_without_liquid_are_told():
    (line,) = about(bad(f"{WATER}, carried_volume = 0.02"), "liquid bridges")
    assert line.endswith("and none carries any: give liquid in [[particles]] or [[insertions]]")


def test_liquid_without_use_is_told():
    text = BASE.replace("{ADHESION}", f"{{{WATER}, volume = 1e-12}}")
    with pytest.raises(CaseError, match=r"particles\[0\].liquid = 0.01: has no use"):
        Case.from_text(text.replace("radius = 1e-3", "radius = 1e-3\nliquid = 0.01"))


@pytest.mark.parametrize(
    ("before", "after"), [("volume = 1e-12", "carried_volume = 0.01"), ("carried_volume = 0.01",) * 2]
)
def test_liquid_is_carried_from_the_begin_or_never(before, after):
    text = BASE.replace("{ADHESION}", f"{{{WATER}, {before}}}")
    stage = f"interactions = {{grain-grain = {{adhesion = {{{WATER}, {after}}}}}}}"
    text += f'[[stages]]\nname = "a"\nend = 0.5\n[[stages]]\nname = "b"\n{stage}\n'
    if before == after:
        assert Case.from_text(text).stages[1].interactions
        return
    with pytest.raises(CaseError, match="carried_volume can neither come nor go in a stage") as raised:
        Case.from_text(text)
    assert "stages[1].interactions.grain-grain.adhesion" in str(raised.value)
