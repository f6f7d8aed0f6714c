"""How fast cases forget: growth of differences of two sizes, what does not grow, and radii of repetitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.cases import Grains, make_case
from helpers.everything import STEP, case_in
from pdem.case.groups.initial import initial_particles
from pdem.features.insertions.feature import Insertions
from pdem.foundation.errors import CaseError, InputError
from pdem.particles.perturbed_radii import radius_factors

pytestmark = pytest.mark.compiles


def gas(folder, count=4, speed=1.0):
    """Return a case of elastic spheres in a periodic box, `count` along each axis."""
    places = np.stack(np.meshgrid(*[np.arange(count) + 0.5] * 3, indexing="ij"), -1).reshape(-1, 3) * 0.03
    random = np.random.default_rng(1).normal(size=places.shape)
    grains = Grains(places, 0.01, velocity=speed * (random - random.mean(axis=0)))
    side = (0.03 * max(count, 2),) * 3
    return make_case(folder, grains, lower=(0.0,) * 3, upper=side, periodic=(True,) * 3, step=2e-5, end=0.3)


def test_differences_of_collisions_grow_alike_from_any_size(tmp_path):
    """From a difference that is a million times larger it takes ln(1e6) over the rate less to come a radius apart."""
    case = gas(tmp_path)
    small, large = (pdem.forgetting(case, size=size, threads=1) for size in (1e-13, 1e-7))
    assert small.rate > 0.0
    assert large.rate == pytest.approx(small.rate, rel=0.3)
    times = [one.time_to_radius() for one in (small, large)]
    assert times[0] - times[1] == pytest.approx(math.log(1e6) / small.rate, rel=0.3)
    assert "a radius apart after" in str(small)
    assert "a radius apart in the mean" in small.note
    small.write(tmp_path / "growth.csv")
    rows = np.loadtxt(tmp_path / "growth.csv", delimiter=",", skiprows=1)
    assert rows[:, 3] == pytest.approx(small.largest, rel=1e-8)
    small.write(tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(InputError, match="no such picture format"):
        small.write(tmp_path / "growth.doc")


def test_what_touches_nothing_forgets_nothing(tmp_path):
    found = pdem.forgetting(gas(tmp_path, 1), size=1e-6, end=0.01, threads=1)
    assert found.largest.max() == 0.0
    assert math.isnan(found.rate)
    assert "do not grow" in str(found)
    assert "nothing came a radius apart" in str(found)


def test_a_run_with_everything_from_a_time_on(tmp_path):
    """Clusters and what comes in are compared as well, from a checkpoint of the run."""
    pdem.Simulation(case_in(tmp_path / "run"), threads=1).run()
    found = pdem.forgetting(tmp_path / "run", size=1e-9, begin=410 * STEP, end=600 * STEP, threads=1)
    assert found.begin == pytest.approx(410 * STEP)
    assert found.times[-1] == pytest.approx(600 * STEP)
    assert 0.0 < found.mean[-1] < found.largest[-1] < 1e-3
    with pytest.raises(InputError, match="not within the run"):
        pdem.forgetting(tmp_path / "run", begin=1.0)


@pytest.mark.parametrize("size", [0.0, -1e-9, 0.1, math.nan])
def test_sizes_that_are_no_trifle_are_refused(tmp_path, size):
    with pytest.raises(InputError):
        pdem.forgetting(gas(tmp_path, 1), size=size)
    with pytest.raises(CaseError):
        case_in(tmp_path).override(f"perturbation={{size={size}}}")


def test_repetitions_have_radii_that_are_a_trifle_smaller():
    plain = initial_particles(case_in("unused"))
    found = [initial_particles(case_in("unused", f"perturbation={{size=1e-9, seed={seed}}}")) for seed in (1, 1, 2)]
    shares = [1.0 - one["radius"] / plain["radius"] for one in found]
    assert shares[0].tobytes() == shares[1].tobytes()
    assert not np.allclose(shares[0], shares[2], rtol=1e-3, atol=0.0)
    assert shares[0].min() > 0.0
    assert shares[0].max() < 1.0001e-9
    cluster = plain["cluster"]
    for number in np.unique(cluster[cluster > 0]):
        assert np.ptp(shares[0][cluster == number]) < 1e-15, "a cluster keeps its shape"
    spheres = shares[0][cluster == 0]
    assert len(np.unique(spheres)) == len(spheres)
    factors = radius_factors(1e-3, 5, np.arange(10_000))
    assert 1.0 - factors.mean() == pytest.approx(0.5e-3, rel=0.02)


def test_what_comes_in_is_perturbed_as_well():
    runs = [pdem.Simulation(case_in("unused", *more), threads=1) for more in ((), ("perturbation={size=1e-6}",))]
    radii = [run.system.features.get(Insertions).sources[0].radii(np.arange(5)) for run in runs]
    shares = 1.0 - radii[1] / radii[0]
    assert ((shares > 0.0) & (shares < 1.0001e-6)).all()
    assert len(np.unique(shares)) == 5
