"""Heat: the same bits on all ranks, and after a restart on others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.bonded_blocks import bonded_case, lattice
from helpers.rank_cases import CLOUD, DRUM, communicator, compare, compare_restart, divided, require_same_bits, state
from pdem.case.example_meshes.mixer import drum

THERMAL = "conductivity = 50.0\nheat_capacity = 500.0\ncontact_modulus = 1e10\nemissivity = 0.8\n"

HEAT = """
[heat]
temperature = 350.0
every = 4e-4
radiation = {to = "neighbours"}
convection = {temperature = 330.0, conductivity = 0.03, velocity = [0.5, 0.0, 0.0]}
"""

WARM_DRUM = (
    DRUM.replace("poisson_ratio = 0.2\n", f"poisson_ratio = 0.2\n{THERMAL}")
    .replace("[materials.steel]\n", f"[materials.steel]\ndensity = 7800.0\n{THERMAL}")
    .replace('mesh = "drum.vtk"\n', 'mesh = "drum.vtk"\ntemperature = 600.0\n')
    + HEAT
)

WARM_CLOUD = CLOUD.replace("poisson_ratio = 0.25\n", f"poisson_ratio = 0.25\n{THERMAL}") + HEAT


def all_heat(run):
    """Return the heat of the particles of all ranks, without rounding; None except on the first rank."""
    columns = run.gather()
    if columns is None:
        return None
    (feature,) = (one for one in run.system.features if one.name == "heat")
    return sum(map(Fraction, feature.particle_energies(run.system, columns)["heat"].tolist()))


@pytest.mark.ranks(1, 2, 3, 4, timeout=400)
def test_a_drum_warms(ranks):
    """Across cuts that move, in a drum that turns, with losses of contacts that end on both sides of cuts."""
    run = compare(divided(WARM_DRUM, "bisection" if ranks % 2 else "slabs", "always"), 240, meshes=[drum()])
    energies = run.energies()
    assert energies["heat_walls"] < 0.0
    assert energies["heat_from_motion"] > 0.0
    if (columns := run.gather()) is not None:
        assert len(np.unique(columns["temperature"])) > 50


@pytest.mark.ranks(2, 3, timeout=400)
def test_a_warm_drum_continues_on_another_number_of_ranks(ranks):
    states = compare_restart(divided(WARM_DRUM, "slabs"), 150, 100, meshes=[drum()])
    if states is not None:
        assert states[0]["heat_of_walls"]["conducted"].any()
        assert (states[0]["particles"]["temperature"] != states[1]["particles"]["temperature"]).any()


@pytest.mark.ranks(1, 2, 4, timeout=400)
def test_spheres_of_very_different_sizes(ranks):
    run = compare(divided(WARM_CLOUD, "bisection", "always"), 150)
    energies = run.energies()
    assert energies["heat_from_motion"] > 0.0
    assert energies["heat_fluid"] > 0.0


SHAPES = """
[shapes.rod]
spheres = [[0.0, 0.0, 0.0, 0.004], [0.004, 0.0, 0.0, 0.004], [0.008, 0.0, 0.0, 0.003]]
"""

FEED = """
[[insertions]]
name = "feed"
material = "glass"
shape = "rod"
temperature = 500.0
region = {lower = [0.02, 0.02, 0.06], upper = [0.10, 0.06, 0.08]}
count_rate = 4000
count = 4
every = 2e-4
[[sensors]]
name = "outlet"
region = {lower = [0.0, 0.0, 0.0], upper = [0.12, 0.08, 0.01]}
remove = true
every = 2e-4
"""


@pytest.mark.ranks(1, 2, 3, timeout=400)
@pytest.mark.parametrize("mode", ["one", "members"])
def test_clusters_come_and_go(ranks, mode):
    """Inserted and removed clusters bring and take their heat; members have one temperature, or each its own."""
    text = WARM_CLOUD.replace("every = 4e-4", f'every = 4e-4\nclusters = "{mode}"')
    fill = "fill = {volume_fraction = 0.1, seed = 7}"
    text = text.replace("fill = {volume_fraction = 0.25, seed = 7}", f'{fill}\nshape = "rod"')
    text = text.replace("min = 0.002, max = 0.012", "min = 0.004, max = 0.007")
    run = compare(divided(text + SHAPES + FEED, "slabs", "always"), 150)
    heat, energies, columns = all_heat(run), run.energies(), run.gather()
    if columns is None:
        return
    spread = [np.ptp(columns["temperature"][columns["cluster"] == one]) for one in np.unique(columns["cluster"])]
    assert (max(spread) > 0.0) == (mode == "members")
    assert columns["temperature"].max() > 400.0
    assert energies["heat"] == float(heat)


@pytest.mark.ranks(1, 2, 3, timeout=500)
def test_bonds_conduct_and_warm_their_ends(ranks):
    """On cuts, while bonds swing and break: what they lose is heat of both ends, on either rank."""
    more = "tensile_strength = 2e5\nshear_strength = 2.5e5\ndamping_ratio = 0.05\n[heat]\nevery = 5e-6\n"
    more += '[decomposition]\nmethod = "slabs"\nbalance = "always"'
    text = bonded_case(more, step=5e-7).to_toml()
    case = pdem.Case.from_text(text.replace("poisson_ratio = 0.25", f"poisson_ratio = 0.25\n{THERMAL}", 1))
    particles = lattice((6, 4, 4), seed=2, shake=2e-5)
    particles["temperature"] = np.where(particles["position"][:, 0] > 0.0, 500.0, 300.0)
    particles["velocity"][:, 0] = 500.0 * particles["position"][:, 0]
    comm = communicator()
    shared = pdem.Simulation(case, comm, particles=particles if comm.rank == 0 else None)
    shared.advance(200)
    found, energies = state(shared), shared.energies()
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, particles=particles)
        alone.advance(200)
        require_same_bits(found, state(alone))
        assert energies == alone.energies()
        assert energies["bond_fracture"] > 0.0
        lost = sum(energies[name] for name in ("bond_fracture", "bond_damping", "normal_damping", "sliding"))
        assert energies["heat_from_motion"] == pytest.approx(lost, rel=0.05)
    patient_barrier(comm)
