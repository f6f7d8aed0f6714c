"""What `pdem explain` says: texts, examples and units of keys, laws and example cases, the search; `pdem schema`."""
