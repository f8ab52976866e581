"""What a network answers for every pair, and what is measured on it alone."""
