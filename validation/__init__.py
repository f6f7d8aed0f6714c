"""Studies that compare pdem with papers, theory and its own promises: computed values beside expected ones.

Not part of the installed package: `pdem verify` finds it in the sources; ``python -m validation`` is equivalent.
"""
