"""Where compiled kernels are kept, and which threads run them. A process decides once: tests use new ones."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from pdem.foundation.machine import has_openmp
from pdem.numerics import cache, cache_places, kernel_cache
from pdem.numerics.cache_places import CacheWarning, choose
from pdem.numerics.kernel_cache import KernelFiles

ROOT = Path(__file__).resolve().parents[2]
SHOW = "from pdem.numerics.cache import cache_directory; print(cache_directory())"
CHOICES = ("NUMBA_CACHE_DIR", "PDEM_CACHE_DIR", "XDG_CACHE_HOME", "NUMBA_NUM_THREADS", "PYTHONWARNINGS")


def run(code, **environment):
    inherited = {name: value for name, value in os.environ.items() if name not in CHOICES}
    command = [sys.executable, "-c", code]
    inherited["PYTHONPATH"] = str(ROOT)
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=True)


def test_folder_is_in_the_home_and_named_after_what_matters(tmp_path):
    folder = Path(run(SHOW, HOME=str(tmp_path)).stdout.strip())
    assert folder.is_dir()
    assert folder.parent == tmp_path / ".cache" / "pdem"
    assert re.search(r"-python3\.\d+-numba[\d.]+\w*-llvmlite[\d.]+\w*-[0-9a-f]{16}$", folder.name)


def test_the_users_choices_are_heeded(tmp_path):
    keyed = Path(run(SHOW, PDEM_CACHE_DIR=str(tmp_path / "a")).stdout.strip())
    assert keyed.parent == tmp_path / "a"
    plain = run(SHOW, PDEM_CACHE_DIR=str(tmp_path / "a"), NUMBA_CACHE_DIR=str(tmp_path / "b")).stdout.strip()
    assert plain == str(tmp_path / "b")


def test_a_home_that_cannot_be_written_is_replaced_with_a_warning(tmp_path):
    (tmp_path / "file").touch()
    result = run(SHOW, PDEM_CACHE_DIR=str(tmp_path / "file"), HOME="/nonexistent", TMPDIR=str(tmp_path))
    folder = Path(result.stdout.strip())
    assert folder.is_dir()
    assert folder.parent == tmp_path / f"pdem-{os.getuid()}"
    assert "cannot be stored in" in result.stderr
    assert "set PDEM_CACHE_DIR" in result.stderr


SUBFOLDERS = """
import sys
import pdem.numerics.kernels, pdem.contact
from pdem.numerics.kernel_cache import KernelFolder
for path in (pdem.contact.__file__, sys.argv[0]):
    print(KernelFolder.get_suitable_cache_subpath(path))
"""


def test_where_pdem_is_does_not_matter_in_a_folder_named_after_its_sources(tmp_path):
    keyed = Path(run(SHOW, PDEM_CACHE_DIR=str(tmp_path / "a")).stdout.strip())
    for choice in ({"PDEM_CACHE_DIR": str(tmp_path / "a")}, {"NUMBA_CACHE_DIR": str(keyed)}):
        own, users = run(SUBFOLDERS, **choice).stdout.split()
        assert own == "pdem.contact"
        assert re.search(r"_[0-9a-f]{40}$", users), "a law of a user is told apart by the place of its file"
    plain = run(SUBFOLDERS, NUMBA_CACHE_DIR=str(tmp_path / "b")).stdout.split()
    assert re.search(r"^contact_[0-9a-f]{40}$", plain[0]), "this folder may be used by several versions of pdem"


def test_another_source_is_another_folder(tmp_path, monkeypatch):
    package = tmp_path / "pdem"
    (package / "contact").mkdir(parents=True)
    (package / "output").mkdir()
    monkeypatch.setattr(cache, "_PACKAGE", package)
    law, writer = package / "contact" / "law.py", package / "output" / "writer.py"
    digests = []
    for law_text, writer_text in (("a", "a"), ("a", "b"), ("b", "b"), ("b", "@threaded_kernel\n")):
        law.write_text(law_text)
        writer.write_text(writer_text)
        digests.append(cache._source_digest())
    assert digests[0] == digests[1], "what holds no kernel should not cost a compilation"
    assert len(set(digests[1:])) == 3


def test_folders_unused_for_a_month_are_removed(tmp_path, monkeypatch):
    old, new, foreign = tmp_path / "a-numba0", tmp_path / "b-numba0", tmp_path / "other"
    for folder in (old, new, foreign):
        folder.mkdir()
    for folder in (old, foreign):
        os.utime(folder, (0, 0))
    monkeypatch.setenv("PDEM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert choose("c-numba0").kept == tmp_path / "c-numba0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b-numba0", "c-numba0", "other"]


def test_two_ranks_may_make_the_folder_at_the_same_moment(tmp_path, monkeypatch):
    made = tmp_path / "a" / "b"
    made.mkdir(parents=True)
    once = iter([False])
    seen = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: next(once, None) is None and seen(path))
    monkeypatch.setenv("PDEM_CACHE_DIR", str(made.parent))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert choose("b").kept == made


def test_marks_are_per_tag(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_directory", lambda: tmp_path)
    assert not cache.is_marked("3d")
    cache.mark("3d")
    assert cache.is_marked("3d")
    assert not cache.is_marked("2d")


RACE = """
import sys, time
from pdem.numerics.kernel_cache import KernelFiles
store = KernelFiles(sys.argv[1], "kernel", "stamp")
unguarded_load = store._load_index
def slow_load():
    index = unguarded_load()
    time.sleep(0.2)  # another process writes now, if nothing keeps it from doing so
    return index
store._load_index = slow_load
print("ready", flush=True)
sys.stdin.readline()
store.save(sys.argv[2], sys.argv[2])
"""


def test_two_processes_that_store_signatures_of_one_kernel_lose_neither(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), key],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for key in "ab"
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    store = KernelFiles(str(tmp_path), "kernel", "stamp")
    assert [store.load(key) for key in "ab"] == ["a", "b"]


def test_a_name_never_leads_to_other_code_even_without_locks(tmp_path, monkeypatch):
    stores = [KernelFiles(str(tmp_path), "kernel", stamp) for stamp in ("old", "new")]
    with monkeypatch.context() as patch:
        patch.setattr(kernel_cache, "exclusive", lambda path: nullcontext())
        for store in stores:
            patch.setattr(store, "_load_index", lambda: {})  # as it was before the others wrote
            for key in "ab":
                store.save(key, f"{key} {store._source_stamp}")
    assert len(list(tmp_path.glob("*.nbc"))) == 4
    assert [stores[1].load(key) for key in "ab"] == [None, "b new"], "an entry may be lost, none may be wrong"
    assert [stores[0].load(key) for key in "ab"] == [None, None]


def test_machine_code_is_there_before_the_index_names_it(tmp_path, monkeypatch):
    def interrupted(name, data):
        raise KeyboardInterrupt

    store = KernelFiles(str(tmp_path), "kernel", "stamp")
    monkeypatch.setattr(store, "_save_data", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save("a", "a")
    assert store._load_index() == {}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "foreign"])
def test_a_damaged_file_counts_as_missing(suffix, damage, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_damaged", [])
    store = KernelFiles(str(tmp_path), "kernel", "stamp")
    store.save("a", {"code": bytes(range(200))})
    (path,) = tmp_path.glob(f"*.{suffix}")
    content = path.read_bytes()
    path.write_bytes({
        "cut": content[:-7], "empty": b"", "flipped": content[:60] + bytes([content[60] ^ 4]) + content[61:],
        "foreign": pickle.dumps({"a": "b"}),
    }[damage])  # fmt: skip
    with pytest.warns(CacheWarning, match=f"{path.name} is damaged: it is compiled again, and so are others"):
        assert store.load("a") is None
    assert store.load("a") is None, "which is said once"
    store.save("a", "new")
    assert store.load("a") == "new"


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o755])
def test_kernels_of_an_installation_are_read_unless_others_may_write_them(mode, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_places, "SHIPPED", tmp_path / "kernels")
    monkeypatch.setenv("PDEM_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("PDEM_READ_KERNELS", raising=False)
    shipped = tmp_path / "kernels" / "key"
    shipped.mkdir(parents=True)
    shipped.chmod(mode)
    assert choose("other").read == (tmp_path / "own" / "other",)
    assert (shipped in choose("key").read) == (mode == 0o755)
    assert choose("key").kept == tmp_path / "own" / "key"


THREADS = """
import numpy as np
from pdem.foundation.errors import LaunchError
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.thread_pool import set_threads, threads

@threaded_kernel
def doubled(values, result):
    for index in prange(values.size):
        result[index] = 2.0 * values[index]

values = np.arange(1000.0)
for count in {counts}:
    set_threads(count)
    result = np.zeros(1000)
    doubled(values, result)
    assert (result == 2 * values).all()
    print(threads())
try:
    set_threads({excess})
except LaunchError as problem:
    print(problem)
import numba
print(numba.threading_layer())
"""


HAS_OPENMP = sys.platform == "linux" and has_openmp()


@pytest.mark.parametrize(
    ("counts", "given", "pool"), [((1,), {}, 1), ((3, 1, 2), {}, 3), ((1, 4), {"NUMBA_NUM_THREADS": "4"}, 4)]
)
def test_threads_can_be_changed_up_to_the_pool(counts, given, pool, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(THREADS.format(counts=list(counts), excess=pool + 1))
    inherited = {name: value for name, value in os.environ.items() if name not in CHOICES}
    inherited |= given | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, str(script)]
    result = subprocess.run(command, env=inherited, capture_output=True, text=True, timeout=120, check=True)
    *shown, refusal, layer = result.stdout.splitlines()
    assert [int(line) for line in shown] == list(counts)
    assert refusal.startswith(f"{pool + 1} threads asked for, but this process has started {pool}: ")
    assert layer == ("omp" if pool > 1 and HAS_OPENMP else "workqueue")


@pytest.mark.skipif(not HAS_OPENMP, reason="the system has no OpenMP")
@pytest.mark.parametrize(
    ("crowded", "given", "asleep"), [(False, {}, False), (True, {}, True), (True, {"OMP_WAIT_POLICY": "active"}, False)]
)
def test_threads_wait_asleep_where_there_are_more_than_cores(crowded, given, asleep):
    script = (
        "import os; from pdem.numerics.thread_pool import set_threads\n"
        f"set_threads(2, crowded={crowded}); print(os.environ.get('OMP_WAIT_POLICY', ''))"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "NUMBA_"))}
    environment = kept | given | {"PYTHONPATH": str(ROOT), "OMP_DISPLAY_ENV": "verbose"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    shown = re.search(r"GOMP_SPINCOUNT *= *'(\w+)'", done.stderr)
    assert shown is not None
    assert (shown[1] == "0") == asleep
    assert done.stdout.strip() == given.get("OMP_WAIT_POLICY", "")  # programs started from here are told nothing
