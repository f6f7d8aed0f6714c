"""Tables and sections of reports, as text, Markdown, HTML or CSV.

Goal: the same table on the terminal, on a page and in a file, with aligned numbers and units.

Not here: the meaning of the numbers. Rooms that make reports choose columns, units and sentences.
"""
