"""Continuum fields: sums over cells are those over particles and contacts, and known states have known fields."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.cases import GRAIN, USUAL, Grains, make_case, simulate
from pdem.continuum.items import Matter
from pdem.continuum.sums import MOMENTUM, field_sums
from pdem.foundation.errors import InputError

R, SIDE = 0.01, 0.06
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
HEAVY = {"grain": GRAIN, "heavy": {**GRAIN, "density": 3000.0}, "steel": {}}
WIDE = {"lower": [-0.1] * 3, "upper": [SIDE + 0.1] * 3}


def results_of(folder, *groups, end=2e-4, **options):
    """Return the results of a short run that has written contacts with each snapshot."""
    every = dict.fromkeys(("snapshots_every", "contacts_every", "series_every"), end / 4)
    more = {"output": {"folder": str(folder / "out"), **every}, **options.pop("more", {})}
    options = {"lower": [0.0] * 3, "upper": [SIDE] * 3, "law": USUAL, "step": 1e-5} | options
    case = make_case(folder, *groups, end=end, more=more, **options)
    simulation = pdem.Simulation(case, threads=1)
    simulation.run()
    return pdem.Results(folder / "out"), simulation


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """A bed of two materials that is shaken on a floor, in a box that is periodic along x."""
    rng = np.random.default_rng(2)
    places = np.stack(np.meshgrid(*[np.arange(3) * 0.0195] * 3), axis=-1).reshape(-1, 3) + np.array([0.0, R, 0.99 * R])
    velocity = rng.normal(size=places.shape)
    floor = {"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
    groups = [
        Grains(places[::2], R, velocity[::2]), Grains(places[1::2], R, velocity[1::2], material="heavy")
    ]  # fmt: skip
    options = {"materials": HEAVY, "walls": (floor,), "periodic": [True, False, False]}
    return results_of(tmp_path_factory.mktemp("bed"), *groups, **options)


def total(field, fields):
    return fields.cell_volume * field.reshape(-1, *field.shape[3:]).sum(axis=0)


@pytest.mark.parametrize("kernel", ["gaussian", "lucy"])
@pytest.mark.parametrize(("cells", "width"), [((9, 10, 11), 0.01), ((6, 5, 7), 0.004), ((4, 30, 5), 0.02)])
def test_sums_over_cells_are_those_over_particles_and_contacts(bed, kernel, cells, width):
    results, simulation = bed
    snapshot = results[-1]
    corners = {"lower": [0.0, -0.1, -0.1], "upper": [SIDE, 0.2, 0.2]}
    fields = pdem.coarse_grain(snapshot, cells=cells, width=width, kernel=kernel, **corners)
    mass, velocity = simulation.masses, simulation.particles.velocity
    assert total(fields.density, fields) == pytest.approx(mass.sum(), rel=1e-13)
    np.testing.assert_allclose(total(fields.momentum, fields), mass @ velocity, rtol=1e-11)
    stress = simulation.stress()
    contact = stress.contact * SIDE**3
    np.testing.assert_allclose(total(fields.contact_stress, fields), contact, rtol=1e-10, atol=1e-12)
    moving = total(fields.kinetic_stress, fields) + np.einsum(
        "xyzi,xyzj->ij", fields.momentum, np.nan_to_num(fields.velocity)
    ) * fields.cell_volume  # fmt: skip
    np.testing.assert_allclose(moving, np.einsum("n,ni,nj->ij", mass, velocity, velocity), rtol=1e-10)
    load = simulation.wall_loads()["wall0"]["force"]
    np.testing.assert_allclose(total(fields.wall_force, fields), -load, rtol=1e-10, atol=1e-12)
    assert abs(load[2]) > 0.0


def test_parts_by_material_and_means_over_time_add_up(bed):
    results, _ = bed
    options = {"cells": (6, 6, 6), "width": 0.008}
    whole = pdem.coarse_grain(results[-1], **options)
    divided = pdem.coarse_grain(results[-1], by="material", **options)
    assert list(divided.materials) == ["grain", "heavy", "steel"]
    alone = pdem.coarse_grain(results[-1], material="heavy", **options)
    with pytest.raises(InputError, match=r'no parts of materials; make fields with by="material"'):
        whole.materials["heavy"]
    with pytest.raises(InputError, match="there is no material 'hevy'; did you mean 'heavy'"):
        divided.materials["hevy"]
    for name in ("density", "solid_fraction", "momentum", "contact_stress", "wall_force"):
        both = sum(getattr(part, name) for part in divided.materials.values())
        expected = getattr(divided, name)
        np.testing.assert_allclose(both, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
        # branches are taken at other places if they are divided
        np.testing.assert_allclose(getattr(whole, name), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
        np.testing.assert_array_equal(getattr(alone, name), divided[f"heavy_{name}"])
    each = [pdem.coarse_grain(one, **options) for one in results]
    mean = pdem.coarse_grain(results, **options)
    for name in ("density", "momentum", "contact_stress"):
        expected = sum(getattr(one, name) for one in each) / len(each)
        np.testing.assert_allclose(getattr(mean, name), expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert len(each) == 5


def test_a_part_of_a_periodic_box_is_as_in_the_whole(bed):
    """Half of the box, where images beyond its periodic sides matter, beside the same cells of the whole."""
    results, _ = bed
    whole = pdem.coarse_grain(results[-1], cells=(6, 6, 6), width=0.008)
    half = pdem.coarse_grain(results[-1], cells=(3, 6, 6), width=0.008, upper=[0.5 * SIDE, SIDE, SIDE])
    for name in ("density", "momentum", "contact_stress"):
        expected = getattr(whole, name)[:3]
        np.testing.assert_allclose(getattr(half, name), expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_a_lattice_at_rest_has_even_fields(tmp_path):
    """Density, and pressure of a cubic lattice that fills a periodic box, in each cell; all of it moves as one."""
    places = np.stack(np.meshgrid(*[np.arange(3) * 0.02] * 3), axis=-1).reshape(-1, 3) + 1e-3
    radius = 0.5 * (0.02 + 0.02 * R)
    group = Grains(places, radius, (30.0, -20.0, 10.0))
    results, _ = results_of(tmp_path, group, end=4e-5, periodic=[True] * 3)
    fields = pdem.coarse_grain(results[0], cells=(12, 12, 12), width=0.015)
    density = GRAIN["density"] * 4.0 / 3.0 * math.pi * radius**3 / 0.02**3
    np.testing.assert_allclose(fields.density, density, rtol=1e-2)
    np.testing.assert_allclose(fields.velocity, np.broadcast_to([30.0, -20.0, 10.0], (12, 12, 12, 3)), rtol=1e-10)
    assert np.abs(fields.granular_temperature).max() < 1e-9 * 30.0**2
    overlap = 0.02 * R
    hertz = 4.0 / 3.0 * 1e7 / (2.0 * 0.96) * math.sqrt(0.5 * radius)
    pressure = hertz * overlap**1.5 / 0.02**2
    expected = np.broadcast_to(pressure * np.eye(3), (12, 12, 12, 3, 3))
    np.testing.assert_allclose(fields.contact_stress, expected, rtol=2e-2, atol=1e-6 * pressure)


def test_a_gas_that_shears_has_its_profile_and_its_temperature(tmp_path):
    """Without contacts: a mean velocity that grows along z, and noise of a known size."""
    rng = np.random.default_rng(8)
    places = rng.uniform(0.0, SIDE, (4000, 3))
    noise = 0.2 * rng.normal(size=places.shape)
    noise -= noise.mean(axis=0)
    group = Grains(places, 1e-5, noise + np.outer(places[:, 2], [10.0, 0.0, 0.0]))
    results, _ = results_of(tmp_path, group, end=4e-8, step=1e-8, periodic=[True, True, False])
    fields = pdem.coarse_grain(results[0], contacts={}, cells=(1, 1, 12), width=0.003, kernel="lucy")
    middle = slice(2, -2)
    height = fields.centres[0, 0, middle, 2]
    np.testing.assert_allclose(fields.velocity[0, 0, middle, 0], 10.0 * height, atol=0.03)
    np.testing.assert_allclose(fields.granular_temperature[0, 0, middle], 0.2**2, rtol=0.15)
    assert not fields.contact_stress.any()
    assert repr(fields) == "ContinuumFields(1 x 1 x 12 cells)"
    with pytest.raises(AttributeError, match=r"no field 'solid'; there are .*solid_fraction"):
        fields.solid  # noqa: B018
    with pytest.raises(InputError, match=r"no field 'solidfraction'; .*solid_fraction"):
        fields["solidfraction"]


@pytest.mark.parametrize(("kernel", "right"), [("gaussian", 0.01), ("lucy", 0.02)])
def test_the_divergence_of_the_stress_is_what_accelerates(tmp_path, kernel, right):
    """A periodic crowd: forces on particles, spread as their masses are, beside the derivative of the contact stress.

    What is left is where functions are cut, and that branches are taken at a few places.
    """
    side, count, rng = 0.08, 8, np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[np.arange(4) * 0.02] * 3), axis=-1).reshape(-1, 3)
    grains = Grains((places + 5e-4 * rng.normal(size=places.shape)) % side, 1.03 * R, rng.normal(size=places.shape))
    box = {"lower": [0.0] * 3, "upper": [side] * 3, "periodic": [True] * 3}
    run = simulate(tmp_path, grains, law=USUAL, step=1e-5, end=1.0, **box)
    fields = run.coarse_grain(cells=(count,) * 3, width=2.0 * R, kernel=kernel)
    own, mass = run.particles, run.masses
    pushed = Matter(own.position, own.force / mass[:, None], mass, mass, np.zeros(len(mass), np.int64))
    sums = field_sums(fields.grid, side * np.ones(3), 1, pushed, [])[0]
    force = sums[:, MOMENTUM].reshape(*fields.density.shape, 3) / fields.cell_volume
    waves = 2.0 * np.pi * np.fft.fftfreq(count, side / count)
    waves[count // 2] = 0.0
    divergence = np.zeros(force.shape)
    for axis in range(3):
        along = waves.reshape([count if one == axis else 1 for one in range(4)])
        spectrum = np.fft.fft(fields.contact_stress[..., axis], axis=axis)
        divergence += np.fft.ifft(1j * along * spectrum, axis=axis).real
    assert np.linalg.norm(divergence + force) < right * np.linalg.norm(force)


def test_empty_cells_have_no_velocity(bed):
    results, _ = bed
    fields = pdem.coarse_grain(results[-1], cells=(3, 3, 20), width=0.002, lower=[0, 0, 0], upper=[SIDE, SIDE, 0.3])
    assert fields.density[..., -1].max() == 0.0
    assert np.isnan(fields.velocity[..., -1, :]).all()
    assert np.isnan(fields.granular_temperature[..., -1]).all()
    assert not fields.stress[..., -1, :, :].any()


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"kernel": "lucie"}, "kernel = 'lucie' is none; .*lucy"),
        ({"material": "gran"}, "there is no material 'gran'; .*grain"),
        ({"cells": (0, 1, 1)}, "cells are .*three whole numbers"),
        ({"cells": (2, 2)}, "cells are .*three whole numbers"),
        ({"lower": [1.0] * 3, "upper": [0.0] * 3}, "has no size"),
        ({"width": -1.0}, "width is -1.0; give a positive number"),
        ({"width": 5.0}, r"width = 5 m is longer than the domain \(.* m along x\), .* narrow it: it is in m"),
        (
            {"width": 0.05, "cells": (40, 40, 40)},
            "width = 0.05 m shares a particle among .* cells, more than 2,000,000",
        ),
    ],
)
def test_what_cannot_be_is_named(bed, keys, match):
    with pytest.raises(InputError, match=match):
        pdem.coarse_grain(bed[0][-1], **keys)


def test_snapshots_have_to_be_there_and_contacts_belong_to_one(bed):
    results, _ = bed
    with pytest.raises(InputError, match="there is no snapshot"):
        pdem.coarse_grain([])
    with pytest.raises(InputError, match=r"contacts are those of one snapshot, and there are 5; leave them out"):
        pdem.coarse_grain(results, results[-1].contacts)


def test_what_needs_no_contacts_is_there_without(bed, tmp_path):
    """Solid fraction and kinetic stress, of one snapshot and of several, as with contacts; the rest is explained."""
    results, _ = bed
    options = {"cells": (4, 4, 4), "width": 0.008, "by": "material"}
    known = pdem.coarse_grain(results, **options)
    (results.folder / "contacts.vtkhdf").rename(tmp_path / "aside")
    try:
        lacking, none = pdem.coarse_grain(results, **options), pdem.coarse_grain(results, {}, **options)
        alone = pdem.coarse_grain(results[-1], **options)
    finally:
        (tmp_path / "aside").rename(results.folder / "contacts.vtkhdf")
    for name in ("solid_fraction", "velocity", "kinetic_stress", "granular_temperature"):
        np.testing.assert_array_equal(getattr(lacking, name), getattr(known, name))
        np.testing.assert_array_equal(lacking.materials["heavy"][name], known.materials["heavy"][name])
    np.testing.assert_array_equal(none.stress, known.kinetic_stress)
    assert not none.wall_force.any()
    text = r"no contacts at {} s: run it with output.contacts_every, or give contacts={{}} for the kinetic stress alone"
    for fields, time in ((lacking, "0"), (alone, "0.0002"), (lacking.materials["heavy"], "0")):
        for name in ("contact_stress", "stress", "pressure", "wall_force"):
            with pytest.raises(InputError, match=text.format(time)):
                getattr(fields, name)
            with pytest.raises(InputError, match=text.format(time)):
                fields[name]
    lacking.write(tmp_path / "fields.vti")
    written = (tmp_path / "fields.vti").read_text()
    assert 'Name="heavy_solid_fraction"' in written
    assert "pressure" not in written


def test_paraview_reads_the_fields(bed, tmp_path):
    xml, numpy_support = (
        pytest.importorskip("vtkmodules.vtkIOXML"), pytest.importorskip("vtkmodules.util.numpy_support")
    )  # fmt: skip
    fields = pdem.coarse_grain(bed[0][-1], cells=(3, 4, 5), width=0.006, lower=[0.0, 0.01, 0.0], upper=[SIDE] * 3)
    fields.write(tmp_path / "fields.vti")
    reader = xml.vtkXMLImageDataReader()
    reader.SetFileName(str(tmp_path / "fields.vti"))
    reader.Update()
    image = reader.GetOutput()
    assert image.GetNumberOfCells() == 60
    np.testing.assert_allclose(image.GetBounds(), [0.0, SIDE, 0.01, SIDE, 0.0, SIDE])
    for name in ("density", "velocity", "stress", "granular_temperature"):
        column = numpy_support.vtk_to_numpy(image.GetCellData().GetArray(name))
        expected = getattr(fields, name)
        for x, y, z in ((0, 0, 0), (2, 1, 4), (1, 3, 2)):
            cell = image.GetCell(x + 3 * (y + 4 * z))
            np.testing.assert_allclose(np.array(cell.GetBounds()).reshape(3, 2).mean(axis=1), fields.centres[x, y, z])
            np.testing.assert_array_equal(column[x + 3 * (y + 4 * z)], np.ravel(expected[x, y, z]).squeeze())
    with pytest.raises(InputError, match=r"end the name in \.vti"):
        fields.write(tmp_path / "fields.vtk")
    with pytest.raises(InputError, match="cannot be written"):
        fields.write(tmp_path / "fields.vti" / "below.vti")
