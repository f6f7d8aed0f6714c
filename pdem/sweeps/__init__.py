"""Many runs of one case: designs, stages shared between runs, measures with error bars, calibration."""
