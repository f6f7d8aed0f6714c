"""Contact laws are proved before they run: right ones pass, wrong ones are told with function, line and remedy."""

from __future__ import annotations

import json
import math
import re
import textwrap
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.cases import Grains, make_case
from helpers.sticky import sticky_case
from pdem.cli import main
from pdem.verification.law_curves import curve_proofs
from pdem.verification.law_motions import Motions
from pdem.verification.law_report import law_files
from pdem.verification.law_subjects import subjects_of
from pdem.verification.law_vectors import vector_proofs
from pdem.verification.laws import prove_laws

pytestmark = pytest.mark.compiles

LAWS = """
import math
import pdem

K = {"k": "N/m"}


def spring(overlap, radius, c):
    return c.k * overlap, c.k


def loose(overlap, radius, c):
    return c.k * overlap, 0.2 * c.k


def jumps(overlap, radius, c):
    return c.k * overlap + 1e-3, c.k


def pulls(overlap, radius, c):
    return c.k * (overlap - 1e-6), c.k


def twice(overlap, radius, c):
    return c.k * overlap * overlap


def counts(overlap, radius, c):
    x = 0.0
    while x < overlap:
        x += 0.3 * overlap * math.exp(-overlap)
    return c.k * overlap, c.k


def part(contact, load):
    return 0.1 * load.stiffness * contact.radius * contact.radius


def torque(contact, load, x):
    k, n = part(contact, load), contact.normal
    off = x[0] * n[0] + x[1] * n[1] + x[2] * n[2]
    x = (x[0] - off * n[0], x[1] - off * n[1], x[2] - off * n[2])
    size = math.sqrt(max(x[0] * x[0] + x[1] * x[1] + x[2] * x[2], 1e-300))
    most = 0.2 * contact.radius * load.force / k
    cut = min(1.0, most / size)
    x = (cut * x[0], cut * x[1], cut * x[2])
    return (-k * x[0], -k * x[1], -k * x[2]), x, 0.5 * k * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2])


def still(step, contact, c, load, history):
    w, h, t = contact.rolling, history, load.time
    return torque(contact, load, (h[0] + t * w[0], h[1] + t * w[1], h[2] + t * w[2]))


def drives(step, contact, c, load, history):
    w = contact.rolling
    a = 0.01 * contact.radius * load.force / math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-300)
    return (a * w[0], a * w[1], a * w[2]), (), 0.0


def gyrates(step, contact, c, load, history):
    n, w = contact.normal, contact.rolling
    a = 0.01 * contact.radius * load.force / math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-300)
    return (a * (n[1] * w[2] - n[2] * w[1]), a * (n[2] * w[0] - n[0] * w[2]), a * (n[0] * w[1] - n[1] * w[0])), (), 0.0


def axis(step, contact, c, load, history):
    w = contact.rolling
    a = 0.01 * contact.radius * load.force / math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-300)
    return (-a * w[0], 0.0, 0.0), (), 0.0


def law(normal="linear", rolling=None, energy=None):
    keys = K if callable(normal) else {}
    history = {"rolling": ("x", "y", "z")} if rolling is still else {}
    return pdem.contact_law(
        normal=normal, tangential=None, rolling=rolling, energy=energy, power=1.0, coefficients=keys, history=history
    )


def dent(overlap, radius, c, history):
    most = max(history[0], overlap)
    force = max(2.0 * c.k * (overlap - 0.5 * most), 0.0)
    return force, c.k, (most,), 0.25 * c.k * (most * most - history[0] * history[0])


def back(overlap, radius, c, history):
    return c.k * max(overlap - 0.5 * history[0], 0.0) ** 2


def forgets(overlap, radius, c, history):
    force, k, history, _ = dent(overlap, radius, c, history)
    return force, k, history, 0.0


def twice_as_stiff(overlap, radius, c):
    return 2.0 * c.k


def plastic(normal, **more):
    return pdem.contact_law(
        normal=normal, energy=back, power=1.0, tangential=None, coefficients=K, history={"normal": ("most",)}, **more
    )


dented, forgetting = plastic(dent, unloading=twice_as_stiff), plastic(forgets, unloading=twice_as_stiff)
undeclared = plastic(dent)
loose_law, jumping, pulling, counting = law(loose), law(jumps), law(pulls), law(counts)
doubled, exact = law(spring, energy=twice), law(spring)
stands, drives_on = law(rolling=still), law(rolling=drives)
turns_round, one_axis = law(rolling=gyrates), law(rolling=axis)
"""

CASE = """
[time]
step = "auto"
end = 0.001
[domain]
lower = [-0.1, -0.1, -0.1]
upper = [0.1, 0.1, 0.1]
[output]
folder = "out"
energies = false
"""
GRAIN = "density = 2500.0\nyoungs_modulus = 1e7\npoisson_ratio = 0.25\n"
ROLLING = ("drives_on", "turns_round", "one_axis", "stands")
DOCUMENTED = re.findall(
    r"```python\n(# laws.py\n.*?)```",
    (Path(__file__).resolve().parents[2] / "docs/contact-laws.md").read_text(),
    re.DOTALL,
)
"""The laws of the documentation: with a normal force, with a torque that remembers, with adhesion."""


def case_of(folder, laws, constant="k"):
    """Return a case with a material and a particle for each law, which only touches its like by that law."""
    (folder / "laws.py").write_text(LAWS)
    text = CASE
    for number, name in enumerate(laws):
        text += f'[materials.{name}]\n{GRAIN}[[particles]]\nmaterial = "{name}"\nradius = 1e-3\n'
        text += f"positions = [[{0.004 * number}, 0.0, 0.0]]\nvelocity = [0.5, 0.0, 0.0]\n"
        text += f'[interactions.{name}-{name}]\nlaw = "python:laws.py:{name}"\nfriction = 0.0\nrestitution = 0.8\n'
        text += f"{constant} = 1e4\n"
    text += f'[interactions.default]\nlaw = "python:laws.py:{laws[0]}"\n{constant} = 1e4\n'
    text += "friction = 0.0\nrestitution = 0.8\n"
    return pdem.Case.from_text(text, folder)


@pytest.fixture(scope="module")
def proofs_of(tmp_path_factory):
    """Return a function of the name of a law with a torque that returns its proofs; all share one kernel."""
    case = case_of(tmp_path_factory.mktemp("laws"), ROLLING, "normal_stiffness")
    found = subjects_of(case, [f"{name}-{name}" for name in ROLLING])
    subjects = {one.key.partition("-")[0]: one for one in found}
    assert set(subjects) == set(ROLLING)
    return cache(lambda name: list(Motions(subjects[name]).proofs()))


def failed(proofs):
    return {proof.name: proof for proof in proofs if not proof.holds}


@pytest.mark.slow
def test_the_laws_of_the_documentation_pass_all_proofs(tmp_path):
    """Together in one case: a normal force, adhesion with a reach, a torque and a normal force with a memory."""
    keys = {
        "stiffening": "stiffness = 1e4\nhardening = 5.0\n",
        "held_upright": "k = 1e-6\n",
        "glued": "strength = 0.5\nstretch = 1e-3\n",
        "clay": "k1 = 1e4\nk2 = 2e4\n",
    }
    text = CASE
    for number, (name, page) in enumerate(zip(keys, DOCUMENTED, strict=True)):
        (tmp_path / f"laws{number}.py").write_text(page)
        text += f'[materials.{name}]\n{GRAIN}[[particles]]\nmaterial = "{name}"\nradius = 1e-3\n'
        text += f"positions = [[{0.004 * number}, 0.0, 0.0]]\nvelocity = [0.5, 0.0, 0.0]\n"
        text += f'[interactions.{name}-{name}]\nlaw = "python:laws{number}.py:{name}"\n{keys[name]}'
        text += "friction = 0.3\nrestitution = 0.8\n"
    text += '[interactions.default]\nlaw = "linear"\nnormal_stiffness = 1e4\nfriction = 0.3\nrestitution = 0.8\n'
    reports = prove_laws(pdem.Case.from_text(text, tmp_path))
    assert sorted(one.subject.key for one in reports) == sorted(f"{name}-{name}" for name in keys)
    assert not [str(proof) for one in reports for proof in one.proofs if not proof.holds]
    by_key = {one.subject.key: {proof.name for proof in one.proofs} for one in reports}
    for names in by_key.values():
        for kind in ("normal", "tangential", "all motions at once"):
            assert f"energy gained in closed paths, {kind}" in names
            assert f"exchange of the partners, {kind}" in names
            assert f"another frame, {kind}" in names
        assert "numbers with other bits on several workers" in names
    assert "turning about the normal, rolling" in by_key["held_upright-held_upright"]
    assert any(name.startswith("energy of adhesion") for name in by_key["glued-glued"])
    assert "energy stored and lost that is not the work" in by_key["clay-clay"]
    assert "stiffness of unloading that is not declared" in by_key["clay-clay"]


@pytest.mark.parametrize(
    ("law", "name", "function", "least"),
    [
        ("drives_on", "energy gained in closed paths, rolling", "drives, line", 0.5),
        ("turns_round", "exchange of the partners, rolling", "gyrates, line", 0.5),
        ("one_axis", "another frame, rolling", "axis, line", 0.5),
        ("stands", "turning, rolling", "still, line", 0.1),
        ("stands", "turning about the normal, rolling", "still, line", 0.1),
    ],
)
def test_a_wrong_torque_is_told(proofs_of, law, name, function, least):
    proof = failed(proofs_of(law))[name]
    assert proof.level == "error"
    assert proof.value > least
    assert f"laws.py, {function}" in str(proof)
    assert "at most" in str(proof)


def curves(folder, name):
    (subject,) = subjects_of(case_of(folder, [name]))
    return list(curve_proofs(subject))


@pytest.mark.parametrize(
    ("law", "name", "value", "said"),
    [
        ("loose_law", "stiffness that is not declared", 0.8, "loose, line"),
        ("jumping", "force at the touch", 1e-3 / (1e-3 + 1e4 * 1.144e-5), "jumps, line"),
        ("pulling", "force at the touch", None, "pulls, line"),
        ("pulling", "pull without adhesion", None, "is given as adhesion"),
        ("doubled", "energy that is not the work of the force", 1.0, "twice, line"),
        ("forgetting", "energy stored and lost that is not the work", None, "forgets, line"),
        ("undeclared", "stiffness of unloading that is not declared", 0.5, "give as unloading= a function"),
    ],
)
def test_a_wrong_normal_force_is_told(tmp_path, law, name, value, said):
    proof = failed(curves(tmp_path, law))[name]
    assert said in str(proof)
    assert value is None or proof.value == pytest.approx(value, rel=1e-2)
    assert proof.level == ("warning" if "energy" in name else "error")


@pytest.mark.parametrize("law", ["exact", "dented"])
def test_a_right_normal_force_passes(tmp_path, law):
    assert not failed(curves(tmp_path, law))


STICKS = """
import pdem


def pull(overlap, radius, c):
    return 0.5 * radius, 0.25 * radius * overlap


def gap(radius, c):
    return 1e-9 / radius


glue = pdem.contact_law(adhesion=pull, gap=gap, coefficients={"k": ""})
"""


def test_wrong_adhesion_is_told(tmp_path):
    """Its work is half of what the pull does, and the smallest bodies reach farthest."""
    case = case_of(tmp_path, ["glue"])
    (tmp_path / "laws.py").write_text(STICKS)
    (subject,) = subjects_of(case)
    wrong = failed(curve_proofs(subject))
    energy = wrong["energy of adhesion that is not the work of its force, over the largest pull"]
    assert (energy.level, energy.value) == ("warning", pytest.approx(0.5, rel=1e-2))
    assert "pull, line" in str(energy)
    (gap,) = (proof for name, proof in wrong.items() if name.startswith("gap"))
    assert gap.level == "error"
    assert "let it grow with the radius" in str(gap)


def test_what_is_no_vector_code_is_told(tmp_path):
    (slow,) = subjects_of(case_of(tmp_path, ["counting"]))
    (proof,) = vector_proofs(slow)
    assert (proof.level, proof.value) == ("warning", 1.0)
    assert "counts, line" in str(proof)
    (fast,) = subjects_of(case_of(tmp_path, ["stands"], "normal_stiffness"))
    assert not failed(vector_proofs(fast))


OTHER = {"loose_law": "exact", "exact": "loose_law"}


def own_case(folder, law):
    """Write a case of a law; its kernels have the other one as well, so that tests of both share them."""
    (folder / "laws.py").write_text(LAWS)
    path = folder / "case.toml"
    text = CASE.replace('"out"', f'"{folder / "out"}"') + f"[materials.grain]\n{GRAIN}"
    text += f'[interactions.default]\nlaw = "python:laws.py:{law}"\nfriction = 0.0\nrestitution = 0.8\n'
    text += f'k = 1e4\n[interactions.grain-other]\nlaw = "python:laws.py:{OTHER[law]}"\n'
    text += f"friction = 0.0\nrestitution = 0.8\nk = 1e4\n[materials.other]\n{GRAIN}"
    text += '[[particles]]\nmaterial = "grain"\nradius = 1e-3\npositions = [[0, 0, 0], [0.0021, 0, 0]]\n'
    path.write_text(text + "velocity = {random = 0.5, seed = 1}\n")
    return path


def test_a_check_proves_laws_of_users_and_says_what_is_wrong(tmp_path):
    path = own_case(tmp_path, "loose_law")
    result = CliRunner().invoke(main, ["check", str(path), "--report", str(tmp_path / "report")])
    assert result.exit_code == 2
    assert "error: law of grain-grain: stiffness that is not declared: 0.8" in result.stdout
    assert "largest step by the declared stiffness, over the largest stable one found" in result.stdout
    assert "rebound over impact speed" in result.stdout
    assert sorted(one.name for one in (tmp_path / "report").iterdir()) == ["laws.json", "laws.md", "laws.png"]
    record = json.loads((tmp_path / "report/laws.json").read_text())["laws"][0]
    assert record["stability"]["largest_s"] < 0.2 * record["stability"]["duration_s"]
    result = CliRunner().invoke(main, ["check", str(path), "--no-laws"])
    assert result.exit_code == 0
    assert "law of" not in result.stdout


def test_a_run_is_refused_unless_the_law_is_right_or_nobody_asks(tmp_path):
    path = own_case(tmp_path, "loose_law")
    result = CliRunner().invoke(main, ["run", str(path), "-q"])
    assert result.exit_code == 2
    assert "laws.py, loose, line" in result.stderr
    assert "--no-laws runs the case all the same" in result.stderr
    assert not (tmp_path / "out").exists()
    own_case(tmp_path, "exact")
    assert CliRunner().invoke(main, ["run", str(path), "-q", "--no-laws"]).exit_code == 0
    assert not (tmp_path / "out/laws.md").exists()
    assert CliRunner().invoke(main, ["run", str(path), "-q", "--overwrite"]).exit_code == 0
    assert "| exchange of the partners, normal |" in (tmp_path / "out/laws.md").read_text()
    assert (tmp_path / "out/laws.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_sticking_contacts_with_a_memory_pass_and_rebound_as_the_theory_says(tmp_path):
    """Without damping e = sqrt(1 - (v_s / v)^2); damped it is less, and slow impacts stick."""
    case = make_case(
        tmp_path, Grains([0.0, 0.0, 0.0], 1e-3, (0.1, 0.0, 0.0), material="jkr"), **sticky_case()
    )  # a law that other tests have
    assert not prove_laws(case)
    (report,) = prove_laws(case, all_laws=True)
    assert not failed(report.proofs)
    rebounds, subject = report.rebounds, report.subject
    sticking = subject.spring.sticking_speed(*subject.inertia(1.0))
    expected = np.sqrt(np.maximum(1.0 - (sticking / rebounds.speed) ** 2, 0.0))
    clear = np.abs(rebounds.speed / sticking - 1.0) > 0.2
    np.testing.assert_allclose(rebounds.found[clear], expected[clear], atol=0.02)
    assert rebounds.sticks[rebounds.speed < 0.8 * sticking].all()
    assert 0.2 * report.stability.duration < report.stability.largest < math.inf
    page = law_files("case", [report])["laws.md"].decode()
    assert page.count("holds") == len(report.proofs)
    assert "| sticks |" in page
    lines = report.rebound_table().splitlines()
    assert len({len(line) for line in lines[1:]}) == 1
    assert textwrap.dedent(lines[1]).startswith("impact speed [m/s]")
