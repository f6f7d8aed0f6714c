"""Case files and plans of sweeps by editors of all systems."""

from __future__ import annotations

import pytest

from helpers.text_files import ENDS, WAYS
from pdem.case.explain.example_cases import example_text
from pdem.case.model import Case
from pdem.foundation.errors import CaseError
from pdem.sweeps.sections import read_document

TEXT = example_text("silo").replace("title =", "# Gr\u00f6\u00dfe\ntitle =", 1)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", [*WAYS, "CP1252"])
def test_a_case_is_the_same_however_it_is_written(tmp_path, way, end):
    path = tmp_path / "case.toml"
    text = TEXT.replace("\n", end)
    path.write_bytes(WAYS[way](text) if way in WAYS else text.encode("cp1252"))
    assert Case.read(path).model_dump() == Case.from_text(TEXT).model_dump()
    assert Case.from_text("\ufeff" + text).model_dump() == Case.from_text(TEXT).model_dump()
    assert read_document(path) == Case.from_text(TEXT)._document


def test_binary_content_is_no_case_and_no_plan(tmp_path):
    path = tmp_path / "case.toml"
    for content, message in ((b"\x89HDF\r\n\x1a\n\0\0", "is no text"), (b"<html>", "is a web page")):
        path.write_bytes(content)
        for reader in (Case.read, read_document):
            with pytest.raises(CaseError, match=message):
                reader(path)
