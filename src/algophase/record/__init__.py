"""Dataclasses as JSON values and as columns of a table, and back."""
