"""The grid in Triton, one file an operation. Importing this package needs Triton; nothing else
in algophase does.
"""
