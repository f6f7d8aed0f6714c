"""Options of runs apart from their case."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pdem.foundation.signals import SignalFlag
    from pdem.output.folder_lock import FolderLock
    from pdem.output.run_status import CompilingStatus
    from pdem.run.simulation import Simulation
    from pdem.run.trace import Trace


class RunOptions(NamedTuple):
    """Options of a run apart from the case: terminal, trace, stop signals, overwriting, proofs of laws.

    `is_locked` is true once the command holds the lock on the output folder. On rank 0, `lock` is this lock, and
    `kernels` receives the progress of the compilation.
    """

    quiet: bool
    trace: str | None
    trace_steps: int
    flag: SignalFlag
    overwrite: bool
    laws: bool | None
    is_locked: bool = False
    lock: FolderLock | None = None
    kernels: CompilingStatus | None = None

    @contextmanager
    def writing_into(self, communicator: Any, folder: str) -> Iterator[RunOptions]:
        """Hold the lock on the output folder in this context, and yield options with the lock. Collective.

        A run that is refused leaves the folder unchanged, even after the compilation of its kernels.
        """
        from pdem.output.run_status import CompilingStatus
        from pdem.run.files.folder_use import COMMAND_LINE
        from pdem.run.files.output_folder import writing_into

        if self.is_locked:
            yield self
            return
        with (
            writing_into(folder, communicator, COMMAND_LINE) as lock,
            nullcontext() if lock is None else CompilingStatus(folder) as kernels,
        ):
            yield self._replace(is_locked=True, lock=lock, kernels=kernels)

    def check(self, communicator: Any) -> None:
        """Check that the trace file can be written, before any long work. Collective."""
        from pdem.engine.ranks import on_first

        trace = self._trace()
        if trace is not None:
            on_first(communicator, trace.check)

    def run_to_end(
        self, simulation: Simulation, findings: Sequence[object], files: Mapping[str, bytes] | None = None
    ) -> int:
        """Run all steps, and write additional files beside the results; return the exit code."""
        from pdem.run.files.folder_use import COMMAND_LINE, FolderUse
        from pdem.run.run import run as run_to_end

        run_to_end(
            simulation, quiet=self.quiet, findings=findings, flag=self.flag, trace=self._trace(),
            use=FolderUse(self.overwrite, COMMAND_LINE, self.lock), files=files,
        )  # fmt: skip
        return 0

    def _trace(self) -> Trace | None:
        from pdem.run.trace import Trace

        return None if self.trace is None else Trace(self.trace, self.trace_steps)
