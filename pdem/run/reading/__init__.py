"""Results of finished runs, read again: series, snapshots, walls, fields, sums over particles."""
