"""What a network computes: its program, the shapes of its instances, and the program as code."""
