"""Digests of all states that a run has written checkpoints of, also of those that are gone: they prove a replay."""

from __future__ import annotations

from pathlib import Path

from pdem.foundation.files import write_file
from pdem.output.saving import writing

DIGESTS_FILE = "digests.csv"
"""Name of the file in an output folder: a line with step and digest for each checkpoint that was ever written."""

_HEAD = "step,state"


def read_digests(folder: Path | str) -> dict[int, str]:
    """Return the digests of a folder by step, none if it has no such file; lines that are torn are left out."""
    try:
        lines = (Path(folder) / DIGESTS_FILE).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    rows = (line.split(",") for line in lines if line != _HEAD)
    return {int(row[0]): row[1] for row in rows if len(row) == 2 and row[0].isdecimal() and row[1]}


def record_digest(folder: Path | str, step: int, digest: str) -> None:
    """Add the digest of a step to the file of a folder; what the file has of this and later steps goes.

    Raises
    ------
    CheckpointError
        If the file cannot be written.
    """
    path = Path(folder) / DIGESTS_FILE
    found = {one: text for one, text in read_digests(folder).items() if one < step} | {step: digest}
    with writing(path, "make room, then restart"):
        write_file(path, "\n".join([_HEAD, *(f"{one},{text}" for one, text in found.items())]) + "\n")
