"""Planted measurements and orders of tests: whatever passes on a quick, quiet machine has to pass on any other.

Runs measure themselves: they tune skins, chunks and threads, choose levels of the grid and cut space by what their own
steps have taken. Tests may assert nothing that follows from these times. With ``PDEM_TEST_CLOCK=SEED`` the clock of
every process jumps ahead at random, and the costs from which levels follow are random as well. With
``PDEM_TEST_ORDER=SEED`` modules, and the tests of each, run in a random order: other tests have run before each.
Both reach the ranks and the second process of the tests through the environment.
"""

from __future__ import annotations

import os
import random
import time
import zlib
from itertools import groupby
from pathlib import Path

from pdem.detection import overhead

CLOCK, ORDER = "PDEM_TEST_CLOCK", "PDEM_TEST_ORDER"
_SHORTEST, _LONGEST = -7.0, -1.5
"""Powers of ten between which the seconds lie by which the clock jumps ahead at a reading."""


def plant_measurements(environment=os.environ):
    """Let the clock of this process, and the costs of a search, be random if the environment asks for that."""
    if CLOCK not in environment:
        return
    # each process has its own: ranks do not measure the same either
    numbers = random.Random(f"{environment[CLOCK]} {os.getpid()}")
    true, ahead = time.perf_counter, [0.0]

    def jumping():
        if numbers.random() < 0.5:
            ahead[0] += 10.0 ** numbers.uniform(_SHORTEST, _LONGEST)
        return true() + ahead[0]

    def measure():
        return overhead.SearchTimes(check=1e-9, row=1e-9 * 10.0 ** numbers.uniform(0.0, 2.3))

    time.perf_counter, overhead.measure = jumping, measure
    overhead.cache_directory = lambda: Path("/nothing is kept here")


def shuffle(items, environment=os.environ):
    """Bring tests into a random order if the environment asks for one; those of a module stay together."""
    if ORDER not in environment:
        return

    def drawn(name):
        return zlib.crc32(f"{environment[ORDER]} {name}".encode())

    modules = [list(tests) for _, tests in groupby(items, key=lambda item: item.nodeid.partition("::")[0])]
    modules.sort(key=lambda tests: drawn(tests[0].nodeid.partition("::")[0]))
    items[:] = [item for tests in modules for item in sorted(tests, key=lambda item: drawn(item.nodeid))]
