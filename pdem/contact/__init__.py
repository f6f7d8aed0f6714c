"""From overlap to force: sphere and facet intersection, wall contacts, contact laws."""
