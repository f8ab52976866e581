"""A table of training runs: rows and what they say, filters, groups, phase boundaries,
comparisons of populations.
"""
