"""Matplotlib pictures from plain numbers. Matplotlib is imported only when something is drawn."""
