"""Stress, fragments and files of breaking bonds over ranks: the bits of a run alone, and fragments by flooding."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.bonded_blocks import bonded_case, lattice
from helpers.rank_cases import communicator
from pdem.output.compare import compare

MORE = """tensile_strength = {distribution = "weibull", mean = 2e5, modulus = 4.0}
shear_strength = 2.5e5
damping_ratio = 0.05
friction_angle = 20
[decomposition]
method = "slabs"
balance = "always"
[[sensors]]
name = "core"
region = {lower = [-0.003, -0.003, -0.003], upper = [0.003, 0.003, 0.003]}
stress = true
"""

STEP, STEPS = 5e-7, 200


def block(seed=2):
    """Return a block that flies apart."""
    particles = lattice((6, 4, 4), seed=seed, shake=2e-5)
    particles["velocity"][:] = np.random.default_rng(seed).normal(0.0, 1.0, (96, 3))
    particles["velocity"][:, 0] += 150.0 * particles["position"][:, 0]
    return particles


def fragments_by_flooding(ids, pairs):
    """Return the lowest id of the connected particles of each, by flooding from each particle."""
    partners = {one: set() for one in ids}
    for first, second in pairs:
        partners[first].add(second)
        partners[second].add(first)
    labels = {}
    for start in sorted(ids):
        pending = [start]
        while pending:
            one = pending.pop()
            if one not in labels:
                labels[one] = start
                pending += partners[one]
    return labels


@pytest.mark.ranks(1, 2, 3, timeout=900)
def test_readings_of_a_breaking_block(ranks, shared_path):
    """The run is also interrupted and continued: files, series, stress and fragments have the bits of a run alone."""
    comm = communicator()
    folders = [shared_path / name for name in ("shared", "alone")]
    case = bonded_case(MORE, step=STEP).changed(
        [f"time.end={STEPS * STEP}", "output.stress=true", "output.series_every=1e-5", "output.snapshots_every=2e-5",
         "output.contacts_every=2e-5"]
    )  # fmt: skip
    cases = [case.changed([f'output.folder="{folder}"']) for folder in folders]
    run = pdem.Simulation(cases[0], comm, particles=block() if comm.rank == 0 else None)
    run.run()
    stress, fragments, bonds = run.stress(), run.fragments(), run.bonds
    if comm.rank == 0:
        alone = pdem.Simulation(cases[1], particles=block())
        alone.run()
        assert stress.contact.tolist() == alone.stress().contact.tolist()
        same_columns(bonds, alone.bonds)
        results = [pdem.Results(folder) for folder in folders]
        for name in ("particles", "bonds", "contacts"):
            found = compare(*(folder / f"{name}.vtkhdf" for folder in folders))
            assert found.equal, str(found)
        for name in ("fragments.csv", "breaks.csv"):
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
        series = [one.series for one in results]
        for name in ("fragments", "largest_fragment", "contact_stress_xx", "core_contact_stress_yy", "bonds"):
            assert series[0][name].tolist() == series[1][name].tolist()
        check_fragments(results[0], fragments, block())
        same_columns(fragments.table, alone.fragments().table)
    patient_barrier(comm)


def same_columns(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def check_fragments(results, fragments, particles):
    """The fragments at all snapshots are those of the bonds by flooding; those at the end are those of the run."""
    ids = sorted(particles["id"].tolist())
    numbers = []
    for snapshot in results:
        bonds = snapshot.bonds
        labels = fragments_by_flooding(ids, zip(bonds["first"].tolist(), bonds["second"].tolist(), strict=True))
        assert snapshot.fragment.tolist() == [labels[one] for one in snapshot.id.tolist()]
        found = results.fragments(snapshot.time)
        assert sorted(found.fragment.tolist()) == sorted(set(labels.values()))
        np.testing.assert_allclose(found.mass, found.particles * 2500.0 * 4.0 / 3.0 * np.pi * 1e-9, rtol=1e-12)
        np.testing.assert_allclose(found.equivalent_diameter, 2e-3 * found.particles ** (1.0 / 3.0), rtol=1e-12)
        assert (np.diff(found.mass) <= 0.0).all()
        assert len(bonds["first"]) + np.count_nonzero(results.breaks.step <= snapshot.step) == len(
            results[0].bonds["first"]
        )
        numbers.append(len(found))
    assert numbers[0] == 1
    assert numbers[-1] == len(fragments) > 3
    assert results.series["fragments"][-1] == len(fragments)
    assert results.series["largest_fragment"][-1] == fragments.largest_mass
    assert fragments.passing(1.0) == pytest.approx(1.0)
    same_columns(found.table, fragments.table)
    lines = (results.folder / "fragments.csv").read_text().splitlines()
    assert len(lines) == 1 + len(fragments)
    assert float(lines[1].split(",")[2]) == fragments.largest_mass
