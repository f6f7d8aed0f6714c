"""Domain decomposition: which rank owns which particles, and how ranks exchange data. The only code that uses MPI."""
