"""Files of a run, its output folder, and the columns and rows of the files."""
