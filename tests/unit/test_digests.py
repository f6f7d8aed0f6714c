"""Short runs have the states whose digests are committed, on every processor and with any version of the libraries.

After a change that is meant to change bits: ``python tests/write_digests.py``, and a line in the changelog.
"""

from __future__ import annotations

import copy
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

from helpers.digest_cases import CASES
from helpers.state_digests import first_difference, run_digests
from pdem.numerics.numba_private import INTERPRETED

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "digests"

HOST = llvmlite.binding.get_host_cpu_features()
AVX2 = "+avx,+avx2,+fma,+bmi,+bmi2,+lzcnt,+movbe,+popcnt,+sse4.2,+f16c"
AVX512 = f"{AVX2},+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd"
PROCESSORS = {
    "x86-64-v3": (AVX2, "avx2"), "znver3": (AVX2, "avx2"), "haswell": (f"{AVX2},+prefer-no-gather", "avx2"),
    "skylake-avx512": (AVX512, "avx512vl"), "znver5": (f"{AVX512},-prefer-256-bit", "avx512vl"),
}  # fmt: skip
"""Features for which kernels are compiled by type of processor, and the one that this machine must have."""

QUICK = ("machine-0",)
FULL = ("everything", "laws", "bonds", "box-0", "machine-1", "machine-2", "example-drum", "example-clusters")


def expected(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


@pytest.mark.skipif(INTERPRETED, reason="without a compiler no operation is fused")
@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_committed_digests(name, tmp_path):
    assert first_difference(expected(name), run_digests(CASES[name].make(tmp_path), CASES[name].steps)) == ""


def test_there_are_no_other_digests():
    assert {path.stem for path in FOLDER.glob("*.json")} == CASES.keys()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="kernels for x86 processors")
@pytest.mark.parametrize(
    ("processor", "names"),
    [
        *((one, QUICK) for one in ("x86-64-v3", "skylake-avx512")),
        *(pytest.param(one, FULL, marks=pytest.mark.slow) for one in PROCESSORS),
    ],
)
def test_kernels_for_other_processors_have_the_same_bits(processor, names, tmp_path):
    features, needed = PROCESSORS[processor]
    if not HOST.get(needed, False):
        pytest.skip(f"this processor has no {needed}")
    environment = os.environ | {
        "NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features, "PDEM_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip
    command = [sys.executable, str(ROOT / "tests" / "write_digests.py"), *names, "--into", str(tmp_path / "digests")]
    subprocess.run(command, env=environment, check=True, timeout=1800, stdout=subprocess.DEVNULL)
    for name in names:
        found = json.loads((tmp_path / "digests" / f"{name}.json").read_text())
        assert first_difference(expected(name), found) == "", name


def test_a_difference_is_named(tmp_path):
    """By its first step, its columns and its particles."""
    case = CASES["example-two_spheres"]
    runs = []
    for flipped in (False, True):
        simulation = case.make(tmp_path)
        simulation.advance(1)
        if flipped:
            simulation.particles.velocity.view(np.uint64)[1, 0] ^= 1
        runs.append(run_digests(simulation, case.steps[1:]))
    text = first_difference(*runs)
    assert text.startswith("step 1: ")
    assert "particles/velocity" in text
    assert "particles/position" not in text
    assert text.endswith("differ; 1 of 2 particles, in the order of ids the numbers [1]")
    fewer = copy.deepcopy(runs[0])
    fewer["1"]["particles"] = fewer["1"]["particles"][:4]
    fewer["1"]["columns"]["particles/id"] = "other"
    assert first_difference(runs[0], fewer).endswith("2 particles were expected, there are 1")
