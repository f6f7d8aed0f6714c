"""Drive of a deforming box: by rates and by stress."""
