"""Files of benchmark results, and the comparison with the newest earlier result of the same machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import InputError
from pdem.output.saving import reason, write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Entry = dict[str, Any]

FORMAT = 1

MACHINE_KEYS = ("cpu", "processor", "processor_features")
"""Keys of the environment that must agree for a comparison, in addition to ranks and threads."""

_SPEEDS = ("bandwidth", "multiply_adds", "divisions", "square_roots")


@dataclass(frozen=True)
class ResultFile:
    """A file of results.

    Attributes
    ----------
    path : Path
        The file.
    document : dict
        Its content, see `document_of`.
    """

    path: Path
    document: dict[str, Any]

    @property
    def date(self) -> str:
        """Time of the measurement (ISO 8601 with time zone)."""
        return str(self.document["date"])

    def is_comparable(self, document: dict[str, Any]) -> bool:
        """Return whether both results are from the same type of machine, with equal ranks and threads."""
        there, here = self.document["environment"], document["environment"]
        return all(there.get(name) == here.get(name) for name in MACHINE_KEYS) and all(
            self.document[name] == document[name] for name in ("ranks", "threads")
        )


def document_of(
    environment: dict[str, str], command: str, ranks: int, threads: int, results: Sequence[Entry]
) -> dict[str, Any]:
    """Return the document of a measurement for a result file.

    Parameters
    ----------
    environment : dict of str
        Versions and processor, as `pdem.output.log.environment` returns them.
    command : str
        Command line of the measurement.
    ranks, threads : int
        Number of ranks, and number of threads per rank.
    results : sequence of dict
        Results of the cases.
    """
    return {
        "format": FORMAT, "date": datetime.now().astimezone().isoformat(timespec="seconds"), "command": command,
        "environment": environment, "ranks": ranks, "threads": threads, "results": list(results),
    }  # fmt: skip


def read_result_files(folder: str | Path) -> list[ResultFile]:
    """Return the result files of a folder, the oldest first; empty if there is no such folder.

    Raises
    ------
    InputError
        If a JSON file in the folder is no result file.
    """
    found = [_read(path) for path in sorted(Path(folder).glob("*.json"))]
    return sorted(found, key=lambda file: datetime.fromisoformat(file.date))


def _read(path: Path) -> ResultFile:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"format {document['format']}, not {FORMAT}")
        datetime.fromisoformat(document["date"])
        for key in ("environment", "ranks", "threads", "results"):
            document[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: holds no results of pdem bench ({reason(error)}); move it out of the folder"
        ) from None
    return ResultFile(path, document)


def keep(folder: str | Path, document: dict[str, Any]) -> Path:
    """Write results into a folder, in a file named by version and date; return the path.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    moment = datetime.fromisoformat(document["date"])
    how = f"{document['ranks']}x{document['threads']}"
    name = f"{document['environment']['pdem']}_{moment:%Y-%m-%d_%H%M%S}_{how}.json"
    path = Path(folder) / name
    write_json(path, document)
    return path


def comparison_lines(document: dict[str, Any], earlier_files: Iterable[ResultFile]) -> Iterator[str]:
    """Yield a line per case with a comparable earlier result: the speed relative to the newest earlier result.

    Parameters
    ----------
    document : dict
        The present results.
    earlier_files : iterable of ResultFile
        Earlier results, the oldest first.
    """
    before = [earlier for earlier in earlier_files if earlier.is_comparable(document)]
    for result in document["results"]:
        title = _title(result)
        for earlier in reversed(before):
            then = _find(earlier.document["results"], title)
            if title and then:
                yield _comparison_line(title, result, then, earlier) + _machine_change(result, document, earlier)
                break


def _title(result: Entry) -> str:
    """Return the name of a result for comparisons; empty for results that are not compared."""
    if "method" in result:
        what = (f"{result[key]:g} {key}" for key in ("particles", "ratio", "threads"))
        return f"{result['name']} by {result['method']}, {', '.join(what)}"
    return str(result["name"]) if "rate" in result and "peer" not in result else ""


def _find(results: Sequence[Entry], title: str) -> Entry | None:
    return next((result for result in results if _title(result) == title), None)


def _speed(result: Entry) -> float:
    return float(result["rate"]) if "rate" in result else 1e9 / float(result["nanoseconds"])


def _comparison_line(title: str, now: Entry, then: Entry, earlier: ResultFile) -> str:
    version, day = earlier.document["environment"]["pdem"], earlier.date[:10]
    slower = max(now.get("rates", [_speed(now)])) < min(then.get("rates", [_speed(then)]))
    judged = ", slower in all parts" if slower and "rates" in now else ""
    ratio = f"{_speed(now) / _speed(then):.2f} times as fast"
    return f"{title}: {ratio} as pdem {version} of {day} ({earlier.path.name}){judged}"


def _machine_change(result: Entry, document: dict[str, Any], earlier: ResultFile) -> str:
    """Return text on the change in speed of the machine itself, if both results contain it."""
    both = [
        next((entry["speed"] for entry in results if _is_limit_of(entry, result)), None)
        for results in (document["results"], earlier.document["results"])
    ]
    if both[0] is None or both[1] is None:
        return ""
    ratios = (f"{name.replace('_', ' ')} {both[0][name] / both[1][name]:.2f}" for name in _SPEEDS)
    return f"; the machine itself: {', '.join(ratios)}"


def _is_limit_of(entry: Entry, result: Entry) -> bool:
    return entry.get("kind") == "limits" and entry["name"] == result["name"]
