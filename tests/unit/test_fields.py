"""The table of fields, and the rows that stand for it between two steps."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.containers.particles import Particles
from pdem.foundation.fields import PACKED, PACKED_FIELDS, Field, Ghosted, ghosted_fields
from pdem.motion.integration import pack, unpack


def test_a_packed_row_has_all_fields_that_change_every_step() -> None:
    """Ghosts get rows in every step, and nothing else."""
    particles, rng, rows = Particles(), np.random.default_rng(1), np.zeros(5 * PACKED)
    particles.replace({"id": np.arange(5), "radius": np.ones(5)})
    changing = [field.name for field in ghosted_fields(Ghosted.EVERY_STEP)]
    assert tuple(changing) == PACKED_FIELDS
    for name in changing:
        particles.column(name)[:5] = rng.normal(size=(5, 3))
    before = {name: particles[name].copy() for name in changing}
    moving = ("position", "velocity", "angular_velocity")
    pack(5, *(particles.column(name) for name in (*moving, "radius", "material")), np.array([2500.0]), rows)
    for name in changing:
        particles.column(name)[:5] = 0.0
    unpack(5, rows, *(particles.column(name) for name in moving))
    for name in changing:
        np.testing.assert_array_equal(particles[name], before[name], name)


def test_a_field_without_room_in_the_row_is_refused() -> None:
    """Its ghosts would keep the values of the last detection."""
    with pytest.raises(
        ValueError, match=r"temperature: ghosts get position, velocity, angular_velocity in every step"
    ):
        Field("temperature", np.float64, (), "K", "temperature", Ghosted.EVERY_STEP)
