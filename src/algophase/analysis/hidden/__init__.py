"""Inside the first hidden layer: units, shapes, heads, interactions, the learning coefficient."""
