"""A small run, and commands in the folder it is in: what they say, and that a refusal changes nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

from click.testing import CliRunner

from pdem.cli import main
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder

CASE = """
title = "A grain on a plate"
[time]
step = 1e-5
end = 0.004
[domain]
lower = [-0.1, -0.1, -0.1]
upper = [0.1, 0.1, 0.2]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.3
[interactions.grain-grain]
friction = 0.4
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.0, 0.0, 0.0099], [0.05, 0.0, 0.05]]
[[walls]]
mesh = "plate.stl"
material = "grain"
[output]
folder = "out"
snapshots_every = 0.001
series_every = 0.0005
checkpoint_every = 0.002
"""
PLATE = """solid plate
facet normal 0 0 1
outer loop
vertex -0.1 -0.1 0
vertex 0.1 -0.1 0
vertex 0.1 0.1 0
endloop
endfacet
facet normal 0 0 1
outer loop
vertex -0.1 -0.1 0
vertex 0.1 0.1 0
vertex -0.1 0.1 0
endloop
endfacet
endsolid
"""
FRICTION = "interactions.grain-grain.friction"


def command(*arguments, settings=()):
    """Run a command in this process; return exit code and what it said."""
    words = [*map(str, arguments), *(word for one in settings for word in ("--set", one))]
    result = CliRunner().invoke(main, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stderr


def run(*arguments, settings=()):
    code, errors = command(*arguments, "--quiet", settings=settings)
    assert code == 0, errors
    return errors


def refused(*arguments, settings=()):
    """Return the one line with which a command refuses, and see that it has changed nothing."""
    before = listing()
    code, errors = command(*arguments, "--quiet", settings=settings)
    assert code == 2, errors
    assert listing() == before
    lines = [line for line in errors.splitlines() if not line.startswith("pdem: warning")]
    assert len(lines) == 1, errors
    return lines[0]


def listing():
    """Return digests and times of all files here."""
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in Path().rglob("*")
        if path.is_file()
    }


def checkpoints(folder):
    return [path.name for path in CheckpointFolder(folder).paths()]


def die_in_step(monkeypatch, step):
    """Let the next run die, as by kill -9, before it takes a step: what is buffered is lost."""
    from pdem.output.series import Series
    from pdem.run.simulation import Simulation

    advance = Simulation.advance

    def advance_or_die(self, steps):
        if self.step + steps > step:
            raise SystemExit(137)
        return advance(self, steps)

    monkeypatch.setattr(Simulation, "advance", advance_or_die)
    monkeypatch.setattr(Series, "close", lambda self: None)


def state(path):
    """Return all numbers of a checkpoint as bytes."""
    groups = read_checkpoint(path).groups
    return {f"{group}/{name}": column.tobytes() for group, row in groups.items() for name, column in row.items()}
