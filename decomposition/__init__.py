"""Who owns which particles, and how ranks tell each other: the only part of the project that knows MPI."""
