"""Runs on two hosts: once per node, the same bits, what nodes must share, and what is left when one of them fails."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

import pdem
from helpers.tube_case import CASE, end, tube
from helpers.two_hosts import OFI, two_hosts
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.compare import compare
from pdem.run.run import run

ROOT = Path(__file__).resolve().parents[2]
PDEM = [sys.executable, "-m", "pdem"]
STEPS = 200
SECONDS_TO_END = 30.0
OUTPUT = """
snapshots_every = 0.005
series_every = 0.001
checkpoint_every = 0.0025
"""
SMALL = "6m"
"""Shared memory of a node that is enough for MPI itself, and not for the meshes beside it."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a folder with the case, its meshes, and in `one` what a single rank makes of it."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, mesh in (("tube.obj", tube(45, 80)), ("end.obj", end(30))):
        corners = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
        facets = ["f {} {} {}".format(*one) for one in (mesh.facet_vertices.reshape(-1, 3) + 1).tolist()]
        (folder / name).write_text("\n".join([*corners, *facets, ""]))
    text = CASE.replace(".ply", ".obj").replace("end = 1.0", "end = 0.01")
    (folder / "case.toml").write_text(text.replace('folder = "unused"', 'folder = "out"' + OUTPUT))
    case = pdem.Case.read(folder / "case.toml")
    case.override(f'output.folder="{folder}/one"')
    run(pdem.Simulation(case, threads=1), quiet=True)
    return folder


@pytest.fixture
def folder(inputs, tmp_path):
    """Return a folder with the case and its meshes, which both hosts share."""
    for name in ("case.toml", "tube.obj", "end.obj"):
        shutil.copy(inputs / name, tmp_path)
    return tmp_path


@pytest.fixture
def hosts(tmp_path_factory):
    """Return two hosts."""
    with two_hosts(tmp_path_factory.mktemp("hosts")) as both:
        yield both


def environment(**others):
    """Return the environment of a job, apart from that of this process."""
    return {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **others}


def play(hosts, folder, *words, ranks=(2, 2), **others):
    """Run a command of pdem on the two hosts; return exit code and errors."""
    code, _, errors = hosts.run(*PDEM, *words, "--quiet", folder=folder, ranks=ranks, environment=environment(**others))
    return code, errors


def require_last_state(inputs, folder):
    """The last checkpoint has the bits of a single rank, and so have the last snapshots and rows."""
    ours, theirs = (CheckpointFolder(one).paths()[-1] for one in (folder / "out", inputs / "one"))
    assert ours.name == theirs.name == f"checkpoint-{STEPS:09d}.h5"
    assert compare(ours, theirs).equal
    for name in ("particles.vtkhdf", "walls.vtkhdf"):
        found = compare(folder / "out" / name, inputs / "one" / name)
        assert found.equal, str(found)
    ours, theirs = ((one / "series.csv").read_text().splitlines() for one in (folder / "out", inputs / "one"))
    assert [line.split(",")[:6] for line in ours] == [line.split(",")[:6] for line in theirs]


def one_message(errors, *parts):
    """Require one line of pdem, which says all this."""
    lines = [line for line in errors.splitlines() if line.startswith("pdem:")]
    assert len(lines) == 1, errors
    for part in parts:
        assert part in lines[0], errors
    assert "Traceback" not in errors


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


PROBE = """
import os, platform, sys
from pathlib import Path
import numpy as np
from decomposition.messages import Messages
from decomposition.mpi import each_node, start_world, warm_up
from decomposition.node_memory import once_per_node, release
from decomposition.nodes import crowded_text, layout_text
from pdem.case.model import Case
from pdem.output.provenance import provenance
from pdem.run.same_on_ranks import check_same

counts = [int(one) for one in sys.argv[1:]]
world = start_world()
ranks = world.communicator
place = 0 if ranks.rank < counts[0] else 1
host = ("host-a", "host-b")[place]
assert platform.node() == host
assert (world.node_size, world.node_rank) == (counts[place], ranks.rank - place * counts[0])
cores = len(os.sched_getaffinity(0))
threads = [max(1, cores // one) for one in counts]
assert (world.cores, world.threads) == (cores, threads[place])
assert world.workers == counts[0] * threads[0] + counts[1] * threads[1]
assert [(one.host, one.ranks, one.threads) for one in world.nodes] == [
    ("host-a", counts[0], threads[0]), ("host-b", counts[1], threads[1])]
assert layout_text(world.nodes).startswith("2 nodes: ")
crowded = [f"{host}: {count} ranks x 1 thread on {cores} core{'s' * (cores > 1)}"
    for host, count in zip(("host-a", "host-b"), counts) if count > cores]
assert crowded_text(world.nodes) == crowded  # by the share of each node, not of all ranks

(Path("/dev/shm") / host).touch()  # which the other does not see
ranks.Barrier()
assert sorted(path.name for path in Path("/dev/shm").glob("host-*")) == [host]

calls = []
def make():
    calls.append(ranks.rank)
    return {"rows": np.arange(400_000), "host": host}
found, held = once_per_node(ranks, make)
assert len(calls) == (world.node_rank == 0) and found["host"] == host and held.shared
ranks.Barrier()
if world.node_rank == 0:
    found["rows"][3] = -1 - place  # it is the memory of this node alone
ranks.Barrier()
assert found["rows"][3] == -1 - place
assert each_node(ranks, lambda: ranks.rank) == [("host-a", 0), ("host-b", counts[0])]
del found
ranks.Barrier()
assert release(ranks) == 0

messages, rng = Messages(ranks.Dup()), np.random.default_rng(1)
for turn in range(40):
    told = rng.random((ranks.size, ranks.size)) < rng.random()  # the same on every rank
    targets = np.flatnonzero(told[ranks.rank])
    rows = np.array([[turn, ranks.rank, target] for target in targets], np.int64).reshape(-1, 3)
    sources, found = messages.notify(targets, rows)
    assert sources.tolist() == np.flatnonzero(told[:, ranks.rank]).tolist(), turn
    assert found.tolist() == [[turn, source, ranks.rank] for source in sources], turn

case = Case.from_text(
    "[time]\\nstep = 1.0\\nend = 9.0\\n[output]\\nfolder = 'out'\\n"
    "[domain]\\nlower = [0.0, 0.0, 0.0]\\nupper = [1.0, 1.0, 1.0]")
text = check_same(ranks, case, {**provenance(), "kernel_settings": "opt 0"} if place else None)
mixed = f"{counts[1]} of 4 ranks differ from rank 0, rank {counts[0]} on host-b in numba's settings"
assert text.startswith(mixed) if ranks.rank == 0 else not text, text

done = Path(os.environ["NUMBA_CACHE_DIR"]) / "done"  # of this host alone, or of both
def compile():
    with open(done, "a") as file:
        file.write(f"{ranks.rank}\\n")
assert warm_up(ranks, compile, "probe")
order = [int(line) for line in done.read_text().split()]
if "SHARED" in os.environ:
    assert sorted(order) == [0, 1, 2, 3]
own = [rank for rank in order if (rank >= counts[0]) == place]
assert len(own) == counts[place] and own[0] == place * counts[0], order  # the others find what it has compiled
assert not warm_up(ranks, compile, "probe")
print(f"rank {ranks.rank} is well", flush=True)
"""


@pytest.mark.parametrize(
    ("ranks", "network", "cache"),
    [((2, 2), {}, "own"), ((1, 3), {}, "shared"), pytest.param((2, 2), OFI, "own", marks=pytest.mark.slow)],
    ids=["ucx", "uneven", "ofi"],
)
def test_what_is_done_once_per_node(hosts, tmp_path, ranks, network, cache):
    """Two nodes, their cores and threads, memory that the ranks of one share, notices, and who compiles first."""
    folder = tmp_path / "cache"
    folder.mkdir()
    others = {"NUMBA_CACHE_DIR": str(folder), "PDEM_THREADS": "", "NUMBA_NUM_THREADS": ""}
    if cache == "own":
        hosts.b.unshare(folder)
    else:
        others["SHARED"] = "1"
    code, output, errors = hosts.run(
        sys.executable, "-c", PROBE, *ranks, ranks=ranks, folder=tmp_path, environment=environment(**others, **network)
    )
    assert code == 0, errors
    # The launcher may bring a line of one host between a line of the other and its end.
    said = re.findall(r"rank \d is well", output)
    assert sorted(said) == [f"rank {rank} is well" for rank in range(4)]
    assert len(output.replace("\n", "")) == sum(map(len, said)), output


def test_the_same_bits_and_a_restart_on_other_hosts(inputs, folder, tmp_path_factory):
    """Whole files in a folder that both share; one host without room in shared memory has copies, and says so."""
    words = "--set", "time.end=0.005"
    with two_hosts(tmp_path_factory.mktemp("hosts")) as hosts:
        code, errors = play(hosts, folder, "run", "case.toml", *words)
    assert code == 0, errors
    log = (folder / "out/run.log").read_text()
    assert "2 nodes: 2 ranks x 1 thread on each of host-a, host-b" in log
    assert log.count("MiB once per node") == 1
    assert "no room" not in log
    with two_hosts(tmp_path_factory.mktemp("hosts"), ("256m", SMALL)) as hosts:
        code, errors = play(hosts, folder, "restart", "out", "--set", "time.end=0.01", ranks=(1, 3))
    assert code == 0, errors
    require_last_state(inputs, folder)
    log = (folder / "out/run.log").read_text()
    assert "2 nodes: 1 rank x 1 thread on host-a; 3 ranks x 1 thread on host-b" in log
    lines = [line for line in log.splitlines() if "there is no room for them" in line]
    assert len(lines) == 1
    assert "MiB once per node; but each rank on host-b has its own" in lines[0]


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("run", "case.toml", "--overwrite"), (
            "output.folder = ", "is not one folder for all ranks: rank 1 on host-b does not see what rank 0 on host-a "
            "writes into", "name a folder that all nodes share",
        )),
        pytest.param(
            ("restart", "out"), ("rank 1 on host-b does not see it, rank 0 does", "in a folder that all nodes share"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["run", "restart"],
)  # fmt: skip
def test_hosts_without_a_shared_folder_are_refused(hosts, inputs, folder, words, texts):
    shutil.copytree(inputs / "one", folder / "out")
    before = digests(folder)
    hosts.b.unshare(folder / "out")
    code, errors = play(hosts, folder, *words, ranks=(1, 1))
    assert code == 2, errors
    one_message(errors, *texts)
    assert digests(folder) == before


def test_a_folder_that_one_host_may_not_write_to_is_refused(hosts, folder):
    hosts.b.mount(folder, folder)
    hosts.b.call("mount", "-o", "remount,bind,ro", str(folder))
    code, errors = play(hosts, folder, "run", "case.toml", ranks=(1, 1))
    assert code == 2, errors
    one_message(errors, "rank 1 on host-b may not change (", "what rank 0 on host-a writes")
    assert sorted(path.name for path in folder.iterdir()) == ["case.toml", "end.obj", "tube.obj"]


def test_files_that_differ_between_hosts_are_refused(hosts, inputs, folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "end.obj"
    other.write_text((inputs / "end.obj").read_text().replace("v 0.172 ", "v 0.171 "))
    hosts.b.mount(other, folder / "end.obj")
    code, errors = play(hosts, folder, "run", "case.toml", ranks=(1, 1))
    assert code == 2, errors
    one_message(
        errors, "walls[1].mesh = ", "end.obj', as seen on host-b, has another content there than on host-a",
        "let all nodes see the same files",
    )  # fmt: skip
    assert not (folder / "out").exists()


def test_a_case_that_one_host_does_not_have_is_refused(hosts, folder):
    hosts.b.unshare(folder)
    code, errors = play(hosts, folder, "run", "case.toml", ranks=(1, 1))
    assert code == 2, errors
    one_message(errors, "1 of 2 ranks fail where others do not, rank 1 on host-b by: case.toml: no such case file")
    assert not (folder / "out").exists()


def wait_for_checkpoint(folder, process):
    """Return the newest checkpoint of a run, as soon as it has one."""
    while not CheckpointFolder(folder).paths():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return CheckpointFolder(folder).paths()[-1]


def go_on_alone(inputs, folder):
    """Restart on one host, and require the bits of a run that nothing has happened to."""
    assert not list((folder / "out").glob("*.torn-*"))
    continued = pdem.Simulation.restart(folder / "out", threads=1)
    assert 0 < continued.step < STEPS
    run(continued, quiet=True)
    require_last_state(inputs, folder)


@pytest.mark.parametrize("what", [pytest.param("ranks", marks=pytest.mark.slow), "host"])
def test_a_host_that_dies_ends_all_and_leaves_its_checkpoints(inputs, folder, hosts, what):
    """Its ranks alone, or all that runs there: the launcher ends the others at once."""
    words = [*PDEM, "run", "case.toml", "--quiet"]
    with hosts.start(*words, folder=folder, environment=environment()) as process:
        wait_for_checkpoint(folder / "out", process)
        if what == "host":
            hosts.b.kill()
        else:
            for number, command in hosts.b.processes().items():
                if Path(command[0]).name.startswith("python"):
                    os.kill(number, signal.SIGKILL)
        since = time.monotonic()
        process.communicate(timeout=SECONDS_TO_END)
        assert process.returncode != 0
        while any("pdem" in words for words in hosts.a.processes().values()):
            assert time.monotonic() < since + SECONDS_TO_END
            time.sleep(0.01)
    go_on_alone(inputs, folder)


@pytest.mark.slow
@pytest.mark.parametrize("heals", [True, False], ids=["short", "for good"])
def test_a_cut_cable_loses_nothing(inputs, folder, hosts, heals):
    """MPI over TCP waits: when the cable is back the run goes on, and who ends it finds whole checkpoints."""
    with hosts.start(*PDEM, "run", "case.toml", "--quiet", folder=folder, environment=environment()) as process:
        wait_for_checkpoint(folder / "out", process)
        hosts.b.cut()
        time.sleep(1.0)
        assert process.poll() is None
        if heals:
            hosts.b.heal()
            _, errors = process.communicate(timeout=120.0)
            assert process.returncode == 0, errors
            require_last_state(inputs, folder)
            return
        hosts.end()  # as a batch system does on every node
        process.communicate(timeout=SECONDS_TO_END)
    go_on_alone(inputs, folder)
