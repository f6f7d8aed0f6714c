"""A restart keeps the shape of a box that has deformed: what would lose it is refused, and changes nothing."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import refused, run
from helpers.moving_boxes import MIXED, STEP, gas, moving_case
from pdem.cli import main
from pdem.foundation.errors import CaseError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.preflight.restart_box import check_box

LEANS = 'the box leans along z across x, and a restart keeps these axes; give a shear with velocity_along = "z"'
STAGES = [
    {"name": "lean", "end": 20 * STEP},
    {"name": "go", "deformation": {"shear": {**MIXED["shear"], "rate": -5.0}}},
]


@pytest.fixture
def leaning(tmp_path, monkeypatch):
    """The folder of a run that has ended with a box that leans."""
    monkeypatch.chdir(tmp_path)
    output = {"folder": "out", "series_every": 20 * STEP, "snapshots_every": 20 * STEP, "checkpoint_every": 20 * STEP}
    more = {"output": output, "stages": STAGES}
    pdem.Simulation(moving_case(tmp_path, gas(6), MIXED, end=40 * STEP, more=more), threads=1).run()
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("domain.deformation={}", None),
        ('stages.1.deformation={shear={velocity_along="y", gradient_along="x", rate=1.0}}', "keep these"),
        ("domain.upper=[0.15, 0.16, 0.15]", "domain.upper: a restart keeps the box, which has lengths of its own"),
    ],
)
def test_what_would_lose_the_shape_is_refused(leaning, setting, message):
    settings = [f"time.end={60 * STEP!r}", setting]
    if message is None:  # the last stage still says how it shears
        run("restart", "out", settings=settings)
    else:
        assert message in refused("restart", "out", settings=settings)


def test_other_axes_of_a_shear_are_refused(leaning):
    turned = 'shear={velocity_along="y", gradient_along="x", rate=1.0}'
    both = ["stages.1.deformation={}", f"domain.deformation={{{turned}}}"]
    later = [f"time.end={60 * STEP!r}"]
    assert LEANS in refused("restart", "out", settings=[*later, *both])
    assert LEANS in refused("restart", "out", settings=[*later, "domain.deformation={}", "stages.1.deformation={}"])
    run("restart", "out", settings=[*later, "stages.1.deformation.shear.rate=0.0"])


def test_states_that_are_given_in_python_are_checked_as_well(leaning):
    """As restarts by the command line are; before the box got other axes without a word."""
    state = read_checkpoint(max(leaning.glob("out/checkpoint-*.h5"))).groups
    case = pdem.Results("out").case
    pdem.Simulation(case, threads=1, state=state)
    case.override("domain.deformation={}")
    case.override('stages.1.deformation={shear={velocity_along="y", gradient_along="x", rate=1.0}}')
    with pytest.raises(CaseError, match=re.escape(LEANS)):
        pdem.Simulation(case, threads=1, state=state)
    upright = state | {"box": state["box"] | {"offset": 0.0 * state["box"]["offset"]}}
    pdem.Simulation(case, threads=1, state=upright)
    with pytest.raises(CaseError, match="the box has deformed, and a restart keeps its shape"):
        pdem.Simulation(moving_case(leaning, None, None, end=1.0), threads=1, state=state)


def test_a_box_that_is_still_upright_may_shear_along_any_axes(leaning):
    case, other = pdem.Results("out").case, pdem.Results("out").case
    other.override("domain.deformation={}")
    other.override('stages.1.deformation={shear={velocity_along="x", gradient_along="y", rate=1.0}}')
    state = read_checkpoint(max(leaning.glob("out/checkpoint-*.h5"))).groups["box"]
    assert state["offset"][0] != 0.0
    check_box(case, other, state | {"offset": 0.0 * state["offset"]})


def test_exports_for_ovito_have_the_box(leaning):
    """Its vectors lean, and contacts across its sides are those of the particles that are written."""
    assert CliRunner().invoke(main, ["export", "out"]).exit_code == 0
    snapshot = pdem.Results("out")[-1]
    corner, vectors = snapshot.box
    keys = max(leaning.glob("out/export/*.xyz")).read_text().splitlines()[1]
    sides, begin, axes = re.match(r'Lattice="(.*)" Origin="(.*)" pbc="(.*)" Properties=pos', keys).groups()
    assert [float(one) for one in sides.split()] == vectors.ravel().tolist()
    assert [float(one) for one in begin.split()] == corner.tolist()
    assert axes == "T T T"
    assert vectors[0, 2] != 0.0
