"""What `pdem explain` says: texts, examples and units of keys, laws and example cases, and the search among them."""
