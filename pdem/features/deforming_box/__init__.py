"""How a box that deforms is driven: by rates and by stress."""
