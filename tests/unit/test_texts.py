"""Texts of any program: their characters, and their numbers."""

from __future__ import annotations

import codecs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.text_files import ENDS, WAYS
from pdem.foundation.number_rows import (
    fields_of,
    finite_numbers,
    is_heading,
    is_number,
    names_of,
    number_of,
    numbers_in,
    numbers_of,
    rows_of,
)
from pdem.foundation.texts import NoTextError, TextError, has_mark, is_wide, read_text, shown_text, text_of


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0\ufeff"), max_size=30)),
    st.sampled_from(sorted(WAYS)),
    st.sampled_from(ENDS),
)
def test_a_text_is_the_same_however_it_is_written(lines, way, end):
    """It has enough of ASCII not to be taken for binary content that begins like a mark."""
    lines = ["0.5 0.25 " + 3 * "vertex " + line for line in lines]
    content = WAYS[way](end.join(lines))
    assert text_of(content) == "\n".join(lines)
    assert has_mark(content) == (way != "UTF-8")
    assert is_wide(content) == way.startswith(("UTF-16", "UTF-32"))


@given(st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0", exclude_categories=["Cc"])))
def test_latin_letters_of_windows_are_read(text):
    """Except those few texts that happen to be UTF-8 as well."""
    content = text.encode("latin-1")
    try:
        expected = content.decode()
    except UnicodeDecodeError:
        expected = text
    assert text_of(content) == expected


def test_marks_within_joined_files_are_removed(tmp_path):
    path = tmp_path / "joined.csv"
    path.write_bytes(codecs.BOM_UTF8 + b"0,1\r\n" + codecs.BOM_UTF8 + b"1,2\r\n")
    assert read_text(path) == "0,1\n1,2\n"
    assert text_of("\u20ac 5 \u2013 6".encode("cp1252")) == "\u20ac 5 \u2013 6"
    assert text_of(b"caf\xe9 \x81") == "caf\xe9 \x81"  # CP1252 has no 0x81
    assert text_of(codecs.BOM_UTF8 + b"Geh\xe4use") == "Geh\xe4use"
    assert text_of(b"one\x0btwo\x85three\x1cfour").count("\n") == 0  # that Python would divide lines at


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"solid\0\0", "is no text: character 6 is zero"),
        (b"\xff\xfe\x00", "begins with the byte order mark of UTF-16"),
        (b"\xff\xfb" + bytes(range(256)), "is no text"),
        (b"\xff\xfe" + bytes(range(1, 255)), "goes on otherwise; save it as text in UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "fetch the file with 'git lfs pull'"),
        (b"\n<!DOCTYPE html>\n<html>", r"is a web page \(HTML\) and not the file"),
        (b"<HTML><body>404", "download the file again"),
    ],
)
def test_what_is_no_text_is_refused(content, words):
    with pytest.raises(TextError, match=words):
        text_of(content)
    assert issubclass(NoTextError, TextError)


def test_words_are_shown_on_one_printable_line():
    assert shown_text("a\tb\n c\x00") == '"a b c?"'
    assert len(shown_text(500 * "x")) == 62


@given(st.floats(allow_nan=False))
def test_numbers_come_back(number):
    assert number_of(repr(number)) == number
    assert numbers_in(f" {number!r}\n{number!r} ").tolist() == [number, number]
    assert numbers_of([repr(number)]).tolist() == [number]


@pytest.mark.parametrize(
    ("word", "number"), [("1D3", 1e3), ("-2.5d-01", -0.25), (".5D+2", 50.0), ("+1.", 1.0), ("1e-400", 0.0)]
)
def test_exponents_of_fortran(word, number):
    assert number_of(word) == number
    assert numbers_in(f"1 {word}").tolist() == [1.0, number]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("0,5", '"0,5" is not a number; decimals are written with a point'),
        ("-1,5e-3", "decimals are written with a point"),
        ("\u22121.5", "write the minus as -"),
        ("O", '"O" is not a number$'),
        ("1_0", "is not a number"),
        ("1.#QNAN", "is not a number"),
        ("0x10", "is not a number"),
        ("", "is not a number"),
    ],
)
def test_a_word_that_is_no_number_is_named(word, reason):
    for reader in (number_of, lambda one: numbers_of(["1", one])):
        with pytest.raises(TextError, match=reason):
            reader(word)
    assert not is_number(word)
    if word:
        with pytest.raises(TextError, match=reason):
            numbers_in(f"1 2 {word} 4")


@pytest.mark.parametrize(
    ("line", "widths", "fields"),
    [
        ("1,2, 3 ,4", (4,), ["1", "2", "3", "4"]),
        ("1;2,5;3", (3,), ["1", "2,5", "3"]),
        ("1\t2   3", (3,), ["1", "2", "3"]),
        ('"1","2"', (2,), ["1", "2"]),
        ("1,2,,", (2,), ["1", "2"]),
        ("1, 2,", (2,), ["1", "2"]),
        ("0,5 1,5", (2,), ["0,5", "1,5"]),
        ("0,5 1,5", (4,), ["0", "5", "1", "5"]),
        ("0,1 0,2 0,3 5", (4, 7), ["0,1", "0,2", "0,3", "5"]),
        ("0 ,5", (2,), ["0", "5"]),
    ],
)
def test_columns_of_a_line(line, widths, fields):
    assert fields_of(line, widths) == fields


def test_rows_have_their_numbers_and_no_comments():
    rows = list(rows_of("# x y\n\n1 2 // one\n3;4 % two", (2,), first=10))
    assert [(row.number, row.fields) for row in rows] == [(12, ["1", "2"]), (13, ["3", "4"])]
    assert finite_numbers(rows[0]) == [1.0, 2.0]
    with pytest.raises(TextError, match=r'line 1: column 2 is empty in "1,,2"; give all columns'):
        list(rows_of("1,,2", (2,)))
    with pytest.raises(TextError, match='line 3: "inf" is not a finite number'):
        finite_numbers(next(rows_of("\n\n1 inf", (2,))))


@pytest.mark.parametrize(
    ("line", "heading", "names"),
    [
        ("time,angle", True, ["time", "angle"]),
        ("time [s] angle (rad)", True, ["time [s]", "angle (rad)"]),
        ('"Sensor 1";"Sensor 2"', True, ["Sensor 1", "Sensor 2"]),
        ("t\tmass rate\n", True, ["t", "mass rate"]),
        ("O,0", False, ["O", "0"]),
        ("0,5;l", False, ["0,5", "l"]),
        ("nan nan", False, ["nan", "nan"]),
        ("\u22121;x", False, ["\u22121", "x"]),
    ],
)
def test_a_line_of_names_has_no_number(line, heading, names):
    row = next(rows_of(line, (2,)))
    assert is_heading(row) == heading
    assert names_of(line) == names


def test_many_numbers_are_read_at_once():
    numbers = np.random.default_rng(3).normal(size=9999)
    np.testing.assert_array_equal(numbers_in(" ".join(map(repr, numbers.tolist()))), numbers)
