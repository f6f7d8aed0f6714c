"""How particles and walls move."""
