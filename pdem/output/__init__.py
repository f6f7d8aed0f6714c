"""Everything a run leaves on disk or on the terminal: snapshots, series, checkpoints, log, pictures."""
