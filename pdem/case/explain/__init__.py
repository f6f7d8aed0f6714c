"""Texts of `pdem explain`: meaning, examples and units of keys, laws and example cases; search; `pdem schema`."""
