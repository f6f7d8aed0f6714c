"""Large meshes lie once in the memory of a node: the same bits as where each rank reads its own, and given back."""

from __future__ import annotations

import ctypes

import numba
import numpy as np
import pytest

import pdem
from decomposition import node_memory
from decomposition.mpi import patient_barrier
from decomposition.node_memory import Held, once_per_node, release
from helpers.tube_case import CASE, end, tube
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.state import gather_groups, local_groups
from pdem.foundation.errors import CaseError, MeshError
from pdem.motion.walls import MovingWalls


def window_of(communicator):
    """Return first and last address of the window made last."""
    memory = node_memory._windows_of(communicator)[-1].memory()
    first = ctypes.addressof(memory)
    return first, first + ctypes.sizeof(memory)


def is_in(array, window):
    return window[0] <= array.ctypes.data < window[1]


def arrays_of(*things):
    """Return all large arrays that some objects hold, each once."""
    found, seen, pending = {}, set(), list(things)
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if one.nbytes >= node_memory.LEAST_BUFFER:
                found[one.ctypes.data] = one
        elif isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, list | tuple):
            pending += one
        elif type(one).__module__.startswith("pdem."):
            pending += vars(one).values()
    return list(found.values())


def made(size):
    return {
        "rows": np.arange(size), "table": np.asfortranarray(np.arange(3.0 * size).reshape(3, size)),
        "marks": np.arange(size) % 3 == 0, "few": np.arange(3), "none": np.zeros(0), "name": "a",
    }  # fmt: skip


@pytest.mark.ranks(1, 2, 3)
def test_what_one_rank_makes_all_have_alike(ranks, communicator):
    calls = []

    def make():
        calls.append(communicator.rank)
        return made(100_000)

    found, held = once_per_node(communicator, make)
    assert len(calls) == (communicator.rank == 0)
    expected = made(100_000)
    assert held == Held(shared=sum(-(-one.nbytes // 64) * 64 for one in list(expected.values())[:3]))
    for name, value in expected.items():
        if name == "name":
            assert found[name] == value
            continue
        assert found[name].tobytes() == value.tobytes()
        assert numba.typeof(found[name]) == numba.typeof(value)  # kernels are not compiled again
        assert is_in(found[name], window_of(communicator)) == (value.nbytes >= node_memory.LEAST_BUFFER)
    communicator.Barrier()  # all have looked
    if communicator.rank == 0:
        found["rows"][7] = -1  # it is the same memory
    communicator.Barrier()
    assert found["rows"][7] == -1


@pytest.mark.ranks(2)
def test_small_things_and_those_without_room_are_copied(ranks, communicator, monkeypatch):
    found, held = once_per_node(communicator, lambda: made(1000))
    assert held == Held(copied=8000 + 24000)  # marks travel with the rest
    assert found["table"].tobytes() == made(1000)["table"].tobytes()
    monkeypatch.setattr(node_memory, "_RESERVE", 1e9)
    found, held = once_per_node(communicator, lambda: made(100_000))
    assert held.shared == 0
    assert held.lacking == held.copied > 3_000_000
    found["rows"][0] = communicator.rank
    communicator.Barrier()
    assert found["rows"][0] == communicator.rank
    assert release(communicator) == 0


@pytest.mark.ranks(2, slow=(3,))
def test_memory_is_given_back_when_no_rank_needs_it(ranks, communicator):
    kept = once_per_node(communicator, lambda: made(50_000))[0]
    part = kept["table"][1:, 5:] if communicator.rank == 1 else None
    del kept
    for _ in range(12):
        other = once_per_node(communicator, lambda: made(50_000))[0]
        assert len(node_memory._windows_of(communicator)) <= 3
    assert release(communicator) == 2  # one rank still looks at a part of the first
    if part is not None:
        assert part.tobytes() == made(50_000)["table"][1:, 5:].tobytes()
    del part, other
    assert release(communicator) == 0


@pytest.mark.ranks(1, 2, 3)
def test_an_error_of_the_first_is_an_error_of_all(ranks, communicator, tmp_path, monkeypatch):
    reads = []

    def broken():
        raise MeshError("facet 3 has no area")

    with pytest.raises(MeshError, match="facet 3"):
        once_per_node(communicator, broken)
    monkeypatch.setattr(Mesh, "read", classmethod(lambda *_, **__: reads.append(1) or broken()))
    case = pdem.Case.from_text(CASE, str(tmp_path))
    (tmp_path / "tube.ply").touch()
    with pytest.raises(MeshError, match=r"walls\[0\]\.mesh.*facet 3") as caught:
        pdem.Simulation(case, communicator)
    assert len(set(communicator.allgather(str(caught.value)))) == 1
    assert sum(communicator.allgather(len(reads))) == 1
    (tmp_path / "tube.ply").unlink()
    with pytest.raises(CaseError, match="no such file"):
        pdem.Simulation(case, communicator)


def everything(run):
    return gather_groups(run.system, local_groups(run.system)), run.energies(), run.wall_loads()


def require_same(found, expected):
    for group, columns in expected[0].items():
        for name, column in columns.items():
            assert found[0][group][name].tobytes() == column.tobytes(), f"{group}/{name}"
    assert found[1] == expected[1]
    for wall, loads in expected[2].items():
        assert all(np.array_equal(loads[name], found[2][wall][name]) for name in loads)


def run(communicator, meshes, steps):
    simulation = pdem.Simulation(pdem.Case.from_text(CASE), communicator, threads=1, meshes=meshes)
    simulation.advance(steps)
    return simulation


@pytest.mark.ranks(1, 2, 3, slow=(4,), timeout=240)
def test_a_rotating_mesh_across_cuts_has_the_same_bits(ranks, communicator, monkeypatch):
    """Shared, each rank with its own, and one rank alone; what a rank does not watch is not even a number."""
    monkeypatch.setattr("pdem.detection.walls.facets.LARGE", 1000)
    monkeypatch.setattr(node_memory, "LEAST_WINDOW", 1)
    meshes = [tube(30, 60), end(20)] if communicator.rank == 0 else []  # others are given them
    alone = run(None, meshes, 170) if communicator.rank == 0 else None
    patient_barrier(communicator)
    watch = MovingWalls.watch

    def watch_alone(self, facets):
        watch(self, facets)
        vertices, normals = self.vertices.copy(), self.normals.copy()
        self.vertices[:], self.normals[:] = np.nan, np.nan
        for array, values, rows in zip(
            (self.vertices, self.normals), (vertices, normals), self.placed.watched, strict=True
        ):
            array[rows] = values[rows]

    with monkeypatch.context() as patch:
        patch.setattr(MovingWalls, "watch", watch_alone)
        shared = run(communicator, meshes, 170)
    walls = shared.system.contacts.walls.walls
    assert len(node_memory._windows_of(communicator)) == (ranks > 1)
    if ranks > 1:
        assert is_in(walls.mesh.facet_edges, window_of(communicator))
        assert is_in(shared.meshes[0].vertices, window_of(communicator))
        assert not is_in(walls.vertices, window_of(communicator))
    if ranks == 4:
        assert len(walls.placed.watched[1]) < 0.8 * walls.mesh.facet_count
    found, wall_contacts = everything(shared), shared.measures().wall_contacts
    monkeypatch.setattr("pdem.run.simulation.once_per_node", lambda _, make: (make(), ""))
    own = everything(run(communicator, [tube(30, 60), end(20)], 170))
    if alone is not None:
        require_same(found, everything(alone))
        require_same(own, everything(alone))
        assert wall_contacts > 5


@pytest.mark.ranks(2, timeout=240)
def test_ranks_hold_little_of_a_large_mesh_by_themselves(ranks, communicator):
    """Of 200,000 facets the second rank has less than 100 bytes each of its own, and has touched fewer."""
    meshes = [tube(300, 334), end(15)] if communicator.rank == 0 else []
    simulation = run(communicator, meshes, 5)
    walls, window = simulation.system.contacts.walls, window_of(communicator)
    facets = walls.walls.mesh.facet_count
    arrays = arrays_of(walls, simulation.meshes)
    own = sum(one.nbytes for one in arrays if not is_in(one, window))
    shared = sum(one.nbytes for one in arrays if is_in(one, window))
    assert facets > 199_000
    assert shared > 400 * facets
    assert own < 110 * facets
    assert all(is_in(one, window) for one in arrays_of(simulation.meshes, walls.walls.mesh))
    del arrays, walls, simulation
    assert release(communicator) == 0
