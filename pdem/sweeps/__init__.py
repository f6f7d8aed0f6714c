"""Many runs of one case: designs, shared beginnings, measures with error bars, calibration.

Goal: effects with their statistical errors, parameters that fit measurements, and the answer that data do not
suffice.

Not here: the physics of a single run, and proofs that two runs are equal (`replays`).
"""
