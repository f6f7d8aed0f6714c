"""Common materials and sources of the three processes of Dosta et al. for the comparison of codes.

Values of LIGGGHTS and MUSEN for silo and drum are from later runs of the same cases by third parties (peclet, 2026).
Values for the impact are means over ten packings of each code, from the data behind the paper's figure.
"""

SOFT = ("materials.m1.youngs_modulus=1e7", "materials.m2.youngs_modulus=5e6")
"""Settings with a hundredth of the published moduli, for which the step is ten times as long."""

SOURCE = "Dosta et al., Comput. Phys. Commun. 296 (2024) 109066; published runs of LIGGGHTS and MUSEN"
MATERIALS = {
    "M1": "1 GPa, 0.2, 2500 kg/m3", "M2": "0.5 GPa, 0.2, 2000 kg/m3", "steel": "210 GPa, 0.2, 7200 kg/m3",
    "friction": "M1-M1 0.3, M1-M2 0.2, M2-M2 0.4, steel 0.2",
    "restitution": "M1-M1 0.5, M1-M2 0.45, M2-M2 0.4, steel 0.4",
}  # fmt: skip
