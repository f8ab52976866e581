"""The first numbers of Python's shuffle of a long list, without a step of Python for each.

`random.Random(seed).shuffle` of 509^3 numbers takes more than a minute. What it draws is the
Mersenne Twister's, which NumPy has as well, many draws at a time.
"""

import random

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

LARGEST_BLOCK = 2**16  # draws at a time, which a core's cache holds
BLOCKS_PER_BOUND = 8  # a block changes the bound of its draws by an eighth at most
ONE_BY_ONE = 2**10  # steps at the end, whose blocks would be short


def first_of_shuffle(total: int, count: int, seed: int) -> list[int]:
    """The first `count` of the numbers below `total` after `random.Random(seed).shuffle`.

    Step i, from total - 1 down to 1, swaps the numbers at i and at a random position j up to i. It
    is enough to keep which step was the last to write to each position.

    >>> numbers = list(range(10_000))
    >>> random.Random(7).shuffle(numbers)
    >>> first_of_shuffle(10_000, 50, seed=7) == numbers[:50]
    True
    """
    if total >= 2**32:
        raise ValueError(f"{total} numbers are too many to shuffle; choose fewer than {2**32}")
    draws = _Draws(seed)
    kept = min(total, max(ONE_BY_ONE, count))
    written_by = np.zeros(total, dtype=np.uint32)  # 0: no step
    step = total - 1
    while step >= kept:
        positions = draws.of_steps(step, step - kept + 1)
        # Of several steps that write to one position, the last counts.
        written_by[positions] = np.arange(step, step - len(positions), -1, dtype=np.uint32)
        step -= len(positions)
    numbers = []
    for position in range(kept):
        while written_by[position]:
            position = int(written_by[position])
        numbers.append(position)
    for step in range(kept - 1, 0, -1):
        position = draws.of_step(step)
        numbers[step], numbers[position] = numbers[position], numbers[step]
    return numbers[:count]


class _Draws:
    """What `random.Random(seed)` draws: for step i, a position up to i.

    Python takes as many bits of a 32-bit word as i + 1 has, and the next word where that number is
    larger than i.
    """

    def __init__(self, seed: int) -> None:
        _, (*key, start), _ = random.Random(seed).getstate()
        self.twister = np.random.MT19937()
        self.twister.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(key, dtype=np.uint32), "pos": start},
        }
        self.words: Words = np.zeros(0, dtype=np.uint32)  # drawn and not used yet

    def of_step(self, step: int) -> int:
        bits = (step + 1).bit_length()
        while True:
            position = int(self._next(1)[0]) >> (32 - bits)
            if position <= step:
                return position

    def of_steps(self, first_step: int, most: int) -> Words:
        """Of some steps i from `first_step` down, at most `most`. Their i + 1 have equal bits."""
        bits = (first_step + 1).bit_length()
        most = min(most, first_step + 2 - 2 ** (bits - 1))
        words = self._next(min(LARGEST_BLOCK, (first_step + 1) // BLOCKS_PER_BOUND))
        positions = words >> np.uint32(32 - bits)
        # A word's step, and so whether it is used, depends on how many were used before it. Each
        # round settles at least one more word, and mostly all.
        used = positions <= first_step
        while True:
            steps = first_step - (np.cumsum(used) - used)
            settled = positions <= steps
            if np.array_equal(settled, used):
                break
            used = settled
        indices = np.flatnonzero(used)[:most]
        if len(indices) == most:  # what comes after these is for other steps, with other bits
            self.words = np.concatenate([words[indices[-1] + 1 :], self.words])
        return positions[indices]

    def _next(self, count: int) -> Words:
        if len(self.words) < count:
            more = self.twister.random_raw(LARGEST_BLOCK).astype(np.uint32)
            self.words = np.concatenate([self.words, more])
        words = self.words[:count]
        self.words = self.words[count:]
        return words
