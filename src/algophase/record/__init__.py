"""Dataclasses as plain values, as JSON and as columns of a table, and back."""
