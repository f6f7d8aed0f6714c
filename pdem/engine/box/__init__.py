"""A periodic box that deforms: its state, its part of the skins, steps, and sums over contacts."""
