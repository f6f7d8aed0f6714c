"""Ranks of one node that were started in different folders, as ``mpirun -wdir`` does."""

from __future__ import annotations

import pytest

from pdem.case.model import Case
from pdem.engine.ranks import exchange_of
from pdem.foundation.errors import InputError, LaunchError
from pdem.output.shared_folder import are_in_one_folder, require_shared

CASE = """
time = {step = 1e-4, end = 1.0}
domain = {lower = [0.0, 0.0, 0.0], upper = [1.0, 1.0, 1.0]}
materials = {grain = {density = 1000.0, youngs_modulus = 1e6, poisson_ratio = 0.2}}
interactions = {default = {friction = 0.5, restitution = 0.4}}
output = {folder = "results"}
particles = [{material = "grain", file = "grains.txt"}]
"""


@pytest.fixture
def folder(communicator, shared_path, monkeypatch):
    """The working folder: of rank 2 another one than of ranks 0 and 1."""
    folders = [shared_path / "first", shared_path / "second"]
    if communicator.rank == 0:
        for one in folders:
            one.mkdir()
            (one / "grains.txt").write_text("0.5 0.5 0.5 0.01\n")
    communicator.Barrier()
    monkeypatch.chdir(folders[communicator.rank == 2])
    return folders[communicator.rank == 2]


@pytest.mark.ranks(3, timeout=60)
def test_the_same_files_in_several_folders_are_accepted(ranks, communicator, folder):
    exchange = exchange_of(Case.from_text(CASE), communicator)
    assert not are_in_one_folder(exchange)
    with pytest.raises(InputError, match=r"rank 2 on .* does not see what rank 0 on .*, or start all ranks in one"):
        require_shared("results", exchange)
    require_shared(folder.parent / "results", exchange)
    assert not list(folder.glob(".pdem-*"))


@pytest.mark.ranks(3, timeout=60)
@pytest.mark.parametrize(
    ("text", "what"), [("0.5 0.5 0.5 0.02\n", "has another content"), (None, "cannot be read there, but")]
)
def test_other_files_are_refused(ranks, communicator, folder, text, what):
    if communicator.rank == 2:
        (folder / "grains.txt").unlink()
        if text is not None:
            (folder / "grains.txt").write_text(text)
    communicator.Barrier()
    with pytest.raises(LaunchError, match=rf"particles\[0\].file = .*rank 2 on .*second, {what}.* in one folder"):
        exchange_of(Case.from_text(CASE), communicator)


@pytest.mark.ranks(3, timeout=60)
def test_ranks_of_one_folder_are_not_asked_for_files(ranks, communicator, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    exchange = exchange_of(Case.from_text(CASE), communicator)  # there is no such file
    assert are_in_one_folder(exchange)
    require_shared("results", exchange)
