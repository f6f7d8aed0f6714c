"""Columns of the series for the page: their groups, their meanings, and the column plotted at first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.groups.fixed_groups import fixed_groups
from pdem.features.bonds.columns import BROKEN_COLUMNS
from pdem.features.sensors.columns import classes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.case.model import Case
    from pdem.features.sensors.section import Sensor

RUN, CONTACTS, ENERGIES, STRESS, OTHERS = "run", "contacts", "energies", "stress and box", "others"
"""Groups of columns without a sensor, insertion or wall."""

_RUN = {
    "step": "number of the time step",
    "time": "simulated time",
    "particles": "number of particles; a cluster counts as one",
    "detections": "number of neighbour lists made so far",
    "particle_steps_per_second": "speed of the run since the line before",
    "stage": "number of the stage, 0 for the first",
    "mass": "mass of all particles",
    "left_mass_": "mass that has left the domain through this side",
    "left_mass": "mass that has left the domain",
    "left_": "number of particles that have left the domain through this side",
    "left": "number of particles that have left the domain",
    "gravity_": "acceleration by gravity",
    "temperature": "mean temperature of particles, by heat capacity",
    "temperature_min": "lowest temperature of a particle",
    "temperature_max": "highest temperature of a particle",
    "liquid_in_films": "liquid in the films of particles",
    "liquid_in_bridges": "liquid in bridges between particles",
}
_CONTACTS = {
    "pair_contacts": "contacts between particles",
    "wall_contacts": "contacts with walls",
    "contacts_per_particle": "mean number of contacts of a particle",
    "largest_overlap": "largest overlap over the smaller radius of its contact",
    "broken": "number of particles that have broken into fragments",
    "fragments_inserted": "number of fragments that have replaced broken particles",
    "fines_mass": "mass of fragments that are too small for spheres",
    "fracture_needed": "energy that the strengths of broken particles required",
    "bonds": "number of bonds",
    **{name: f"number of bonds that {mode} has broken, since the beginning" for name, mode in BROKEN_COLUMNS.items()},
    "fragments": "number of fragments: groups of particles that bonds join, and spheres that have lost all bonds",
    "largest_fragment": "largest mass of a fragment",
}
_ENERGIES = {
    "translation": "kinetic energy of particles",
    "rotation": "energy of rotation of particles",
    "gravity": "energy of particles in gravity",
    "elastic": "energy of the normal forces of contacts",
    "tangential": "energy in the springs of friction",
    "rolling_spring": "energy in the springs of rolling friction",
    "twisting_spring": "energy in the springs of twisting friction",
    "body_motion": "kinetic energy of walls that are free bodies",
    "body_gravity": "energy of walls that are free bodies in gravity",
    "normal_damping": "lost by damping of normal motion, since the beginning",
    "sliding": "lost by sliding friction, since the beginning",
    "rolling": "lost by rolling friction, since the beginning",
    "twisting": "lost by twisting friction, since the beginning",
    "adhesion": "lost by adhesion, since the beginning",
    "plastic": "lost by plastic deformation, since the beginning",
    "heat": "heat of particles above 0 K",
    "heat_from_motion": "lost by contacts and received as heat, since the beginning",
    "heat_walls": "heat that has left to walls, since the beginning",
    "heat_fluid": "heat that has left to the fluid, since the beginning",
    "heat_radiated": "heat that has left to surroundings, since the beginning",
    "bond_energy": "stored in bonds",
    "bond_damping": "lost by damping of bonds, since the beginning",
    "bond_fracture": "lost when bonds break, since the beginning",
    "breakage": "taken by the breakage of particles, since the beginning",
    "wall_work": "supplied by walls, since the beginning",
    "gravity_work": "supplied by gravity that changes, since the beginning",
    "own_forces": "supplied by [[forces]], since the beginning",
    "box_work": "supplied by a box that deforms, since the beginning",
    "outflow": "taken out with particles (negative: inserted), since the beginning",
    "stages": "taken out by changes at the beginning of stages",
    "residual": "error of the balance of all these energies",
}
_STRESS = {
    "contact_stress_": "stress by the forces of contacts and bonds; pressure is positive",
    "kinetic_stress_": "stress by the velocities of particles relative to their mean",
    "stress_": "contact and kinetic stress; pressure is positive",
    "pressure": "mean of the normal stresses",
    "fabric_": "mean of n n of the normals of contacts",
    "coordination_without_rattlers": "mean number of contacts of the particles that carry",
    "mechanical_coordination": "mean number of contacts of particles with two or more",
    "coordination": "mean number of contacts of a particle",
    "rattlers": "number of particles that do not carry",
    "box_length_": "length of the box",
    "strain_rate_": "rate at which the box grows",
    "strain_": "logarithmic strain of the box since time 0",
    "shear_strain": "shear strain of the box",
    "shear_rate": "shear rate of the box",
    "solid_fraction": "volume of particles over volume",
}
_OF_SENSORS = {
    "passed_count": "number of particles that have passed, less those that came back",
    "passed": "mass that has passed, less what came back",
    "removed_count": "number of particles that have been taken out",
    "removed": "mass that has been taken out",
    "count": "number of particles in the region",
    "mass": "mass in the region",
    "velocity_": "mean velocity of the mass in the region",
    "flow": "mean flow since the line before",
    "stays": "number of particles that have left the region",
    "mean_stay": "their mean time in the region",
    "lacey": "mixing index: 0 apart, 1 mixed at random",
    "unlike_contacts": "contacts between both materials over those of random mixing",
    **_STRESS,
}
_OF_INSERTIONS = {
    "count": "number of particles that have come in",
    "mass": "mass that has come in",
    "waiting": "number of particles that wait for a free place",
}
_OF_WALLS = {
    "force_mean_": "mean force of the particles on the wall since the last line that was due",
    "force_max": "largest force of the particles on the wall in a step since then",
    "force_": "force of the particles on the wall in this step",
    "torque_mean_": "mean torque of the particles on the wall since the last line that was due",
    "torque_max": "largest torque of the particles on the wall in a step since then",
    "torque_": "torque of the particles on the wall in this step, about its centre",
    "power_mean": "mean power that the wall delivers since the last line that was due",
    "power": "power that the wall delivers to the particles in this step",
    "travel": "way that the servo has moved the wall",
    "rate": "speed of the servo",
    "load": "load of the particles against the servo",
    "position_": "place of the centre of mass",
    "velocity_": "velocity of the centre of mass",
    "angular_velocity_": "angular velocity of the body",
    "angle": "angle about the hinge",
    "heat": "heat that the wall has received, since the beginning",
    "temperature": "temperature of the wall",
}
_OF_FIXED = {"force_": "force of the other particles on these in this step", "torque_": "its torque about the origin"}
_LIKELY = "passed", "removed", "mass"
"""Preferred columns of a sensor or an insertion for the first plot, in order of preference."""


class ColumnText(NamedTuple):
    """Group and meaning of a column; the meaning of an unrecognised column is empty."""

    group: str
    meaning: str


def texts_of(names: Sequence[str], case: Case) -> dict[str, ColumnText]:
    """Return group and meaning of each column of the series."""
    owners = sorted(_owners(case), key=lambda one: -len(one[0]))
    return {name: _text_of(name, owners, case) for name in names}


def legend_words(names: Sequence[str], case: Case) -> dict[str, str]:
    """Return words for the legend of a plot: name and meaning of each column, its name alone if it has no meaning."""
    return {name: f"{name}: {text.meaning}" if text.meaning else name for name, text in texts_of(names, case).items()}


def first_column(names: Sequence[str], case: Case) -> str | None:
    """Return the column to plot by default, preferably a column of a sensor or an insertion."""
    for owner in [one.name for one in case.sensors] + [one.name for one in case.insertions]:
        for likely in _LIKELY:
            if f"{owner}_{likely}" in names:
                return f"{owner}_{likely}"
    return next((name for name in ("translation", "particles") if name in names), None)


def groups_of(case: Case) -> list[str]:
    """Return the groups in the order of the page."""
    own = [group for _, group, _ in _owners(case)]
    return [*dict.fromkeys((*own, RUN, CONTACTS, STRESS, ENERGIES, OTHERS))]


def _owners(case: Case) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name, group and texts of each sensor, insertion, wall and group of fixed particles."""
    for sensor in case.sensors:
        yield sensor.name, f"sensor {sensor.name}", _of_passing(sensor) | _OF_SENSORS
    for insertion in case.insertions:
        yield insertion.name, f"insertion {insertion.name}", _OF_INSERTIONS
    for wall in case.walls:
        yield wall.name, f"wall {wall.name}", _OF_WALLS
    for name in fixed_groups(case):
        yield name, f"fixed particles {name}", _OF_FIXED


def _of_passing(sensor: Sensor) -> dict[str, str]:
    """Return the meanings of the passing sizes of a sensor."""
    amounts = {"": "in the region", "passed_": "that has passed", "removed_": "that has been taken out"}
    return {
        f"{word}p{percent:g}": f"diameter below which {percent:g} % of the mass {where} is"
        for percent in sensor.passing or ()
        for word, where in amounts.items()
    }


def _text_of(name: str, owners: Sequence[tuple[str, str, dict[str, str]]], case: Case) -> ColumnText:
    for group, words in ((RUN, _RUN), (CONTACTS, _CONTACTS), (ENERGIES, _ENERGIES)):
        if name in words:
            return ColumnText(group, words[name])
    for owner, group, words in owners:
        if name.startswith(f"{owner}_") and (meaning := _meaning(name.removeprefix(f"{owner}_"), words)):
            return ColumnText(group, f"{meaning}{_class_in(name, owner, case)}")
    for group, words in ((RUN, _RUN), (STRESS, _STRESS)):
        if meaning := _meaning(name, words):
            return ColumnText(group, meaning)
    return ColumnText(OTHERS, "")


def _meaning(name: str, words: dict[str, str]) -> str:
    """Return the meaning of a column name: of the whole name, or of a prefix with a direction or a class behind it."""
    if name in words:
        return words[name]
    found = (one for one in words if one.endswith("_") and re.fullmatch(rf"{one}[-+]?[xyz]{{1,2}}", name))
    longer = (one for one in words if not one.endswith("_") and name.startswith(f"{one}_"))
    return words.get(next(found, next(longer, "")), "")


def _class_in(name: str, owner: str, case: Case) -> str:
    """Return in words the class of particles in a column of a sensor, empty for all particles."""
    sensor = next((one for one in case.sensors if one.name == owner), None)
    kinds = [] if sensor is None else classes_of(sensor, case.materials)
    kind = next((one for one in kinds if name.endswith(f"_{one}")), None)
    return "" if kind is None else f", of {kind}"
