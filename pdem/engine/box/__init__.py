"""A deforming periodic box: its state, its share of the skins, steps, and sums over contacts."""
