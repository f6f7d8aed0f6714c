"""Commands that need the sources of pdem: how they find them, and what they say where they are not."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from benchmarks.__main__ import COMMANDS
from pdem.cli import common as sources
from pdem.cli import main
from pdem.foundation.errors import InputError


def python(*words, folder):
    """Run Python in a folder; return its exit code, what it printed and its errors."""
    result = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


@pytest.fixture
def context():
    """Let a command of this name be the present one."""
    with click.Context(click.Command("verify"), info_name="pdem verify"):
        yield


def test_studies_are_found_before_packages_of_others(tmp_path):
    """A user's folder of that name hides nothing, though Python looks there first."""
    for name in ("validation", "benchmarks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('not ours')")
    code, said, errors = python("-m", "pdem", "verify", "h2", "bits", "--list", folder=tmp_path)
    assert (code, errors) == (0, "")
    assert [line.split()[0] for line in said.splitlines()] == ["h2", "promises"]


@pytest.mark.parametrize("files", [(), ("validation/__init__.py",), ("pyproject.toml",)])
def test_an_installed_package_says_what_is_missing(context, files, tmp_path, monkeypatch):
    """Also beside a package of that name that others have installed, where there is no pyproject.toml."""
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(sources, "SOURCES", tmp_path)
    before = list(sys.path)
    with pytest.raises(InputError, match=r"^pdem verify for h2 needs the folder validation/ of the sources"):
        sources.require_sources("validation", " for h2")
    assert sys.path == before


def test_the_path_grows_once(context, monkeypatch):
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(sources.SOURCES)])
    for _ in range(2):
        sources.require_sources("validation")
    assert sys.path.count(str(sources.SOURCES)) == 1


@pytest.mark.parametrize("words", COMMANDS.values(), ids=" ".join)
def test_benchmarks_names_commands_of_pdem(words):
    command = main
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands[word]
    assert not isinstance(command, click.Group)


def test_modules_start_the_commands():
    code, said, _ = python("-m", "benchmarks", "plan", "--help", folder=sources.SOURCES)
    assert code == 0
    assert said.startswith("Usage: pdem scaling plan ")
    code, said, errors = python("-m", "benchmarks", "plans", folder=sources.SOURCES)
    assert (code, said) == (2, "")
    assert all(f"python -m benchmarks {name} " in errors for name in COMMANDS)
    code, said, _ = python("-m", "validation", "--list", "bits", folder=sources.SOURCES)
    assert code == 0
    assert said.split()[:2] == ["promises", "bits"]
