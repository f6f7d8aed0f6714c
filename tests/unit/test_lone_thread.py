"""Loops on one thread are called directly, on several by the pool: the same results either way."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import numpy as np
from pdem.foundation.kernels import prange, set_threads, threaded_kernel

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
"""


def test_one_and_several_threads_give_the_same(tmp_path) -> None:
    script = tmp_path / "loops.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "same\n"
