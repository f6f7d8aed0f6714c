"""Views of the state that several features share: acting contacts, bodies, coordination, stress."""
