"""The smallest and the largest radius and the largest speed in a file of particles, read once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.groups.particle_files import read_particle_file
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData

PIECE_BYTES = 1 << 26
"""Bytes of a file that are in memory at a time."""


_known: dict[tuple[str, int, int], FileLimits] = {}


class FileLimits(NamedTuple):
    """Smallest radius [m], infinite without particles; largest speed [m/s]; largest radius [m], 0 without particles."""

    radius: float
    speed: float
    largest: float


def particle_file_limits(case: CaseData, index: int) -> FileLimits:
    """Return the limits of the file of a group of particles. The file is read in pieces, and only once.

    Raises
    ------
    CaseError
        If the file cannot be read.
    """
    path = case.file(case.particles[index].file or "")
    try:
        status = path.stat()
    except OSError:
        return _limits(case, index, 1)  # raises the error with the reason
    key = str(path.absolute()), status.st_mtime_ns, status.st_size
    if key not in _known:
        _known[key] = _limits(case, index, 1 + status.st_size // PIECE_BYTES)
    return _known[key]


def _limits(case: CaseData, index: int, pieces: int) -> FileLimits:
    radius, squared, largest = math.inf, 0.0, 0.0
    for piece in range(pieces):
        columns = read_particle_file(case, index, piece, pieces)
        radius = min(radius, float(columns["radius"].min(initial=math.inf)))
        largest = max(largest, float(columns["radius"].max(initial=0.0)))
        squared = max(squared, float(exact_math.inner(columns["velocity"], columns["velocity"]).max(initial=0.0)))
    return FileLimits(radius, math.sqrt(squared), largest)
