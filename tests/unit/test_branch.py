"""Branches: runs from a stage on have the bits of runs from the begin, and nothing that acts before may change."""

from __future__ import annotations

import pytest
import tomli_w

import pdem
from helpers.everything import STEP, case_in, document
from helpers.folders import command
from pdem.foundation.errors import CaseError, InputError
from pdem.output.checkpoints.content_digest import read_digests
from pdem.preflight.before_stage import changes_before, digest_before

pytestmark = pytest.mark.compiles

LID = {
    "name": "lid", "shape": "box", "lower": [-0.003, -0.003, 0.0135], "upper": [0.003, 0.003, 0.0145],
    "material": "steel", "stage": "turning",
    "servo": {"axis": [0.0, 0.0, -1.0], "force": -1e-3, "largest_rate": 1.0},
}  # fmt: skip


def case_with_lid(folder, *settings):
    """Return the case with everything, and a servo that counts from its last stage."""
    given = document(folder)
    given["walls"].append(LID)
    case = pdem.Case.from_text(tomli_w.dumps(given))
    for setting in settings:
        case.override(setting)
    return case


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("branch") / "run"
    pdem.Simulation(case_with_lid(folder), threads=1).run()
    return folder


OPENING = (
    "insertions.0.count_rate=1.2e4", "insertions.0.radius=0.0009", "stages.1.walls={}", "stages.1.end=0.002",
    "stages.1.gravity=[5.0, 0.0, -150.0]", "stages.2.end=0.003",
)  # fmt: skip
TURNING = (
    "stages.2.interactions={grain-grain={friction=0.9}}", "walls.2.rotation.rate=-250.0", "walls.3.servo.force=-5e-3",
    "walls.3.servo.largest_rate=0.5", "stages.2.end=0.003", "sensors=[{name='outlet', remove=true, every=1.2e-4, "
    "plane={point=[0.0, 0.0, -0.004], normal=[0.0, 0.0, -1.0]}}]",
)  # fmt: skip


@pytest.mark.parametrize(("at", "step", "settings"), [("opening", 200, OPENING), ("turning", 400, TURNING)])
def test_a_branch_is_the_run_of_the_changed_case(finished, tmp_path, at, step, settings):
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    folder = pdem.branch(finished, at, settings, output=tmp_path / "branch", threads=1)
    pdem.Simulation(case_with_lid(tmp_path / "whole", *settings), threads=1).run()
    whole, branch = read_digests(tmp_path / "whole"), read_digests(folder)
    later = {one: text for one, text in whole.items() if one > step}
    assert {one: text for one, text in branch.items() if one > step} == later
    assert branch[max(branch)] not in read_digests(finished).values(), "it is another run"
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before
    replayed = pdem.replay(folder, (step + 10) * STEP, (step + 40) * STEP, output=tmp_path / "again", threads=1)
    assert replayed.proved, str(replayed)


def test_a_branch_of_a_branch(finished, tmp_path):
    first = pdem.branch(finished, "opening", OPENING[:2], output=tmp_path / "first", threads=1)
    second = pdem.branch(first, "turning", TURNING[:2], output=tmp_path / "second", threads=1)
    pdem.Simulation(case_with_lid(tmp_path / "whole", *OPENING[:2], *TURNING[:2]), threads=1).run()
    assert read_digests(second)[600] == read_digests(tmp_path / "whole")[600]


@pytest.mark.parametrize(
    ("setting", "texts"),
    [
        ("interactions.grain-grain.friction=0.4", ("0.5, now 0.4", "stages.2.interactions={grain-grain = {")),
        ("domain.gravity=[0.0, 0.0, -1.0]", ("domain.gravity", "stages.2.gravity")),
        ("materials.grain.density=900.0", ("density 1000.0, now 900.0", "from its begin")),
        ("particles.1.fill.count=61", ("fill.count 60, now 61",)),
        ("insertions.0.count_rate=2e4", ("count_rate", 'stage = "turning"'.replace('"', "'"))),
        ("stages.1.walls={}", ("stages[1].walls.gate",)),
        ("stages.1.end=0.005", ("stages[1].end",)),
        ("stages.0.name='sinking'", ("names of stages",)),
        ("sensors.0.plane.point=[0.0, 0.0, -0.005]", ("plane.point",)),
        ("walls.2.stage='opening'", ("stage", "walls[2]")),
        ("walls.0.upper=[0.0, 0.01, 0.001]", ("walls[0].upper",)),
        ("sensors.0.every=1e-4", ("sensors[0].every", "give sensors[0].every")),
        ("time.step=1e-5", ("time.step", "give time.step")),
        ("time.end=0.008", ("is where stage turning begins",)),
        ("stages.2.interactions={grain-grain={frction=0.4}}", ("frction",)),
        ("frictoin=0.4", ("frictoin",)),
    ],
)  # fmt: skip
def test_what_acts_before_is_refused(finished, tmp_path, setting, texts):
    with pytest.raises(CaseError) as error:
        pdem.branch(finished, "turning", [setting], output=tmp_path / "branch")
    for text in texts:
        assert text in str(error.value)
    assert not (tmp_path / "branch").exists()


def test_folders_and_stages_that_are_not_there(finished, tmp_path):
    for folder, at, options, text in (
        (finished, "falling", {}, "is the first one"), (finished, "turnin", {}, "did you mean 'turning'"),
        (tmp_path / "none", "turning", {}, "no such folder"),
        (finished, "turning", {"output": finished}, "written over"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=text):
            pdem.branch(folder, at, [], **options)
    code, told = command("branch", finished, "--at", "turning", "-o", tmp_path / "b", "--quiet")
    assert code == 0, told
    code, told = command("branch", finished, "--at", "turning", "-o", tmp_path / "b", "--quiet")
    assert code == 2
    assert "holds a run" in told


def test_what_cases_share_has_one_digest():
    made_under = {"pdem": "1"}
    plain, late = case_in("a"), case_in("b", "walls.2.rotation.rate=-250.0", "title='other'")
    digests = [digest_before(plain, number, made_under) for number in range(4)]
    assert [digest_before(late, number, made_under) for number in range(4)][:3] == digests[:3]
    assert digest_before(late, 3, made_under) != digests[3]
    assert digest_before(plain, 2, {"pdem": "2"}) != digests[2]
    assert len(set(digests)) == 4
    assert changes_before(plain, late, 2) == []
    energies = case_in("c", "output.energies=false")
    assert digest_before(energies, 2, made_under) != digests[2]


def test_a_file_belongs_to_what_is_shared(tmp_path):
    given = document(tmp_path / "out")
    given["particles"][1] = {"material": "grain", "file": "grains.csv"}
    text = tomli_w.dumps(given)
    found = []
    for x in (0.0, 0.001):
        (tmp_path / "grains.csv").write_text(f"{x} 0.0 0.01 0.001\n")
        found.append(digest_before(pdem.Case.from_text(text, tmp_path), 1, {}))
    assert found[0] != found[1]
