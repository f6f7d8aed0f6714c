"""The page for a proposal: what is asked for follows from what is known, and from nothing else."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.planning.proposal import Evidence, Request, proposal_sections
from helpers.fills import case_of
from pdem.cli import main
from pdem.foundation.errors import InputError

FILL = 'radius = 0.05\nfill = {arrangement = "cubic", count = 40}'


def rehearsal_of(ranks=1024, seconds=3e-3, particles=15_000 * 1024):
    row = {
        "ranks": ranks, "particles": particles, "made": [0], "owned": 15_000, "ghosts": 3000, "neighbours": 8,
        "bytes_per_step": 300_000, "work": 2.5e-3, "detection": 1e-2, "agree": 4e-5, "seconds_per_step": seconds,
        "memory": 2.5e7, "efficiency": 0.9,
    }  # fmt: skip
    return {
        "case": "bed", "rows": [row], "threads": 1, "network": {"latency": 2e-6, "overhead": 1e-6, "bandwidth": 1e9},
        "seconds_per_particle": 1.8e-7, "weak": True, "detections": 0.02, "particles_alone": 16384,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rehearsal.json").write_text(json.dumps(rehearsal_of()))
    return tmp_path


def asked_for(folder, **changes):
    request = Request(**{"ranks": 1024, "threads": 1, "runs": 3, "particles": 15_360_000, **changes})
    sections = proposal_sections(case_of(FILL), [], request, Evidence.of(folder), plots=False)
    return dict(sections[0].rows), sections


def test_core_hours_are_those_of_the_steps(folder):
    numbers, sections = asked_for(folder)
    case = case_of(FILL)
    steps = round(case.time.end / case.resolved_step())
    hours = 3e-3 * steps * 1024 / 3600.0
    assert float(numbers["core hours of a run"].replace(",", "")) == pytest.approx(hours, rel=1e-3)
    assert float(numbers["core hours in all"].replace(",", "")) == pytest.approx(3 * hours, rel=1e-3)
    assert float(numbers["memory of a rank"].split()[0]) == pytest.approx(0.05, rel=0.01)
    assert [one.title for one in sections] == ["What is asked for", "The case", "Rehearsal"]
    half, _ = asked_for(folder, particles=7_680_000)
    assert float(half["core hours of a run"].replace(",", "")) == pytest.approx(hours / 2.0, rel=1e-3)


def test_ranks_with_as_many_particles_count_and_others_are_told(folder):
    """Ranks with few particles spend their time on messages: not what a request with many is to be judged by."""
    document = json.loads((folder / "rehearsal.json").read_text())
    few = {**document["rows"][0], "particles": 50 * 1024, "seconds_per_step": 1e-4}
    other = {**document["rows"][0], "ranks": 1200, "particles": 15_000 * 1200}
    (folder / "rehearsal.json").write_text(json.dumps({**document, "rows": [few, other]}))
    _, sections = asked_for(folder)
    assert "by the rehearsal of 1,200 ranks with 15 thousand particles each; neither" in sections[0].text
    (folder / "rehearsal.json").write_text(json.dumps({**document, "rows": [few]}))
    _, sections = asked_for(folder)
    assert "1,024 ranks with 50 particles each, not the 15 thousand of this request" in sections[0].text
    assert "pdem scaling rehearse CASE --ranks 1024 --particles-per-rank 15000 gives" in sections[0].text


def test_ranks_of_which_nothing_is_known_are_refused(folder, tmp_path_factory):
    with pytest.raises(InputError, match="nothing is known of 16 ranks, the nearest is 1024; pdem scaling rehearse"):
        asked_for(folder, ranks=16)
    with pytest.raises(InputError, match="nothing is known of ranks with 4 threads"):
        asked_for(folder, threads=4)
    with pytest.raises(InputError, match="holds nothing about scaling"):
        Evidence.of(tmp_path_factory.mktemp("empty"))
    (folder / "rehearsal.json").write_text("{}")
    with pytest.raises(InputError, match=r"rehearsal\.json: is no rehearsal"):
        Evidence.of(folder)


def test_the_page_is_written(folder):
    case = case_of(FILL)
    path = folder / "case.toml"
    path.write_text(case.to_toml())
    result = CliRunner().invoke(main, ["scaling", "proposal", str(path), str(folder), "--ranks", "1024", "--runs", "2"])
    assert result.exit_code == 0, result.output
    page = (folder / "proposal.html").read_text()
    assert "core hours in all" in page
    assert page.count("data:image/png;base64,") == 1
    assert "2 runs of 40 particles" in (folder / "proposal.md").read_text()
