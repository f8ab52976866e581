"""Formats that networks come in: one file each, found by the tensors in a file, not by its name."""
