"""Tests under mpirun from one plain `pytest`.

A test marked `@pytest.mark.ranks(1, 2, slow=(4,))` is collected once per rank count, and on 4 ranks is a slow test. All
that run on the same number of ranks share one mpirun, because starting one costs seconds: the `parent` side starts it,
the `child` side is pytest again, in every rank, and reports each test through a file as soon as it is over. A rank that
fails, crashes or hangs ends that mpirun; what had not run yet goes on in a new one. So each test passes or fails for
itself alone.

All other tests are shared by two processes if there are many of them, see `beside`; ranks have the machine for
themselves.

The same tests also run under an outer mpirun, with pytest-mpi:
`mpirun -n 2 pytest --with-mpi tests/parallel`.
"""

from __future__ import annotations

import os

RANKS_VARIABLE = "PDEM_TEST_RANKS"
FOLDER_VARIABLE = "PDEM_TEST_FOLDER"
BESIDE_VARIABLE = "PDEM_TEST_BESIDE"
WAITING_RANKS_YIELD = "MPIR_CVAR_ENABLE_HEAVY_YIELD"
DEFAULT_TIMEOUT = 180.0  # s; generous, because on a new machine the first test also compiles kernels


def time_limit(item) -> float:
    """Return the seconds the test `item` may take; tests give those for two cores, and ranks share what there is."""
    given = float(item.get_closest_marker("ranks").kwargs.get("timeout", DEFAULT_TIMEOUT))
    return given * max(1.0, 2.0 / len(os.sched_getaffinity(0)))
