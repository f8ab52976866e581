"""Kernels that take the place of single operations in the stacked engine."""
