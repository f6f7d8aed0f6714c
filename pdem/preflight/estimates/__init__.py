"""What a run will be like, as far as the case tells: falls and impacts, beds at rest, what stiffness costs, lengths."""
