"""Populations of runs: spaces, sweeps over them, and comparing what came out."""
