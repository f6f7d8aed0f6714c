"""A page in a browser that shows a run while it is going on."""
