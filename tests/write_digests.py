"""Write the digests with which tests compare the states of short runs, after a change that is meant to change bits.

Called as ``python tests/write_digests.py [NAME...] [--into FOLDER]``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from helpers.digest_cases import CASES  # noqa: E402
from helpers.state_digests import run_digests  # noqa: E402


def main() -> None:
    """Write a file for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(CASES))
    parser.add_argument("--into", type=Path, default=ROOT / "tests" / "digests", metavar="FOLDER")
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    for name in given.names or CASES:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = run_digests(CASES[name].make(Path(folder)), CASES[name].steps)
        (given.into / f"{name}.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
