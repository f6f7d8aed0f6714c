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
    """A case file, or a file named in it, requests something that is not possible."""


class MeshError(PdemError):
    """A wall mesh cannot be read or used."""


class InputError(PdemError, ValueError):
    """An argument of a public function is out of range."""


class FolderInUseError(InputError):
    """Another process, or another part of this one, writes into the output folder."""


class CheckpointError(PdemError):
    """A checkpoint or a snapshot is damaged, was not written by pdem, or does not fit the case."""


class WriteError(CheckpointError, InputError):
    """A file cannot be written: the disk is full, or the file or folder is write-protected."""


class LaunchError(PdemError):
    """The requested MPI, number of ranks or number of threads cannot be used."""


class BlowUpError(PdemError):
    """The simulation left the range in which its results are meaningful."""

    exit_code = 3


class ObserverError(PdemError):
    """A script's observer function failed, or behaved differently on different ranks."""


class PdemWarning(RuntimeWarning):
    """Something that users should know about a run; the command line shows it in one line, without source location."""


class Interrupted(PdemError):
    """A signal stopped the run; its state is in a checkpoint, from which the run can be continued."""

    exit_code = 99


def name_hint(name: str, names: Sequence[str]) -> str:
    """Return advice about a name that is not one of `names`: the most similar name, or the list of all names."""
    near = get_close_matches(name, names, 1)
    return f"did you mean {near[0]!r}?" if near else f"give one of {', '.join(names)}"


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of this distribution, such as ``render``."""
    return f"pip install 'polydem[{extra}]'"
