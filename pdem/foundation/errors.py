"""Errors of pdem: each states the fact, the limit and the remedy in one line."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class PdemError(Exception):
    """Base of every error that pdem raises on purpose; the command line prints it without a traceback."""

    exit_code = 2


class CaseError(PdemError):
    """A case file (or a file it names) asks for something that is not possible."""


class MeshError(PdemError):
    """A wall mesh cannot be read or used."""


class InputError(PdemError, ValueError):
    """An argument of a public function is out of range."""


class FolderInUseError(InputError):
    """Another process, or another part of this one, writes into the output folder."""


class CheckpointError(PdemError):
    """A checkpoint or a snapshot is torn, foreign or does not fit the case."""


class WriteError(CheckpointError, InputError):
    """A file cannot be written: the disk is full, or nothing may be written there."""


class LaunchError(PdemError):
    """MPI, ranks or threads cannot be used as they were asked for."""


class BlowUpError(PdemError):
    """The simulation left the range in which its results mean something."""

    exit_code = 3


class ObserverError(PdemError):
    """A function of a script that observes a simulation failed, or did not do the same on all ranks."""


class PdemWarning(RuntimeWarning):
    """What users should know of a run; the command line shows it in one line, without a place in the sources."""


class Interrupted(PdemError):
    """The run was asked to stop (signal); its state is in a checkpoint and it can be continued."""

    exit_code = 99


def name_hint(name: str, names: Sequence[str]) -> str:
    """Return what to do about a name that is none of `names`: the near one, or all of them."""
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"give one of {', '.join(names)}"


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of this distribution, such as ``render``."""
    return f"pip install 'polydem[{extra}]'"
