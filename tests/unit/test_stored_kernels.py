"""What is read of a kernel on disk, and when: nothing before it is called, LLVM's language only to compile others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

INNER = """
from pdem.numerics.kernels import kernel

@kernel
def doubled(value):
    return 2.0 * value
"""

OUTER = """
from inner import doubled
from pdem.numerics.kernels import kernel

@kernel
def doubled_twice(value):
    return doubled(doubled(value))
"""


@pytest.fixture
def modules(tmp_path):
    """Two files of kernels, one of which calls the other, and a folder for their machine code."""
    (tmp_path / "inner.py").write_text(INNER)
    (tmp_path / "outer.py").write_text(OUTER)
    return tmp_path


def run(folder, code):
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "NUMBA_CACHE_DIR": str(folder / "kept")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def stored(folder, kind):
    return sorted(path.name.partition("-")[0] for path in (folder / "kept").rglob(kind))


def test_a_kernel_that_is_not_called_leaves_the_disk_alone(modules):
    run(modules, "import inner, outer")
    assert not list((modules / "kept").iterdir())


STORED_STATE = """
from inner import doubled
from numba import float64
print(doubled(1.5), sum(doubled.stats.cache_hits.values()))
library = doubled.overloads[(float64,)].library
print(library._shared_module is not None, doubled.__name__ in str(library._get_module_for_linking()))
"""


def test_a_stored_kernel_runs_without_what_llvm_made_it_from(modules):
    run(modules, "import inner; inner.doubled(1.5)")
    assert run(modules, STORED_STATE) == ["3.0", "1", "False", "True"]


def test_a_stored_kernel_becomes_part_of_one_that_is_compiled_later(modules):
    run(modules, "import inner; inner.doubled(1.5)")
    assert stored(modules, "*.nbc") == ["inner.doubled"]
    call = "import inner, outer; print(inner.doubled(1.0), outer.doubled_twice(1.5))"
    assert run(modules, call) == ["2.0", "6.0"]
    assert stored(modules, "*.nbc") == ["inner.doubled", "outer.doubled_twice"]
    assert run(modules, call) == ["2.0", "6.0"]


SUMMED = """
import numpy as np
from pdem.numerics.kernels import kernel

@kernel
def mean(values):
    return np.mean(values)
"""

MEAN = "import sys, numpy as np, summed; print(summed.mean(np.arange(4.0)), 'numba.np.arraymath' in sys.modules)"


def test_a_stored_kernel_needs_none_of_the_modules_whose_functions_became_part_of_it(modules):
    (modules / "summed.py").write_text(SUMMED)
    assert run(modules, MEAN) == ["1.5", "True"]
    assert run(modules, MEAN) == ["1.5", "False"]


HASHED = """
from pdem.numerics.kernels import kernel

@kernel
def hashed(text):
    return hash(text)
"""


def test_a_stored_kernel_hashes_as_its_process_does(modules):
    """Each process hashes strings by numbers of its own, which a module of numba's compiler tells compiled code."""
    (modules / "hashed.py").write_text(HASHED)
    call = "from hashed import hashed; print(hashed('abc') == hash('abc'), sum(hashed.stats.cache_hits.values()))"
    assert [run(modules, call) for _ in range(2)] == [["True", "0"], ["True", "1"]]


def test_a_stored_kernel_of_another_source_is_compiled_anew(modules):
    assert run(modules, "import inner; print(inner.doubled(1.5))") == ["3.0"]
    (modules / "inner.py").write_text(INNER.replace("2.0", "20.0"))
    assert run(modules, "import inner; print(inner.doubled(1.5))") == ["30.0"]
