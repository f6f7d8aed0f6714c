"""Loops on one thread are called directly, on several by the pool: the same results either way, and both are timed."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import numpy as np
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.thread_pool import set_threads
from pdem.numerics.loop_calls import has_clock, read_loop_ticks

set_threads(3)

@threaded_kernel
def work(values, owners):
    total = 0
    for row in prange(len(values)):
        values[row] = row * row
        total += row
    return total

for threads in (3, 1, 2, 1):
    set_threads(threads)
    values = np.zeros(1001, np.int64)
    assert work(values, values) == 500500
    assert np.array_equal(values, np.arange(1001) ** 2)
print("same")

if has_clock():
    for threads in (1, 2):
        set_threads(threads)
        values = np.zeros(1_000_000, np.int64)
        before = read_loop_ticks()
        for _ in range(30):
            work(values, values)
        between = read_loop_ticks()
        for _ in range(30):
            np.add(values, 1, out=values)
        after = read_loop_ticks()
        in_loops = between.in_loops - before.in_loops
        assert 0.5 * (between.now - before.now) < in_loops <= between.now - before.now
        assert after.in_loops == between.in_loops < after.now - between.now + between.in_loops
"""


def test_one_and_several_threads_give_the_same(tmp_path) -> None:
    script = tmp_path / "loops.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"
