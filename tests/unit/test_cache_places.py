"""Folders of compiled kernels: read where they cannot be written, and never used where another user may write them."""

from __future__ import annotations

import errno
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from helpers.small_disks import largest_file
from pdem.numerics import cache, cache_places
from pdem.numerics.cache_places import READ_VARIABLE, CacheWarning, choose
from pdem.numerics.kernel_cache import KernelCache, KernelFiles

KEY = "cpu-python3-numba0-llvmlite0-abc"
ME = 4000
OTHER = 5000


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Be a user of number `ME` with an entry, a home and a temporary folder; files belong to whom `owners` says."""
    for name in ("NUMBA_CACHE_DIR", "PDEM_CACHE_DIR", "XDG_CACHE_HOME", READ_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    system = System(home, temporary, tmp_path)
    real_stat, real_access, real_utime = os.stat, os.access, os.utime

    def seen(path, *more, **others):
        found = real_stat(path, *more, **others)
        return os.stat_result((*found[:4], system.owner_of(path), *found[5:10]))

    def may(path, mode, *more, **others):
        allowed = system.owner_of(path) == ME or not mode & os.W_OK or bool(real_stat(path).st_mode & stat.S_IWOTH)
        return allowed and real_access(path, mode, *more, **others)

    def touch(path, *more, **others):
        if not may(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        real_utime(path, *more, **others)

    monkeypatch.setattr(os, "stat", seen)
    monkeypatch.setattr(os, "access", may)
    monkeypatch.setattr(os, "utime", touch)
    monkeypatch.setattr(os, "getuid", lambda: ME)
    monkeypatch.setattr(pwd, "getpwuid", system.entry)
    return system


class System:
    """Homes, owners of files, entries of users."""

    def __init__(self, home, temporary, root):
        self.home, self.temporary, self.root = home, temporary, root
        self.owners, self.has_entry = {}, True

    def owner_of(self, path):
        if isinstance(path, int):
            return ME
        return next((self.owners[one] for one in (Path(path), *Path(path).parents) if one in self.owners), ME)

    def entry(self, number):
        if not self.has_entry:
            raise KeyError(number)
        return pwd.struct_passwd(("user", "x", number, number, "", str(self.home), ""))

    def filled(self, name="cache", owner=OTHER, mode=0o755):
        """Return a folder of kernels that another user has filled."""
        base = self.root / name
        (base / KEY).mkdir(parents=True)
        base.chmod(mode)
        self.owners[base] = owner
        return base


def test_the_home_is_the_place(system):
    found = choose(KEY)
    assert found == (system.home / ".cache" / "pdem" / KEY, (found.kept,), "")
    assert found.kept.is_dir()


def test_variables_name_others(system, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(system.root / "xdg"))
    assert choose(KEY).kept == system.root / "xdg" / "pdem" / KEY
    monkeypatch.setenv("PDEM_CACHE_DIR", "~/mine")
    assert choose(KEY).kept == system.home / "mine" / KEY
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(system.root / "numba"))
    assert choose(KEY) == (system.root / "numba", (system.root / "numba",), "")


@pytest.mark.parametrize("home", ["none", "none and no entry", "missing", "file", "empty"])
def test_without_a_home_a_temporary_folder_takes_its_place(system, monkeypatch, home):
    if home.startswith("none"):
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", {"missing": "/nonexistent", "file": __file__, "empty": ""}[home])
    system.has_entry = home not in ("none and no entry", "empty")
    found = choose(KEY)
    if home == "none":  # the entry says where it is
        assert found.kept == system.home / ".cache" / "pdem" / KEY
        return
    base = system.temporary / f"pdem-{ME}"
    assert (found.kept, found.read) == (base / KEY, (base / KEY,))
    assert found.notice == (
        f"there is no home folder: compiled kernels are kept in {base}; set PDEM_CACHE_DIR to a folder that only you "
        "may write"
    )
    assert not Path("/nonexistent").exists()
    assert stat.S_IMODE(base.stat().st_mode) & 0o022 == 0


@pytest.mark.parametrize("owner", [0, OTHER])
def test_a_folder_that_can_only_be_read_is_read(system, monkeypatch, owner):
    base = system.filled(owner=owner)
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    own = system.home / ".cache" / "pdem"
    found = choose(KEY)
    assert (found.kept, found.read) == (own / KEY, (own / KEY, base / KEY))
    assert (
        f"cannot be stored in {base} (Permission denied); they are read from {base}, new ones are kept" in found.notice
    )
    monkeypatch.delenv("HOME")
    system.has_entry = False
    temporary = system.temporary / f"pdem-{ME}" / KEY
    assert choose(KEY)[:2] == (temporary, (temporary, base / KEY))


def test_in_the_home_only_own_files_and_those_of_root_count(system):
    base = system.home / ".cache" / "pdem"
    (base / KEY).mkdir(parents=True)
    for owner, read in ((OTHER, False), (0, True), (ME, True)):
        system.owners[base] = owner
        found = choose(KEY)
        assert (base / KEY in found.read) == read
        assert (found.kept == base / KEY) == (owner == ME)
        assert ("belongs to" in found.notice) == (owner == OTHER)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_what_others_may_write_is_not_used(system, monkeypatch, mode):
    base = system.filled(owner=ME, mode=mode)
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    found = choose(KEY)
    assert found.read == (system.home / ".cache" / "pdem" / KEY,)
    assert f"{base} (may be written by other users, chmod go-w makes it safe)" in found.notice
    assert stat.S_IMODE(base.stat().st_mode) == mode, "what a user has named is his business"
    base.chmod(0o755)
    (base / KEY).chmod(mode)
    assert choose(KEY).read == (system.home / ".cache" / "pdem" / KEY,)


def test_a_group_of_the_user_alone_is_nobody_else(system, monkeypatch):
    base = system.filled(owner=ME, mode=0o775)
    group = base.stat().st_gid
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    entry = pwd.struct_passwd(("user", "x", ME, group, "", "", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: entry)
    for name, members, is_used in (
        ("user", [], True),
        ("user", ["user"], True),
        ("user", ["x"], False),
        ("all", [], False),
    ):
        row = cache_places.grp.struct_group((name, "x", group, members))
        monkeypatch.setattr(cache_places.grp, "getgrgid", lambda number, row=row: row)
        assert (choose(KEY).kept == base / KEY) == is_used


def test_in_a_folder_for_all_each_has_what_he_has_made(system, monkeypatch):
    """As /cache of the container: everybody may make folders there, and nobody may touch those of others."""
    base = system.root / "all"
    base.mkdir()
    base.chmod(0o1777)
    system.owners[base] = 0
    system.owners[base / KEY] = ME
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    assert choose(KEY) == (base / KEY, (base / KEY,), "")
    for owner, read in ((OTHER, False), (0, True)):
        system.owners[base / KEY] = owner
        found = choose(KEY)
        assert found.kept == system.home / ".cache" / "pdem" / KEY
        assert (base / KEY in found.read) == read


def test_own_folders_that_a_group_may_write_are_healed(system):
    base = system.home / ".cache" / "pdem"
    (base / KEY).mkdir(parents=True)
    for path in (base, base / KEY):
        path.chmod(0o775)
    assert choose(KEY) == (base / KEY, (base / KEY,), "")
    assert stat.S_IMODE(base.stat().st_mode) == stat.S_IMODE((base / KEY).stat().st_mode) == 0o755


def test_new_folders_are_writable_for_nobody_else(system):
    before = os.umask(0)
    try:
        kept = choose(KEY).kept
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) & 0o022 for path in (kept, kept.parent)] == [0, 0]


def test_a_temporary_folder_that_another_user_has_taken(system, monkeypatch):
    monkeypatch.setenv("HOME", "/nonexistent")
    taken = system.temporary / f"pdem-{ME}"
    (taken / KEY).mkdir(parents=True)
    system.owners[taken] = OTHER
    found = choose(KEY)
    assert found.kept.parent.parent == system.temporary
    assert found.kept.parent != taken
    assert taken / KEY not in found.read


def test_nowhere_at_all_is_no_error(system, monkeypatch):
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: (_ for _ in ()).throw(FileNotFoundError(2, "none")))
    found = choose(KEY)
    assert found.read == ()
    assert not found.kept.exists()
    assert "cannot be stored in any folder; new ones are compiled in each run" in found.notice
    base = system.filled()
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    found = choose(KEY)
    assert (found.kept, found.read) == (base / KEY, (base / KEY,))


def test_other_processes_read_the_same_folders(system, monkeypatch):
    base = system.filled()
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    found = choose(KEY)
    monkeypatch.setattr(cache, "places", lambda: found)
    for name, value in cache.cache_environment().items():
        monkeypatch.setenv(name, value)
    assert choose(KEY) == (found.kept, found.read, "")


def test_marks_and_times_of_a_folder_that_is_read_count(system, monkeypatch):
    base = system.filled()
    monkeypatch.setenv("PDEM_CACHE_DIR", str(base))
    found = choose(KEY)
    monkeypatch.setattr(cache, "places", lambda: found)
    assert not cache.is_marked("3d")
    shutil.copy(__file__, base / KEY / cache._marker("3d").name)
    assert cache.is_marked("3d")
    assert cache.stored(found.kept / "times.json") == found.kept / "times.json"
    (base / KEY / "times.json").touch()
    assert cache.stored(found.kept / "times.json") == base / KEY / "times.json"


def double(number):
    return 2 * number


@pytest.fixture
def folders(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
    return own, other


def test_kernels_are_looked_for_in_one_folder_after_the_other(folders):
    own, other = folders
    KernelFiles(str(other), "kernel", "stamp").save("a", "of another")
    files = KernelFiles(str(own), "kernel", "stamp", [str(other)])
    assert [files.load(key) for key in "ab"] == ["of another", None]
    files.save("b", "mine")
    assert [files.load(key) for key in "ab"] == ["of another", "mine"]
    assert KernelFiles(str(other), "kernel", "stamp").load("b") is None
    files.save("a", "mine")
    assert files.load("a") == "mine"
    assert KernelFiles(str(own), "kernel", "later", [str(other)]).load("a") is None


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_files_that_others_may_have_written_are_not_loaded(folders, kind, monkeypatch):
    own, _ = folders
    files = KernelFiles(str(own), "kernel", "stamp")
    files.save("a", "code")
    path = next(own.glob(kind))
    for one, before, others_write in ((path, 0o644, 0o666), (own, 0o755, 0o777)):
        one.chmod(others_write)
        assert files.load("a") is None
        one.chmod(before)
        assert files.load("a") == "code"
    real = os.stat

    def foreign(one, *more, **others):
        found = real(one, *more, **others)
        return os.stat_result((*found[:4], OTHER, *found[5:10])) if str(one) == str(path) else found

    monkeypatch.setattr(os, "stat", foreign)
    assert files.load("a") is None


def test_files_are_writable_for_nobody_else(folders):
    before = os.umask(0)
    try:
        KernelFiles(str(folders[0]), "kernel", "stamp").save("a", "code")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in folders[0].glob("*.nb?")]
    assert modes == [0o644, 0o644]


def test_a_kernel_for_which_there_is_no_room_is_used_all_the_same(folders, monkeypatch):
    """And the warm-up is not marked as complete: the next run compiles it again, and says so."""
    monkeypatch.setattr(cache, "cache_directory", lambda: folders[0])
    monkeypatch.setattr(cache, "_unstored", [])
    import numba

    compiled = numba.njit(double)
    compiled._cache = KernelCache(double)
    compiled._cache.__dict__["_cache_file"] = KernelFiles(str(folders[0]), "kernel", "stamp")
    with (
        largest_file(100),
        pytest.warns(CacheWarning, match=r"cannot be stored in .* \(File too large\): this run uses"),
    ):
        assert compiled(4) == 8
    with largest_file(100):
        assert compiled(0.5) == 1.0, "it is said once"
    cache.mark("3d")
    assert not cache.is_marked("3d")
    assert not [path for path in folders[0].iterdir() if path.suffix in (".nbc", ".nbi")]
