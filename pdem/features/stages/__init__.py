"""Ends of stages: conditions, columns of the series, lines of the report."""
