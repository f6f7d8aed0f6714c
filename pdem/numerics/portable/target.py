"""The processor that kernels are compiled for: not this one, but the level of x86-64 that it belongs to.

Bits do not depend on the processor (`contraction`), so that all processors of a level can share machine code, also code
that was compiled elsewhere and is part of an installation. ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` choose a
different processor.
"""

from __future__ import annotations

import os
import platform
from functools import cache

import numba
from llvmlite import binding

_LEVELS = {
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Levels from the narrowest vectors to the widest, with the features that each adds to the one before."""

_SCATTERED = "+prefer-no-gather,+prefer-no-scatter"
"""Vector code loads scattered numbers one by one. Since the mitigations of 2023 the gather instructions of many
processors are several times slower, and the flag that identifies these processors is not visible in a virtual machine.
"""

_WIDE = ",-prefer-256-bit"
"""Vectors of 512 bits where there are any: beds take about a tenth less time than with vectors of 256 bits."""

NATIVE = "PDEM_NATIVE"
"""Environment variable: with ``1``, kernels are compiled for exactly this processor."""


@cache
def target() -> tuple[str | None, str | None]:
    """Return name and features of the processor for numba; None stands for numba's own choice."""
    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES  # the user's choice, from the environment
    if features is not None or platform.machine() not in ("x86_64", "AMD64"):
        return name, features
    if name is not None:
        return name, _options_of(name)
    level = None if os.environ.get(NATIVE) == "1" else processor_level(binding.get_host_cpu_features())
    if level is not None:
        return level, _options_of(level)
    return binding.get_host_cpu_name(), f"{binding.get_host_cpu_features().flatten()},{_SCATTERED}"


def _options_of(name: str) -> str:
    return _SCATTERED + _WIDE * (name == "x86-64-v4")


def processor_level(features: dict[str, bool]) -> str | None:
    """Return the level of x86-64 of a processor with these features; None if it has no fused multiply-add."""
    best = None
    for level, needed in _LEVELS.items():
        if not all(features.get(one) for one in needed):
            break
        best = level
    return best


def has_wide_vectors() -> bool:
    """Return whether the processor that kernels are compiled for has vectors of eight numbers."""
    name, features = target()
    return name == "x86-64-v4" or "+avx512f" in (features or "")
