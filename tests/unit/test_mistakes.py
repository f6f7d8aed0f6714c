"""Mistaken case files of newcomers: one message each, which names the place and has the remedy."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from helpers.mistaken_cases import SYNTAX, VALID, VALUES
from pdem.case.explain.key_texts import models_in
from pdem.case.hints.other_words import KEYS, REMARKS
from pdem.case.hints.other_words import VALUES as OTHER_VALUES
from pdem.case.hints.quantities import quantity_of
from pdem.case.hints.suggestions import foreign_key, value_hint
from pdem.case.hints.validation import problems_of
from pdem.case.model import Case
from pdem.case.sections.schema import CaseData
from pdem.foundation.errors import CaseError
from pdem.sweeps.sections import CalibrationPlan, SweepPlan


def test_what_the_default_lacks_is_said_once():
    """Of three pairs that lack it."""
    lacking = "[interactions.default]\nfriction = 0.5\n"
    text = re.sub(r"(?s)\[interactions\.grain-grain\].*?\[\[particles\]\]", lacking + "[[particles]]", VALID)
    with pytest.raises(CaseError) as caught:
        Case.from_text(text)
    assert str(caught.value) == (
        "case: interactions.default.restitution: is missing; give it here, or restitution in both materials of "
        "grain-grain"
    )
    with pytest.raises(CaseError) as caught:
        Case.from_text(text.replace("friction = 0.5\n", "friction = 0.5\ncoefficient_of_restitution = 0.4\n"))
    (line,) = str(caught.value).splitlines()
    assert "interactions.default.coefficient_of_restitution = 0.4: is not a key; did you mean 'restitution'?" in line


def sections(model, seen):
    """Yield all sections of a case."""
    if model not in seen:
        seen.add(model)
        yield model
        for field in model.model_fields.values():
            for inner in models_in(field):
                yield from sections(inner, seen)


def message(text, tmp_path):
    """Return what is said of a case file."""
    path = tmp_path / "drum.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        Case.read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    return said.replace(str(path), "drum.toml")


def changed(old, new):
    assert VALID.count(old) >= 1
    return VALID.replace(old, new, 1)


def test_there_are_enough_and_the_file_is_valid_without_them():
    Case.from_text(VALID)
    names = [one[0] for one in (*SYNTAX, *VALUES)]
    assert len(set(names)) == len(names) >= 67


@pytest.mark.parametrize(("name", "old", "new", "line", "remedy"), SYNTAX, ids=[one[0] for one in SYNTAX])
def test_syntax(name, old, new, line, remedy, tmp_path):
    text = changed(old, new)
    said, shown, caret = message(text, tmp_path).split("\n")
    found = re.fullmatch(r"drum\.toml: line (\d+), column (\d+): not valid TOML: (.*)", said)
    assert int(found[1]) == line
    assert remedy in found[3]
    number, _, there = shown.partition(" | ")
    assert int(number) == line
    assert there == "".join(letter if letter.isprintable() else " " for letter in text.split("\n")[line - 1])
    assert caret.strip() == "|" + " " * int(found[2]) + "^"


@pytest.mark.parametrize(("name", "old", "new", "key", "remedy"), VALUES, ids=[one[0] for one in VALUES])
def test_values(name, old, new, key, remedy, tmp_path):
    said = message(changed(old, new), tmp_path)
    assert len(said.splitlines()) == 1, said
    assert key in said
    assert remedy in said


BAD = [3.7, -1, "5 mm", "word", True, None, [], [1], [1, 2, 3, 4, 5, 6, 7], [[1]], [{"a": 1}], {}, {"x": 1}]
ROOTS = [*sections(CaseData, set()), *sections(SweepPlan, set()), *sections(CalibrationPlan, set())]


@pytest.mark.parametrize("model", dict.fromkeys(ROOTS), ids=lambda model: model.__name__)
def test_every_key_says_which_form_it_wants(model):
    """In words of the file, never in those of the library that has found it."""
    for name in model.model_fields:
        for bad in BAD:
            try:
                model.model_validate({name: bad})
            except ValidationError as error:
                found = problems_of(model, [one for one in error.errors() if one["loc"][:1] == (name,)])
            else:
                continue
            for one in found:
                assert not re.search(r"[Ii]nput should|valid |NoneType|tuple|dict\b|Field ", one.text), one
                assert len(one.text) < 700
            few = [one.location for one in found if one.text.startswith("has too few")]
            assert len(set(few)) == len(few)


def test_a_number_for_a_list_gets_the_form_and_an_example():
    """Of every vector there is."""
    count = 0
    for model in dict.fromkeys(sections(CaseData, set())):
        for name in model.model_fields:
            try:
                model.model_validate({name: 3.7})
            except ValidationError as error:
                found = problems_of(model, [one for one in error.errors() if one["loc"][:1] == (name,)])
                vectors = [one.text for one in found if "three numbers" in one.text]
                assert all("[x, y, z]" in text and ", for example [" in text for text in vectors)
                count += len(vectors)
    assert count > 30


def test_other_words_lead_to_keys_that_there_are():
    known = {name for model in sections(CaseData, set()) for name in model.model_fields} | {"model"}
    assert set(KEYS) - known <= {"work_of_adhesion", "surface_tension"}
    assert {key for key, _ in REMARKS.values()} <= known
    for words in (*KEYS.values(), *OTHER_VALUES.values()):
        assert len(set(words)) == len(words)


@pytest.mark.parametrize("key", KEYS)
def test_every_word_of_another_program_is_understood(key):
    """Also with capitals, signs, and where it stands among other keys that it does not mean."""
    for word in KEYS[key]:
        for spelt in (word, word.upper(), "_".join((word[:1], word[1:])) if len(word) > 4 else word):
            assert foreign_key(spelt, ["xxx", key]).key == key, spelt


@pytest.mark.parametrize("value", OTHER_VALUES)
def test_every_value_of_another_program_is_understood(value):
    for word in OTHER_VALUES[value]:
        assert value in value_hint(word, ["xxx", value])
        assert value in value_hint(word.title(), ["xxx", value])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("5 mm", "0.005"),
        ("0,5 cm", "0.005"),
        ("20 µm", "2e-5"),
        ("2 in", "0.0508"),
        ("2.65 g/cm^3", "2650"),
        ("70 GPa", "7e10"),
        ("3 m/min", "0.05"),
        ("36 km/h", "10"),
        ("9.81 m/s²", "9.81"),
        ("20 rpm", "{rpm = 20}"),
        ("30 deg", "{degrees = 30}"),
        ("30°", "{degrees = 30}"),
        ("18 t/h", "5"),
        ("72 mN/m", "0.072"),
        ("40 %", "0.4"),
    ],
)
def test_quantities(text, written):
    assert str(quantity_of(text)) == written


@pytest.mark.parametrize("text", ["grain", "5", "", "mm", "3mm_grains", "5 apples", "1e5", "silo 3"])
def test_no_quantities(text):
    assert quantity_of(text) is None
