"""Which spheres touch: the hierarchical grid, its cell sizes and cost model, and its rivals."""
