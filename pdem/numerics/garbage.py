"""Control of Python's garbage collector, which is off while long-lived objects are created.

The collector visits all objects each time their number has grown by a quarter. Imports, kernels loaded from disk, and
the compiler create objects by the hundred thousand.
"""

from __future__ import annotations

import atexit
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OBJECTS_OF_A_START = 300_000
"""Approximate number of objects when a small case begins its first step."""


@contextmanager
def no_search_for_garbage() -> Iterator[None]:
    """Disable Python's garbage collector within this block."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def search_rarely() -> None:
    """Let the collector run after as many new objects as a start creates, and not when the process ends.

    For commands only: a script may have its own reasons to collect garbage.
    """
    gc.set_threshold(_OBJECTS_OF_A_START, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
