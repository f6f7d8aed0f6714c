"""Reruns of the papers' benchmarks and of what pdem promises: what is computed, beside what it should be.

Not part of the installed package: `pdem verify` finds it in the sources, where ``python -m validation`` is the same.
"""
