"""Many runs of one case: designs, shared beginnings, measures with error bars, calibration."""
