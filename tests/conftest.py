"""What all tests share: threads, hypothesis, tests on several ranks and in two processes (see `rank_harness`)."""

from __future__ import annotations

import os
import signal

# Before numba is imported: a pool of two threads, so that tests can compare one thread with two, and one
# thread by default, because the ranks of a test share the cores.
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
os.environ.setdefault("PDEM_THREADS", "1")

import hypothesis
import pytest

from decomposition.launch import launched_ranks
from helpers.planted import plant_measurements, shuffle
from pdem.engine.tuning import thread_tuner
from rank_harness import BESIDE_VARIABLE, RANKS_VARIABLE

# Programs that tests start end by Ctrl-C and with their terminal, also where nohup or a script that runs the tests in
# the background has these signals ignored.
for _number, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _usual)

plant_measurements()

IS_STARTED_BY_HARNESS = RANKS_VARIABLE in os.environ
IS_UNDER_MPIRUN = launched_ranks() > 1 or IS_STARTED_BY_HARNESS

# What is tested with two threads shall run on two, though with few particles one would be faster.
thread_tuner.FIRST_TRIAL = 10**9

# Ranks have to draw the same examples, and a machine shared with others says nothing about speed.
hypothesis.settings.register_profile(
    "pdem",
    deadline=None,
    derandomize=IS_UNDER_MPIRUN or "CI" in os.environ,
    database=None if IS_UNDER_MPIRUN else hypothesis.settings.default.database,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("pdem")


def pytest_addoption(parser):
    parser.addoption(
        "--processes",
        type=int,
        choices=(1, 2),
        help="that share the tests on one rank; by default two if these are many",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if IS_STARTED_BY_HARNESS:
        from rank_harness import child

        child.register(config)
    elif IS_UNDER_MPIRUN:
        from rank_harness.child import KeepTogether

        config.pluginmanager.register(KeepTogether())
    elif BESIDE_VARIABLE in os.environ:
        from rank_harness import beside

        beside.register(config)
    else:
        from rank_harness.beside import First
        from rank_harness.parent import Parent

        config.pluginmanager.register(Parent())
        config.pluginmanager.register(First(config.option.processes))


def pytest_generate_tests(metafunc):
    """Make one test of each rank count, those of `slow` as slow tests; under an outer mpirun only of the one there."""
    marker = metafunc.definition.get_closest_marker("ranks")
    if marker is None:
        return
    slow = marker.kwargs.get("slow", ())
    counts = sorted([*marker.args, *slow])
    if IS_UNDER_MPIRUN and not IS_STARTED_BY_HARNESS:
        counts = [count for count in counts if count == launched_ranks()]
    if "ranks" not in metafunc.fixturenames:
        metafunc.fixturenames.append("ranks")
    values = [pytest.param(one, marks=pytest.mark.slow if one in slow else ()) for one in counts]
    metafunc.parametrize("ranks", values, ids="n{}".format)


def pytest_collection_modifyitems(items):
    shuffle(items)


def pytest_itemcollected(item):
    """Let pytest-mpi's ``--only-mpi`` select the tests on several ranks."""
    if item.get_closest_marker("ranks") and (item.config.option.with_mpi or item.config.option.only_mpi):
        item.add_marker(pytest.mark.mpi)


@pytest.fixture
def communicator():
    """Return a communicator of all ranks that no other test uses."""
    from decomposition.mpi import load_mpi

    return load_mpi().COMM_WORLD.Dup()


@pytest.fixture
def shared_path(mpi_tmp_path):
    """Return an empty folder that is the same on all ranks."""
    return mpi_tmp_path
