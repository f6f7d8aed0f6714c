"""What a rank, or a second pytest, tells the one that started it: one line of JSON per event, in a file for each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Event:
    """`kind` is "hello" (test: process id), "start" or "end"; `outcome` is one of pytest's, or "xfailed".

    A second pytest also says "report" (text: pytest's, as JSON), and "module" (test: a file) when a file is done.
    """

    kind: str
    test: str
    outcome: str = ""
    text: str = ""


def event_file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank}.jsonl"


def dump_file(folder: Path, rank: int) -> Path:
    """Return the file for the stacks of a rank that crashed or hung."""
    return folder / f"rank-{rank}.stacks"


def tail_of(path: Path, lines: int = 60) -> str:
    """Return the last lines of a file, nothing if there is none."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""


class EventWriter:
    def __init__(self, folder: Path, rank: int):
        self._file = event_file(folder, rank).open("a", encoding="utf-8")

    def write(self, event: Event) -> None:
        self._file.write(json.dumps(asdict(event)) + "\n")
        self._file.flush()


class EventReader:
    def __init__(self, folder: Path, rank: int):
        self._path = event_file(folder, rank)
        self._position = 0

    def new(self) -> list[Event]:
        """Return the events that were completely written since the last call."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return [Event(**json.loads(line)) for line in whole.splitlines()]
