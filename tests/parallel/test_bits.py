"""The promise of equal bits: a part of the study that `pdem verify bits` makes, in which every value of every axis
occurs with every case; and the whole of it among the slow tests.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from decomposition.mpi import patient_barrier
from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import BEGIN_PREFIX, CheckpointFolder
from pdem.output.compare import compare
from pdem.verification import bits
from pdem.verification.bits import BALANCES, METHODS, RANKS, THREADS, VariantTable
from pdem.verification.bits_variants import RunCounts, Variant, run_plan, run_variant, write_plan
from pdem.verification.study import Notebook

SMALLER = {
    "h2_mixer": (40, ("particles.0.fill.count=300", "particles.0.velocity={random=2.0, seed=1}")),
    "shear_box": (
        40,
        (
            "particles.0.radius.min=0.002", "particles.0.fill.volume_fraction=0.3",
            "particles.0.velocity={random=1.0, seed=1}",
        ),
    ),
    "hopper": (200, ("particles.0.fill.count=250",)),
}  # fmt: skip
"""Of each example: steps, and what makes it smaller still and no less lively."""

EXAMPLES = {one.example: one for one in bits.EXAMPLES}


def way(ranks, example):
    """Return the way in which a case is run on so many ranks, and on how many it is continued."""
    number, turn = RANKS.index(ranks), list(EXAMPLES).index(example)
    threads, method = THREADS[(number + turn) % 2], METHODS[(number // 2 + turn) % 2]
    balance = BALANCES[(number // 3 + number + turn) % 2]
    return Variant(ranks, threads, method, balance), max(1, ranks // 2)


def small_case(example, folder, output):
    """Return an example made small, whose files are in a folder."""
    steps, settings = SMALLER[example]
    case = Case.read(folder / f"{example}.toml")
    for setting in EXAMPLES[example]._replace(steps=steps).all_settings() + list(settings):
        case.override(setting)
    case.override(f'output.folder="{folder / output}"')
    return case


def require_same(expected, found):
    for path in found:
        comparison = compare(expected[path.name], path)
        assert comparison.equal, str(comparison)


@pytest.mark.ranks(2, 3, timeout=300)
@pytest.mark.parametrize("example", EXAMPLES)
def test_same_bits(ranks, example, communicator, shared_path):
    check_same_bits(ranks, example, communicator, shared_path)


@pytest.mark.ranks(slow=(8,), timeout=300)
def test_same_bits_on_eight_ranks(ranks, communicator, shared_path):
    check_same_bits(ranks, "hopper", communicator, shared_path)


@pytest.mark.slow
@pytest.mark.ranks(1, 4, 7, 8, timeout=300)
@pytest.mark.parametrize("example", EXAMPLES)
def test_same_bits_on_other_numbers_of_ranks(ranks, example, communicator, shared_path):
    check_same_bits(ranks, example, communicator, shared_path)


def check_same_bits(ranks, example, communicator, shared_path):
    """In the middle and at the end, and at the end of a run that was continued there on half of the ranks."""
    variant, fewer = way(ranks, example)
    comm = None if ranks == 1 else communicator
    first = communicator.rank == 0
    if first:
        write_example(example, shared_path)
        alone = run_variant(small_case(example, shared_path, "alone"), None, Variant(1))
    patient_barrier(communicator)
    counts = run_variant(small_case(example, shared_path, "shared"), comm, variant)
    part = communicator.Split(communicator.rank < fewer)
    middle = CheckpointFolder(shared_path / "shared").paths()[0]
    if communicator.rank < fewer:
        other = Variant(fewer, 3 - variant.threads, METHODS[variant.method == METHODS[0]], "always", ranks)
        run_variant(small_case(example, shared_path, "again"), None if fewer == 1 else part, other, middle)
    patient_barrier(communicator)
    if first:
        expected = {path.name: path for path in CheckpointFolder(shared_path / "alone").paths()}
        shared, again = (CheckpointFolder(shared_path / name).paths() for name in ("shared", "again"))
        assert len(expected) == len(shared) == 2
        again = [path for path in again if not path.name.startswith(BEGIN_PREFIX)]
        assert len(again) == 1
        require_same(expected, shared + again)
        assert alone.contacts == counts.contacts > 0
        assert counts.detections >= 3
        assert (alone.twice, alone.listed_twice) == (0, 0)
        is_cut = variant.balance == "always" and ranks > 1
        assert counts.divisions >= 2 if is_cut else counts.divisions == 0
        assert example != "hopper" or counts.particles < 250
    patient_barrier(communicator)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_value_of_every_axis_occurs_with_every_case(example):
    variants = [way(ranks, example)[0] for ranks in RANKS if ranks > 1]
    for name, values in (("threads", THREADS), ("method", METHODS), ("balance", BALANCES)):
        assert {getattr(variant, name) for variant in variants} == set(values)


@pytest.mark.ranks(4, timeout=300)
def test_contacts_of_two_ranks_are_counted_once(ranks, communicator, shared_path):
    if communicator.rank == 0:
        write_example("h2_mixer", shared_path)
    patient_barrier(communicator)
    case = small_case("h2_mixer", shared_path, "shared")
    counts = run_variant(case, communicator, Variant(ranks, method="slabs"))
    if communicator.rank == 0:
        groups = read_checkpoint(CheckpointFolder(shared_path / "shared").paths()[-1]).groups
        assert counts.contacts == len(groups["contacts"]["lower"])
        assert 0 < counts.twice < counts.contacts
        assert counts.twice <= counts.listed_twice < counts.listed


def test_the_matrix_is_whole():
    variants = bits.all_variants()
    fresh = {variant for variant in variants if not variant.before and variant.ranks > 1}
    assert fresh == {Variant(*one) for one in product(RANKS[1:], THREADS, METHODS, BALANCES)}
    again = {(variant.before, variant.ranks) for variant in variants if variant.before}
    assert again == {(8, 1), (1, 2), (2, 3), (3, 4), (4, 7), (7, 8)}
    batches = list(bits._batches(variants))
    assert sorted(map(repr, variants)) == sorted(repr(variant) for batch in batches for variant in batch)
    done = set()
    for batch in batches:
        assert len({variant.ranks for variant in batch}) == 1
        assert all(variant.before in done for variant in batch if variant.before)
        done.add(batch[0].ranks)


def test_a_bit_that_differs_is_found(tmp_path):
    example = EXAMPLES["hopper"]._replace(steps=6)
    case = next(iter(write_example("hopper", tmp_path / "case")))
    variants = [Variant(1), Variant(1, 2), Variant(1, 2, before=1)]
    write_plan(tmp_path / "plan.json", case, example.all_settings(), variants[:2])
    run_plan(None, tmp_path / "plan.json")
    assert bits._compare_variant(tmp_path, variants[0])[2] == ""
    end = CheckpointFolder(tmp_path / variants[1].folder).paths()[-1]
    held = read_checkpoint(end)
    velocity = held.groups["particles"]["velocity"]
    velocity[7, 1] = np.nextafter(velocity[7, 1], np.inf)
    write_checkpoint(end, held.groups, held.attributes)
    variant, counts, difference = bits._compare_variant(tmp_path, variants[1])
    assert "particles/velocity: 1 of 400 rows differ, first id 7" in difference
    write_plan(tmp_path / "plan.json", case, example.all_settings(), variants[2:])
    run_plan(None, tmp_path / "plan.json")
    table = VariantTable("hopper", [bits._compare_variant(tmp_path, variants[2]), (variant, counts, difference)])
    assert table.failed == 1
    lines = str(table).splitlines()
    assert lines[3].split()[-4:] == ["1", str(table.rows[0][1].detections), "0", "yes"]
    assert lines[4].split()[-1] == "OFF"
    end.unlink()
    assert bits._compare_variant(tmp_path, variants[1])[2] == f"wrote no {end.name}"


def test_what_is_evaluated_twice_is_a_share_of_all():
    counts = RunCounts(100, 200, 20, 400, 100, 5, 0, 10)
    cost = bits._duplicated_work(
        bits.EXAMPLES[0], VariantTable("", [(Variant(1), counts, ""), (Variant(2), counts, "")])
    )
    assert [(one.name.split()[0], one.computed) for one in cost.findings] == [("2", 10.0), ("2", 25.0)]


@pytest.mark.slow
def test_the_whole_study(tmp_path: Path):
    tables = list(bits.run(Notebook(tmp_path)))
    assert [str(one) for one in tables if one.failed] == []
