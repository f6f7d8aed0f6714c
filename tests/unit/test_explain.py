"""`pdem explain` knows every key there is, and says what it is."""

from __future__ import annotations

import tomllib

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from pdem.case.explain.example_cases import example_text
from pdem.case.explain.key_texts import meaning_of, models_in, plain
from pdem.case.explain.keys import explain
from pdem.case.sections.schema import CaseData
from pdem.cli import main
from pdem.contact.law.models import PARTS
from pdem.foundation.errors import InputError
from pdem.sweeps.examples import study_roots


def keys(model: type[BaseModel], before: str = "", depth: int = 4):
    """Yield all keys of a section and of those in it."""
    for name, field in model.model_fields.items():
        yield before + name
        for inner in set(models_in(field)) if depth else ():
            yield from keys(inner, f"{before}{name}.", depth - 1)


ALL = sorted(set(keys(CaseData)))


PLANS = sorted({key for name, root in study_roots().items() for key in keys(root.model, f"{name}.")})
MODELS = [
    f"interactions.{part}.{key.name}" for part, some in PARTS.items() for one in some.values() for key in one.keys
]


def test_every_key_is_explained():
    assert len(ALL) > 150
    for key in ALL:
        text = explain(key)
        first, _, rest = text.partition("\n\n")
        assert first == key
        assert "  value: " in rest
        assert "  default: " in rest
        assert len(rest.split("  value: ")[0].strip()) > 4, key
        assert "`" not in text
        assert "typing." not in text
        assert "<class" not in text
        assert " ...\n" not in f"{text.partition('example, of pdem new')[0]}\n"  # texts ended after a line


@pytest.mark.parametrize("key", PLANS)
def test_keys_of_sweeps_and_calibrations(key):
    text = explain(key, study_roots())
    assert "  value: " in text
    assert "typing." not in text


@pytest.mark.parametrize("key", sorted(set(MODELS)))
def test_keys_of_parts_of_laws(key):
    text = explain(key)
    assert "  value: " in text
    assert 'model = "' in text


def test_keys_of_laws_alone():
    text = explain("interactions.a-b.plasticity_depth")
    assert 'law = "luding"' in text
    assert "default: 0.05" in text


def _path_in(document, names):
    """Return whether tables of a file have a value at a path, below names that users choose or not."""
    if not names:
        return True
    if isinstance(document, list):
        return any(_path_in(one, names) for one in document)
    if not isinstance(document, dict):
        return False
    return names[0] in document and _path_in(document[names[0]], names[1:])


@pytest.mark.parametrize("key", [key for key in ALL if key.split(".")[0] in ("walls", "insertions", "sensors", "time")])
def test_examples_have_the_key_where_it_belongs(key):
    """An example of the amplitude of a swing is no oscillation, one of a body's force no servo."""
    _, _, example = explain(key).partition("example, of pdem new ")
    if example:
        text = example_text(example.partition(":")[0])
        assert _path_in(tomllib.loads(text), key.split(".")), example


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("time.step_fraction", ["in (0, 1]", "value: number greater than 0 at most 1", "default: 0.1"]),
        ("insertions.attempts", ["whole number at least 1 at most 100000", "default: 100"]),
        ("insertions[0].face", ["table (polygon) or table (disc)", "example, of pdem new pouring"]),
        ("walls.shape", ['"mesh" or "plane" or "box"', '"chute"', "example, of pdem new"]),
        ("walls", ["\n  rotation ", "\nscrew: A helical blade", "\n  pitch "]),
        ("walls.surface", ["velocity_table", "of pdem new conveyor"]),
        ("detection.method", ['"hgrid" or "linked-cell"', 'default: "hgrid"']),
        ("domain.periodic", ["list of 3: true or false", "default: [false, false, false]"]),
        ("materials.steel.density", ["kg/m^3", "value: number greater than 0"]),
        (
            "interactions.grain-steel.adhesion",
            ['model = "jkr"', 'model = "liquid-bridge"', "surface_tension [N/m]", '(default: "lens")'],
        ),
        ("interactions.grain-steel.friction", ["Coulomb", "has to be given"]),
        ("walls.0.servo.largest_rate", ["value: number greater than 0"]),
        ("interactions.law", ['law = "luding": Linear, plastic', "plasticity_depth", "stiffening [1/m]"]),
        ("interactions.a-b.twisting", ['model = "marshall"', "stiffness [N m/rad]"]),
        ("output.folder", ['default: "results"']),
        ("stages[1].walls.gate.remove", ["touches nothing", "default: false", "example, of pdem new silo"]),
        ("stages.until.for", ["without interruption, in s", "value: number at least 0"]),
        ("domain.gravity_table.every", ["20 time steps"]),
        ("sensors", ["[[sensors]]", "mixing", "residence", '  name = "silo"']),
        ("sensors.name", ["Name of the sensor"]),
        ("walls.swing.amplitude", ["Amplitude in rad", "\n  swing = {"]),
        ("walls.inner_radius", ["Inner radius of the tube"]),
        ("interactions.rolling.damping", ['model = "spring"', "value: number at least 0", "default: 0.3"]),
    ],
)
def test_texts(key, expected):
    text = explain(key)
    assert all(one in text for one in expected), text


def test_sections_and_mistakes():
    assert "insertions" in explain()
    with pytest.raises(InputError, match="domian is no key; did you mean 'domain'"):
        explain("domian")
    with pytest.raises(InputError, match=r"walls.servo.forse is no key of walls.servo; did you mean 'force'"):
        explain("walls.servo.forse")
    with pytest.raises(InputError, match=r"no key of interactions.rolling; did you mean 'friction'"):
        explain("interactions.rolling.fricton")
    with pytest.raises(InputError, match=r"time.step is a value without keys"):
        explain("time.step.size")
    with pytest.raises(InputError, match="is no key of particles"):
        explain("particles.a.radius")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("friction", ["  materials.NAME.friction ", "interactions.NAME.rolling.friction ", "rolling_friction "]),
        ("rotation", ["  walls.rotation ", "walls.rotation.rate ", "(motions.NAME.rotation)"]),
        ("rpm", ["walls.rotation.rate ", "walls.oscillation.frequency ", "particles.angular_velocity "]),
        ("degrees", ["walls.inclination ", "walls.swing.amplitude "]),
        ("angle-of-repose", ['  sweep.measures.NAME.kind = "angle-of-repose"', "slope of the flank of a heap"]),
        ("discharge_rate", ['kind = "discharge-rate"']),
        ("jkr", ['interactions.NAME.adhesion.model = "jkr"', "work_of_adhesion"]),
        ("rosin-rammler", ['radius.distribution = "rosin-rammler"']),
        ("cylinder", ['walls.shape = "cylinder"', 'fill.shape = "cylinder"']),
        ("hertz-mindlin", ['interactions.NAME.law = "hertz-mindlin"']),
        ("rolling friction", ["interactions.NAME.rolling_friction ", "interactions.NAME.rolling.friction "]),
        ("ROLLING_friction", ["interactions.NAME.rolling_friction "]),
        ("mixer", ["  pdem new h2_mixer"]),
        ("youngsModulus", ["is no word of pdem; did you mean youngs_modulus?", "materials.NAME.youngs_modulus"]),
        ("timestep", ["did you mean step?", "  time.step "]),
        ("fricton", ["is no word of pdem; did you mean friction?", "materials.NAME.friction"]),
    ],
)
def test_words_are_looked_for_everywhere(word, expected):
    text = explain(word, study_roots())
    assert all(one in text for one in expected), text
    head, *lines = text.splitlines()
    assert word in head
    assert lines
    names = [line.split("  ")[1] for line in lines]
    assert len(set(zip(names, lines, strict=True))) == len(lines)
    assert all(line.startswith("  ") and len(line.split()) > 2 for line in lines)  # one line each


def test_whatever_a_search_lists_can_be_explained():
    """Except examples, which are no keys."""
    for word in ("friction", "rotation", "file", "radius", "stage"):
        for line in explain(word, study_roots()).splitlines()[1:]:
            name = line.split("  ")[1].partition(" = ")[0].strip()
            if not name.startswith("pdem new "):
                assert explain(name.removesuffix(".model"), study_roots())


def test_a_section_has_all_that_its_keys_mean():
    text = " ".join(explain("insertions").split())
    for name in CaseData.model_fields["insertions"].annotation.__args__[0].model_fields:
        meaning = plain(meaning_of(CaseData.model_fields["insertions"].annotation.__args__[0], name))
        assert " ".join(meaning.split()) in text, name


def test_nothing_found():
    with pytest.raises(InputError, match="nothing has the words 'blue moon'"):
        explain("blue moon")


def test_the_command():
    found = CliRunner().invoke(main, ["explain", "rolling", "friction"], standalone_mode=False)
    assert "interactions.NAME.rolling_friction" in found.output
    found = CliRunner().invoke(main, ["explain", "domain.gravity"], standalone_mode=False)
    assert "Acceleration in m/s^2" in found.output


def test_keys_that_all_shapes_share_stand_once():
    text = explain("walls").partition("\n\nexample, ")[0]
    assert text.count("\n  rotation ") == text.count("\n  material ") == text.count("\n  servo ") == 1
    assert text.count("\n  radius ") == 3
    assert explain("walls.shape").count("value: ") == 1
