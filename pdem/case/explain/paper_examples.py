"""The example cases that repeat published studies, see `pdem.case.explain.example_table`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.explain.example_row import ExampleRow

if TYPE_CHECKING:
    from collections.abc import Mapping

PAPER_EXAMPLES: Mapping[str, ExampleRow] = {
    "h2_impacts": ExampleRow(
        "papers",
        {
            "interactions.ball-boundary.restitution=0.8": "With damping all three spheres rise alike, but less high.",
            "time.step=1e-4": "Ten times the step: the height of the rebound has a larger error.",
        },
    ),
    "h2_continuity": ExampleRow(
        "papers",
        {
            "materials.ball.youngs_modulus=2e5": "Stiffer spheres: the force is twice as large, and as constant.",
            "time.step=2e-3": "Twice the step: the force on the path stays the same.",
        },
    ),
    "h2_holes": ExampleRow(
        "papers",
        {
            "interactions.ball-boundary.restitution=0.8": "Less damping: the spheres need longer to come to rest.",
            "materials.ball.youngs_modulus=1e5": "Softer spheres sink deeper into the holes.",
        },
    ),
    "h2_sliding": ExampleRow(
        "papers",
        {
            'detection.wall_lever_arm="contact"': "The published lever arm, with which the ball rolls less far.",
            "interactions.ball-boundary.friction=0.6": "With twice the friction they roll after half the time.",
        },
    ),
    "h2_crease": ExampleRow(
        "papers",
        {
            'detection.walls="signed"': "The wall method of pdem: the force has no jump at the crease.",
            "particles.0.positions=[[-0.25, -1.0, 0.32], [-0.25, 1.0, 0.30]]": "Deeper contacts at the same crease.",
        },
    ),
    "h2_facet_changes": ExampleRow(
        "papers",
        {
            "interactions.ball-boundary.friction=0.1": "The limit of friction is reached sooner.",
            "time.step=4e-5": "Twice the step: the force over the edges stays continuous.",
        },
    ),
    "h2_mixer": ExampleRow(
        "papers",
        {
            "time.end=2.5": "Two seconds of mixing instead of twenty.",
            "interactions.grain-steel.friction=0.3": "Smoother steel: the rotor carries fewer grains along.",
        },
        "--limits 0 1.5",
        film=True,
        shorter=("time.end=0.6",),
    ),
    "disc_jet": ExampleRow(
        "papers",
        {
            "particles.0.radius=0.005": "The same jet of 5,000 discs, in a minute or two.",
            "interactions.disc-disc.restitution=0.9": "Less energy is lost: the sheet along the boundary is thicker.",
        },
        "--view front --limits 0 1",
        film=True,
        shorter=("particles.0.radius=0.005",),
    ),
    "dosta_silo": ExampleRow(
        "papers",
        {
            "materials.m1.youngs_modulus=1e7": "A hundredth of the modulus: ten times as fast, and the flow is alike.",
            'particles.0.material="m2"': "The second material of the paper.",
        },
        "--limits 0 1",
        shorter=("materials.m1.youngs_modulus=1e7", "particles.0.fill.count=20000", "time.end=0.5"),
    ),
    "dosta_drum": ExampleRow(
        "papers",
        {
            "materials.m1.youngs_modulus=1e7": "A hundredth of the modulus of the small spheres is faster.",
            "walls.0.rotation.rate=-4.0": "Twice the speed: the zones exchange spheres sooner.",
        },
        "--view front --colour-by radius",
        shorter=("materials.m1.youngs_modulus=1e7", "materials.m2.youngs_modulus=5e6", "time.end=0.8"),
    ),
    "dosta_impact": ExampleRow(
        "papers",
        {
            "insertions.0.velocity=[0.0, 0.0, -2.5]": "Half the speed: the ball goes less deep.",
            "materials.m1.youngs_modulus=1e8": "A tenth of the modulus: a third of the steps.",
        },
        "--view front --limits 0 1",
        shorter=("materials.m1.youngs_modulus=1e7", "stages.0.until.latest=0.1", "stages.1.end=0.05"),
    ),
}
"""These examples, by name."""
