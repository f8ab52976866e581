"""Random streams that depend on a run's seed and a name, and on nothing else.

Each tensor and the split draw from a stream of their own, on the CPU, with NumPy's PCG64: the same numbers on every
machine, whatever else is drawn, and no global random state is touched.
"""

import zlib

import numpy as np


def generator(seed: int, name: str) -> np.random.Generator:
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(zlib.crc32(name.encode()),))
    return np.random.Generator(np.random.PCG64(sequence))
