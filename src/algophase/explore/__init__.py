"""A sweep as a page to look around in: the phase diagram is the map, a click opens a network."""
