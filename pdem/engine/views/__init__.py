"""What several features look at: acting contacts, what counts as one grain, coordination, stress."""
