"""What a restart says about a case or a pdem that is not the one of its checkpoint."""

from __future__ import annotations

import pytest

from pdem.case.differences import differences, physical_differences
from pdem.case.model import Case
from pdem.cli.run import _read_restart_point
from pdem.foundation.version import VERSION
from pdem.output.checkpoints.checkpoint import write_checkpoint
from pdem.run.inputs import case_of

CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [1.0, 1.0, 1.0]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.3
[interactions.grain-grain]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.5, 0.5, 0.5]]
[output]
folder = "out"
"""


def test_differences_name_key_then_and_now():
    then = Case.from_text(CASE)
    now = Case.from_text(CASE.replace("2500.0", "1000.0").replace("radius = 0.01", "radius = 0.02"))
    assert differences(then, then) == []
    assert sorted(differences(then, now)) == [
        ("materials.grain.density", "2500.0", "1000.0"),
        ("particles[0].radius", "0.01", "0.02"),
    ]
    assert ("title", "''", "'mixer'") in differences(then, Case.from_text("title = 'mixer'" + CASE))


def test_a_restart_tells_what_else_it_simulates():
    settings = [
        "time.end=2.0", "detection.walls=h2", "detection.skin=0.1", "interactions.grain-grain.friction=0.1",
        "output.series_every=0.5",
    ]  # fmt: skip
    case = Case.from_text(CASE)
    for setting in settings:
        case.override(setting)
    assert sorted(physical_differences(Case.from_text(CASE), case)) == [
        ("detection.walls", "'signed'", "'h2'"),
        ("interactions.grain-grain.friction", "0.5", "0.1"),
    ]


def test_a_checkpoint_of_another_version_is_told(tmp_path):
    groups = {"counters": {"step": 3}}
    for version, warnings in ((VERSION, 0), ("0.0.1", 1)):
        write_checkpoint(tmp_path / "c.h5", groups, {"case": CASE, "directory": ".", "pdem": version})
        held = _read_restart_point(None, str(tmp_path / "c.h5"), [])
        assert held.step == 3
        assert str(held.warnings).count(f"written by pdem 0.0.1, this is {VERSION}") == warnings


class Stored:
    """A checkpoint of a case with an automatic step, as a pdem with another rule for it may have written it."""

    path = "checkpoint-000000100.h5"

    def __init__(self, text, **attributes):
        self.attributes = {"case": text, **attributes}
        self.groups = {"counters": {"step": 100}}


@pytest.mark.parametrize("attributes", [{"time": 100 * 3e-7}, {"time": 100 * 3e-7, "time_step": 3e-7}])
@pytest.mark.parametrize("particles", ["[[particles]]", "[[particles_that_are_gone]]"])
def test_a_run_keeps_its_time_step_whatever_automatic_means_by_now(attributes, particles):
    text = CASE.replace("step = 1e-5", 'step = "auto"')
    if "gone" in particles:
        text = text.split("[[particles]]")[0] + '[[particles]]\nmaterial = "grain"\nfile = "gone.csv"\n'
    case = case_of(Stored(text, **attributes))
    assert case.resolved_step() == pytest.approx(3e-7, rel=1e-15)


def test_a_step_that_is_still_chosen_stays_automatic():
    text = CASE.replace("step = 1e-5", 'step = "auto"')
    step = Case.from_text(text).resolved_step()
    assert case_of(Stored(text, time=100 * step)).time.step == "auto"
    assert case_of(Stored(text, time=100 * step, time_step=step)).time.step == "auto"
