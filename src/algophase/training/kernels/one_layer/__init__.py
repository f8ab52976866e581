"""Kernels of one-layer transformers: `tables`, then by rows and by units, then back; `wide` for
more than 256 channels.
"""
