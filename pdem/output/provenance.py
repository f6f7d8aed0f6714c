"""Provenance of results, written to every file: sources, libraries and processor.

Ranks, threads, partitions, restarts, processors and libraries change no bit; other sources of pdem may, and so do
settings of numba that leave out its compiler. The rest is recorded for users, and to find a fault of a compiler.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

from pdem.foundation.version import VERSION
from pdem.numerics.numba_private import cpu_target

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIBRARIES = ("numpy", "numba", "llvmlite")
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_JIT")
_PACKAGE = Path(__file__).resolve().parents[1]
_FEATURES = "processor_features"

PROVENANCE_LABELS = {
    "pdem": "pdem", "sources": "sources of pdem", "python": "Python", "numpy": "numpy", "numba": "numba",
    "llvmlite": "llvmlite", "libc": "C and mathematics library", "processor": "processor type",
    _FEATURES: "features of the processor", "kernel_settings": "numba's settings",
}  # fmt: skip
"""Labels of the entries of `provenance` in messages."""

MAY_CHANGE_BITS = ("pdem", "sources", "kernel_settings")
"""Entries of `provenance` on which bits of results may depend."""


@cache
def provenance() -> dict[str, str]:
    """Return everything outside the case by which results are computed.

    Returns
    -------
    dict of str to str
        Values by the keys of `PROVENANCE_LABELS`: versions, a digest of pdem's sources, and the processor type and
        features for which numba compiles.
    """
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    used = sorted(name[1:] for name in features.split(",") if name.startswith("+"))
    settings = [f"{name.lower()} {int(getattr(numba.config, name, 0))}" for name in _SETTINGS]
    vector_functions = "used" if getattr(numba.config, "USING_SVML", False) else "not used"
    return {
        "pdem": VERSION,
        "sources": _digest(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in _LIBRARIES},
        "libc": " ".join(platform.libc_ver()).strip() or platform.platform(),
        "processor": processor,
        _FEATURES: " ".join(used),
        "kernel_settings": ", ".join([*settings, f"svml {vector_functions}"]),
    }


def decisive_provenance() -> dict[str, str]:
    """Return the entries of `provenance` on which bits of results may depend."""
    return {key: provenance()[key] for key in MAY_CHANGE_BITS}


def _digest() -> str:
    """Return a digest of the sources of pdem and decomposition."""
    digest = hashlib.blake2b(digest_size=8)
    for root in (_PACKAGE, _PACKAGE.parent / "decomposition"):
        for path in sorted(root.rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root.parent).as_posix()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def changes_since(attributes: Mapping[str, Any], now: Mapping[str, str] | None = None, word: str = "now") -> str:
    """Return the changes since a file was written that may change bits, in one line; empty if there are none.

    Parameters
    ----------
    attributes : mapping
        Attributes of the file; a missing entry counts as unchanged.
    now : mapping, optional
        Provenance to compare with; by default the present one.
    word : str
        Word for the present provenance.
    """
    now = provenance() if now is None else now
    changed = [
        f"{PROVENANCE_LABELS[key]} {attributes[key]} ({word} {now[key]})"
        for key in MAY_CHANGE_BITS
        if key in attributes and attributes[key] != now[key]
    ]
    return ", ".join(changed)


def provenance_warning(attributes: Mapping[str, Any]) -> str:
    """Return a warning for a run that continues a checkpoint with these attributes; empty if nothing has changed."""
    changes = changes_since(attributes)
    if not changes:
        return ""
    return (
        f"the checkpoint was written under {changes}; the continued run is valid, but perhaps not bit for bit the one "
        "that would have been: where bits matter, continue with the version that began it"
    )
