"""What to call a network, by which thresholds, and how sure that is."""
