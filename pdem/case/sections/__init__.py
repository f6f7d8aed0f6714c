"""The sections of the case file as classes: keys, types, units and limits, and nothing that is computed."""
