"""A restart keeps the shape of a box that has deformed: what would lose it is refused, and changes nothing."""

from __future__ import annotations

import pytest
from folders import refused, run
from moving_boxes import MIXED, STEP, gas, moving_case

import pdem
from pdem.case.restart_box import check_box
from pdem.output.checkpoint import read_checkpoint

LEANS = (
    'the box leans along z across x, and a restart keeps these axes; give a shear with velocity_along = "z"'
)
STAGES = [
    {"name": "lean", "end": 20 * STEP},
    {"name": "go", "deformation": {"shear": {**MIXED["shear"], "rate": -5.0}}},
]


@pytest.fixture
def leaning(tmp_path, monkeypatch):
    """The folder of a run that has ended with a box that leans."""
    monkeypatch.chdir(tmp_path)
    output = {
        "folder": "out",
        "series_every": 20 * STEP,
        "fields_every": 20 * STEP,
        "checkpoint_every": 20 * STEP,
    }
    more = {"output": output, "stages": STAGES}
    pdem.Simulation(moving_case(tmp_path, gas(6), MIXED, end=40 * STEP, more=more), threads=1).run()
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("domain.deformation={}", None),
        ('stages.1.deformation={shear={velocity_along="y", gradient_along="x", rate=1.0}}', "keep these"),
        (
            "domain.upper=[0.15, 0.16, 0.15]",
            "domain.upper: a restart keeps the box, which has lengths of its own",
        ),
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
    assert LEANS in refused(
        "restart", "out", settings=[*later, "domain.deformation={}", "stages.1.deformation={}"]
    )
    run("restart", "out", settings=[*later, "stages.1.deformation.shear.rate=0.0"])


def test_a_box_that_is_still_upright_may_shear_along_any_axes(leaning):
    case, other = pdem.Results("out").case, pdem.Results("out").case
    other.override("domain.deformation={}")
    other.override('stages.1.deformation={shear={velocity_along="x", gradient_along="y", rate=1.0}}')
    state = read_checkpoint(max(leaning.glob("out/checkpoint-*.h5"))).groups["box"]
    assert state["offset"][0] != 0.0
    check_box(case, other, state | {"offset": 0.0 * state["offset"]})
