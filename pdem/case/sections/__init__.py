"""The sections of the case file as classes: keys, types, units and limits, without any computation."""
