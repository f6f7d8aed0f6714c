"""Tables and sections in their four forms."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.report.section import ReportSection, html_page, markdown_page
from pdem.report.table import Table

CELLS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=9)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2, max_size=5)
).map(lambda lines: Table(lines[0], lines[1:]))  # fmt: skip


@given(table=TABLES, left=st.sampled_from([None, 0, 1, 2]))
def test_columns_of_text_are_aligned(table, left):
    lines = table.text(left, "> ").splitlines()
    begin = 2
    for number, column in enumerate(zip(*table.lines, strict=True)):
        width = max(map(len, column))
        for line, cell in zip(lines, column, strict=True):
            shown = line[begin : begin + width].ljust(width)
            assert shown == (cell.ljust(width) if left is None or number < left else cell.rjust(width))
        begin += width + 2


@given(table=TABLES)
def test_markdown_keeps_cells_with_bars(table):
    head, rule, *rows = table.markdown().splitlines()
    assert rule == "| " + " | ".join(["---"] * len(table.head)) + " |"
    for line, cells in zip([head, *rows], table.lines, strict=True):
        inner = line.removeprefix("| ").removesuffix(" |").replace("\\|", "\0")
        assert [cell.replace("\0", "|") for cell in inner.split(" | ")] == list(cells)


@given(table=TABLES)
def test_html_and_csv_hold_every_cell(table):
    rows = ElementTree.fromstring(table.html()).findall("tr")
    assert [cell.tag for cell in rows[0]] == ["th"] * len(table.head)
    assert [[cell.text for cell in row] for row in rows] == [list(line) for line in table.lines]
    assert list(csv.reader(io.StringIO(table.csv()))) == [list(line) for line in table.lines]


def test_a_table_needs_no_head():
    table = Table((), [("a", "1"), ("bb", "22")])
    assert table.text() == "a    1\nbb  22"
    assert "<th>" not in table.html()
    with pytest.raises(ValueError, match="longer"):
        Table(("one",), [("a", "b")]).text()


def test_a_page_has_all_parts_of_its_sections():
    sections = [ReportSection("A & B", "Said.", ("n", "t"), [("1", "2.5")], b"png"), ReportSection("Bare")]
    page, text = html_page("<T>", sections), markdown_page("<T>", sections)
    assert "<h1>&lt;T&gt;</h1>" in page
    assert '<img alt="A &amp; B" src="data:image/png;base64,cG5n">' in page
    assert page.index("<p>Said.</p>") < page.index("<th>n</th>") < page.index("<h2>Bare</h2>")
    assert text == (
        "# <T>\n\n## A & B\n\nSaid.\n\n![A & B](a-&-b.png)\n\n| n | t |\n| ---: | ---: |\n| 1 | 2.5 |\n\n## Bare\n"
    )
    assert sections[0].plain() == "A & B\nSaid.\nn    t\n1  2.5"
