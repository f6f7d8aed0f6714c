"""`pdem schema`: files that pdem accepts meet it, and those with mistakes in keys or values do not."""

from __future__ import annotations

import copy
import json
import re
import tomllib

import pytest
import tomli_w
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from helpers.documented import blocks, documents, is_study
from pdem.case.explain.example_texts import example_names, example_text
from pdem.case.explain.json_schema import json_schema
from pdem.case.explain.key_texts import meaning_of, units_of
from pdem.case.hints.key_places import all_keys
from pdem.case.model import Case
from pdem.case.sections.schema import CaseData
from pdem.cli import main
from pdem.contact.law.models import LAWS, PARTS
from pdem.foundation.errors import CaseError
from pdem.sweeps.examples import study_command, study_names, study_roots, study_text

MODELS = {"case": CaseData} | {name: root.model for name, root in study_roots().items()}
SCHEMAS = {name: json_schema(model) for name, model in MODELS.items()}
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
EXAMPLES = {name: tomllib.loads(example_text(name)) for name in example_names()}
STUDIES = {name: tomllib.loads(study_text(name)) for name in study_names()}
FREE = "materials", "interactions", "motions", "shapes", "walls", "vary", "measures", "targets"
"""Tables in which the user chooses the names."""

BY_OTHER_KEYS = {"missing"}
"""Kinds of mistakes that the schema leaves to pdem: what a key is depends on others."""

OTHER = (1, -1, 0.5, "word", "auto", True, [], [1.0, 2.0], [0.0, 0.0, 1.0], {}, {"rpm": 3}, {"degrees": 2.0})


def mistakes(document, kind="case"):
    """Return what the schema finds in a file."""
    return [f"{error.json_path}: {error.message}" for error in VALIDATORS[kind].iter_errors(document)]


def problems(document):
    """Return what is wrong with a case by its sections alone, and whether pdem reads it."""
    try:
        CaseData.model_validate(copy.deepcopy(document))
    except ValidationError as error:
        return error.errors(), False
    try:
        Case.from_text(tomli_w.dumps(document))
    except CaseError:
        return [], False
    return [], True


def tables(value, way=()):
    """Yield the places of all tables and lists in a document."""
    if isinstance(value, dict | list):
        yield way
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from tables(inner, (*way, key))


def at(document, way):
    """Return what a document has at a place."""
    for part in way:
        document = document[part]
    return document


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_is_valid(kind):
    Draft202012Validator.check_schema(SCHEMAS[kind])
    assert SCHEMAS[kind]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(SCHEMAS[kind])) == SCHEMAS[kind]
    assert '"null"' not in json.dumps(SCHEMAS[kind])  # TOML has none
    assert "FieldInfo" not in json.dumps(SCHEMAS[kind])


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_meet_the_schema(name):
    assert mistakes(EXAMPLES[name]) == []
    written = tomllib.loads(Case.from_text(example_text(name)).to_toml())
    assert mistakes(written) == []


@pytest.mark.parametrize("name", STUDIES)
def test_examples_of_many_runs_meet_the_schema(name):
    kind = study_command(name)
    assert mistakes(STUDIES[name], kind) == []
    assert mistakes({**STUDIES[name], "replica": 2}, kind)
    assert mistakes({**STUDIES[name], "replicas": 0}, kind)
    assert mistakes({key: value for key, value in STUDIES[name].items() if key != "case"}, kind)


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_cases_of_the_documentation_meet_the_schema(block):
    for document in documents(block):
        kind = "case" if not is_study(document) else "calibrate" if "targets" in document else "sweep"
        assert mistakes(document, kind) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_unknown_keys_are_mistakes_in_every_table(name):
    """Except where the user chooses the names, or own laws have keys of their own."""
    for way in tables(EXAMPLES[name]):
        document = copy.deepcopy(EXAMPLES[name])
        table = at(document, way)
        if isinstance(table, list) or way in ((one,) for one in FREE) or way[-1:] in (("walls",), ("interactions",)):
            continue
        if way[:1] == ("stages",) and "interactions" in way:
            continue  # values of any law
        table["no_key"] = 1
        assert any("no_key" in text for text in mistakes(document)), way


@st.composite
def changed(draw, documents):
    """Return the name of a document, the same with one value that is another one, or missing, and where."""
    name = draw(st.sampled_from(sorted(documents)))
    document = copy.deepcopy(documents[name])
    way = draw(st.sampled_from([way for way in tables(document) if at(document, way)]))
    table = at(document, way)
    key = draw(st.sampled_from(list(table) if isinstance(table, dict) else list(range(len(table)))))
    if draw(st.booleans()):
        del table[key]
    else:
        table[key] = draw(st.sampled_from(OTHER))
    return name, document, (*way, key)


@given(changed(EXAMPLES))
def test_the_schema_is_as_strict_as_the_sections(case):
    """An editor marks nothing that pdem reads, and all that sections refuse but for keys that follow from others."""
    _, document, way = case
    errors, is_read = problems(document)
    found = mistakes(document)
    assert not (is_read and found), way
    if errors and not found:
        assert {error["type"] for error in errors} <= BY_OTHER_KEYS, way


@given(changed(STUDIES))
def test_nothing_is_marked_that_files_of_many_runs_may_hold(case):
    name, document, way = case
    kind = study_command(name)
    try:
        MODELS[kind].model_validate(copy.deepcopy(document))
    except ValidationError:
        return
    assert mistakes(document, kind) == [], way


TURN = {"axis": [0, 0, 1]}
WALL = {"shape": "plane", "normal": [0, 0, 1], "material": "steel"}


@pytest.mark.parametrize(
    "sections",
    [
        {"detection": {"direction": "auto", "levels": "auto", "cell_sizes": [0.01, 0.1]}},
        {"walls": [WALL]},  # without a name
        {"walls": [{"mesh": "lid.stl", "material": "steel", "rotate": [{**TURN, "angle": {"degrees": 90}}]}]},
        {"walls": [{**WALL, "rotation": {"rpm": 20, "axis": [0, 0, 1]}}]},
        {"walls": [{**WALL, "rotation": {"rate": {"rpm": 20}, "axis": [0, 0, 1]}}]},
        {"walls": [{**WALL, "body": {"mass": 1, "inertia": [1, 1, 1], "angular_velocity": {"rpm": [0, 0, 2.0]}}}]},
        {"walls": [{**WALL, "body": {"mass": 1, "inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]}}]},
        {"walls": [{**WALL, "servo": {"axis": [0, 0, 1], "torque": 1.0, "largest_rate": {"rpm": 5}}}]},
        {"fields": [{"name": "grid", "cells": [2, 2, 2], "width": 0.01}]},
        {"interactions": {"default": {}}, "materials": {"grain": {"friction": 0.5, "restitution": 0.5}}},
        {"particles": [{"material": "grain", "radius": {"distribution": "uniform", "min": 0.1, "max": 0.2},
                        "fill": {"count": 3}, "velocity": {"random": 0.1}, "orientation": {"random": 3}}]},
        {"stages": [{"name": "rest", "until": {"quantity": "particles", "below": 3, "for": 0.5}, "deformation": {}}]},
    ],
)  # fmt: skip
def test_other_forms_of_values(sections):
    """Those that a section turns into what it holds, and keys that follow from others."""
    document = {"time": {"end": 1.0}, "domain": {"lower": [0, 0, 0], "upper": [1, 1, 1]}, **sections}
    CaseData.model_validate(copy.deepcopy(document))
    assert mistakes(document) == []
    key = next(iter(sections))
    assert mistakes({**document, key: 1})


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_key_has_its_text_and_unit(kind):
    definitions = {"": SCHEMAS[kind], **SCHEMAS[kind]["$defs"]}
    described = {
        (name, tuple(definition["properties"])): definition["properties"]
        for name, definition in definitions.items()
        if "properties" in definition
    }
    for fields in all_keys(MODELS[kind]).values():
        for owner, key in fields:
            found = [
                table[key]
                for (name, names), table in described.items()
                if set(owner.model_fields) <= set(names) and name.split("__")[-2:-1] in ([], [owner.__name__])
            ]
            said = [(one["description"], one.get("unit", "")) for one in found]
            assert (meaning_of(owner, key), " or ".join(units_of(owner, key))) in said, (owner, key)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_texts_name_the_units(kind):
    """Except those of tables whose key is a unit."""
    for fields in all_keys(MODELS[kind]).values():
        for owner, key in fields:
            if owner.model_fields[key].description and key not in ("rpm", "count_rate"):
                text = meaning_of(owner, key)
                assert all(re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", text) for unit in units_of(owner, key)), (
                    owner,
                    key,
                )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"law": "hertz-mindlin", "fricton": 0.5}, "fricton"),
        ({"fricton": 0.5}, "fricton"),
        ({"law": "python:laws.py:own", "stickiness": 2.0}, ""),
        ({"law": "luding", "unloading_stiffness": 2e5}, ""),
        ({"rolling": {"model": "spring", "friction": 0.1}}, ""),
        ({"rolling": {"model": "spring"}}, "rolling"),
        ({"rolling": {"model": "spring", "friction": -0.1}}, "rolling"),
        ({"rolling": {"model": "spring", "friction": 0.1, "no_key": 1}}, "rolling"),
        ({"adhesion": {"model": "spring", "friction": 0.1}}, "adhesion"),
    ],
)
def test_laws_and_their_parts(change, fault):
    document = {**EXAMPLES["two_spheres"], "interactions": {"default": change}}
    found = mistakes(document)
    assert bool(found) == bool(fault)
    assert all(fault in text for text in found)


def test_all_laws_and_models_are_offered():
    properties = SCHEMAS["case"]["$defs"]["Interaction"]["properties"]
    assert {one.get("const") for one in properties["law"]["anyOf"]} - {None} == set(LAWS)
    for part, models in PARTS.items():
        assert [one["properties"]["model"]["const"] for one in properties[part]["oneOf"]] == list(models)
        for table, model in zip(properties[part]["oneOf"], models.values(), strict=True):
            for key in model.keys:
                assert table["properties"][key.name]["description"] == key.text
                assert table["properties"][key.name].get("unit", "") == key.unit


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_command(kind, tmp_path):
    file = tmp_path / "pdem.schema.json"
    assert CliRunner().invoke(main, ["schema", "--of", kind, "-o", str(file)], standalone_mode=False).return_value == 0
    assert json.loads(file.read_text(encoding="utf-8")) == SCHEMAS[kind]
    printed = CliRunner().invoke(main, ["schema", "--of", kind], standalone_mode=False)
    assert printed.output == file.read_text(encoding="utf-8")
    file.write_text("mine")
    again = CliRunner().invoke(main, ["schema", "-o", str(file)], standalone_mode=False)
    assert again.return_value == 2
    assert file.read_text() == "mine"
    assert CliRunner().invoke(main, ["schema", "-o", str(file), "--overwrite"], standalone_mode=False).return_value == 0
    assert json.loads(file.read_text(encoding="utf-8")) == SCHEMAS["case"]


def test_a_file_that_cannot_be_written(tmp_path):
    target = tmp_path / "no_folder" / "schema.json"
    found = CliRunner().invoke(main, ["schema", "-o", str(target)], standalone_mode=False)
    assert found.return_value == 2
    assert f"{target}: cannot be written" in found.output
    assert "name another file" in found.output
