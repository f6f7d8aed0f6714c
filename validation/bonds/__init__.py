"""Rods of bonded spheres in `pdem verify`: large bending, buckling, waves and spall beside closed forms."""
