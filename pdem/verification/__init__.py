"""Reruns of the papers' benchmarks and of what pdem promises: what is computed, beside what it should be."""
