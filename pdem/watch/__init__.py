"""A page in a browser that shows a run in progress."""
