"""Breakage: the same bits on all ranks and threads, after a restart at any step, and in all kinds of cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.breaking_cases import FLOOR, RADIUS, case_of, events_of, feature_of, group, oedometer_case
from helpers.rank_cases import CLOUD, DRUM, communicator, compare, compare_restart, divided, require_same_bits, state
from pdem.case.example_meshes.mixer import drum
from pdem.foundation.errors import CaseError

BREAKAGE = """
[materials.grain.breakage]
model = "tavares"
fracture_energy = 0.02
size = 0.02
exponent = 1.0
spread = 0.8
damage = 5.0
smallest = 0.0025
"""

BREAKING_DRUM = DRUM.replace("rolling_friction = 0.001\n", "") + BREAKAGE

BREAKING_CLOUD = (
    CLOUD.replace("glass", "grain").replace("rolling_friction = 0.01\n", "").replace("random = 1.0", "random = 1.5")
)

THERMAL = "conductivity = 50.0\nheat_capacity = 500.0\ncontact_modulus = 1e10\n"

EVERYTHING = (
    BREAKING_CLOUD.replace("poisson_ratio = 0.25\n", f"poisson_ratio = 0.25\n{THERMAL}").replace(
        'folder = "unused"',
        'folder = "unused"\ncontact_ends = true\ncollision_energies = {lowest = 1e-9, highest = 10.0}',
    )
    + """
[heat]
temperature = 400.0
every = 2e-4
[[insertions]]
name = "feed"
material = "grain"
radius = 0.006
temperature = 300.0
region = {lower = [0.0, 0.0, 0.06], upper = [0.12, 0.08, 0.08]}
count_rate = 1000
count = 5
every = 4e-4
velocity = [0.0, 0.0, -4.0]
[[sensors]]
name = "outlet"
region = {lower = [0.0, 0.0, 0.0], upper = [0.12, 0.08, 0.01]}
remove = true
every = 2e-4
[[sensors]]
name = "middle"
region = {lower = [0.03, 0.02, 0.02], upper = [0.09, 0.06, 0.06]}
every = 2e-4
[[walls]]
name = "floor"
shape = "plane"
material = "grain"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
"""
)


def require_same_events(run, alone):
    """The broken particles, totals and columns of the series of two runs are the same; `alone` is None elsewhere."""
    values = {name: getattr(feature_of(run), name) for name in ("broken", "fragments")}
    series, events = feature_of(run).values(run.system, None), feature_of(run).events.collected(run.system.exchange)
    if alone is None:
        return
    assert values == {name: getattr(feature_of(alone), name) for name in values}
    assert series == feature_of(alone).values(alone.system, None)
    for name, column in events_of(alone).items():
        assert column.tobytes() == events[name].tobytes(), name


def compare_chunks(case, chunks, **options):
    """Run on all ranks in some chunks, and alone in one; the states and events must have the same bits."""
    comm = communicator()
    run = pdem.Simulation(case, comm, **options)
    for steps in chunks:
        run.advance(steps)
    found, alone = state(run), None
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, **options)
        alone.advance(sum(chunks))
        require_same_bits(found, state(alone))
    patient_barrier(comm)
    require_same_events(run, alone)
    return run


@pytest.mark.ranks(1, 2, 3, 4, slow=(8,), timeout=600)
def test_a_drum_whose_particles_break(ranks):
    """Across cuts that move, in a drum that turns, by contacts on both sides of cuts and with the drum."""
    case = divided(BREAKING_DRUM, "bisection" if ranks % 2 else "slabs", "always")
    run = compare(case, 500, meshes=[drum()])
    assert feature_of(run).broken > 100


@pytest.mark.ranks(1, 2, 3, timeout=600)
def test_steps_in_any_chunks(ranks):
    """Replacements fall on ends of calls, and long before and after them."""
    case = divided(BREAKING_DRUM, "slabs", "always")
    run = compare_chunks(case, (1, 2, 3, 20, 1, 1, 1, 1, 5, 100, 65), meshes=[drum()])
    assert feature_of(run).broken > 90


@pytest.mark.ranks(2, 3, timeout=600)
def test_a_drum_whose_particles_break_continues_on_another_number_of_ranks(ranks):
    states = compare_restart(divided(BREAKING_DRUM, "slabs"), 300, 200, meshes=[drum()])
    if states is not None:
        assert 0 < len(states[0]["broken_particles"]["id"]) < len(states[1]["broken_particles"]["id"])


@pytest.mark.ranks(1, 2, 4, timeout=600)
def test_spheres_of_very_different_sizes_in_a_periodic_box(ranks):
    run = compare(divided(BREAKING_CLOUD + BREAKAGE, "bisection", "always"), 600)
    assert feature_of(run).broken > 20


@pytest.mark.parametrize("every", [None, 1.4e-4])
@pytest.mark.ranks(1, 2, timeout=900)
def test_a_restart_at_any_step(ranks, every):
    """Also between the strength and the replacement, which may be several steps later."""
    comm, limits = communicator(), "" if every is None else f"\n[breakage]\nevery = {every}\n"
    case = divided(BREAKING_CLOUD + BREAKAGE + limits, "slabs")
    run, states = pdem.Simulation(case, comm), {}
    for step in range(1, 81):
        run.advance(1)
        states[step] = state(run)
    steps = feature_of(run).events.collected(run.system.exchange)
    if comm.rank == 0:
        assert len(set(steps["step"].tolist())) > 3
        for step in range(24, 70):
            again = pdem.Simulation(case, None, state=states[step])
            require_same_bits(state(again), states[step])
            again.advance(10)
            require_same_bits(state(again), states[step + 10])
    patient_barrier(comm)


def test_two_threads_have_the_bits_of_one():
    case = divided(BREAKING_CLOUD + BREAKAGE, "slabs")
    runs = [pdem.Simulation(case, None, threads=number) for number in (1, 2)]
    for run in runs:
        run.advance(400)
    require_same_bits(state(runs[1]), state(runs[0]))
    assert feature_of(runs[0]).broken > 30


@pytest.mark.ranks(1, 2, 3, timeout=600)
def test_a_plate_that_crushes_a_bed(ranks):
    run = compare(oedometer_case(more={"decomposition": {"method": "slabs", "balance": "always"}}), 9000)
    assert feature_of(run).broken > 15


@pytest.mark.ranks(1, 2, timeout=600)
def test_a_case_of_two_dimensions(ranks):
    text = BREAKING_CLOUD.replace("gravity = [0.3, 0.0, -2.0]", "gravity = [0.3, -2.0, 0.0]\ndimension = 2")
    text = text.replace("upper = [0.12, 0.08, 0.08]", "upper = [0.4, 0.3, 0.08]").replace("0.25, seed", "0.4, seed")
    run = compare(divided(text + BREAKAGE, "slabs", "always"), 600)
    columns = run.gather()
    assert feature_of(run).broken > 3
    if columns is not None:
        assert len(np.unique(columns["position"][columns["generation"] > 0, 2])) == 1
        assert not columns["angular_velocity"][:, :2].any()


@pytest.mark.ranks(1, 2, timeout=600)
def test_a_box_that_deforms(ranks):
    deformation = """
[domain.deformation]
shear = {velocity_along = "x", gradient_along = "y", rate = 60.0}
z = {strain_rate = -20.0}
"""
    text = BREAKING_CLOUD.replace(
        "periodic = [true, true, false]\ngravity = [0.3, 0.0, -2.0]", "periodic = [true, true, true]"
    )
    run = compare(divided(text + deformation + BREAKAGE, "slabs", "always"), 400)
    assert feature_of(run).broken > 10


@pytest.mark.compiles
@pytest.mark.ranks(1, 2, 3, timeout=900)
def test_breakage_beside_other_features(ranks):
    """Heat, inlets and outlets, sensors, ends of contacts and energies of collisions; all heat is accounted for."""
    run = compare(divided(EVERYTHING + BREAKAGE, "bisection" if ranks == 3 else "slabs", "always"), 400)
    columns, energies = run.gather(), run.energies()
    assert feature_of(run).broken > 30
    if columns is None:
        return
    (heat,) = (one for one in run.system.features if one.name == "heat")
    assert energies["heat"] == float(sum(map(Fraction, heat.particle_energies(run.system, columns)["heat"].tolist())))
    cold = columns["temperature"] < 305.0
    assert np.any(cold & (columns["generation"] > 0))
    assert np.any(~cold & (columns["generation"] > 0))


@pytest.mark.ranks(1, 2, timeout=600)
def test_a_run_with_breakage_is_replayed(ranks, shared_path):
    comm = communicator()
    case = pdem.Case.from_text(BREAKING_CLOUD + BREAKAGE)
    for setting in (f"output.folder={shared_path / 'run'}", "time.end=4e-3", "output.checkpoint_every=1e-3"):
        case.override(setting)
    pdem.Simulation(case, comm).run()
    done = pdem.replay(shared_path / "run", 1.5e-3, 3.5e-3, output=shared_path / "again", comm=comm)
    assert done.proved, str(done)
    if comm.rank == 0:
        assert pdem.replay(shared_path / "run", 0.5e-3, 3e-3, output=shared_path / "alone").proved
    patient_barrier(comm)


@pytest.mark.ranks(1, 2, timeout=300)
def test_a_function_that_fails_at_a_replacement_stops_all_ranks(ranks, shared_path):
    """It is called for the fragments on the first rank only; the others must not wait for ever."""
    comm = communicator()
    if comm.rank == 0:
        text = "def law(radius, share):\n    assert (radius > 0.0045).all()\n    return 100.0 + 0.0 * radius\n"
        (shared_path / "laws.py").write_text(text)
    comm.Barrier()
    own = {"model": "python:laws.py:law", "smallest": RADIUS / 8.0}
    grains = group([[4.0 * RADIUS * k, 0.0, 1.001 * RADIUS] for k in range(8)], velocity=(0.0, 0.0, -20.0))
    run = pdem.Simulation(case_of(shared_path, breakage=own, particles=[grains], walls=[FLOOR]), comm)
    with pytest.raises(CaseError, match=r'"python:laws\.py:law" failed: AssertionError'):
        run.advance(400)
