"""Parts of a long study: complete tables are stored, so that an interrupted study continues after them."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pdem.foundation.files import write_file
from pdem.output.provenance import provenance
from pdem.verification.study import FindingTable, StudyFinding

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from pathlib import Path

    from pdem.verification.study import Notebook

    Part = Callable[[Notebook], FindingTable | Iterable[FindingTable]]

KEPT_PARTS = "parts.json"
"""File with the tables of an unfinished study; a study that has run to its end removes it."""


def in_parts(notebook: Notebook, parts: Iterable[Part]) -> Iterator[FindingTable]:
    """Yield the tables of all parts of a study in their order.

    With `Notebook.full` the tables of each finished part are stored. An interrupted study that is started again in the
    same folder, by the same pdem on the same kind of machine, reads them instead of computing them again.

    Parameters
    ----------
    notebook : Notebook
        Argument of each part.
    parts : iterable of callable
        Functions that return a table or yield several; their names identify them.
    """
    if not notebook.full:
        for part in parts:
            yield from _tables_of(part, notebook)
        return
    path = notebook.folder / KEPT_PARTS
    kept = _read(path)
    for part in parts:
        name = part.__name__
        if name not in kept:
            kept[name] = yield from _run(part, notebook)
            _write(path, kept)
        else:
            notebook.earlier += kept[name]["seconds"]
            notebook.plots += [notebook.folder / plot for plot in kept[name]["plots"]]
            yield from map(_table, kept[name]["tables"])
    path.unlink(missing_ok=True)


def _tables_of(part: Part, notebook: Notebook) -> Iterable[FindingTable]:
    tables = part(notebook)
    return [tables] if isinstance(tables, FindingTable) else tables


def _run(part: Part, notebook: Notebook) -> Generator[FindingTable, None, dict[str, Any]]:
    """Yield the tables of a part; return the data to store."""
    begin, earlier, plots, tables = time.perf_counter(), notebook.earlier, len(notebook.plots), []
    for table in _tables_of(part, notebook):
        tables.append(asdict(table))
        yield table
    return {
        "seconds": time.perf_counter() - begin + notebook.earlier - earlier,
        "plots": [plot.relative_to(notebook.folder).as_posix() for plot in notebook.plots[plots:]],
        "tables": tables,
    }


def _table(kept: dict[str, Any]) -> FindingTable:
    return FindingTable(**{**kept, "findings": [StudyFinding(**one) for one in kept["findings"]]})


def _read(path: Path) -> dict[str, Any]:
    """Return the stored data by part; empty if they are from a different pdem or cannot be read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return dict(kept["parts"]) if kept["made_by"] == provenance() else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _write(path: Path, parts: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps({"made_by": provenance(), "parts": parts}, default=float, indent=1))
