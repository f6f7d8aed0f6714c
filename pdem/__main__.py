"""``python -m pdem``: the command line."""

from __future__ import annotations

from pdem.cli import main

main(prog_name="pdem")
