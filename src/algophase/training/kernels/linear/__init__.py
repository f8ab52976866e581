"""Kernels of linear models: `tables`, `rows`, `units`."""
