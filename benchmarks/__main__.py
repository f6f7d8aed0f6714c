"""``python -m benchmarks NAME ...``: the commands of pdem that need this folder."""

from __future__ import annotations

import sys

from pdem.cli import main

COMMANDS = {
    "lammps": ("bench", "--peer", "lammps"),
    "liggghts": ("bench", "--peer", "liggghts"),
    "plan": ("scaling", "plan"),
    "rehearse": ("scaling", "rehearse"),
    "proposal": ("scaling", "proposal"),
}
"""Words after ``python -m benchmarks``, and the corresponding words after ``pdem``."""


def _usage() -> str:
    lines = [f"  python -m benchmarks {name} ...   pdem {' '.join(words)} ..." for name, words in COMMANDS.items()]
    return "\n".join(["Each is the same as a command of pdem, which has --help:", *lines])


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        main([*COMMANDS[sys.argv[1]], *sys.argv[2:]], prog_name="pdem")
    print(_usage(), file=sys.stderr)
    sys.exit(2)
