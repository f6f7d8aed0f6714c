"""When Python looks for garbage in cycles: not while things are made that live until the end.

It looks through all objects each time their number has grown by a quarter, and imports, kernels from the disk and a
compiler at work make objects by the hundred thousand.
"""

from __future__ import annotations

import atexit
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OBJECTS_OF_A_START = 300_000
"""About as many as there are when a small case takes its first step."""


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Keep Python from looking for garbage within this block."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def search_rarely() -> None:
    """Have this process look for garbage each time it has made as many objects as a start makes, and not at its end.

    For commands alone: a script may have reasons of its own to look for it.
    """
    gc.set_threshold(_OBJECTS_OF_A_START, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
