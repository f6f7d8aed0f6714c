"""When stages end: their conditions, columns of the series, lines of the report."""
