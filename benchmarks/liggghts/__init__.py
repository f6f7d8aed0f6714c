"""The benchmark cases with LIGGGHTS, on the same machine."""
