"""Contacts of a run in files, in scripts and in pictures; how long they have lasted."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.cases import Grains, make_case
from pdem.foundation.errors import InputError
from pdem.output.pictures.render import render
from pdem.output.snapshots.contact_snapshots import CONTACT_FILE
from pdem.output.snapshots.vtkhdf import read_times

R, STEP = 0.01, 1e-5
QUIET = {"contact_ages": True, "series_every": 1e-3, "snapshots_every": 1e-3}


def pressed(folder, **output):
    """Return a case of a chain of spheres between which springs act: 0-1 touch at once, 2 comes later."""
    group = Grains(
        [[0.0, 0.0, 0.0], [1.95 * R, 0.0, 0.0], [4.2 * R, 0.0, 0.0]], R, [[0.0] * 3, [0.0] * 3, [-1.0, 0.0, 0.0]]
    )
    law = {"law": "linear", "normal_stiffness": 1e4, "restitution": 1.0, "friction": 0.0}
    more = {"output": {"folder": str(folder / "out"), **QUIET, **output}}
    return make_case(folder, group, law=law, step=STEP, end=6e-3, more=more)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The results of a run that has written contacts."""
    folder = tmp_path_factory.mktemp("contacts")
    case = pressed(folder, contacts_every=5e-4, checkpoint_every=3e-3)
    pdem.Simulation(case, threads=1).run()
    return pdem.Results(folder / "out")


def test_contacts_come_at_their_interval_and_have_the_bodies_forces_and_ages(ran):
    np.testing.assert_allclose(read_times(ran.folder / CONTACT_FILE), np.arange(13) * 5e-4, atol=1e-12)
    first = ran.contacts_at(0.0)
    assert (first["first"].tolist(), first["second"].tolist(), first["wall"].tolist()) == ([0], [1], [-1])
    assert first["age"].tolist() == [0.0]
    assert first["overlap"][0] == pytest.approx(0.05 * R)
    assert first["normal_force"][0] == pytest.approx(1e4 * 0.05 * R)
    assert first["elastic_energy"][0] == pytest.approx(0.5e4 * (0.05 * R) ** 2)
    np.testing.assert_allclose(first["force"], [[5.0, 0.0, 0.0]])
    np.testing.assert_allclose(first["point"], [[0.975 * R, 0.0, 0.0]])
    np.testing.assert_allclose(first["branch"], [[1.95 * R, 0.0, 0.0]])
    assert first["lost_energy"].tolist() == [0.0], "nothing is damped"


def test_ages_count_from_the_step_in_which_contacts_begin(ran):
    """Step by step beside a run by hand, which sees when contacts begin."""
    case = ran.case
    case.override("output.contacts_every=5e-4")
    run, began, seen = pdem.Simulation(case, threads=1), {}, set()
    for step in range(1, 601):
        run.advance(1)
        own = run.contacts()
        pairs = list(zip(own["first"].tolist(), own["second"].tolist(), strict=True))
        began = {pair: began.get(pair, 0 if pair == (0, 1) and step < 50 else step) for pair in pairs}
        seen |= set(began.items())
        expected = [(step - began[pair]) * STEP for pair in pairs]
        np.testing.assert_allclose(own["age"], expected, atol=1e-15)
        if step % 50 == 0:
            written = ran.contacts_at(step * STEP)
            assert written["age"].tobytes() == own["age"].tobytes()
            assert written["force"].tobytes() == own["force"].tobytes()
    assert {pair for pair, begin in seen if begin == 0} == {(0, 1)}
    assert (1, 2) in {pair for pair, begin in seen if begin > 0}


def test_a_restart_goes_on_with_the_same_contacts(ran):
    before = [ran.contacts_at(time) for time in read_times(ran.folder / CONTACT_FILE)]
    middle = sorted(ran.folder.glob("checkpoint-*.h5"))[0]
    pdem.Simulation.restart(middle, threads=2).run(overwrite=True)
    for time, expected in zip(read_times(ran.folder / CONTACT_FILE), before, strict=True):
        found = ran.contacts_at(time)
        assert all(found[name].tobytes() == column.tobytes() for name, column in expected.items())


def test_snapshots_have_their_contacts_and_pictures_show_them(ran, tmp_path):
    snapshot = ran.at(2e-3)
    total = np.zeros((3, 3))
    np.add.at(total, snapshot.contacts["first"], -snapshot.contacts["force"])
    np.add.at(total, snapshot.contacts["second"], snapshot.contacts["force"])
    np.testing.assert_allclose(total, snapshot.force, atol=1e-12)
    pytest.importorskip("pyvista")
    from PIL import Image

    (path,) = render(ran.folder, tmp_path / "chains.png", contacts=True, size=(160, 120), time=0.0, view="front")
    chains = np.asarray(Image.open(path), np.int64)[50:75, 30:110]
    assert np.ptp(chains, axis=(0, 1)).max() > 60  # a tube stands out
    with pytest.raises(InputError, match=r"no field 'charge' to colour by; the contacts have .*overlap"):
        render(ran.folder, tmp_path / "chains.png", contacts=True, colour_by="charge")


def test_contacts_are_frames_of_pandas_and_name_columns_that_they_lack(ran):
    pytest.importorskip("pandas")
    contacts = ran.at(2e-3).contacts
    frame = contacts.to_pandas()
    assert len(frame) == len(contacts["first"]) > 0
    assert frame["branch_x"].tolist() == contacts["branch"][:, 0].tolist()
    assert {frame.attrs["units"][name] for name in ("force_z", "centre_x", "age")} == {"N", "m", "s"}
    live = pdem.Simulation(ran.case, threads=1).contacts()
    assert live.to_pandas()["first"].tolist() == [0]
    with pytest.raises(InputError, match="there is no column of contacts 'frist'; did you mean 'first'"):
        contacts["frist"]
    del contacts["age"]
    with pytest.raises(InputError, match=r"no column of contacts 'age'; run the case with output.contact_ages = true"):
        contacts["age"]


def test_contacts_of_another_time_are_named(ran):
    """Snapshots of times at which no contacts were written: the error says where the nearest are."""
    snapshot = ran.at(2e-3)
    snapshot.time = 2.1e-3
    with pytest.raises(InputError, match=r"no contacts at 0.0021 s: the nearest are those at 0.002 s; .*multiple"):
        snapshot.contacts["first"]


def test_without_the_key_there_is_no_file(tmp_path):
    pdem.Simulation(pressed(tmp_path), threads=1).run()
    results = pdem.Results(tmp_path / "out")
    assert not (results.folder / CONTACT_FILE).exists()
    assert results[-1].contacts == {}
    with pytest.raises(InputError, match=r"holds no contacts to draw; run the case with output.contacts_every"):
        render(results.folder, tmp_path / "chains.png", contacts=True)
