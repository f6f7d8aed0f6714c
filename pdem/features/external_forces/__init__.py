"""Forces on single particles beside those of contacts and gravity: of the case, of a script, and as arrays."""
