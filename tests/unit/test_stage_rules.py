"""What is wrong with stages of a case is said before it runs, with the key, the numbers and the remedy."""

from __future__ import annotations

import pytest

from helpers.inlets import case_of, inlet
from pdem.case.gravity import first_gravity, largest_gravity
from pdem.case.model import Case
from pdem.case.stage_cases import cases_of_stages, walls_present
from pdem.case.timestep import automatic_step, step_limits
from pdem.foundation.errors import CaseError
from pdem.preflight.findings import Finding
from pdem.preflight.stage_preflight import stage_findings

WALLS = [
    {"name": "gate", "mesh": "gate.stl", "material": "steel"},
    {
        "name": "piston", "mesh": "piston.stl", "material": "steel",
        "servo": {"axis": [0, 0, -1], "force": -1.0, "largest_rate": 0.1},
    },
]  # fmt: skip
SENSORS = [
    {"name": "bed", "region": {"lower": [-0.1] * 3, "upper": [0.1] * 3}, "by": "material"},
    {"name": "out", "plane": {"point": [0, 0, 0], "normal": [0, 0, -1]}},
]
ENERGY = "kinetic_energy_per_particle"


def until(quantity=ENERGY, **keys):
    return {"name": "a", "until": {"quantity": quantity, **keys}}


def staged(*stages, **sections):
    """Return a case with these stages, and a last one without end."""
    given = {"walls": WALLS, "sensors": SENSORS, **sections}
    return case_of(inlet(mass_rate=1.0), stages=[*stages, {"name": "last"}], **given)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ([{"name": "a"}], r"stages\[0\].end: is missing: only the last stage may end with time.end; give end"),
        ([{"name": "last", "end": 0.1}], r"stages\[1\].name = \"last\": \('last'\) is taken by stages\[0\]; give each"),
        ([{"name": "a/b", "end": 0.1}], r"stages\[0\].name = \"a/b\": names a file, stage-NAME.h5; use letters"),
        ([{**until(below=1.0), "end": 0.1}], "until: is not allowed together with end"),
        ([{"name": "a", "end": -1.0}], r"stages\[0\].end = -1.0: must be greater than 0"),
        ([{"name": "a", "end": 0.1, "wall": {}}], r"stages\[0\].wall: is not a key; did you mean 'walls'\?"),
        ([until(below=0.0)], r"until.below = 0.0: can never be reached: kinetic_energy_per_particle is never"),
        ([until("bed_mass", below=-1.0)], "below = -1.0: can never be reached: bed_mass is never less than 0"),
        ([until(above=-1.0)], "above = -1.0: is always exceeded: kinetic_energy_per_particle is never less than 0"),
        ([until()], r"stages\[0\].until: needs exactly one of below and above, has none of them"),
        ([until(below=1.0, above=2.0)], "needs exactly one of below and above, has both"),
        ([until("bed_mas", above=1.0)], r"quantity = \"bed_mas\": is no quantity of this case; did you mean 'bed_mas"),
        ([until("heap_mass", above=1.0)], "is no quantity of this case; .*bed_mass_grain"),
        ([until("out_flow", above=1.0)], "is a mean between lines of the series, no condition can be on it"),
        ([until(below=1.0, **{"for": 0.3, "latest": 0.2})], r"until.latest = 0.2: is less than for \(0.3 s\)"),
        ([until(below=1.0, hold=0.3)], "until.hold = 0.3: is not a key"),
        ([until(below=1.0, **{"for": -0.3})], "until.for = -0.3: must be at least 0"),
        ([until(below=1.0, every=0.0)], "until.every = 0.0: must be greater than 0"),
        ([{"name": "a", "end": 0.1, "walls": {"gat": {"remove": True}}}], "walls.gat: is no wall of this case; did"),
        ([{"name": "a", "end": 0.1, "walls": {"gate": {}}}], "needs exactly one of remove = true and add = true"),
        (
            [{"name": "a", "end": 0.1, "walls": {"gate": {"remove": True, "add": True}}}],
            "needs exactly one of remove = true and add = true",
        ),
        (
            [{"name": x, "end": 0.1, "walls": {"gate": {"remove": True}}} for x in "ab"],
            r"stages\[1\].walls.gate.remove = true: wall gate is not there before; leave this out",
        ),
        (
            [{"name": x, "end": 0.1, "walls": {"gate": {"add": True}}} for x in "ab"],
            r"stages\[1\].walls.gate.add = true: wall gate is there already; leave this out",
        ),
        (
            [{**until("gate_force_z", below=-1.0), "walls": {"gate": {"remove": True}}}],
            "quantity = \"gate_force_z\": is of wall gate, which is not there in this stage",
        ),
        (
            [{"name": "a", "end": 0.1, "interactions": {"grain-gran": {"friction": 0.1}}}],
            "interactions.grain-gran: is no interaction of the case; did you mean 'grain-grain'",
        ),
        (
            [{"name": "a", "end": 0.1, "interactions": {"grain-grain": {"friction": -0.1}}}],
            "interactions.grain-grain.friction = -0.1: must be at least 0",
        ),
        (
            [{"name": "a", "end": 0.1, "interactions": {"grain-grain": {"frictoin": 0.1}}}],
            "grain-grain.frictoin = 0.1: is not a key; did you mean 'friction'",
        ),
        (
            [{"name": "a", "end": 0.1, "interactions": {"grain-grain": {"law": "linear", "normal_stiffness": 1e3}}}],
            "grain-grain.law = \"linear\": would replace \"hertz-mindlin\"; a stage changes values only",
        ),
        (
            [{"name": "a", "end": 0.1, "interactions": {
                "grain-grain": {"adhesion": {"model": "jkr", "work_of_adhesion": 0.1}}}}],
            "grain-grain.adhesion: is not there before; a stage changes values only",
        ),
        (
            [{"name": "a", "end": 0.1, "gravity": [0, 0, 0.0],
              "gravity_table": {"times": [0, 1], "values": [[0, 0, 1], [0, 0, 2]]}}],
            "gravity_table: is not allowed together with gravity; keep one of them",
        ),
        (
            [{"name": "a", "end": 0.1, "gravity_table": {"times": [1, 0], "values": [[0, 0, 1], [0, 0, 2]]}}],
            r"stages\[0\].gravity_table.times\[1\] = 0: must rise",
        ),
        ([{"name": "a", "end": 0.1, "gravity_table": {"times": [0, 1]}}], "gravity_table.values: is missing"),
        ([{"name": "a", "end": 0.1, "gravity": [0, 0, 1e30]}], "is beyond all reason"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_stages_is_said(stages, expected):
    with pytest.raises(CaseError, match=expected):
        staged(*stages)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({"walls": [{**WALLS[0], "stage": "b", "oscillation": {"amplitude": [0, 0, 1], "frequency": 1.0}}]},
         r"walls\[0\].stage = \"b\": is no stage of this case; give one of a, last"),
        ({"walls": [{**WALLS[0], "stage": "a"}]}, r"walls\[0\].stage = \"a\": says when motions begin, and there"),
        ({"motions": {"arm": {"stage": "a"}}}, "motions.arm.stage = \"a\": says when motions begin"),
        ({"motions": {"arm": {"stage": "x", "translation": {"velocity": [0, 0, 1]}}}}, "arm.stage = \"x\": is no"),
        ({"insertions": [inlet(mass_rate=1.0, stage="x")]}, r"insertions\[0\].stage = \"x\": is no stage of this case"),
        ({"walls": [{**WALLS[0], "stage": "last", "translation": {"velocity": [0, 0, 1]}}]},
         "stage = \"last\": lets the wall move from stage last on, but the wall is not there then"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_references_to_stages_is_said(sections, expected):
    stage = {"name": "a", "end": 0.1, "walls": {"gate": {"remove": True}}}
    with pytest.raises(CaseError, match=expected):
        staged(stage, **sections)


def test_a_key_stage_without_stages_is_told_what_to_do():
    with pytest.raises(CaseError, match=r"is no stage of this case; it has none: \[\[stages\]\] makes some"):
        case_of(inlet(mass_rate=1.0, stage="x"))


def test_gravity_is_given_once_and_lies_in_the_plane():
    table = {"times": [0, 1], "values": [[0, 0, 1.0], [0, 1.0, 0]]}
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3}
    with pytest.raises(CaseError, match=r"domain.gravity_table: is not allowed together with gravity; keep one"):
        case_of(inlet(mass_rate=1.0), domain={**domain, "gravity": [0, 0, -9.81], "gravity_table": table})
    with pytest.raises(CaseError, match=r"domain.gravity_table.values\[0\]\[2\] = 1.0: must be 0 in a case of dim"):
        case_of(domain={**domain, "dimension": 2, "gravity_table": table}, insertions=[])
    with pytest.raises(CaseError, match=r"stages\[0\].gravity\[2\] = 1.0: must be 0 in a case of dimension 2"):
        case_of(domain={**domain, "dimension": 2}, insertions=[], stages=[{"name": "a", "gravity": [0, 0, 1.0]}])


def test_a_case_with_stages_is_written_and_read_again():
    case = staged(until(below=1e-7, **{"for": 0.1}), {"name": "b", "end": 0.2, "walls": {"gate": {"remove": True}}})
    again = Case.from_text(case.to_toml())
    assert again.stages == case.stages
    assert again.stages[0].until.held == 0.1
    case.override("stages.0.until.for=0.05")
    assert case.stages[0].until.held == 0.05


def messages(case, particles=0):
    return [
        (one.level, one.subject, one.message)
        for one in stage_findings(case, 1e-4, particles)
        if isinstance(one, Finding)
    ]


def test_the_check_shows_stages_and_what_time_end_cuts_off():
    change = {"walls": {"gate": {"remove": True}}, "interactions": {"grain-grain": {"friction": 0.1}}}
    first = until(below=1e-7, **{"for": 0.1, "latest": 2.0, "every": 0.005})
    case = staged(first, {"name": "b", "end": 0.95, **change, "gravity": [0.0, 0.0, 1.0]})
    found = messages(case)
    assert [row[:2] for row in found] == [
        ("info", "stage a"), ("warning", "stage a"), ("info", "stage b"), ("warning", "stage b"),
        ("info", "stage last"), ("warning", "stage last"),
    ]  # fmt: skip
    assert found[0][2] == (
        "begins at 0 s; ends with kinetic_energy_per_particle below 1e-07 for 0.1 s, looked at every 50 steps, "
        "at the latest 2 s after its begin"
    )
    assert (
        found[1][2]
        == "until.latest = 2 s from 0 s on is after time.end = 1 s, which ends the run before; raise time.end"
    )
    assert found[2][2] == (
        "begins at 0.1 s or later; ends 0.95 s later; removes wall gate; grain-grain: friction = 0.1; "
        "gravity [0.0, 0.0, 1.0] m/s2"
    )
    assert "end = 0.95 s from 0.1 s on is after time.end" in found[3][2]
    assert "cannot begin before 1.05 s, and time.end is 1 s; raise time.end" in found[5][2]


def test_a_condition_that_has_no_time_to_hold_is_told():
    text = "until.for = 1.5 s from 0 s on is after time.end = 1 s, which ends the run before; the condition can never"
    assert any(text in message for _, _, message in messages(staged(until(below=1.0, **{"for": 1.5}))))


@pytest.mark.parametrize(
    ("quantity", "above", "held"),
    [
        ("inlet_mass", 1.01, True),  # 1 kg/s for 1 s, and half a particle of 0.67 g
        ("inlet_mass", 0.99, False),
        ("particles", 1800, True),  # 7 are there, 1492 come
        ("particles", 1490, False),
        ("bed_mass", 1e9, False),  # nothing is said of what is not known
    ],
)
def test_a_condition_on_more_than_ever_comes_in_is_told(quantity, above, held):
    warned = [text for _, _, text in messages(staged(until(quantity, above=above)), 7) if "can never hold" in text]
    assert bool(warned) == held
    assert all(f"waits for {quantity} above {above:g}" in text and "lower above" in text for text in warned)


def test_a_condition_on_a_number_that_is_cut_off_is_told():
    counted = inlet(count_rate=1e4, count=50)
    case = case_of(counted, stages=[until("inlet_count", above=50), {"name": "last"}])
    assert any("inlet_count is at most about 50 until time.end" in text for _, _, text in messages(case))


def test_walls_interactions_and_gravity_by_stage():
    table = {"times": [0.0, 2.0], "values": [[0.0, 0.0, -3.0], [4.0, 0.0, 0.0]]}
    rough, dull = ({"interactions": {"grain-grain": one}} for one in ({"friction": 0.1}, {"restitution": 0.05}))
    case = staged(
        {"name": "a", "end": 0.1, "walls": {"piston": {"add": True}}, "gravity_table": table},
        {"name": "b", "end": 0.1, **rough, "walls": {"gate": {"remove": True}}},
        {"name": "c", "end": 0.1, **dull, "walls": {"gate": {"add": True}}},
    )  # fmt: skip
    assert [walls_present(case, number) for number in range(4)] == [
        [True, True], [False, True], [True, True], [True, True],
    ]  # fmt: skip
    laws = [one.interactions["grain-grain"] for one in cases_of_stages(case)]
    assert [(law.friction, law.restitution) for law in laws] == [(0.5, 0.5), (0.1, 0.5), (0.1, 0.05)]
    assert first_gravity(case).tolist() == [0.0, 0.0, -3.0]
    assert largest_gravity(case).tolist() == [4.0, 0.0, 9.81]


def test_the_step_suits_all_stages():
    """A stage with heavy damping or a stiffer spring shortens the automatic step of the whole run."""
    linear = {"law": "linear", "normal_stiffness": 1e3, "friction": 0.5, "restitution": 0.5}
    sections = {"time": {"end": 1.0}, "interactions": {"grain-grain": linear, "grain-steel": linear}}
    particles = [{"material": "grain", "radius": 0.004, "positions": [[0, 0, 0]]}]
    plain = case_of(walls=WALLS, particles=particles, **sections)
    stiff = {"name": "b", "interactions": {"grain-grain": {"normal_stiffness": 9e3}}}
    damped = {"name": "b", "interactions": {"grain-steel": {"restitution": 0.1}}}
    stiffer, heavier = (
        case_of(walls=WALLS, particles=particles, stages=[{"name": "a", "end": 0.1}, one], **sections)
        for one in (stiff, damped)
    )
    assert step_limits(stiffer)[0].time == pytest.approx(step_limits(plain)[0].time / 3.0)
    assert automatic_step(stiffer) == pytest.approx(automatic_step(plain) / 3.0)
    assert automatic_step(heavier) == pytest.approx(automatic_step(plain) / 3.0)
