"""Proofs of contact laws, the study of equal bits, and what studies of `pdem verify` are made of."""
