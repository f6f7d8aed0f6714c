"""A folder with a case and a run of it, for tests of what becomes of that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helpers.folders import CASE, PLATE, run


@pytest.fixture(scope="session")
def done(tmp_path_factory):
    """Return a folder with a case and a run of it."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("case.toml").write_text(CASE)
        Path("plate.stl").write_text(PLATE)
        run("run", "case.toml")
    return folder


@pytest.fixture
def here(done, tmp_path, monkeypatch):
    """Be in a copy of that folder."""
    shutil.copytree(done, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
