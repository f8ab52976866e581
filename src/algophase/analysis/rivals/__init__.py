"""Rival accounts of how trained networks answer, each with its measure, on one network."""
