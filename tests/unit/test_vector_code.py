"""The loops over contacts are vector code, and right, with the instructions of any x86 processor.

A change that makes them scalar costs more than half of their speed.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import platform
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest
from crowds import LAW, MOTION, OPEN, crowd, near_pairs

from pdem.contact import pair_kernels
from pdem.contact.pair_contacts import NO_WALLS, Action, PairContacts
from pdem.contact.slot_kernels import CHUNK
from pdem.foundation.sums import ExactSums
from pdem.simulation.system import ENDED

ROOT = Path(__file__).resolve().parents[2]

WIDE = llvmlite.binding.get_host_cpu_features().get("avx2", False)
PROCESSORS = {"this one": {}, "SSE2": {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}}
if WIDE:
    PROCESSORS["AVX2"] = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+sse4.2"}

EVALUATE = """
import pickle, sys
import numba
from pdem.contact.pair_kernels import evaluate_pairs
arguments = pickle.load(sys.stdin.buffer)
options = {name: value for name, value in evaluate_pairs.targetoptions.items() if name not in ("nopython", "cache")}
fresh = numba.njit(**options)(evaluate_pairs.py_func)
fresh(*arguments)
pickle.dump((arguments, next(iter(fresh.inspect_asm().values()))), sys.stdout.buffer)
"""


def evaluated(arguments, environment, folder):
    """Compile for a processor, evaluate contacts once, and return what the arguments are then, and the machine code."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-c", EVALUATE], input=pickle.dumps(arguments), capture_output=True, check=True, cwd=ROOT,
        env=inherited | environment | {"PDEM_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return pickle.loads(done.stdout)


@pytest.fixture(scope="module")
def contacts():
    """Return the arguments of the kernel for contacts of a crowd that have lasted for a step."""
    particles, lists, ended = crowd(11, 500, 0), PairContacts(), ExactSums(ENDED)
    lists.take_candidates(near_pairs(particles), particles, ended)
    action, given = Action(*NO_WALLS, 1e-4, MOTION), []
    with pytest.MonkeyPatch.context() as monkeypatch:
        kernel = pair_kernels.evaluate_pairs

        def noted(*arguments):
            given[:] = copy.deepcopy(arguments)
            return kernel(*arguments)

        monkeypatch.setattr(pair_kernels, "evaluate_pairs", noted)
        for _ in range(2):
            particles.column("position")[:500] += 1e-3 * particles.column("velocity")[:500]
            lists.begin(particles, LAW.density, packed=False)
            lists.evaluate(False, particles, OPEN, LAW, ended, action)
    assert lists.count > CHUNK
    return given


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 instructions")
def test_contact_loops_are_vector_code_without_gathers_and_right_on_any_processor(contacts, tmp_path):
    found = {}
    for name, environment in PROCESSORS.items():
        after, code = evaluated(contacts, environment, tmp_path / name)
        assert not re.findall(r"gather|scatter[dq]pd", code), name
        if WIDE and name != "SSE2":
            # four at a time; of two, as in SSE2, the compiler expects nothing where coefficients come one by one
            assert len(re.findall(r"vsqrtpd.*%[yz]mm", code)) >= 8, name
            # seven of the law, one of particles that go on to the next step
            assert len(re.findall(r"vdivpd.*%[yz]mm", code)) >= 8, name
        found[name] = after
    columns = list(inspect.signature(pair_kernels.evaluate_pairs.py_func).parameters)
    for column in ("force", "torque", "velocity", "angular_velocity", "history", "loads"):
        one, *others = (after[columns.index(column)] for after in found.values())
        known = np.isfinite(one)  # an overlap that is not known is minus infinity
        assert known.mean() > 0.9
        for other in others:
            np.testing.assert_array_equal(np.isfinite(other), known)
            np.testing.assert_allclose(
                other[known], one[known], rtol=1e-9, atol=1e-9 * np.abs(one[known]).max()
            )
