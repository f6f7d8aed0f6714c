"""Contact detection: the hierarchical grid, its cell sizes and cost model, and other methods for comparison."""
