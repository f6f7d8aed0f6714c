"""Output of a run to the disk and the terminal: snapshots, series, checkpoints, log, pictures."""
