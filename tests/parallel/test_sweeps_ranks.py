"""Sweeps and calibrations whose runs are computed by several ranks: the same numbers as alone."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator
from pdem.foundation.errors import CaseError, InputError

SHORT = ["time.end=1e-3"]


def energy(results):
    """Return the kinetic energy at the end, and raise where there is no such run."""
    return {"energy": ("J", results.series["translation"][-1])}


@pytest.mark.ranks(2, timeout=300)
def test_a_sweep_on_ranks_has_the_bits_of_one_alone(ranks, shared_path):
    comm, case = communicator(), pdem.Case.from_text(CLOUD)
    key, more = "domain.gravity", {"measures": {"own": energy}, "settings": SHORT}
    values = {key: [[0.0, 0.0, -9.81], [0.0, 0.0, -3.0]]}
    found = pdem.sweep(case, values, folder=shared_path / "sweep", comm=comm, replicas=2, **more)
    assert [row.state for row in found.table.rows] == ["finished"] * 4
    with pytest.raises(CaseError, match="did you mean 'gravity'"):
        pdem.sweep(case, {"domain.gravty": [1]}, folder=shared_path / "none", comm=comm, **more)
    fit = pdem.calibrate(
        case, {"limits.largest_overlap": {"min": 0.3, "max": 0.6}}, {"energy": (found["energy"][0], 1e-3)},
        {"own": energy}, folder=shared_path / "fit", settings=SHORT, comm=comm,
    )  # fmt: skip
    assert "no target says what it is" in str(fit)
    assert not fit.converged
    with pytest.raises(InputError, match=r"nothing is measured|has no number"):
        pdem.calibrate(
            case, {"limits.largest_overlap": {"min": 0.3, "max": 0.6}}, {"enrgy": (1.0, 1.0)}, {"own": energy},
            folder=shared_path / "fit", settings=SHORT, comm=comm,
        )  # fmt: skip
    if comm.rank == 0:
        alone = pdem.sweep(case, values, folder=shared_path / "alone", replicas=2, threads=1, **more)
        assert alone["energy"].tobytes() == found["energy"].tobytes()
    patient_barrier(comm)
