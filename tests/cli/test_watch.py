"""The page of `pdem watch`: what it says of a run, to whom, and how a browser shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from folders import CASE, PLATE

from pdem.case.model import Case
from pdem.simulation.results import Results, SeriesTable
from pdem.simulation.simulation import Simulation
from pdem.watch import pictures, server, state

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
QUIET_BROWSER = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update",
    "--disable-background-networking", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the output folder of a run that is over."""
    path = tmp_path_factory.mktemp("watched")
    (path / "plate.stl").write_text(PLATE)
    (path / "case.toml").write_text(CASE.replace('folder = "out"', f'folder = "{path / "out"}"'))
    Simulation(Case.read(path / "case.toml"), threads=1).run()
    return path / "out"


@contextmanager
def served(folder, *options):
    """Yield the address at which `pdem watch` serves the page."""
    command = [sys.executable, "-m", "pdem", "watch", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+/", process.stdout.readline())[0]
    finally:
        process.terminate()
        process.communicate(timeout=20)


def fetch(address, host=None):
    request = urllib.request.Request(address, headers={} if host is None else {"Host": host})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers["Content-Type"], answer.read()


def refused(address, host=None):
    """Return the status with which a request is refused."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        fetch(address, host)
    with caught.value as answer:  # is open like any answer
        return answer.code


def test_the_page_tells_how_far_a_run_is(folder):
    series = Results(folder).series
    with served(folder) as address:
        assert address.startswith("http://127.0.0.1:")
        found = json.loads(fetch(f"{address}state")[1])
        assert found["status"] == "finished"
        assert found["lines"] == len(series)
        numbers = {one["name"]: one for one in found["numbers"]}
        assert list(numbers) == list(series.names)
        assert float(numbers["time"]["value"]) == pytest.approx(series["time"][-1], rel=1e-5)
        assert numbers["translation"]["unit"] == "J"
        kind, plot = fetch(f"{address}plot.svg?column=translation&column=particles")
        assert kind == "image/svg+xml"
        assert b"<svg" in plot
        assert b"<title>" in fetch(address)[1]
        for path, code in (("plot.svg?column=nonsense", 503), ("../series.csv", 404), ("picture", 404)):
            assert refused(address + path) == code
        assert refused(f"{address}state", host="elsewhere.example") == 403  # this address under another name


def test_a_run_that_has_yet_to_begin_is_waited_for(tmp_path):
    watched = state.RunState(tmp_path / "none")
    assert watched.read()["status"] == "waiting"
    assert "no such folder" in watched.read()["reason"]
    (tmp_path / "none").mkdir()
    assert "holds no results" in watched.read()["reason"]
    (tmp_path / "none" / "series.h5").write_bytes(b"torn")
    assert watched.read()["status"] == "waiting"


def test_speed_and_time_left_follow_what_comes(folder, monkeypatch):
    rows = Results(folder).series
    watched, clock = state.RunState(folder), iter([10.0, 12.0])

    class Part(Results):
        lines = 3

        @property
        def series(self):
            return SeriesTable(rows.rows[: self.lines], rows.units)

    monkeypatch.setattr(state, "Results", Part)
    monkeypatch.setattr(state.clock, "monotonic", lambda: next(clock))
    assert watched.read()["speed"] == 0.0
    Part.lines = 7
    found = watched.read()
    assert found["status"] == "running"
    assert found["speed"] == pytest.approx((rows["time"][6] - rows["time"][2]) / 2.0)
    assert found["share"] == pytest.approx(rows["time"][6] / found["end"])
    assert found["left"]


def test_a_picture_is_drawn_once_for_each_snapshot(folder, tmp_path, monkeypatch):
    pytest.importorskip("pyvista")
    drawn = []

    class Drawing:
        returncode = 0

        def __init__(self, command, **_):
            drawn.append(command)
            (tmp_path / "next.png").write_bytes(b"picture %d" % len(drawn))

        def poll(self):
            return 0

    monkeypatch.setattr(pictures.subprocess, "Popen", Drawing)
    newest = pictures.NewestPicture(folder, tmp_path)
    assert newest.read() is None
    assert [newest.refresh() for _ in range(4)] == [0, 1, 1, 1]
    assert newest.read() == b"picture 1"
    monkeypatch.setattr(pictures, "_snapshots", lambda _: 10**6)
    assert [newest.refresh() for _ in range(3)] == [1, 2, 2]
    assert len(drawn) == 2


def test_an_address_that_is_taken_is_named(folder):
    with served(folder) as address:
        port = address.rstrip("/").rpartition(":")[2]
        with pytest.raises(server.InputError, match=f"127.0.0.1:{port}: cannot be listened at"):
            server.serve(folder, "127.0.0.1", int(port), print)


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_a_browser_shows_the_page(folder, tmp_path):
    """Its scripts have run: numbers, progress and the plot are there."""
    with served(folder) as address:
        threading.Thread(target=fetch, args=(f"{address}plot.svg?column=translation",)).start()
        command = [
            BROWSER,
            *QUIET_BROWSER,
            f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=8000",
            "--dump-dom",
        ]
        shown = subprocess.run(
            [*command, address], capture_output=True, text=True, timeout=120, check=True
        ).stdout
    assert 'data-status="finished"' in shown
    assert re.search(r"100\.0 %, [\d.e-]+ of [\d.e-]+ s, finished", shown)
    assert 'style="width: 100%;"' in shown
    assert shown.count("<tr>") == len(Results(folder).series.names)
    assert re.search(r'<img id="plot"[^>]*src="plot.svg\?lines=\d+&amp;column=translation"', shown)
