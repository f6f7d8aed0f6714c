"""A contact lasts as long as its law says by what it remembers: glue of which each contact has its own length."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import warmth
from helpers.cases import Grains, quad, simulate, state_of
from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.models import PARTS
from pdem.contact.law.parts import HistoryColumn, Key

RADIUS = 1e-3
LONGEST = 0.4 * RADIUS
LENGTHS = np.array([0.1, 0.25, 0.0, 0.8, 0.2]) * RADIUS
"""Glue on both particles of each pair, and on the one at the wall; one has none, and one more than can be drawn out."""


def elastic(overlap, radius, c, force, factor):
    return force, factor if overlap > 0.0 else 0.0, 0.0


def energy(overlap, radius, c, elastic_energy):
    return elastic_energy


def gap(radius, c):
    return min(c.length, c.longest)


def reach(radius, c):
    return c.longest


def values(pair):
    return pair.keys["longest"], 0.0


GLUE = AdhesionPart(
    role="adhesion", model="glue", text="Glue.", keys=(Key("longest", "m", "Of all contacts.", above=0.0),),
    coefficients=("longest", "length"), values=values, history=(HistoryColumn("glue_length", "m"),),
    remembered=("length",), elastic=elastic, energy=energy, gap=gap, reach=reach,
)  # fmt: skip


def stick(value, other_value, radius, other, overlap, pair, dt, parameters, length):
    """Let a contact that has just begun remember the shorter length; nothing flows."""
    return 0.0, max(length, min(value, other_value))


def stick_to_wall(value, wall_value, radius, overlap, pair, dt, parameters, length):
    return 0.0, max(length, value)


class Gluing(warmth.Warmth):
    """Glue on particles, a length by their ids, which contacts take when they begin."""

    flows, memory = (stick, stick_to_wall), "glue_length"

    def load(self, system, groups):
        own = system.particles
        if warmth.FIELD not in system.contacts.quanta:
            own[warmth.FIELD][:] = LENGTHS[own.id // 2 % len(LENGTHS)]
        self.exchange.load(system, groups, float(LENGTHS.max()))


def pulled_apart(folder, state=None):
    """Return pairs of particles that are pulled apart, and one particle that leaves a wall."""
    apart = 1.999 * RADIUS
    place = [[4e-3 * (k // 2), 0.0, 0.02 + apart * (k % 2)] for k in range(8)] + [[0.0, 0.0, 0.999 * RADIUS]]
    speed = [[0.0, 0.0, 0.5 * (2 * (k % 2) - 1)] for k in range(8)] + [[0.0, 0.0, 1.0]]
    law = {
        "friction": 0.3, "restitution": 1.0, "adhesion": {"model": "glue", "longest": LONGEST},
    }  # fmt: skip
    return simulate(
        folder, Grains(place, RADIUS, speed), state=state, step=1e-6, law=law, walls=({"mesh": quad(0.1)},),
        interactions={"steel-steel": {"friction": 0.3, "restitution": 1.0}}, lower=(-0.1,) * 3, upper=(0.1,) * 3,
        detection={"skin": 0.05},
    )  # fmt: skip


@pytest.fixture(autouse=True)
def glue_is_a_model(monkeypatch):
    monkeypatch.setitem(PARTS["adhesion"], GLUE.model, GLUE)
    # the process that compiles beside this one does not know the model
    monkeypatch.setattr("pdem.run.simulation.prepare_kernels", lambda *arguments: False)
    warmth.register(monkeypatch, Gluing)


def followed(run, steps):
    """Return how far apart each pair and the wall were when their contacts were there for the last time [m]."""
    widest = np.full(len(LENGTHS), -1.0)
    for _ in range(steps):
        run.advance(1)
        place = run.gather()["position"]
        distance = np.append(place[1:8:2, 2] - place[:8:2, 2] - 2.0 * RADIUS, place[8, 2] - RADIUS)
        pairs, walls = run.system.contacts.records()
        here = np.append(pairs.lower // 2, walls.id // 2)
        widest[here] = np.maximum(widest[here], distance[here])
    return widest


def test_each_contact_lasts_up_to_its_own_gap(tmp_path):
    """Longer than many skins, over new lists and a state in between; the longest ones as far as lists reach."""
    run = pulled_apart(tmp_path)
    first = followed(run, 150)
    state, detections = state_of(run), run.system.lists.detections
    widest = np.maximum(first, followed(run, 500))
    assert run.system.lists.detections > detections
    assert run.measures().pair_contacts + run.measures().wall_contacts == 0
    expected, glued = np.minimum(LENGTHS, LONGEST), LENGTHS > 0.0
    assert (widest <= expected).all()
    assert widest[glued] == pytest.approx(expected[glued], abs=3e-3 * RADIUS)
    again = pulled_apart(tmp_path, state)
    assert np.maximum(first, followed(again, 500)).tolist() == widest.tolist()


def test_what_is_remembered_needs_a_column_each():
    parts = {name: getattr(GLUE, name) for name in ("role", "model", "text", "keys", "values")}
    functions = {"elastic": elastic, "energy": energy, "gap": gap}
    for coefficients, remembered in ((("longest", "length"), ()), (("length", "longest"), ("length",))):
        with pytest.raises(ValueError, match="its history has 1 column: give one for each column"):
            AdhesionPart(coefficients=coefficients, remembered=remembered, history=GLUE.history, **parts, **functions)
