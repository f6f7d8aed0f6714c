"""Use of the output folder by a run, and the commands that error messages about the folder suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pdem.output.folder_lock import FolderLock


class UserCommands(NamedTuple):
    """Commands for error messages, in the notation of the shell or of Python.

    Attributes
    ----------
    restart : str
        Continues the run in a folder (``{folder}``, or ``{quoted}`` for a shell).
    overwrite : str
        Removes the results in the folder.
    other_folder : str
        Selects a different folder.
    """

    restart: str
    overwrite: str
    other_folder: str

    @property
    def elsewhere(self) -> str:
        """Advice if a different run writes into the folder."""
        return f"{self.other_folder} writes elsewhere"


COMMAND_LINE = UserCommands("pdem restart {quoted}", "--overwrite", "--set output.folder=...")
PYTHON = UserCommands("Simulation.restart('{folder}')", "run(overwrite=True)", "case.override('output.folder=...')")


class FolderUse(NamedTuple):
    """How a run uses its output folder.

    Attributes
    ----------
    overwrite : bool
        Allow the removal of existing results.
    commands : UserCommands
        Commands for error messages.
    lock : FolderLock, optional
        On rank 0, the lock on the folder if the caller holds it already; otherwise the run acquires it.
    """

    overwrite: bool = False
    commands: UserCommands = PYTHON
    lock: FolderLock | None = None


FOLDER_USE = FolderUse()
"""Default for a run in Python: existing results are not removed."""
