"""Two hosts on one machine: what is done once per node, files that nodes share or do not, and hosts that fail.

A host is a network namespace, a host name, and a view of the file system that it alone changes: its own `/dev/shm`, and
whatever a test mounts there. The two are joined by a virtual cable, over which hydra starts ranks and MPI sends by TCP.
Nothing of this has a name on the machine: a host lasts as long as a process that waits for the end of this one,
however that comes, and then ends all processes of its host. So runs cannot meet, and nothing is left over.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from rank_harness.parent import mpirun

NAMES = ("host-a", "host-b")
ADDRESSES = ("10.99.0.1", "10.99.0.2")
TOOLS = ("ip", "unshare", "nsenter", "mount", "hostname", "sh")
SHARED_MEMORY = "256m"
SETUP_SECONDS = 10.0

# UCX would take both for one machine and use shared memory between them; ranks of both wait on the same cores.
ENVIRONMENT = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
OFI = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}

# The first process of a host: name, size of /dev/shm, folder of its own. A new /sys shows the devices of the host, and
# keeps what it says about limits of cores.
_FIRST = """
set -e
hostname "$1"
mount -t tmpfs -o size="$2" tmpfs /dev/shm
mkdir "$3"
mount --rbind /sys/fs/cgroup "$3" || true
mount -t sysfs sysfs /sys
mount --move "$3" /sys/fs/cgroup || true
ip link set lo up
echo ready
read _ || true
own=$(readlink /proc/self/ns/net)
for process in /proc/[0-9]*; do
  number=${process#/proc/}
  if [ "$number" != $$ ] && [ "$(readlink "$process/ns/net")" = "$own" ]; then kill -KILL "$number"; fi
done
"""


@dataclass
class Host:
    """One of the two; `first` is the process that it lasts as long as."""

    name: str
    address: str
    first: subprocess.Popen

    def inside(self, *words):
        """Return a command that runs `words` on this host."""
        return ["nsenter", "--target", str(self.first.pid), "--net", "--uts", "--mount", *words]

    def call(self, *words):
        """Run a command on this host; return what it writes."""
        done = subprocess.run(self.inside(*words), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{shlex.join(map(str, words))} on {self.name}: {done.stderr}"
        return done.stdout

    def mount(self, folder, at):
        """Show another folder of the machine at a path of this host alone."""
        self.call("mount", "--bind", str(folder), str(at))

    def unshare(self, folder):
        """Show an empty folder at a path of this host alone."""
        self.call("mount", "-t", "tmpfs", "tmpfs", str(folder))

    def cut(self):
        """Take the cable out."""
        self.call("ip", "link", "set", "eth0", "down")

    def heal(self):
        """Put the cable in."""
        self.call("ip", "link", "set", "eth0", "up")

    def processes(self):
        """Return the numbers and commands of all processes that were started on this host."""
        own, found = os.readlink(f"/proc/{self.first.pid}/ns/net"), {}
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it may have ended
                if os.readlink(process / "ns/net") == own and int(process.name) != self.first.pid:
                    found[int(process.name)] = (process / "cmdline").read_bytes().decode().split("\0")
        return found

    def kill(self):
        """End all processes of this host at once, as a power failure does."""
        for number in self.processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


class TwoHosts:
    """Two hosts that are up, and MPI jobs on them."""

    def __init__(self, hosts, folder):
        self.a, self.b = hosts
        self.hosts = hosts
        self._launcher = folder / "launch"
        self._launcher.write_text(
            "#!/bin/sh\n"
            "# Hydra calls this in place of ssh: [-x] HOST COMMAND ...\n"
            '[ "$1" = -x ] && shift\n'
            f'[ "$1" = {self.a.address} ] && first={self.a.first.pid} || first={self.b.first.pid}\n'
            "shift\n"
            'exec nsenter --target "$first" --net --uts --mount sh -c "$*"\n'
        )
        self._launcher.chmod(0o755)

    def start(self, *words, ranks=(2, 2), folder=".", environment=None, **options):
        """Start an MPI job by an mpirun on the first host, with some ranks on each; return the process of mpirun."""
        where = ",".join(f"{host.address}:{count}" for host, count in zip(self.hosts, ranks, strict=True) if count)
        job = [
            mpirun(), "-launcher", "ssh", "-launcher-exec", str(self._launcher), "-localhost", self.a.address,
            "-hosts", where, "-n", str(sum(ranks)), *map(str, words),
        ]  # fmt: skip
        return subprocess.Popen(
            self.a.inside("sh", "-c", 'cd "$0" && exec "$@"', str(folder), *job),
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def run(self, *words, seconds=120.0, **options):
        """Run an MPI job to its end; return exit code, output and errors."""
        with self.start(*words, **options) as process:
            try:
                output, errors = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                self.end()
                output, errors = process.communicate()
                pytest.fail(f"{shlex.join(map(str, words))} hangs:\n{output}\n{errors}")
            return process.returncode, output, errors

    def end(self):
        """End all jobs."""
        for host in self.hosts:
            host.kill()


def missing():
    """Return why there can be no two hosts here, empty if there can."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"two hosts need {', '.join(lacking)}"
    version = subprocess.run([mpirun(), "--version"], capture_output=True, text=True, check=False)
    if "HYDRA" not in version.stdout:
        return "two hosts need MPICH's mpirun"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True, check=False
    )
    return f"two hosts need namespaces: {tried.stderr.strip()}" if tried.returncode else ""


@contextmanager
def two_hosts(folder, shared_memory=(SHARED_MEMORY, SHARED_MEMORY)):
    """Yield two hosts; `folder` is for the launcher, `shared_memory` the size of `/dev/shm` of each."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with ExitStack() as stack:
        sizes = zip(NAMES, ADDRESSES, shared_memory, strict=True)
        hosts = [stack.enter_context(_host(name, address, size, folder)) for name, address, size in sizes]
        first, second = hosts
        end = ["type", "veth", "peer", "name", "eth0", "netns", str(second.first.pid)]
        first.call("ip", "link", "add", "eth0", *end)
        for host in hosts:
            host.call("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
            host.heal()
        _wait_for_link(hosts)
        yield TwoHosts(hosts, folder)


@contextmanager
def _host(name, address, size, folder):
    words = ["sh", "-c", _FIRST, "sh", name, size, str(folder / name)]
    first = subprocess.Popen(
        ["unshare", "--net", "--uts", "--mount", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with first:  # closes its input, and it ends
        lines = iter(first.stdout.readline, "")
        said = next((line for line in lines if line == "ready\n"), "")
        assert said, f"{name} could not be set up"
        yield Host(name, address, first)


def _wait_for_link(hosts):
    deadline = time.monotonic() + SETUP_SECONDS
    while not all("state UP" in host.call("ip", "link", "show", "eth0") for host in hosts):
        assert time.monotonic() < deadline, "the hosts do not reach each other"
        time.sleep(0.005)
