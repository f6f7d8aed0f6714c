"""Why contacts end, against contacts before and after each step and against cases with one end each."""

from __future__ import annotations

import pytest

from helpers.cases import GRAIN, RIGID, USUAL, Grains, quad, simulate
from helpers.falling_heap import falling, require_same
from pdem.contact.ends import PARTICLE_REMOVED, REASONS, RUPTURED, SEPARATED, WALL_REMOVED
from pdem.features.contact_ends.feature import EndedContacts
from pdem.foundation.errors import InputError

COUNTED = {"output": {"contact_ends": True}}
WET = USUAL | {
    "adhesion": {"model": "liquid-bridge", "surface_tension": 0.07, "contact_angle": 30.0, "carried_volume": 0.03}
}
FLOOR = {"mesh": quad(0.5), "material": "steel"}
R = 0.01


def numbers(run):
    """Return the columns of the series that are not 0."""
    found = run.system.features.get(EndedContacts).values(run.system)
    return {name: number for name, number in found.items() if number}


def apart(folder, law, liquid=0.0, **options):
    """Return two spheres that touch and fly apart."""
    grains = Grains([[0, 0, -0.999 * R], [0, 0, 0.999 * R]], R, [[0, 0, -0.4], [0, 0, 0.4]], liquid=liquid)
    return simulate(folder, grains, law=law, materials={"grain": GRAIN, "steel": RIGID}, more=COUNTED, **options)


def test_dry_spheres_separate_and_wet_ones_rupture(tmp_path):
    """With the law of liquid bridges also spheres that carry none, whose contact ends where they separate."""
    for law, liquid, ends in ((USUAL, 0.0, "separated"), (WET, 0.0, "separated"), (WET, 0.01, "ruptured")):
        run = apart(tmp_path, law, liquid)
        assert run.ended_contacts()["first"].tolist() == []
        run.advance(400)
        assert numbers(run) == {f"pairs_{ends}": 1}
        events = run.ended_contacts()
        assert [column.tolist() for column in events.values()] == [[0], [1], [-1], [REASONS.index(ends)]]
        assert run.ended_contacts()["first"].tolist() == []


def test_a_sphere_leaves_a_wall(tmp_path):
    for law, liquid, ends in ((USUAL, 0.0, SEPARATED), (WET, 0.01, RUPTURED)):
        grain = Grains([[0.0, 0.0, 0.999 * R]], R, [0.0, 0.0, 0.5], liquid=liquid)
        run = simulate(
            tmp_path, grain, law=law, materials={"grain": GRAIN, "steel": RIGID}, walls=(FLOOR,), more=COUNTED
        )
        run.ended_contacts()
        run.advance(400)
        assert numbers(run) == {f"wall_contacts_{REASONS[ends]}": 1}
        assert [column.tolist() for column in run.ended_contacts().values()] == [[0], [-1], [0], [ends]]


def test_contacts_end_with_their_particle(tmp_path):
    """Of three in a row on a floor the middle one goes."""
    grains = Grains([[1.99 * R * n, 0.0, 0.999 * R] for n in range(3)], R)
    run = simulate(
        tmp_path, grains, law=USUAL, materials={"grain": GRAIN, "steel": RIGID}, walls=(FLOOR,), more=COUNTED
    )
    run.ended_contacts()
    run.remove([1])
    assert numbers(run) == {"pairs_particle_removed": 2, "wall_contacts_particle_removed": 1}
    events = run.ended_contacts()
    assert events["first"].tolist() == [0, 1, 1]
    assert events["second"].tolist() == [1, -1, 2]
    assert set(events["reason"]) == {PARTICLE_REMOVED}


def test_contacts_end_with_their_wall(tmp_path):
    stages = {"stages": [{"name": "on", "end": 1e-3}, {"name": "off", "walls": {"wall0": {"remove": True}}}]}
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 0.999 * R]], R), law=USUAL, materials={"grain": GRAIN, "steel": RIGID},
        walls=(FLOOR,), gravity=(0.0, 0.0, -9.81), more=COUNTED | stages, step=1e-5,
    )  # fmt: skip
    run.ended_contacts()
    run.advance(110)
    assert run.stage == "off"
    assert numbers(run) == {"wall_contacts_wall_removed": 1}
    assert run.ended_contacts()["reason"].tolist() == [WALL_REMOVED]


def pairs_and_walls(run):
    pairs, walls = run.gather_contacts()
    return set(zip(pairs["lower"].tolist(), pairs["higher"].tolist(), strict=True)), set(walls["id"].tolist())


def test_each_contact_that_is_gone_is_listed(tmp_path):
    """In a heap that falls, step by step, beside the contacts before and after."""
    run = falling(tmp_path, FLOOR, more=COUNTED)
    run.ended_contacts()
    before, listed = pairs_and_walls(run), 0
    for _ in range(600):
        run.advance(1)
        now, events = pairs_and_walls(run), run.ended_contacts()
        of_walls = events["wall"] >= 0
        first, second = events["first"].tolist(), events["second"].tolist()
        gone = [(a, b) for a, b, wall in zip(first, second, of_walls, strict=True) if not wall]
        assert sorted(before[0] - now[0]) == gone
        assert sorted(before[1] - now[1]) == events["first"][of_walls].tolist()
        assert not events["reason"].any()
        before, listed = now, listed + len(first)
    assert listed > 20
    assert sum(numbers(run).values()) == listed


@pytest.mark.parametrize("steps", [1, 50])
def test_the_motion_is_the_same(tmp_path, steps):
    """Whether ends are counted or not, step by step or many at once."""
    runs = [falling(tmp_path, FLOOR, more=more) for more in (COUNTED, {})]
    for run in runs:
        for _ in range(300 // steps):
            run.advance(steps)
    counts = runs[0].system.features.get(EndedContacts)
    assert numbers(runs[0])["pairs_separated"] > 5
    counts.ends = None  # which is all that the state of the first has besides
    require_same(*runs)


def test_a_case_that_counts_none_has_no_list(tmp_path):
    with pytest.raises(InputError, match=r"give it output\.contact_ends = true"):
        falling(tmp_path, FLOOR).ended_contacts()
