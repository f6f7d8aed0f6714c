"""Features of a case, one room each; `registry` lists all of them, one line each."""
