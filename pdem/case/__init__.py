"""The case: what a user asks for, checked, and the state from which a simulation starts."""
