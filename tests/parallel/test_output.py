"""Files that ranks write together have the same bytes as those one process writes, or none of them is there."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest

from decomposition.exchange import RankExchange
from decomposition.mpi import describe
from helpers.small_disks import largest_file
from pdem.containers.global_order import order_of
from pdem.foundation.errors import CheckpointError
from pdem.foundation.fields import state_fields, written_fields
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint, write_tables
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.content_digest import content_digest
from pdem.output.hdf5 import parallel_hdf5
from pdem.output.hdf5.parallel_hdf5 import RowTable
from pdem.output.snapshots.snapshot_files import ParticleSnapshots

RANKS = (1, 2, 3, 4, 8)
ATTRIBUTES = {"case": "title = 'Mühle'\n", "time": 0.5}
LIMIT = 30_000


@pytest.fixture
def exchange(communicator):
    return RankExchange(describe(communicator), (0, 0, 0), (1, 1, 1), (False,) * 3)


def particles(count, seed, fields=None):
    """Return all particles by id, of which some numbers are missing."""
    random = np.random.default_rng(seed)
    columns = {
        field.name: (1e3 * random.normal(size=(count, *field.shape))).astype(field.dtype)
        for field in fields or state_fields()
    }
    return columns | {"id": np.sort(random.choice(3 * count + 1, count, replace=False)).astype(np.int64)}


def contacts(count, ids, seed):
    """Return contacts by the ids of both."""
    random = np.random.default_rng(seed)
    pairs = np.unique(random.choice(ids, (count, 2)), axis=0) if len(ids) else np.empty((0, 2), np.int64)
    return {"lower": pairs[:, 0], "higher": pairs[:, 1], "history": random.normal(size=(len(pairs), 3))}


def wall_contacts(count, ids, seed):
    """Return contacts by id, several of one particle in an order of their own."""
    random = np.random.default_rng(seed)
    owner = np.sort(random.choice(ids, count)) if len(ids) else np.empty(0, np.int64)
    return {
        "id": owner,
        "kind": random.integers(0, 3, len(owner)).astype(np.int8),
        "feature": random.permutation(owner),
    }


def scattered(columns, key, exchange, seed, empty=()):
    """Return this rank's rows: rows of one key are on one rank, in order, but the keys are in any order."""
    random = np.random.default_rng(seed)
    keys, number = np.unique(columns[key], return_inverse=True)
    able = [rank for rank in range(exchange.size) if rank not in empty] or [0]
    owner, place = random.choice(able, len(keys)), random.permutation(len(keys))
    mine = np.flatnonzero(owner[number] == exchange.rank)
    mine = mine[np.argsort(place[number[mine]], kind="stable")]
    return {name: column[mine] for name, column in columns.items()}


def state(count, seed):
    whole = particles(count, seed)
    groups = {"particles": whole, "contacts": contacts(2 * count, whole["id"], seed)}
    groups["wall_contacts"] = wall_contacts(count // 2, whole["id"], seed)
    return groups | {"counters": {"step": np.array(7), "ended": np.arange(12).reshape(3, 4)}, "nothing": {}}


KEYS = {"particles": ("id",), "contacts": ("lower", "higher"), "wall_contacts": ("id",)}


def tables(groups, exchange, seed, empty=()):
    found = {}
    for name, columns in groups.items():
        if name in KEYS:
            mine = scattered(columns, KEYS[name][0], exchange, seed, empty)
            rows = exchange.in_order([mine[key] for key in KEYS[name]], parallel_hdf5.BLOCK_ROWS)
            found[name] = RowTable(mine, rows)
        else:
            found[name] = RowTable(columns)
    return found


def agreed_error(communicator, work, match):
    """Require that `work` fails on all ranks with the same words."""
    with pytest.raises(CheckpointError, match=match) as caught:
        work()
    assert len(set(communicator.allgather(str(caught.value)))) == 1
    assert "\n" not in str(caught.value)


def keys_of(kind, rank, ranks, random):
    """Return keys of some rows of this rank."""
    count = int(random.integers(0, 300)) if kind != "on one rank" or rank == ranks - 1 else 0
    if kind == "unique":
        return [ranks * random.permutation(count) + rank]
    if kind == "one":
        return [np.full(count, 5)]
    if kind == "huge":
        return [random.integers(-(2**62), 2**62, count), random.integers(0, 9, count)]
    first = random.integers(-50, 50, count)
    return [first, random.integers(0, 9, count)] if kind == "pairs" else [first]


@pytest.mark.ranks(*RANKS)
def test_rows_get_into_order_and_nobody_has_all(exchange, communicator, ranks):
    for seed, kind in enumerate(2 * ("unique", "repeated", "one", "huge", "pairs", "on one rank")):
        random = np.random.default_rng([seed, exchange.rank])
        keys = keys_of(kind, exchange.rank, ranks, random)
        block = (1, 16, 2, 1000)[seed % 4]
        rows = exchange.in_order(keys, block)
        column = random.normal(size=(len(keys[0]), 3))
        found, whole = rows.take(column), communicator.allgather((keys, column))
        order = np.lexsort([np.concatenate([part[k] for part, _ in whole]) for k in reversed(range(len(keys)))])
        expected = np.concatenate([values for _, values in whole])[order]
        assert rows.total == len(expected)
        assert np.array_equal(found, expected[rows.begin : rows.begin + len(found)]), kind
        sizes = communicator.allgather(len(found))
        assert sum(sizes) == len(expected)
        assert rows.begin == sum(sizes[: exchange.rank])
        assert rows.begin % block == 0 or not len(found)
        assert max(sizes) <= block * (-(-len(expected) // (block * ranks))), kind


@pytest.mark.ranks(1, 3, slow=(2, 4, 8))
def test_checkpoints_have_the_bytes_of_one_writer(exchange, shared_path, monkeypatch, ranks):
    one, many = shared_path / "one.h5", shared_path / "many.h5"
    nobody, first, others = (), (0,), tuple(range(1, ranks))
    for count, block, empty in (
        (0, 8, nobody), (1, 8, first), (2, 8, nobody), (37, 8, others), (1000, 8, nobody), (999, 1 << 15, first)
    ):  # fmt: skip
        monkeypatch.setattr(parallel_hdf5, "BLOCK_ROWS", block)
        groups = state(count, count)
        if exchange.rank == 0:
            write_checkpoint(one, groups, ATTRIBUTES)
        content = write_tables(many, tables(groups, exchange, count, empty), ATTRIBUTES, exchange).content
        assert many.read_bytes() == exchange.share(one.read_bytes() if exchange.rank == 0 else None)
        if exchange.rank == 0:
            assert content == content_digest(groups, ATTRIBUTES)
            found = read_checkpoint(many)
            for group, columns in groups.items():
                for name, column in columns.items():
                    assert found.groups[group][name].tobytes() == column.tobytes()
            assert sorted(path.name for path in shared_path.iterdir()) == ["many.h5", "one.h5"]


@pytest.mark.ranks(1, 3, slow=(2, 4, 8))
def test_snapshots_have_the_bytes_of_one_writer(exchange, shared_path):
    one, many = shared_path / "one.vtkhdf", shared_path / "many.vtkhdf"
    fields = written_fields()
    alone = ParticleSnapshots(one, attributes=ATTRIBUTES) if exchange.rank == 0 else None
    together = ParticleSnapshots(many, attributes=ATTRIBUTES, ranks=exchange)
    for step, count in enumerate((100, 100, 1, 0, 777, 2, 100, 0)):
        whole = particles(count, step, fields)
        mine = scattered(whole, "id", exchange, step, empty=(1,) if step % 2 else ())
        together.write(0.1 * step, step, mine, exchange.in_order([mine["id"]]))
        if alone is not None:
            alone.write(0.1 * step, step, whole)
            assert many.read_bytes() == one.read_bytes()
        exchange.share(None)


@pytest.mark.ranks(3, slow=(2,))
def test_ranks_on_several_nodes_find_the_file_closed_when_they_write(exchange, shared_path, monkeypatch):
    """What one node has written may be in no cache of another's."""
    monkeypatch.setattr(exchange, "on_one_node", False)
    path, expected = shared_path / "p.vtkhdf", shared_path / "expected.vtkhdf"
    series = ParticleSnapshots(path, ranks=exchange)
    alone = ParticleSnapshots(expected)
    for step, count in enumerate((100, 1, 0, 777, 100)):
        whole = particles(count, step, written_fields())
        mine = scattered(whole, "id", exchange, step)
        series.write(float(step), step, mine, exchange.in_order([mine["id"]]))
        assert series._writer is None
        if exchange.rank == 0:
            alone.write(float(step), step, whole)
            assert_same_steps(path, expected)
        exchange.share(None)


@pytest.mark.ranks(3, slow=(2,))
def test_a_disk_full_for_one_rank_ends_all_and_keeps_the_file_before(
    exchange, communicator, shared_path, monkeypatch, ranks
):
    monkeypatch.setattr(parallel_hdf5, "BLOCK_ROWS", 8)
    folder = CheckpointFolder(shared_path)
    groups = state(1000, 1)
    older, _ = folder.write_tables(5, tables(groups, exchange, 1), ATTRIBUTES, exchange)
    before = older.read_bytes()
    for full in range(ranks):
        with largest_file(LIMIT if exchange.rank == full else resource.RLIM_INFINITY):
            agreed_error(
                communicator,
                lambda: folder.write_tables(6, tables(groups, exchange, 2), ATTRIBUTES, exchange),
                "one before is untouched; free space",
            )
        assert older.read_bytes() == before
        assert exchange.share([path.name for path in shared_path.iterdir()]) == [older.name]
    newer, _ = folder.write_tables(6, tables(groups, exchange, 3), ATTRIBUTES, exchange)
    assert folder.latest().path == newer


@pytest.mark.ranks(3, slow=(2,))
def test_snapshots_before_stay_when_the_disk_is_full_for_one_rank(exchange, communicator, shared_path, ranks):
    path, expected = shared_path / "p.vtkhdf", shared_path / "expected.vtkhdf"
    series = ParticleSnapshots(path, ranks=exchange)

    def write(step):
        mine = scattered(particles(1000, step, written_fields()), "id", exchange, step)
        series.write(float(step), step, mine, exchange.in_order([mine["id"]]))

    write(0)
    for full in range(ranks):
        with largest_file(LIMIT if exchange.rank == full else resource.RLIM_INFINITY):
            agreed_error(communicator, lambda: write(1), "snapshots before are untouched; free space")
    write(1)
    if exchange.rank == 0:
        alone = ParticleSnapshots(expected)
        for step in range(2):
            alone.write(float(step), step, particles(1000, step, written_fields()))
        assert_same_steps(path, expected)
    exchange.share(None)


def assert_same_steps(path, expected):
    from pdem.output.snapshots import vtkhdf

    assert vtkhdf.read_times(path).tolist() == vtkhdf.read_times(expected).tolist()
    for index in range(len(vtkhdf.read_times(path))):
        one, other = vtkhdf.read_step(path, index), vtkhdf.read_step(expected, index)
        assert one.points.tobytes() == other.points.tobytes()
        for name, column in other.point_data.items():
            assert one.point_data[name].tobytes() == column.tobytes()


@pytest.mark.ranks(2)
def test_a_folder_that_cannot_be_made_ends_all(exchange, communicator, shared_path):
    if exchange.rank == 0:
        (shared_path / "file").touch()
    exchange.share(None)
    groups = state(10, 1)
    path = shared_path / "file" / "c.h5"
    agreed_error(
        communicator, lambda: write_tables(path, tables(groups, exchange, 1), ATTRIBUTES, exchange), r"file/c\.h5"
    )
    agreed_error(
        communicator,
        lambda: ParticleSnapshots(path, (), ranks=exchange).write(0.0, 0, {"position": np.zeros((0, 3))}),
        r"file/c\.h5",
    )


@pytest.mark.ranks(3)
def test_what_one_rank_wrote_wrongly_is_found(exchange, communicator, shared_path, monkeypatch):
    """A block that never reached the disk, or reached another place, is not what its check says."""
    monkeypatch.setattr(parallel_hdf5, "BLOCK_ROWS", 8)
    path, groups = shared_path / "c.h5", state(300, 2)
    write = os.pwrite
    with monkeypatch.context() as patch:
        if exchange.rank == 2:
            patch.setattr(os, "pwrite", lambda file, data, offset: write(file, bytes(len(data)), offset))
        write_tables(path, tables(groups, exchange, 2), ATTRIBUTES, exchange)
    with pytest.raises(CheckpointError, match="altered, a check of"):
        read_checkpoint(Path(path))
    communicator.Barrier()


def test_order_of_equal_keys_is_kept():
    for seed in range(200):
        random = np.random.default_rng(seed)
        count, width = random.integers(0, 60), random.choice([3, 100, 2**40, 2**62])
        keys = [random.integers(-width, width, count) for _ in range(random.integers(1, 4))]
        assert np.array_equal(order_of(keys), np.lexsort(keys[::-1])), seed
