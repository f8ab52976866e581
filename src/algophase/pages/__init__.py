"""Text and HTML from plain values: the summary of a network, its card, the file of its program."""
