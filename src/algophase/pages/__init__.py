"""Text and HTML from values: the summary of a network, its card, the file of its program."""
