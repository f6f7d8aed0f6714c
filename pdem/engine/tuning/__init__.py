"""Settings that a run chooses by the measured time of steps: the skin, the size of chunks, the number of threads."""
