"""The table of fields, the rows that stand for it between two steps, and the fields of features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decomposition.ghosts import append_ghosts
from decomposition.packing import ghost_type, pack, state_type, unpack
from pdem.containers.particles import Particles
from pdem.foundation import packed_row
from pdem.foundation.fields import FIELDS, Field, Ghosted, state_fields, with_further, written_fields
from pdem.foundation.packed_row import NUMBERS, PACKED, PACKED_FIELDS, PARTS, PLACES, WHOLE, layout_of
from pdem.motion.integration import pack as pack_rows
from pdem.motion.integration import unpack as unpack_rows

HEAT = Field("temperature", np.float64, (), "K", "temperature", Ghosted.EVERY_STEP, default=293.0)
DIPOLE = Field("dipole", np.float64, (3,), "C m", "dipole moment", Ghosted.EVERY_STEP)
BONDS = Field("bonds", np.int64, (2,), "1", "bits of two bonds", Ghosted.EVERY_STEP, written=False)
AGE = Field("age", np.float32, (), "s", "time since it came", Ghosted.AT_DETECTION)
SCRATCH = Field("scratch", np.float64, (), "1", "of a step", state=False, written=False)
FURTHER = HEAT, DIPOLE, BONDS, AGE, SCRATCH


def test_a_packed_row_has_all_fields_that_change_every_step() -> None:
    """Rows and columns say the same; what a table without further fields refreshes in every step is in the row."""
    particles, rng, rows = Particles(), np.random.default_rng(1), np.zeros(5 * PACKED)
    particles.replace({"id": np.arange(5), "radius": np.ones(5)})
    assert {one.name for one in FIELDS.values() if one.ghosted is Ghosted.EVERY_STEP} == set(PACKED_FIELDS)
    assert particles.columns_beside_rows() == ()
    for name in PACKED_FIELDS:
        particles.column(name)[:5] = rng.normal(size=(5, 3))
    before = {name: particles[name].copy() for name in PACKED_FIELDS}
    moving = ("position", "velocity", "angular_velocity")
    pack_rows(5, *(particles.column(name) for name in (*moving, "radius", "material")), np.array([2500.0]), rows)
    for name in moving:
        at = PLACES[name]
        np.testing.assert_array_equal(rows.reshape(5, PACKED)[:, at : at + 3], before[name], name)
        particles.column(name)[:5] = 0.0
    unpack_rows(5, rows, *(particles.column(name) for name in PACKED_FIELDS))
    for name in moving:
        np.testing.assert_array_equal(particles[name], before[name], name)


def test_parts_of_a_row_do_not_share_places_and_fill_it() -> None:
    assert sorted(NUMBERS) == list(range(PACKED))
    assert (packed_row.PLACE, packed_row.SIZE) == (0, 3)  # what is read of candidates that are apart


@given(st.lists(st.sampled_from(["id", "force", "liquid", "torque", "charge"]), unique=True))
def test_a_row_with_more_parts_is_longer_by_whole_vectors(more: list[str]) -> None:
    places, length = layout_of((*PARTS, *more))
    sizes = {name: FIELDS[name].width if name in FIELDS else 1 for name in places}
    taken = sorted(place for name, first in places.items() for place in range(first, first + sizes[name]))
    assert taken == list(range(len(taken)))
    assert {name: places[name] for name in PARTS} == PLACES
    assert length % WHOLE == 0
    assert length - WHOLE < len(taken) <= length


def test_numbers_that_ghosts_get_in_every_step_have_eight_bytes() -> None:
    with pytest.raises(ValueError, match=r"charge: ghosts get numbers of 8 bytes in every step, and float32 has 4"):
        Field("charge", np.float32, (), "C", "charge", Ghosted.EVERY_STEP)


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two fields of particles have the name 'temperature'"):
        with_further((HEAT, HEAT))
    with pytest.raises(ValueError, match="two fields of particles have the name 'radius'"):
        Particles(further=(Field("radius", np.float64, (), "m", "another"),))


def test_a_further_field_has_its_default_where_nobody_gives_it() -> None:
    particles = Particles({"id": np.arange(3)}, FURTHER)
    assert particles.temperature.tolist() == [293.0] * 3
    particles.temperature[:] = [1.0, 2.0, 3.0]
    particles.replace_rows(np.array([True, False, False]), {"id": np.array([7, 8])})
    assert particles.temperature.tolist() == [293.0, 2.0, 3.0, 293.0]
    particles.reorder(np.array([3, 2, 1, 0]))
    assert particles.temperature.tolist() == [293.0, 3.0, 2.0, 293.0]
    particles.reserve(1000)
    assert (particles.column("temperature")[4:] == 293.0).all()
    assert not particles.column("dipole").any()


def filled(count: int, seed: int) -> Particles:
    """Return particles with random bits in all columns; a fourth of them are ghosts."""
    rng, particles = np.random.default_rng(seed), Particles(further=FURTHER)
    particles.replace({"id": np.arange(count)})
    for name in particles:
        column = particles.column(name)[:count]
        raw = rng.integers(0, 256, column.nbytes, np.uint8).view(column.dtype).reshape(column.shape)
        column[...] = np.where(np.isfinite(raw), raw, 0)
    particles.count, particles.ghosts = count - count // 4, count // 4
    return particles


@given(st.integers(0, 40), st.integers(0, 5))
def test_columns_beside_rows_are_the_columns_themselves(count: int, seed: int) -> None:
    """What is copied between them, number by number, is copied in the columns: all bits, whole numbers as well."""
    particles = filled(count, seed)
    owned, ghosts = particles.count, particles.ghosts
    source = np.random.default_rng(seed).integers(0, max(owned, 1), ghosts)
    columns = particles.columns_beside_rows()
    assert [one.shape for one in columns] == [(count, 1), (count, 3), (count, 2)]
    for column in columns:
        column[owned:] = column[source]
    for name in ("temperature", "dipole", "bonds"):
        held = particles.column(name)[owned:count]
        assert held.tobytes() == particles.column(name)[source].tobytes(), name


@given(st.integers(0, 40), st.integers(0, 5))
def test_rows_that_migrate_have_the_state_and_copies_what_ghosts_need(count: int, seed: int) -> None:
    particles, rows = filled(count, seed), np.arange(count)[::2]
    moved = unpack(pack(particles, rows, state_type(particles)))
    assert tuple(moved) == tuple(one.name for one in state_fields(particles.fields.values()))
    assert "scratch" not in moved
    other = Particles(moved | {"id": moved["id"]}, FURTHER)
    for name in moved:
        assert other[name].tobytes() == particles.column(name)[rows].tobytes(), name
    append_ghosts(other, pack(particles, rows, ghost_type(particles)))
    for name in ("id", "radius", "temperature", "dipole", "bonds", "age"):
        held = other.column(name)[other.count : other.count + other.ghosts]
        assert held.tobytes() == particles.column(name)[rows].tobytes(), name


def test_what_is_not_written_is_in_no_snapshot() -> None:
    names = [one.name for one in written_fields(with_further(FURTHER).values())]
    assert names[-3:] == ["temperature", "dipole", "age"]
