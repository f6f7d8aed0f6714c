"""Features of a case, a room for each; `registry` has a line for each of them."""
