"""Rules on the case file that concern several keys: each yields problems with key, limit and remedy."""
