"""The error for a file of a case that does not exist."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pdem.foundation.errors import CaseError
from pdem.foundation.texts import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.sections.schema import CaseData

_SCRIPTS = "scripts/"


def missing_file_error(case: CaseData, where: str, path: Path) -> CaseError:
    """Return the error for a missing file; `where` is the key of the case with its value.

    If the opening comment of the case names a script that makes its files, the message quotes the sentence.
    """
    text = f"{where}: no such file ({path}); paths are relative to the folder of the case"
    remark = _remark(case)
    return CaseError(f"{text}. The case says: {remark}" if remark else text)


def _remark(case: CaseData) -> str:
    """Return the sentences of the opening comment of the case that name a script."""
    if case.path is None or not case.path.is_file():
        return ""
    comment = []
    for line in read_text(case.path).split("\n"):
        if not line.startswith("#"):
            break
        comment.append(line.lstrip("# "))
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z'])", " ".join(comment))
    return " ".join(sentence for sentence in sentences if _SCRIPTS in sentence)
