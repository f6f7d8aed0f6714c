"""Reading, refusing, overriding and writing cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdem.case.model import Case
from pdem.foundation.errors import CaseError

BASE = """
title = "test"
[time]
step = 5e-5
end = 20
[domain]
lower = [0, 0, 0]
upper = [1, 1, 1]
gravity = [0, 0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[interactions.steel-grain]
law = "linear"
normal_stiffness = 100
friction = 0.75
restitution = 0.4
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3, min = 0.01, max = 0.1}
fill = {count = 10, exclude = [{shape = "sphere", centre = [0, 0, 0], radius = 1}]}
velocity = {random = 0.5}
[[walls]]
mesh = "parts/mixer.stl"
material = "steel"
rotation = {rate = 18.85, axis = [1, 0, 0]}
"""


@pytest.fixture
def case() -> Case:
    return Case.from_text(BASE)


def refusal(case: Case, *assignments: str) -> str:
    """Return the message with which the last override is refused."""
    for assignment in assignments[:-1]:
        case.override(assignment)
    before = case.model_dump()
    with pytest.raises(CaseError) as caught:
        case.override(assignments[-1])
    assert case.model_dump() == before
    return str(caught.value)


def test_defaults_are_filled_in(case: Case) -> None:
    assert case.domain.periodic == (False, False, False)
    assert case.walls[0].name == "mixer"
    assert case.interactions["steel-grain"].tangential_ratio == pytest.approx(2 / 7)
    assert case.interactions["grain-grain"].tangential_ratio is None
    assert case.particles[0].fill.upper == (1.0, 1.0, 1.0)
    assert case.output.snapshots_every == pytest.approx(0.2)
    assert case.materials["steel"].rigid
    assert case.detection.direction == "top-down"
    assert isinstance(case.time.end, float)


def test_interactions_are_found_in_either_order(case: Case) -> None:
    assert case.interaction("grain", "steel") is case.interactions["steel-grain"]
    assert case.interaction("steel", "grain") is case.interactions["steel-grain"]
    assert case.interaction("steel", "steel") is None


def test_every_default_is_written_and_read_back_exactly(case: Case) -> None:
    case.override("time.end=0.1")
    again = Case.from_text(case.to_toml())
    assert again.model_dump() == case.model_dump()
    assert again.to_toml() == case.to_toml()
    for key in ("step_fraction", "skin", "largest_overlap", "series_every", "attempts", "rolling_friction", "scale"):
        assert f"\n{key} = " in case.to_toml()


def test_an_override_changes_what_depends_on_it(case: Case) -> None:
    case.override("time.end = 0.5")
    case.override("particles.0.radius = 0.02")
    case.override("particles[0].fill.seed=3")
    case.override("limits.largest_overlap=0.9")
    assert case.time.end == 0.5
    assert case.output.snapshots_every == pytest.approx(0.005)
    assert case.particles[0].radius == 0.02
    assert case.particles[0].fill.seed == 3
    assert case.limits.largest_overlap == 0.9


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("time.end=-1", "time.end = -1: must be greater than 0"),
        ("time.end=nan", "time.end = nan: must be a finite number"),
        ("time.end='1'", 'time.end = "1": must be a number'),
        ("time.end=true", "time.end = true: must be a number"),
        ("time.step='fast'", 'time.step = "fast": must be "auto" or a number'),
        ("time.step=[1]", 'time.step = [1]: must be a number in s; without brackets: 1 (or "auto")'),
        ("time.end=1e30", "time.end = 1e+30: is beyond all reason"),
        ("particles[0].radius=1e-300", "particles[0].radius = 1e-300: is beyond all reason"),
        ("materials.grain.density=1e40", "materials.grain.density = 1e+40: is beyond all reason"),
        ("time=3", "time = 3: must be a table"),
        ("title=3", "title = 3: must be a text in quotes"),
        ("domain.uper=[1, 2, 3]", "domain.uper = [1, 2, 3]: is not a key; did you mean 'upper'?"),
        ("domain.upper=[1, 2]", "domain.upper = [1, 2]: has too few entries, at least 3 are needed"),
        ("domain.upper=[1, 2, 3, 4]", "domain.upper = [1, 2, 3, 4]: has 4 entries, at most 3 are allowed"),
        ("domain.upper=[1, 0, 2]", "domain.upper[1] = 0: must be greater than domain.lower (0.0) along y"),
        ("domain.dimension=4", "domain.dimension = 4: must be 2 or 3"),
        ("domain.dimension=2", "domain.gravity[2] = -9.81: must be 0 in a case of dimension 2"),
        (
            "domain.periodic=[true, true, 1]",
            "domain.periodic = [true, true, 1]: must be three values, each true or false",
        ),
        ("particles=3", "particles = 3: must be tables, each below [[particles]] with two brackets"),
        ("particles=[3]", "particles[0] = 3: must be a table: each of particles begins with [[particles]]"),
        ("particles[0].radius=-0.0035", "particles[0].radius = -0.0035: must be greater than 0"),
        ("particles[0].radius.exponent='a'", 'particles[0].radius.exponent = "a": must be a number'),
        ("particles[0].radius.min=0.5", "particles[0].radius: radii from 0.5 m to 0.1 m: need 0 < smallest"),
        ("particles[0].radius={}", 'particles[0].radius.distribution: must be one of "uniform", "power-law"'),
        ("particles[0].fill.cout=3", "particles[0].fill.cout = 3: is not a key; did you mean 'count'?"),
        ("particles[0].fill.shape='sphere'", "particles[0].fill.centre: is missing"),
        ("particles[0].fill.volume_fraction=0.1", "particles[0].fill.volume_fraction = 0.1: is not allowed"),
        ("particles[0].file='a.txt'", "particles[0]: needs exactly one of fill, file and positions, has fill and"),
        ("particles[0].velocity={rand=1}", "particles[0].velocity.rand = 1: is not a key; did you mean 'random'?"),
        ("particles[0].velocity=['a', 1, 2]", 'particles[0].velocity[0] = "a": must be a number'),
        ("particles[0].material='gran'", "is not a material of the case; did you mean 'grain'?"),
        ("particles[0].material='steel'", "materials.steel.density: is missing"),
        ("materials.grain.poisson_ratio=0.5", "materials.grain.poisson_ratio = 0.5: must be less than 0.5"),
        ("materials.steel.youngs_modulus=1", "materials.steel.poisson_ratio: is missing"),
        ("materials.'a b'={}", 'materials."a b": a name of a material holds no spaces'),
        ("interactions.grain-grain.restitution=0", "interactions.grain-grain.restitution = 0: must be greater than 0"),
        ("interactions.grain-grain.restitution=1.1", "restitution = 1.1: must be at most 1"),
        ("interactions.grain-grain.friction=-1", "interactions.grain-grain.friction = -1: must be at least 0"),
        ("interactions.grain-grain.normal_stiffness=1", 'belongs to law = "linear"'),
        ("interactions.grain-steel={friction=0, restitution=1}", "names the same two materials as interactions.steel-"),
        ("interactions.grain-stel={friction=0, restitution=1}", "must be two names of materials joined by a hyphen"),
        (
            "interactions.grain-grain.law='hertz'",
            'is no contact law; did you mean "hertz-mindlin"? allowed: hertz-mindlin, linear',
        ),
        ("walls[0].rotation.axis=[0, 0, 0]", "walls[0].rotation.axis = [0, 0, 0]: is not a direction"),
        ("walls[0].rotation.rat=1", "walls[0].rotation.rat = 1: is not a key; did you mean 'rate'?"),
        ("walls[0].scale=0", "walls[0].scale = 0: must be greater than 0"),
        ("detection.method='hgird'", 'detection.method = "hgird": must be "hgrid", "linked-cell"'),
        ("detection.cell_sizes=[1, -2]", "detection.cell_sizes[1] = -2: must be greater than 0"),
        ("detection.levels=1.5", "detection.levels = 1.5: must be a whole number"),
        ("detection.walls='h3'", 'detection.walls = "h3": must be "signed" or "h2"'),
        ("decomposition.method='quarters'", 'decomposition.method = "quarters": must be "bisection" or "slabs"'),
        ("output.snapshots_every=0", "output.snapshots_every = 0: must be greater than 0"),
        ("time.end.x=3", "time.end is a single value and has no 'x' in it"),
        ("particles[1].radius=1", "particles is a list of 1; its entries are numbered from 0"),
        ("foo", "an override is written key=value"),
        ("a b=3", "is not a dotted key"),
        ("title=hello]", "is not a TOML value; a text needs quotes"),
        ("domain.gravity=[0 0 -9.81]", "is not a TOML value; elements of a list are separated by commas"),
        ("title='a'\nb=3", "is not a TOML value"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(case: Case, assignment: str, expected: str) -> None:
    message = refusal(case, assignment)
    assert expected in message
    assert len(message.splitlines()) == 1 or "shape" in assignment or "velocity" in assignment


@pytest.mark.parametrize("folder", ["results/a", "/tmp/run 2", "~/x", "run-1.5"])
def test_a_plain_text_needs_no_quotes(case: Case, folder: str) -> None:
    case.override(f"output.folder={folder}")
    assert case.output.folder == folder
    assert "must be a number" in refusal(case, "time.end=0.5s")


def test_every_problem_has_its_own_line() -> None:
    text = BASE.replace("density = 1000.0", "density = -1").replace("end = 20", "end = 'x'\nfoo = 3")
    with pytest.raises(CaseError) as caught:
        Case.from_text(text)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("case: ") for line in lines)


def test_materials_that_can_meet_need_an_interaction(case: Case) -> None:
    assert "interactions.grain-steel: is missing" in refusal(case, "interactions={}").splitlines()[1]
    text = BASE.replace("[interactions.steel-grain]", "[interactions.steel-steel]")
    with pytest.raises(CaseError, match=r"interactions\.grain-steel: is missing; .* can touch walls of 'steel'"):
        Case.from_text(text)


def test_walls_among_themselves_need_no_interaction(case: Case) -> None:
    case.override("particles=[]")
    case.override("interactions={}")
    assert case.interactions == {}


def test_two_rigid_materials_cannot_meet_by_hertz(case: Case) -> None:
    linear = '{law="linear", normal_stiffness=1e3, friction=0, restitution=1}'
    case.override(f"interactions.grain-grain={linear}")
    case.override("materials.grain={density=1000}")
    message = refusal(case, "interactions.steel-grain={friction=0, restitution=1}")
    assert "materials.grain.youngs_modulus: is missing" in message


def test_names_with_hyphens_are_told_apart() -> None:
    text = BASE.replace("materials.grain", "materials.fine-grain").replace('"grain"', '"fine-grain"')
    text = text.replace("grain-grain", "fine-grain-fine-grain").replace("steel-grain", "steel-fine-grain")
    assert Case.from_text(text).interaction("fine-grain", "steel").law == "linear"
    with pytest.raises(CaseError, match="several pairs"):
        Case.from_text(
            text.replace("[materials.steel]", "[materials.steel]\n[materials.steel-fine]\n[materials.grain]")
        )


def test_a_periodic_box_must_not_be_too_narrow(case: Case) -> None:
    case.override("domain.periodic=[false, true, false]")
    case.override("particles[0].radius.max=0.25")
    message = refusal(case, "particles[0].radius.max=0.26")
    assert "domain.upper[1]" in message
    assert "1.04 m" in message


def test_walls_have_different_names(case: Case) -> None:
    message = refusal(case, "walls=[{mesh='a/x.stl', material='steel'}, {mesh='b/x.obj', material='steel'}]")
    assert "walls[1].name: ('x') is taken by walls[0]" in message


def test_syntax_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text('title = "a"\n[time\nend = 1\n')
    with pytest.raises(CaseError, match=r"broken\.toml: line 2, column \d+: not valid TOML"):
        Case.read(path)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no such case file"):
        Case.read(tmp_path / "absent.toml")
    with pytest.raises(CaseError, match="is a folder"):
        Case.read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"title = '\x00'")
    with pytest.raises(CaseError, match=r"is no text: character 10 is zero; a case is a text file in UTF-8"):
        Case.read(tmp_path / "bytes.toml")


def test_a_case_knows_its_file_and_folder(tmp_path: Path) -> None:
    path = tmp_path / "good.toml"
    path.write_text(BASE)
    case = Case.read(path)
    assert (case.path, case.directory) == (path, tmp_path)
    assert case.file("a/b.stl") == tmp_path / "a" / "b.stl"
    assert str(path) in refusal(case, "time.end=-1")
    case.override("time.end=1")
    assert case.path == path


def test_deep_or_huge_input_is_refused_not_crashed() -> None:
    for text in (
        "a = " + "[" * 100_000,
        "[time]\nend = 1" + "0" * 5000,
        BASE.replace("end = 20", "end = 1" + "0" * 400),
    ):
        with pytest.raises(CaseError):
            Case.from_text(text)


def test_the_model_needs_no_compiler() -> None:
    import subprocess
    import sys

    code = "import sys, pdem.case.model; sys.exit('numba' in sys.modules or 'h5py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "positions = [[0.0, 0.0, 0.0]]",
            "positions = [0, 0, 0]",
            "must be a list of points, each a list of x, y and z",
        ),
        ("radius = 0.05", "diameter = 0.1", "pdem takes the radius, which is half of it"),
        ("friction = 0.5", "friction = 0.5\ncoefficientFriction = 0.3", "did you mean 'friction'?"),
        ("friction = 0.5", "friction = 0.5\ncohesion = 5.0", "pdem has adhesion ="),
        (
            "friction = 0.5",
            'friction = 0.5\nlaw = "hooke"',
            'is no contact law; did you mean "linear"? allowed: hertz-mindlin, linear',
        ),
        (
            "friction = 0.5",
            'friction = 0.5\nlaw = "jkr"',
            'is a model of adhesion: give adhesion = {model = "jkr", ...} beside the law',
        ),
    ],
)
def test_what_users_of_other_programs_write_is_understood(old: str, new: str, text: str) -> None:
    plain = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.05
positions = [[0.0, 0.0, 0.0]]
"""
    Case.from_text(plain)
    with pytest.raises(CaseError) as caught:
        Case.from_text(plain.replace(old, new))
    first, *others = str(caught.value).splitlines()
    assert text in first
    assert all("is missing" in line for line in others)  # the radius, in whose place something else stands


def test_a_list_with_wrong_entries_is_not_said_to_be_empty() -> None:
    with pytest.raises(CaseError) as caught:
        Case.from_text('output = {folder = "x"}\n[[particles]]\nmaterial = "grain"\npositions = [["a"]]')
    assert "has 0 entries" not in str(caught.value)


def test_a_changed_copy_leaves_the_case_and_lets_defaults_follow() -> None:
    case = Case.from_text(BASE, "somewhere")
    changed = case.changed(["time.end=10.0", "interactions.grain-grain.friction=0.1"])
    assert (case.time.end, changed.time.end) == (20.0, 10.0)
    assert changed.output.snapshots_every == 0.5 * case.output.snapshots_every
    assert changed.directory == Path("somewhere")
    assert case.interactions["grain-grain"].friction == 0.5


def test_a_value_of_pairs_that_no_pair_takes_is_refused() -> None:
    """As in a case of a checkpoint, in which all values are written out: it would be left unheard."""
    case = Case.from_text(BASE)
    case.override("interactions.default={friction=0.2, restitution=0.3}")
    assert case.interaction("steel", "steel").friction == 0.2
    case.override("interactions.default.friction=0.4")
    written_out = Case.from_text(case.to_toml())
    for key in ("interactions.default.friction", "materials.grain.friction"):
        with pytest.raises(CaseError, match=f"{key} changes no pair .* change these: grain-grain, steel-grain, "):
            written_out.override(f"{key}=0.1")
    assert written_out.to_toml() == case.to_toml()
