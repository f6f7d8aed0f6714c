"""Proofs of contact laws, the study of equal bits, and the classes shared by all studies of `pdem verify`."""
