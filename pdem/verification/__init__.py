"""Reruns of the papers' benchmarks: what is computed, beside what was published or is predicted."""
