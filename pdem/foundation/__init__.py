"""Basic services for all other packages: errors, particle fields, files, texts, signals and the terminal."""
