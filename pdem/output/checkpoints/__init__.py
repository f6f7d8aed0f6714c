"""Checkpoints: the complete state in one HDF5 file, its checksums and digests."""
