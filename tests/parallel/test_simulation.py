"""The same bits on every number of ranks: each run is compared with the same run on one rank."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from pdem.output.checkpoint_folder import latest_checkpoint
from pdem.output.compare import compare as compare_files
from pdem.papers.mixer import drum
from pdem.simulation.run import run
from pdem.simulation.state import gather_groups, local_groups

CLOUD = """
[time]
step = 2e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.12, 0.08, 0.08]
periodic = [true, true, false]
gravity = [0.3, 0.0, -2.0]
[materials.glass]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.glass-glass]
friction = 0.5
restitution = 0.6
rolling_friction = 0.01
[[particles]]
material = "glass"
radius = {distribution = "power-law", exponent = -3.0, min = 0.002, max = 0.012}
fill = {volume_fraction = 0.25, seed = 7}
velocity = {random = 1.0, seed = 3}
[output]
folder = "unused"
"""

DRUM = """
[time]
step = 5e-5
end = 1.0
[domain]
lower = [-0.18, -0.135, -0.135]
upper = [0.18, 0.135, 0.135]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
rolling_friction = 0.001
[interactions.grain-steel]
friction = 0.75
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.01
velocity = {random = 1.0, seed = 1}

[particles.fill]
arrangement = "hexagonal"
count = 150
gap = 0.05
shape = "cylinder"
centre = [0, 0, 0]
axis = [1, 0, 0]
radius = 0.125
length = 0.34

[[walls]]
name = "drum"
mesh = "drum.vtk"
material = "steel"
rotation = {rate = 12.0, axis = [1.0, 0.0, 0.0]}
translation = {velocity = [0.2, 0.0, 0.0]}
[output]
folder = "unused"
"""


def communicator():
    from mpi4py import MPI

    return MPI.COMM_WORLD


def state(simulation):
    return gather_groups(simulation.system, local_groups(simulation.system))


def require_same_bits(found, expected):
    for name, columns in expected.items():
        for key, column in columns.items():
            other = found[name][key]
            assert other.dtype == column.dtype
            assert other.tobytes() == column.tobytes(), f"{name}/{key} differs"


def compare(case, steps, **options):
    """Run on all ranks and alone; the state, the ledger and the wall loads must have the same bits."""
    comm = communicator()
    shared = pdem.Simulation(case, comm, **options)
    shared.advance(steps)
    found, energies, loads = state(shared), shared.energies(), shared.wall_loads()
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, **options)
        alone.advance(steps)
        require_same_bits(found, state(alone))
        assert energies == alone.energies()
        expected = alone.wall_loads()
        assert loads.keys() == expected.keys()
        for wall, load in loads.items():
            assert np.array_equal(load["force"], expected[wall]["force"])
            assert np.array_equal(load["torque"], expected[wall]["torque"])
            assert load["power"] == expected[wall]["power"]
    compare_nodal_forces(shared, alone if comm.rank == 0 else None)
    comm.Barrier()
    return shared


def divided(text, method, balance="auto"):
    """Return a case whose particles are divided like this."""
    return pdem.Case.from_text(f'{text}\n[decomposition]\nmethod = "{method}"\nbalance = "{balance}"\n')


def compare_nodal_forces(shared, alone):
    """The forces on nodes, facets and bodies have the same bits, and those on bodies add up to the walls'."""
    found, loads = shared.nodal_forces(), shared.wall_loads()
    if alone is None:
        assert not found
        return
    expected = alone.nodal_forces()
    assert found.keys() == expected.keys() == loads.keys()
    for wall, columns in found.items():
        for name, column in columns.items():
            assert column.tobytes() == expected[wall][name].tobytes(), f"{wall}/{name} differs"
        for name in ("force", "torque", "power"):
            np.testing.assert_allclose(
                columns[f"body_{name}"].sum(axis=0), loads[wall][name], rtol=1e-9, atol=1e-12
            )


@pytest.mark.ranks(1, 2, 3, 4, 8, timeout=240)
def test_polydisperse_cloud(ranks):
    simulation = compare(divided(CLOUD, "bisection"), 300)
    assert simulation.system.detections >= 3
    assert simulation.energies()["sliding"] > 0.0


@pytest.mark.ranks(3, 8, timeout=240)
def test_polydisperse_cloud_divided_anew_at_every_detection(ranks):
    simulation = compare(divided(CLOUD, "slabs" if ranks == 3 else "bisection", "always"), 300)
    assert simulation.system.divisions >= 3


@pytest.mark.ranks(1, 2, 3, 4, 8, timeout=240)
def test_moving_drum(ranks):
    simulation = compare(divided(DRUM, "slabs"), 250, meshes=[drum()])
    assert simulation.measures().wall_contacts > 0


@pytest.mark.ranks(4, timeout=240)
def test_moving_drum_in_boxes_divided_anew_at_every_detection(ranks):
    simulation = compare(divided(DRUM, "bisection", "always"), 400, meshes=[drum()])
    assert simulation.measures().wall_contacts > 0
    assert simulation.system.divisions >= 3


@pytest.mark.ranks(3, timeout=240)
def test_large_meshes_by_blocks(ranks, monkeypatch):
    """Ranks move only the facets near their own particles; rank 0 shares out the forces of all."""
    monkeypatch.setattr("pdem.detection.facets.LARGE", 10)
    compare(pdem.Case.from_text(DRUM), 200, meshes=[drum()])


@pytest.mark.ranks(2, 3, timeout=240)
def test_restart_on_another_number_of_ranks(ranks):
    comm = communicator()
    case = pdem.Case.from_text(DRUM)
    first = pdem.Simulation(case, comm, meshes=[drum()])
    first.advance(150)
    middle = state(first)
    first.advance(150)
    through = state(first)
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, meshes=[drum()], state=middle)
        require_same_bits(state(alone), middle)
        alone.advance(150)
        require_same_bits(state(alone), through)
    comm.Barrier()
    again = pdem.Simulation(case, comm, meshes=[drum()], state=comm.bcast(middle))
    again.advance(150)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, through)
    comm.Barrier()


@pytest.mark.ranks(4, 8, timeout=240)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_more_ranks_than_particles(ranks, count):
    positions = [[0.02 + 0.03 * k, 0.04, 0.04] for k in range(count)]
    text = CLOUD.split("[[particles]]")[0] + '[output]\nfolder = "unused"\n'
    if count:
        text += f'[[particles]]\nmaterial = "glass"\nradius = 0.01\npositions = {positions}\nvelocity = [1, 0, 0]\n'
    simulation = compare(pdem.Case.from_text(text), 60)
    assert simulation.measures().particles == count


@pytest.mark.ranks(3, timeout=240)
def test_blow_up_is_the_same_on_all_ranks(ranks):
    text = CLOUD.replace("random = 1.0", "random = 900.0")
    simulation = pdem.Simulation(pdem.Case.from_text(text), communicator())
    with pytest.raises(pdem.PdemError, match=r"step \d+ .*particle \d+") as caught:
        simulation.advance(50)
    assert len(set(communicator().allgather(str(caught.value)))) == 1


@pytest.mark.ranks(1, 2, 3, 4, timeout=240)
def test_particles_come_and_go(ranks):
    """Some leave the box by themselves, some are taken out, some are put in."""
    case = pdem.Case.from_text(CLOUD.replace("gravity", 'outside = "remove"\ngravity'))
    comm = communicator()

    def played(communicator):
        run = pdem.Simulation(case, communicator)
        run.advance(500)
        run.remove([0, 2, 4])
        ids = run.insert(
            [[0.01, 0.02, 0.004], [0.1, 0.06, 0.076]], [0.001, 0.0015], "glass", velocity=[0, 0.1, 0]
        )
        run.advance(300)
        return state(run), run.energies(), ids.tolist(), run.system.skins.radii.tolist()

    found = played(comm)
    if comm.rank == 0:
        expected = played(None)
        require_same_bits(found[0], expected[0])
        assert found[1:] == expected[1:]
        assert len(found[0]["particles"]["id"]) < found[2][0] - 20
        assert found[1]["outflow"] != 0.0
    comm.Barrier()


@pytest.mark.ranks(3, timeout=240)
def test_files_of_a_run_hold_the_same_bits(ranks, shared_path, monkeypatch):
    """Snapshots and checkpoints, which all ranks write, and a restart from them on another number of ranks."""
    monkeypatch.setattr("pdem.output.parallel_hdf5.BLOCK_ROWS", 16)
    comm = communicator()

    def played(name, communicator, end, state=None):
        case = pdem.Case.from_text(DRUM)
        for setting in (f"time.end={end}", "output.fields_every=6e-3", "output.checkpoint_every=6e-3"):
            case.override(setting)
        case.override(f"output.folder={shared_path / name}")
        run(pdem.Simulation(case, communicator, meshes=[drum()], state=state), quiet=True)
        comm.Barrier() if communicator else None

    played("together", comm, 18e-3)
    if comm.rank == 0:
        played("alone", None, 12e-3)
        first = latest_checkpoint(shared_path / "alone").groups
        assert len(first["wall_contacts"]["id"]) > 0
    played("alone", comm, 18e-3, first if comm.rank == 0 else None)
    if comm.rank == 0:
        played("one", None, 18e-3)
        for name in (
            "particles.vtkhdf",
            "walls.vtkhdf",
            "checkpoint-000000240.h5",
            "checkpoint-000000360.h5",
        ):
            for folder in ("together", "alone"):
                found = compare_files(shared_path / folder / name, shared_path / "one" / name)
                assert found.equal, str(found)
    comm.Barrier()
