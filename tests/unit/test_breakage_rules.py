"""What the case file says about breakage, functions of users that return nonsense, and too many fragments."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.breaking_cases import COPPER, FLOOR, MEDIAN, RADIUS, case_of, dropped, events_of, feature_of, group
from pdem.engine.blow_up import BlowUp
from pdem.foundation.errors import CaseError

GRAINS = [group([[0.0, 0.0, 1.0]])]
ROWS = [[1.2, 0.51, 11.95], [4.0, 1.08, 3.03]]
OTHERS = {"ab-t10": {"rate": 1e-3, "size": 0.01}, "stress": {"strength": 1e6, "size": 0.01, "spread": 5.0}}


def without(*names, **more):
    return {**{key: value for key, value in COPPER.items() if key not in names}, **more}


@pytest.mark.parametrize(
    ("breakage", "match"),
    [
        (without(model="tavare"), r"breakage\.model = .*is no model of breakage.*tavares"),
        (without(model="weibull"), r"breakage\.model = .*is no model of breakage"),
        ({"model": "python:laws.py", "smallest": 0.001}, r'must be "python:FILE\.py:NAME", a file and a function'),
        (without("model"), r"breakage\.model: .*missing|breakage.*model"),
        (without("fracture_energy"), r'breakage\.fracture_energy: is missing; model = "tavares" needs it'),
        (without("size"), r'breakage\.size: is missing; model = "tavares" needs it'),
        (without("exponent"), r'breakage\.exponent: is missing; model = "tavares" needs it'),
        (without("spread"), r'breakage\.spread: is missing; model = "tavares" needs it'),
        (without("smallest"), r"breakage\.smallest.*missing"),
        (without(rate=1.0), r'breakage\.rate = 1\.0: has no influence on model = "tavares"; remove it'),
        (without(strength=1e6), r'breakage\.strength = 1e\+06: has no influence on model = "tavares"; remove it'),
        (without(threshold=1.0), r"breakage\.threshold = 1\.0: has no influence"),
        (
            {"model": "ab-t10", **OTHERS["ab-t10"], "smallest": 0.001, "damage": 5.0},
            r'breakage\.damage = 5\.0: has no influence on model = "ab-t10"; remove it',
        ),
        ({"model": "ab-t10", "size": 0.01, "smallest": 0.001}, r'breakage\.rate: is missing; model = "ab-t10"'),
        (
            {"model": "stress", **OTHERS["stress"], "smallest": 0.001, "greatest": 4.0},
            r'breakage\.greatest = 4\.0: has no influence on model = "stress"; remove it',
        ),
        ({"model": "stress", "size": 0.01, "spread": 5.0, "smallest": 0.001}, r"breakage\.strength: is missing"),
        (without(fracture_energy=-1.0), r"breakage\.fracture_energy = -1\.0: must be greater than 0"),
        (without(exponent=-1.0), r"breakage\.exponent = -1\.0: must be"),
        (without(spread=0.0), r"breakage\.spread = 0\.0: must be greater than 0"),
        (without(greatest=1.0), r"breakage\.greatest = 1\.0: must be greater than 1"),
        (without(damage=0.5), r"breakage\.damage = 0\.5: must be at least 1"),
        (without(smallest=0.0), r"breakage\.smallest = 0\.0: must be greater than 0"),
        (without(fines="drop"), r"breakage\.fines = .*must be.*count.*keep"),
        (without(fragments={"t10_largest": 101.0}), r"fragments\.t10_largest = 101\.0: must be at most 100"),
        (without(fragments={"rate": 0.0}), r"fragments\.rate = 0\.0: must be greater than 0"),
        (without(fragments={"table": "gold"}), r'fragments\.table = "gold": must be "copper".*, or rows'),
        (without(fragments={"table": ROWS[:1]}), r"fragments\.table.*(at least 2|2 items|two)"),
        (without(fragments={"table": ROWS[::-1]}), r"fragments\.table.*cannot be used: .*give rising numbers above 1"),
        (without(fragments={"table": [*ROWS, [10.0, 1.0, 1.0]]}), r"cannot be used: .*leave out 10"),
        (without(fragments={"table": [*ROWS, [25.0, -1.0, 1.0]]}), r"cannot be used: .*give positive ones"),
        (without(fragments={"table": [*ROWS, [6000.0, 1.0, 1.0]]}), r"cannot be used: .*n below 5000"),
        (without(smallest=0.51 * RADIUS), r"smallest = 0\.00255: must be at most 0\.0025 m, half of the largest"),
        (without(smallest=4e-7), r"smallest = 4e-07: must be more than 0\.0001 of the largest radius of ore, 0\.005 m"),
        (without(smalest=1.0), r"smalest.*smallest"),
    ],
)  # fmt: skip
def test_mistakes_in_the_table_of_a_material(breakage, match):
    with pytest.raises(CaseError, match=match) as error:
        case_of(breakage=breakage, particles=GRAINS)
    assert "materials.ore.breakage" in str(error.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"more": {"breakage": {}}},
            r"breakage.*: has no use: no material breaks; give one \[materials\.NAME\.breakage\]",
        ),
        (
            {"breakage": COPPER, "particles": [{**GRAINS[0], "fixed": True}]},
            r"particles.*fixed = true: does not break, and ore has a table breakage; give fixed particles another",
        ),
        (
            {
                "breakage": COPPER,
                "more": {
                    "interactions": {
                        "default": {"friction": 0.4, "restitution": 0.5,
                                    "adhesion": {"model": "dmt", "work_of_adhesion": 0.1}},
                    },
                },
            },
            r"interactions\.default\.adhesion.*: cannot act on ore, which breaks: remove it, or the table breakage",
        ),
        ({"breakage": COPPER, "more": {"breakage": {"every": 0.0}}}, r"breakage\.every = 0\.0: must be greater than 0"),
        (
            {"breakage": COPPER, "more": {"breakage": {"most_fragments": 0}}},
            r"breakage\.most_fragments = 0: must be at least 1",
        ),
        ({"breakage": COPPER, "more": {"breakage": {"loading_time": "long"}}}, r"breakage\.loading_time"),
    ],
)  # fmt: skip
def test_mistakes_in_the_rest_of_a_case(options, match):
    with pytest.raises(CaseError, match=match):
        case_of(**{"particles": GRAINS, **options})


def test_bonds_of_a_material_that_breaks_are_refused():
    bonds = {"glue": {"between": "ore-ore", "youngs_modulus": 1e8, "poisson_ratio": 0.25}}
    with pytest.raises(CaseError, match=r"bonds\.glue: join spheres of ore, which break: give bonded spheres another"):
        case_of(breakage=COPPER, particles=GRAINS, more={"bonds": bonds})


def test_clusters_of_a_material_that_breaks_need_pieces():
    rod = {"rod": {"spheres": [[0.0, 0.0, 0.0, 0.004], [0.004, 0.0, 0.0, 0.004]]}}
    grains = [{"material": "ore", "shape": "rod", "positions": [[0.0, 0.0, 1.0]]}]
    with pytest.raises(CaseError, match=r'shape = "rod": makes clusters, which break .*pieces = "members"'):
        case_of(breakage=COPPER, particles=grains, more={"shapes": rod})


FUNCTIONS = {
    "negative": "def law(radius, share):\n    return -radius\n",
    "nan": "def law(radius, share):\n    return radius * float('nan')\n",
    "zero": "def law(radius, share):\n    return 0.0 * radius\n",
    "shape": "def law(radius, share):\n    return [1.0, 2.0, 3.0]\n",
    "text": "def law(radius, share):\n    return 'strong'\n",
    "none": "def law(radius, share):\n    return None\n",
    "raises": "def law(radius, share):\n    raise ValueError('no idea')\n",
    "arguments": "def law(radius):\n    return radius\n",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_returns_nonsense_is_named(tmp_path, name):
    (tmp_path / "laws.py").write_text(FUNCTIONS[name])
    own = {"model": "python:laws.py:law", "smallest": RADIUS / 8.0}
    with pytest.raises(CaseError, match=r'model = "python:laws.py:law" (failed: |must return a (finite )?positive)'):
        dropped(3, 1.0, own, folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("def other(radius, share):\n    return radius\n", r"has no function law; define law\(radius, share\)"),
        ("law = 3\n", r"laws\.py has no function law"),
        ("def law(:\n", r"laws\.py"),
        (None, r"laws\.py"),
    ],
)  # fmt: skip
def test_a_file_without_the_function_is_named(tmp_path, text, match):
    if text is not None:
        (tmp_path / "laws.py").write_text(text)
    own = {"model": "python:laws.py:law", "smallest": RADIUS / 8.0}
    with pytest.raises(CaseError, match=match):
        dropped(3, 1.0, own, folder=tmp_path)


def test_a_function_that_fails_for_fragments_only_stops_the_run_with_its_message(tmp_path):
    text = "def law(radius, share):\n    assert (radius > 0.0045).all()\n    return 100.0 + 0.0 * radius\n"
    (tmp_path / "laws.py").write_text(text)
    run = dropped(3, 200.0, {"model": "python:laws.py:law", "smallest": RADIUS / 8.0}, folder=tmp_path)
    with pytest.raises(CaseError, match=r'"python:laws.py:law" failed: AssertionError'):
        run.advance(400)


def test_too_many_fragments_stop_the_run_and_none_is_lost():
    """The message names the limit and the remedies; the particles of the last replacement are all there."""
    run = dropped(40, 3.0 * MEDIAN, more={"breakage": {"most_fragments": 100}})
    mass = np.sum(run.particles.radius**3)
    message = r"[\d,]+ fragments have come with the breakage of particle \d+.*breakage\.most_fragments = 100: raise it"
    with pytest.raises(BlowUp, match=message):
        run.advance(400)
    feature = feature_of(run)
    events = events_of(run)
    assert feature.fragments == events["fragments"].sum() > 100
    assert len(events["id"]) == feature.broken
    whole = np.sum(run.particles.radius**3) + RADIUS**3 * np.sum(events["fines"] / events["mass"])
    assert whole == pytest.approx(mass, rel=1e-12)
    assert len(set(run.particles.id.tolist())) == len(run.particles.id) == 40 - feature.broken + feature.fragments


def test_as_many_fragments_as_allowed_are_no_error():
    run = dropped(1, 3.0 * MEDIAN)
    run.particles["fracture_energy"][:] = MEDIAN
    run.advance(380)
    number = feature_of(run).fragments
    for most, stops in ((number, False), (number - 1, True)):
        again = dropped(1, 3.0 * MEDIAN, more={"breakage": {"most_fragments": most}})
        again.particles["fracture_energy"][:] = MEDIAN
        if stops:
            with pytest.raises(BlowUp):
                again.advance(380)
        else:
            again.advance(380)


def test_the_file_and_the_results_of_broken_particles(tmp_path):
    case = case_of(
        breakage=COPPER, walls=[FLOOR], more={"output": {"folder": str(tmp_path / "run")}},
        particles=[group([[0.0, 0.0, 1.001 * RADIUS], [0.1, 0.0, 1.001 * RADIUS]], velocity=(0.0, 0.0, -60.0))],
    )  # fmt: skip
    case.override("time.end=4e-5")
    run = pdem.Simulation(case, threads=1)
    run.run()
    found, events = pdem.Results(tmp_path / "run").breakage, events_of(run)
    assert found.id.tolist() == events["id"].tolist()
    assert found.released.tolist() == events["released"].tolist()
    assert found.partner.tolist() == ["floor"] * len(events["id"])
    assert set(found.material.tolist()) == {"ore"}
