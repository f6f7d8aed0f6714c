"""No input of any kind gets anything but a case or a `CaseError` out of the reader."""

from __future__ import annotations

import copy
import re
import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.case.explain.example_cases import example_names, example_text
from pdem.case.model import Case
from pdem.foundation.errors import CaseError

DOCUMENTS = [tomllib.loads(example_text(name)) for name in example_names()]
WORDS = [
    "auto",
    "linear",
    "hertz-mindlin",
    "grain",
    "random",
    "power-law",
    "box",
    "cylinder",
    "radius",
    "|value",
    "[key]",
]

values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.sampled_from(WORDS),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
        st.datetimes(),
        st.just([0.0, 0.5, 1.0]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from([*WORDS, "distribution", "min", "max", "shape", "fill", "rate", ""]), inner, max_size=4
        ),
    ),
    max_leaves=6,
)


def places(document: Any, at: tuple = ()) -> list[tuple]:
    """Return the locations of all values in a document."""
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    found = []
    for key, value in entries:
        found.append((*at, key))
        if isinstance(value, (dict, list)):
            found += places(value, (*at, key))
    return found


def expect_case_or_error(text: str) -> Case | None:
    try:
        case = Case.from_text(text)
    except CaseError as error:
        lines = str(error).splitlines()
        assert lines
        said = [line for line in lines if not re.match(r" +\d* \| ", line)]  # else the place of a syntax error
        assert all(line.startswith("case") and len(line) < 1000 for line in said)
        assert len(lines) == len(said) or (len(said) == 1 and "not valid TOML" in said[0] and len(lines) == 3)
        return None
    assert Case.from_text(case.to_toml()).model_dump() == case.model_dump()
    try:
        step = case.resolved_step()
    except CaseError as error:
        assert "no such file" in str(error) or "no particles to take it from" in str(error)  # noqa: PT017
    else:
        assert 0.0 < step < float("inf")
    return case


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_mutation_of_a_valid_case_is_a_case_or_an_error(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(document) or [("title",)]))
        holder = document
        for key in way:
            holder = holder[key]
        change = data.draw(st.sampled_from(["replace", "remove", "rename", "add"]))
        if change == "replace":
            holder[last] = copy.deepcopy(data.draw(values))
        elif change == "add" and isinstance(holder, dict):
            holder[data.draw(st.sampled_from(WORDS))] = copy.deepcopy(data.draw(values))
        else:
            value = holder.pop(last)
            if change == "rename" and isinstance(holder, dict):
                holder[str(last) + data.draw(st.sampled_from(["s", "_", " ", ".", "é"]))] = value
    expect_case_or_error(tomli_w.dumps(document))


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_cut_or_change_of_the_text_is_a_case_or_an_error(data: st.DataObject) -> None:
    text = example_text(data.draw(st.sampled_from(example_names())))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    inserted = data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
    expect_case_or_error(text[:start] + inserted + text[end:])


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_any_override_is_accepted_or_refused_without_a_trace(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(DOCUMENTS) - 1))
    case = Case.from_text(example_text(example_names()[index]))
    before = case.model_dump()
    way = data.draw(st.sampled_from(places(DOCUMENTS[index])))
    key = ".".join(str(part) for part in way) + data.draw(st.sampled_from(["", "", "", ".0", "[0]", ".x", "x", "."]))
    value = (
        tomli_w.dumps({"v": data.draw(values)}).partition("=")[2] if data.draw(st.booleans()) else data.draw(st.text())
    )
    try:
        assert case.override(f"{key}={value}") is None
    except CaseError:
        assert case.model_dump() == before
    else:
        assert Case.from_text(case.to_toml()).model_dump() == case.model_dump()


@pytest.mark.parametrize("name", example_names())
def test_examples_survive_the_round_trip(name: str) -> None:
    assert expect_case_or_error(example_text(name)) is not None
