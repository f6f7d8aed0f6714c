"""``python -m validation [NAME]...``: the same as ``pdem verify``."""

from __future__ import annotations

import sys

from pdem.cli import main

if __name__ == "__main__":
    main(["verify", *sys.argv[1:]], prog_name="pdem")
