"""Forces on single particles besides contacts and gravity: from the case, from a script, and as arrays."""
