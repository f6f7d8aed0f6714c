"""Snapshots: particles, walls, contacts and fields at one time, as VTKHDF time series and in other formats."""
