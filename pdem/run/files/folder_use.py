"""How a run comes to write into its output folder, and which commands messages about that suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pdem.output.folder_lock import FolderLock


class UserCommands(NamedTuple):
    """Commands that error messages suggest, as a user of the shell or of Python would write them.

    Attributes
    ----------
    restart : str
        Continues the run in a folder (``{folder}``, ``{quoted}`` for a shell).
    overwrite : str
        Removes the results in the folder.
    other_folder : str
        Chooses another folder.
    """

    restart: str
    overwrite: str
    other_folder: str

    @property
    def elsewhere(self) -> str:
        """What else the user can do where another run writes."""
        return f"{self.other_folder} writes elsewhere"


COMMAND_LINE = UserCommands("pdem restart {quoted}", "--overwrite", "--set output.folder=...")
PYTHON = UserCommands("Simulation.restart('{folder}')", "run(overwrite=True)", "case.override('output.folder=...')")


class FolderUse(NamedTuple):
    """How a run comes to write into its output folder.

    Attributes
    ----------
    overwrite : bool
        Results that are in the way may be removed.
    commands : UserCommands
        Suggested by error messages.
    lock : FolderLock, optional
        On rank 0 that of the folder, if it has been taken before; otherwise the run takes it.
    """

    overwrite: bool = False
    commands: UserCommands = PYTHON
    lock: FolderLock | None = None


FOLDER_USE = FolderUse()
"""That of a run in Python which may not remove results."""
