"""What bits depend on is in every file, and a restart under other circumstances says so, once."""

from __future__ import annotations

import warnings

import h5py
import pytest
from click.testing import CliRunner

import pdem
from pdem.case.explain.example_cases import write_example
from pdem.cli import main
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.compare import compare
from pdem.output.log import environment
from pdem.output.provenance import PROVENANCE_LABELS, changes_since, provenance, provenance_warning


def test_every_entry_has_a_name_and_a_value():
    found = provenance()
    assert found.keys() == PROVENANCE_LABELS.keys()
    assert all(found.values())
    assert found.items() <= environment().items()
    assert "svml" in found["kernel_settings"]
    assert len(found["sources"]) == 16


def test_changes_name_what_was_and_what_is():
    now = provenance()
    assert changes_since(now) == changes_since({}) == ""
    assert provenance_warning({**now, "ranks": 7, "threads": 3, "h5py": "0", "cpu": "other"}) == ""
    others = {"numpy": "1.0", "processor": "pentium", "processor_features": "mmx", "libc": "glibc 1", "python": "2.7"}
    assert changes_since({**now, **others}) == provenance_warning({**now, **others}) == "", "they change no bit"
    assert changes_since({**now, "pdem": "0.1.0"}) == f"pdem 0.1.0 (now {now['pdem']})"
    assert changes_since({**now, "pdem": "0.1.0", "sources": "abc"}).count(" (now ") == 2
    text = provenance_warning({**now, "kernel_settings": "opt 0"})
    assert "numba's settings opt 0 (now " in text
    assert "valid, but perhaps not bit for bit" in text


def inside(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stderr


def test_a_restart_elsewhere_warns_once_and_is_the_same_state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example("two_spheres", tmp_path)
    seldom = [f"output.{name}=0.01" for name in ("snapshots_every", "series_every", "checkpoint_every")]
    words = [word for one in (*seldom, "output.folder=here") for word in ("--set", one)]
    inside("run", "two_spheres.toml", "--set", "time.end=0.02", *words, "--quiet")
    path = CheckpointFolder(tmp_path / "here").paths()[-1]
    held = read_checkpoint(path)
    assert held.attributes.items() >= provenance().items()
    with h5py.File(tmp_path / "here" / "particles.vtkhdf") as file:
        kept = {key for group in (file, *file.values()) for key in group.attrs}
    assert kept >= provenance().keys()
    assert "warning" not in inside("restart", path, "--set", "time.end=0.03", "--set", "output.folder=same")
    elsewhere = {**held.attributes, "sources": "abc", "numpy": "1.0", "processor": "pentium"}
    other = tmp_path / "elsewhere.h5"
    write_checkpoint(other, held.groups, elsewhere)
    assert compare(path, other).equal
    assert any("numpy" in note for note in compare(path, other).notes)
    errors = inside("restart", other, "--set", "time.end=0.03", "--set", "output.folder=there")
    assert errors.count("warning") == 1
    assert "sources of pdem abc (now " in errors
    assert "pentium" not in errors, "which changes no bit"
    assert "sources of pdem abc (now " in (tmp_path / "there" / "run.log").read_text()
    assert compare(tmp_path / "same", tmp_path / "there").equal
    with pytest.warns(RuntimeWarning, match=r"elsewhere\.h5: the checkpoint was written under sources of pdem abc"):
        pdem.Simulation.restart(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdem.Simulation.restart(path)
