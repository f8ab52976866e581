"""Random streams that depend on a run's seed and a name, and on nothing else.

Each tensor and the split draw from a stream of their own, on the CPU, with NumPy's PCG64: the same
numbers on every machine, whatever else is drawn, and no global random state is touched.
"""

import zlib

import numpy as np


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """The stream of a seed and a name, or of a path of names and numbers."""
    key = tuple(zlib.crc32(name.encode()) if isinstance(name, str) else name for name in names)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))
