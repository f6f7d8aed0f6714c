"""Reading of results of finished runs: series, snapshots, walls, fields, and sums over particles."""
