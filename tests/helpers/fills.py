"""Cases whose particles come from fills, and what holds for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.particles.clearance import overlapping_pairs

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1], periodic = PERIODIC}
[materials.other]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[interactions.grain-other]
friction = 0.5
restitution = 0.4
"""
GROUP = '[[particles]]\nmaterial = "grain"\n'


def case_of(*groups: str, periodic: str = "[false, false, false]", directory: Path | str = ".") -> Case:
    text = BASE.replace("PERIODIC", periodic) + "".join(GROUP + group + "\n" for group in groups)
    return Case.from_text(text, directory)


def checked(case: Case) -> dict[str, np.ndarray]:
    """Return the particles after checking what holds for every fill."""
    particles = initial_particles(case)
    pairs, _ = overlapping_pairs(particles["position"], particles["radius"], case.domain)
    assert len(pairs) == 0
    bounded = ~np.asarray(case.domain.periodic)
    bounded[case.domain.dimension :] = False
    position, radius = particles["position"][:, bounded], particles["radius"][:, None]
    assert np.all(position - radius > -1e-9)
    assert np.all(position + radius < 1.0 + 1e-9)
    return particles
