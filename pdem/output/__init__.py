"""Files and terminal output of a run: snapshots, series, checkpoints, log, pictures.

Goal: files that stay readable after a full disk, a killed process or a restart, with units and versions in each file,
and with the same bytes on any number of ranks.

Not here: the choice of columns and times (`run.files`, `features`), and reading of results for users (`run.reading`).
"""
