"""The command line: ``pdem COMMAND``.

Goal: one file per command, a quick start (importing this room and asking for help loads click alone; each command
imports its modules when it runs), exit codes, and one message for each error.

Not here: any work that a script could also want. A command reads options, calls the room concerned, and prints.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import click

from pdem.cli.attest import attest
from pdem.cli.bench import bench
from pdem.cli.branch import branch
from pdem.cli.calibrate import calibrate, fit
from pdem.cli.check import check
from pdem.cli.compare import compare
from pdem.cli.compile import compile_kernels
from pdem.cli.explain import explain
from pdem.cli.mesh import mesh
from pdem.cli.new import new
from pdem.cli.render import render
from pdem.cli.replay import replay
from pdem.cli.results import export, plot
from pdem.cli.run import restart, run
from pdem.cli.scaling import scaling
from pdem.cli.schema import schema
from pdem.cli.shape import shape
from pdem.cli.slurm import slurm
from pdem.cli.sweep import sweep
from pdem.cli.verify import run_variants, verify
from pdem.cli.watch import watch
from pdem.foundation.errors import PdemWarning
from pdem.foundation.files import NO_ROOM
from pdem.foundation.terminal import ERRORS, end_quietly, open_closed_streams
from pdem.foundation.version import VERSION
from pdem.numerics.cache_places import CacheWarning
from pdem.numerics.garbage import search_rarely

if TYPE_CHECKING:
    from collections.abc import Sequence

_STOPPED_BY_KEYBOARD, _WRONG_INPUT = 130, 2


class Commands(click.Group):
    """Group of commands that keeps their order of addition; the return value of a command is the exit code."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands in the order of addition."""
        return list(self.commands)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and end the process; with several ranks only the first rank prints the error."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        search_rarely()
        open_closed_streams()
        end_quietly()
        _say_in_a_line()
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            if _is_rank_0():
                error.show()
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(_STOPPED_BY_KEYBOARD)
        except OSError as error:  # while click writes a help text
            if error.errno not in NO_ROOM:
                raise
            ERRORS.line(f"pdem: error: standard output cannot be written ({error.strerror}); make room")
            sys.exit(_WRONG_INPUT)
        sys.exit(code)


def _say_in_a_line() -> None:
    """Show warnings of pdem in one line above a progress line; warnings about kernels only on the first rank."""
    show = warnings.showwarning

    def in_a_line(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
        if not issubclass(category, PdemWarning):
            show(message, category, *others, **more)
        elif _is_rank_0() or not issubclass(category, CacheWarning):
            from tqdm import tqdm

            tqdm.write(f"pdem: warning: {message}\n", file=ERRORS, end="")
            ERRORS.flush()

    warnings.showwarning = in_a_line


def _is_rank_0() -> bool:
    from pdem.engine.ranks import launch_layout

    return launch_layout()[0] == 0


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="pdem")
def main() -> None:
    """Granular matter by the discrete element method: spheres of very different sizes in meshed machinery.

    A first run:

    \b
      pdem new silo             write an example case with comments
      pdem run silo.toml        run it; on four ranks: mpirun -n 4 pdem run silo.toml
      pdem render results/silo  draw its last state

    Exit codes: 0 done; 1 unexpected error, or the result of a comparison is negative (compare, verify, replay,
    attest, sweep, calibrate); 2 wrong input, an output folder in use, or a file that cannot be written; 3 the
    simulation blew up; 99 stopped by a signal with the state in a checkpoint, or before the first step.
    """  # noqa: D301 - click's mark for lines that stay as they are is the character itself


for command in (
    new,
    explain,
    schema,
    check,
    mesh,
    shape,
    run,
    restart,
    replay,
    attest,
    branch,
    sweep,
    calibrate,
    fit,
    render,
    plot,
    watch,
    export,
    compare,
    compile_kernels,
    slurm,
    bench,
    scaling,
    verify,
    run_variants,
):
    main.add_command(command)
