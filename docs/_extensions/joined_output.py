"""What a command prints in a tutorial is shown as it printed it.

It arrives in pieces of a hundred letters, between which myst-nb would begin new lines. Of lines that a command has
written over, as progress does, the last is shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from myst_nb.core import render

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_WRITTEN_OVER = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)


def joined(outputs: list[Any]) -> list[Any]:
    """Return the outputs of a cell with all pieces of a stream in one."""
    kept: list[Any] = []
    streams: dict[str, Any] = {}
    for output in outputs:
        if output["output_type"] != "stream":
            kept.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = output
            kept.append(output)
    for stream in streams.values():
        stream["text"] = _WRITTEN_OVER.sub("", stream["text"])
    return kept


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of myst-nb's function, which `nb_merge_streams` calls."""
    render.coalesce_streams = joined
    return {"parallel_read_safe": True, "parallel_write_safe": True}
