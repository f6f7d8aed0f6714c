"""Settings that a run chooses by what steps cost: the skin, the size of chunks, the number of threads."""
