"""When Python looks for garbage: never while pdem is imported, rarely in commands, and in scripts as ever."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pdem.numerics.garbage import no_search_for_garbage

ROOT = Path(__file__).resolve().parents[2]

COMMAND = """
import gc
from pdem.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print(gc.isenabled(), gc.get_threshold()[0] > 100_000)
"""

SCRIPT = """
import gc
before = gc.get_threshold()
import pdem
pdem.Case
print(gc.isenabled(), gc.get_threshold() == before, gc.get_freeze_count() == 0)
"""


def last_line(code):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_a_command_looks_rarely():
    assert last_line(COMMAND) == "True True"


def test_a_script_looks_as_before():
    assert last_line(SCRIPT) == "True True True"


@pytest.mark.parametrize("searched", [True, False])
def test_afterwards_it_is_as_it_was_even_after_an_error(searched):
    before = gc.isenabled()
    (gc.enable if searched else gc.disable)()
    try:
        with suppress(ZeroDivisionError), no_search_for_garbage(), no_search_for_garbage():
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled() == searched
    finally:
        (gc.enable if before else gc.disable)()
