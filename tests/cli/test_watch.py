"""The page of `pdem watch`: what it says of a run, to whom, and how a browser shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import replace

import pytest

from helpers.folders import CASE, PLATE, command
from pdem.case.model import Case
from pdem.output.run_status import RunStatus, write_status
from pdem.run.reading.results import Results, SeriesTable
from pdem.run.simulation import Simulation
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
        numbers = {one["name"]: one for group in found["groups"] for one in group["columns"]}
        assert sorted(numbers) == sorted(series.names)
        assert [group["name"] for group in found["groups"]] == ["wall plate", "run", "contacts", "energies"]
        assert numbers["plate_force_z"]["meaning"] == "force of the particles on the wall in this step"
        assert not numbers["time"]["plotted"]
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
    assert "none does not exist; the page shows the run when it has begun" in watched.read()["sentence"]
    (tmp_path / "none").mkdir()
    assert "holds no results" in watched.read()["sentence"]
    (tmp_path / "none" / "series.h5").write_bytes(b"torn")
    assert watched.read()["status"] == "waiting"
    (tmp_path / "none" / "status.json").write_bytes(b"{torn")
    assert watched.read()["status"] == "waiting"


def test_speed_and_time_left_follow_what_comes(folder, monkeypatch):
    rows = Results(folder).series
    monkeypatch.setattr(state, "read_status", lambda _: None)
    monkeypatch.setattr(Results, "log", "")
    watched, clock = state.RunState(folder), iter([10.0, 12.0, 14.0])

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
    assert re.fullmatch(
        r"\d+\.\d %, [\d.e-]+ of 0.004 s, .* particle-steps/s, left [\d:]+, last line [\d:]+ ago", found["sentence"]
    )
    Part.lines = 2
    assert watched.read()["speed"] == 0.0, "a restart from an earlier checkpoint"


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


def test_a_picture_that_fails_is_drawn_again(folder, tmp_path, monkeypatch):
    """The run may have been writing just then; what never succeeds is left at some time."""
    pytest.importorskip("pyvista")
    drawn = []

    class Failing:
        returncode = 1

        def __init__(self, command, **_):
            drawn.append(command)
            self.returncode = 0 if len(drawn) == 3 else 1
            (tmp_path / "next.png").write_bytes(b"picture")

        def poll(self):
            return self.returncode

    monkeypatch.setattr(pictures.subprocess, "Popen", Failing)
    newest = pictures.NewestPicture(folder, tmp_path)
    assert [newest.refresh() for _ in range(5)] == [0, 0, 0, 1, 1]
    assert len(drawn) == 3
    monkeypatch.setattr(pictures, "_snapshots", lambda _: 10**6)
    for _ in range(20):
        newest.refresh()
    assert len(drawn) == 3 + 6


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_no_folder_of_pictures_stays_behind(folder, tmp_path, name):
    process = subprocess.Popen(
        [sys.executable, "-m", "pdem", "watch", str(folder), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    process.stdout.readline()
    assert [path.name.startswith("pdem-watch-") for path in tmp_path.iterdir()] == [True]
    process.send_signal(signal.Signals[name])
    assert process.communicate(timeout=20)[1] == ""
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_folder_is_told_on_the_terminal(folder, tmp_path):
    """Once, with one "pdem:" before it."""
    (tmp_path / "case.toml").write_text(CASE.replace('folder = "out"', f'folder = "{folder}"'))
    code, errors = command("watch", tmp_path / "case.toml")
    assert (code, errors.count("pdem:")) == (2, 1)
    assert f"is a case; its results are in {folder}: pdem watch {folder}" in errors
    code, errors = command("watch", folder / "series.h5")
    assert (code, errors.count("pdem:")) == (2, 1)
    assert f"is a file; name the output folder of a run: pdem watch {folder}" in errors
    process = subprocess.Popen(
        [sys.executable, "-m", "pdem", "watch", str(folder.parent / "aut"), "--port", "0", "--host", "0.0.0.0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()
    process.terminate()
    lines = process.communicate(timeout=20)[1].splitlines()
    assert [line.count("pdem:") for line in lines] == [1, 1]
    assert lines[0].endswith(f"the page shows the run when it has begun; there is {folder}")


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_a_browser_shows_the_page(folder, tmp_path):
    """Its scripts have run: numbers, progress and the plot are there."""
    shown = in_browser(folder, tmp_path)
    assert 'data-status="finished"' in shown
    assert re.search(r"finished at [\d.e-]+ of [\d.e-]+ s", shown)
    assert 'style="width: 100%;"' in shown
    assert shown.count("<tr ") == len(Results(folder).series.names)
    assert re.search(r'<img id="plot"[^>]*src="plot.svg\?lines=\d+&amp;column=translation"', shown)
    groups = re.findall(r'<details data-group="([^"]*)"( open="")?>', shown)
    assert groups == [("wall plate", ' open=""'), ("run", ""), ("contacts", ""), ("energies", ' open=""')]
    assert '<td title="kinetic energy of particles">' in shown


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_a_browser_shows_what_is_not_there_yet_and_what_was_killed(folder, tmp_path):
    status = RunStatus.of_this_process("compiling")
    (tmp_path / "new").mkdir()
    write_status(tmp_path / "new", replace(status, kernels=243))
    shown = in_browser(tmp_path / "new", tmp_path / "profile")
    assert 'data-status="compiling"' in shown
    assert "compiling kernels, 243 so far" in shown
    dead = shutil.copytree(folder, tmp_path / "dead")
    write_status(dead, replace(status, state="running", started=1, end=0.008))
    shown = in_browser(dead, tmp_path / "profile")
    assert '<header id="header" class="killed">' in shown
    assert re.search(r"ended at 0.004 of 0.008 s: its process \d+ is gone, .*pdem restart .*dead goes on from", shown)
    assert 'style="width: 50%;"' in shown


def in_browser(folder, profile):
    """Return the page of a folder when its scripts have run."""
    with served(folder) as address:
        if (folder / "series.h5").exists():
            threading.Thread(target=fetch, args=(f"{address}plot.svg?column=translation",)).start()
        words = [BROWSER, *QUIET_BROWSER, f"--user-data-dir={profile}", "--virtual-time-budget=8000", "--dump-dom"]
        return subprocess.run([*words, address], capture_output=True, text=True, timeout=120, check=True).stdout
