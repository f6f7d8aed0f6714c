"""The table of example cases: group, what to change next, and how the gallery draws each of them.

An example costs a file in ``pdem/case/examples``, whose opening comment is its description, and a row of this table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.explain.example_row import ExampleRow
from pdem.case.explain.paper_examples import PAPER_EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping


EXAMPLE_TABLE: Mapping[str, ExampleRow] = {
    "silo": ExampleRow(
        "start",
        {
            "interactions.grain-grain.friction=0.1": "Smoother grains run out faster.",
            "particles.0.radius.max=0.006": "Larger grains run out more slowly, and an arch may block the orifice.",
            "domain.gravity=[0.0, 0.0, -1.62]": "On the moon the silo needs more than twice the time.",
        },
        "--limits 0 2",
        time=0.7,
        film=True,
    ),
    "hopper": ExampleRow(
        "start",
        {
            "particles.0.radius.exponent=-4.0": "More small grains and fewer large ones.",
            "interactions.grain-steel.friction=0.8": "A rougher cone: grains near the wall follow the others later.",
        },
        "--colour-by radius",
        time=0.3,
        film=True,
    ),
    "pouring": ExampleRow(
        "start",
        {
            "interactions.grain-grain.rolling.friction=0.05": "With less resistance to rolling the heap is flatter.",
            "insertions.0.mass_rate=0.5": "Half the feed rate: the inlet needs twice the time for the same mass.",
            "insertions.0.radius.sigma=0.0002": "Grains of nearly one size.",
        },
        "--limits 0 1",
        film=True,
    ),
    "bouncing_sphere": ExampleRow(
        "start",
        {
            "interactions.rubber-steel.restitution=0.95": "The sphere rebounds to 0.9 of its height of fall.",
            "materials.rubber.youngs_modulus=1e7": "A stiffer sphere: shorter impacts, and a shorter time step.",
        },
        "--limits 0 3.2",
        film=True,
    ),
    "sliding_sphere": ExampleRow(
        "start",
        {
            "interactions.ball-plate.friction=0.5": "With twice the friction the sphere rolls after half the time.",
            "particles.0.velocity=[2.5, 0.0, 0.0]": "Half the speed: it rolls after half the time as well.",
        },
        "--limits 0 5",
    ),
    "two_spheres": ExampleRow(
        "start",
        {
            "interactions.glass-glass.friction=0.0": "Without friction neither sphere spins after the impact.",
            "particles.1.positions=[[0.03, 0.0, 0.0]]": "Less far off centre: the small sphere is thrown back.",
        },
        "--view top",
    ),
    "drum": ExampleRow(
        "machines",
        {
            "motions.drum.rotation.rate.rpm=60": "A faster drum throws grains from its lifters.",
            "interactions.grain-grain.friction=0.8": "Rougher grains: a steeper bed.",
            "particles.1.radius=0.005": "Sizes that differ less separate less.",
        },
        "--view front --colour-by radius",
        film=True,
    ),
    "ball_mill": ExampleRow(
        "machines",
        {
            "motions.drum.rotation.rate.rpm=85": "Near the critical speed the balls fall onto the shell.",
            "particles.0.fill.count=20": "Fewer balls need less power.",
            "interactions.ore-ball.restitution=0.2": "More energy is lost in each impact of ball and ore.",
        },
        "--view front --colour-by material",
        film=True,
    ),
    "conveyor": ExampleRow(
        "machines",
        {
            "walls.0.surface.velocity=[0.3, 0.0, 0.0]": "On a slower belt the layer is thicker.",
            "insertions.0.mass_rate=0.4": "Half the feed: a thinner layer.",
        },
        "--limits 0 1",
        film=True,
    ),
    "screw": ExampleRow(
        "machines",
        {
            "walls.0.rotation.rate=-24.0": "Twice the speed: less grain is in the screw at the same feed.",
            "insertions.0.mass_rate=0.5": "Twice the feed: the trough fills to a higher level.",
            "interactions.grain-steel.friction=0.6": "Rougher steel: the screw needs more torque.",
        },
        "--view front --limits 0 0.5",
        film=True,
    ),
    "sieve": ExampleRow(
        "machines",
        {
            "walls.0.oscillation.frequency=25.0": "A faster vibration moves grains to the end sooner.",
            "insertions.0.mass_rate=0.8": "Twice the feed: more small grains miss the holes.",
        },
        "--view front --colour-by radius",
        film=True,
    ),
    "die_filling": ExampleRow(
        "machines",
        {
            "interactions.powder-powder.friction=0.8": "A powder that flows badly fills the die less.",
            "particles.0.fill.count=1000": "A lower level in the shoe.",
        },
        "--view front --limits 0 0.5",
        time=0.5,
        film=True,
    ),
    "rotor": ExampleRow(
        "machines",
        {
            "motions.rotor.rotation.rate=20.0": "Twice the speed of the blade: compare its torque.",
            "interactions.grain-grain.friction=0.8": "Rougher grains resist the blade more.",
        },
        "--limits 0 0.4",
        film=True,
    ),
    "winnowing": ExampleRow(
        "machines",
        {
            "forces.0.fluid_velocity=[8.0, 0.0, 0.0]": "A stronger wind carries grain into the bin of the chaff, too.",
            "materials.chaff.density=300.0": "Heavier chaff falls closer to the grain.",
        },
        "--view front --colour-by material",
        time=0.3,
        film=True,
    ),
    "jaw_crusher": ExampleRow(
        "machines",
        {
            "walls.1.swing.frequency.rpm=200": "A slower jaw: fewer strokes, and a coarser product.",
            "walls.1.swing.amplitude=0.012": "A shorter stroke: fewer breaks, and less product.",
            "materials.rock.breakage.fracture_energy=100.0": "A weaker rock: a break takes less than half the energy.",
        },
        "--view front --colour-by radius",
        film=True,
    ),
    "ore_mill": ExampleRow(
        "machines",
        {
            "materials.ore.breakage.fracture_energy=15.0": "A weaker ore: twice as many particles break.",
            "motions.drum.rotation.rate=2.8": "A faster mill: balls fall farther, and more ore breaks.",
            "time.end=2.5": "Nearly a whole turn of the mill.",
        },
        "--view front --colour-by generation",
        film=True,
    ),
    "kiln": ExampleRow(
        "machines",
        {
            "walls.0.temperature=1400.0": "A hotter shell: radiation grows with the fourth power.",
            "heat.gas.conductivity=0.3": "Helium conducts several times as well as air.",
            "motions.kiln.rotation.rate=6.0": "Twice the speed mixes the bed better.",
        },
        "--view front --colour-by temperature --limits 290 410",
        film=True,
    ),
    "heated_bed": ExampleRow(
        "laboratory",
        {
            "heat.gas.conductivity=0.15": "Helium in place of air: the heat goes farther.",
            "materials.steel.contact_modulus=5e7": "Contacts as large as those of the soft balls: too much heat.",
            "walls.0.temperature=373.15": "A hotter plate.",
        },
        "--view front --colour-by temperature --limits 293 327",
    ),
    "repose": ExampleRow(
        "laboratory",
        {
            "interactions.default.rolling.friction=0.1": "Less resistance to rolling gives a flatter heap.",
            "materials.grain.friction=0.2": "Smoother grains give a flatter heap.",
            "walls.1.translation_table.times=[0.0, 0.3]": "A pipe that is lifted fast spreads the grains.",
        },
        "--view front --limits 0 0.3",
        time=0.8,
        film=True,
    ),
    "clusters": ExampleRow(
        "laboratory",
        {
            "interactions.default.friction=0.2": "Less friction: spheres flatten, tetrapods still interlock.",
            'particles.0.orientation="aligned"': "All tetrapods begin with the same orientation.",
        },
        "--view front --limits 0 0.5",
        film=True,
    ),
    "wet_sand": ExampleRow(
        "laboratory",
        {
            "particles.0.liquid=0.002": "Less liquid: smaller bridges, which break sooner.",
            "interactions.sand-sand.adhesion.surface_tension=0.03": "A liquid with a lower surface tension.",
        },
        "--view front --colour-by liquid",
        film=True,
    ),
    "shear_box": ExampleRow(
        "laboratory",
        {
            "walls.1.servo.force=-16.0": "Twice the normal load: compare the shear force.",
            "interactions.grain-grain.friction=0.2": "Smoother grains shear at a smaller force.",
        },
        "--colour-by radius",
    ),
    "plane_shear": ExampleRow(
        "laboratory",
        {
            "stages.1.deformation.shear.rate=10.0": "Faster shear: a larger inertial number, and more friction.",
            "interactions.grain-grain.friction=0.1": "The friction of the flow falls less than that of the grains.",
        },
        "--view front --limits 0 0.1",
        shorter=("time.end=2.0",),
    ),
    "rough_incline": ExampleRow(
        "laboratory",
        {
            "stages.1.gravity=[3.36, 0.0, -9.22]": "An inclination of 20 degrees: the flow is slower, or stops.",
            "interactions.default.friction=0.2": "Smoother grains flow faster.",
        },
        "--view front --limits 0 0.5",
        film=True,
        shorter=("time.end=0.6",),
    ),
    "piston": ExampleRow(
        "laboratory",
        {
            "walls.1.servo.force_table.values=[-20.0, -80.0]": "A larger second load: compare the travel.",
            "materials.grain.youngs_modulus=2e7": "Stiffer grains yield less, at a shorter time step.",
        },
        "--limits 0 0.2",
    ),
    "three_point_bending": ExampleRow(
        "laboratory",
        {
            "bonds.cement.tensile_strength.mean=2e6": "Stronger bonds: the beam breaks at a larger load.",
            "bonds.cement.tensile_strength.modulus=3": "Strengths that scatter more: weak bonds decide.",
            "walls.2.translation.velocity=[0.0, 0.0, -0.3]": "A faster stamp: waves matter more.",
        },
        "--view front --limits 0 1",
        film=True,
    ),
    "straw": ExampleRow(
        "laboratory",
        {
            "bonds.stem.youngs_modulus=3e5": "Softer stems: the straws bend more, and lie closer.",
            "bonds.stem.damping_ratio=0.3": "Stems that come to rest sooner after they have been bent.",
        },
        "--colour-by flexible",
        film=True,
    ),
    "agglomerate": ExampleRow(
        "laboratory",
        {
            "particles.0.velocity=[0.0, 0.0, -2.0]": "Half the speed: only the part near the plate is crushed.",
            "bonds.binder.tensile_strength.mean=1e6": "Weaker bonds: more and smaller fragments.",
            "bonds.binder.tensile_strength.modulus=2": "Strengths that scatter more: more bonds break.",
        },
        "--colour-by fragment",
        film=True,
    ),
    "compression": ExampleRow(
        "laboratory",
        {
            "bonds.cement.tensile_strength.mean=2e6": "Half the strength of bonds: about half the load at the peak.",
            "bonds.cement.tensile_strength.modulus=3": "Strengths that scatter more: it breaks at a smaller load.",
            "interactions.rock-steel.friction=0.8": "Rough plates hold the ends: compare the shape of the fragments.",
        },
        "--colour-by fragment",
        film=True,
    ),
    "brazilian_disc": ExampleRow(
        "laboratory",
        {
            "bonds.cement.tensile_strength.mean=2e6": "Half the strength of bonds: about half the load at the peak.",
            "bonds.cement.moment_factor=1.0": "Bending counts fully: the disc crumbles under the plates instead.",
            "bonds.cement.moment_factor=0.0": "Bonds break by their forces alone: after 1 ms the disc is whole.",
        },
        "--view front --colour-by fragment",
        film=True,
    ),
    "drop_weight": ExampleRow(
        "laboratory",
        {
            "walls.1.body.velocity=[0.0, 0.0, -6.0]": "Nearly twice the energy: t10 rises from 10 to 17 %.",
            "particles.0.radius=0.004": "A smaller particle: twice the energy per mass, and finer fragments.",
            "materials.ore.breakage.seed=1": "Another particle of the same ore: its own strength and fragments.",
        },
        "--colour-by radius",
        film=True,
    ),
    "crushed_bed": ExampleRow(
        "laboratory",
        {
            "materials.ore.breakage.fracture_energy=100.0": "A weaker ore: breakage takes less than half the energy.",
            "materials.ore.breakage.smallest=0.9e-3": "Fewer fragments, more fines, and a longer time step.",
            "materials.ore.breakage.spread=0.3": "Strengths that differ less: the first grains break later.",
        },
        "--view front --cut y=0 --colour-by generation",
        film=True,
    ),
    "rope": ExampleRow(
        "laboratory",
        {
            "interactions.default.friction=0.1": "Too little friction: the rope slides off before the roller turns.",
            "walls.0.rotation.rate=-1.5": "The roller turns the other way: the shorter side becomes the longer one.",
            "bonds.fibre.radius=0.6": "A rope that bends less easily: it stands off from the roller.",
        },
        "--view front --limits 0 0.1",
        time=2.4,
        film=True,
    ),
    **PAPER_EXAMPLES,
}
"""All examples, by name, in a good order for reading."""
