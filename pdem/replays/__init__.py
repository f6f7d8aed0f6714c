"""Finished runs computed again: intervals, blow-ups, first differences, branches, attested runs.

Goal: to recompute any interval of a run with more output, and to prove by digests that it is the same motion.

Not here: checkpoints and digests themselves (`output`), and designs of many runs (`sweeps`).
"""
