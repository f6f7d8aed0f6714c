"""Mean and largest loads of walls over all steps between two lines of the series."""
