"""Proofs of contact laws, the study of equal bits, and the common parts of all studies.

Goal: to reject a wrong contact law before it runs, to prove equal bits, and to give studies tables, findings and
pages.

Not here: the studies themselves (`validation` in the sources), and tests of functions (`tests`).
"""
