"""The files of a run, its output folder, and the columns and rows that are written."""
