"""Random fills of any region, sizes and density: all particles without overlap where they should be, or an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.foundation.errors import CaseError
from pdem.particles import random_filling, regions
from pdem.particles.clearance import overlapping_pairs

TEXT = """
time = {{step = 1e-6, end = 1.0}}
domain = {{lower = [0, 0, 0], upper = [1, 1, 1], periodic = {periodic}, dimension = {dimension}}}
materials.grain = {{density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}}
interactions.grain-grain = {{friction = 0.5, restitution = 0.4}}
[[particles]]
material = "grain"
radius = {{distribution = "uniform", min = {small}, max = {large}}}
fill = {{volume_fraction = {fraction}, attempts = 60, seed = {seed}, {region}}}
[[particles]]
material = "grain"
radius = {small}
fill = {{count = {count}, attempts = 60, seed = {seed}}}
"""
REGIONS = (
    "lower = [0.1, 0, 0.2], upper = [0.9, 1, 0.8]",
    'shape = "cylinder", centre = [0.5, 0.5, 0.5], axis = [0, 0, 1], radius = 0.45, length = 1.0',
    'shape = "cylinder", centre = [0.5, 0.5, 0.5], axis = [1, 1, 0], radius = 0.3, length = 0.5',
    'shape = "sphere", centre = [0.5, 0.5, 0.5], radius = 0.5',
    'exclude = [{shape = "sphere", centre = [0.5, 0.5, 0.5], radius = 0.2}]',
)


@pytest.fixture(autouse=True, scope="module")
def impatient():
    """Give up soon: what is found and what is not must be right all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_filling, "MIN_CANDIDATES", 20_000)
        patch.setattr(random_filling, "MIN_WORK", 150_000)
        yield


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    region=st.sampled_from(REGIONS),
    small=st.sampled_from([0.02, 0.03, 0.05]),
    ratio=st.sampled_from([1.01, 2.0, 5.0]),
    fraction=st.floats(0.02, 0.6),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    dimension=st.sampled_from([2, 3]),
    count=st.integers(0, 30),
    seed=st.integers(0, 5),
)
def test_fills_are_whole_and_clear_or_refused(region, small, ratio, fraction, periodic, dimension, count, seed):
    flags = [flag and (axis < dimension) for axis, flag in enumerate(periodic)]
    if dimension == 2 and "axis = [1, 1, 0]" in region:
        region = REGIONS[0]
    text = TEXT.format(
        region=region, small=small, large=min(small * ratio, 0.24), fraction=fraction, dimension=dimension,
        periodic=str(flags).lower(), count=count, seed=seed,
    )  # fmt: skip
    case = Case.from_text(text)
    try:
        particles = initial_particles(case)
    except CaseError as error:
        assert "random places hold about" in str(error) or "gave up at" in str(error)  # noqa: PT017
        return
    position, radius = particles["position"], particles["radius"]
    assert np.isfinite(position).all()
    assert len(overlapping_pairs(position, radius, case.domain)[0]) == 0
    fill = case.particles[0].fill
    free = regions.open_axes(fill, case.domain)
    free[dimension:] = True
    mine = slice(0, len(radius) - count)
    assert regions.contains(fill, position[mine], radius[mine] * (1.0 - 1e-12), free).all()
    for excluded in fill.exclude:
        assert (regions.distance(excluded, position[mine]) >= radius[mine] * (1.0 - 1e-12)).all()
    again = initial_particles(case)
    assert all(particles[name].tobytes() == again[name].tobytes() for name in particles)
