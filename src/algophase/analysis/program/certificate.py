"""How closely a distilled program matches its network, and how its numbers are rounded."""

from dataclasses import dataclass

import numpy as np

from algophase.core.fourier import Array
from algophase.core.wording import counted

DIGITS = 6  # significant ones, of every number that is written


@dataclass(frozen=True)
class Certificate:
    """How closely a distilled program matches its network, over all pairs.

    Attributes:
        share: the program's share of the squared norm of the centered logits.
        largest_error: of one centered logit.
        norm: root mean square of the centered logits.
        agreeing: pairs answered as the network does.
        pairs: all pairs.
        accuracy: the program's accuracy.
        smallest_margin: of the program, over right answers.
    """

    share: float
    largest_error: float
    norm: float
    agreeing: int
    pairs: int
    accuracy: float
    smallest_margin: float

    def __str__(self) -> str:
        agreeing = f"{self.agreeing:,} of {self.pairs:,} pairs answered as the network does"
        return f"{self.share:.2%} of the logits' squared norm, {agreeing}"

    @property
    def disagreeing(self) -> int:
        """Pairs that the program answers differently from the network."""
        return self.pairs - self.agreeing


def no_smallest(name: str, numbers: int, proof: Certificate, least_share: float) -> str:
    """Why there is no smallest program, and what there is instead. proof: of the whole program."""
    asked = f" and explains {least_share:.4g} of its logits" if least_share else ""
    reached = (
        f"{proof.agreeing:,} of {proof.pairs:,} pairs and explains {proof.share:.4g} of the logits"
    )
    return (
        f"no program of {name} answers every pair as the network does{asked}: the whole "
        f"program, of {counted(numbers, 'number')}, agrees on {reached}; leave out `smallest` to "
        "get that one"
    )


def rounded(values: Array) -> Array:
    """As they are written."""
    as_written = [float(f"{value:.{DIGITS}g}") for value in values.ravel().tolist()]
    return np.array(as_written).reshape(values.shape)
