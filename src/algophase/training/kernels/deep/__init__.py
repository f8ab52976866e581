"""Kernels of transformers of two layers or more: `tables`, `attend`, `rows` (the MLP), `sums`."""
