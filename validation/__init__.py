"""Studies of `pdem verify`: benchmarks of papers and promises of pdem, computed beside expected values.

Goal: a page with tables and plots for each study, repeatable by one command; ``python -m validation`` is the same as
`pdem verify`.

Not here: tests of single functions (`tests`), and anything that a run needs. The folder is not part of the installed
package.
"""
