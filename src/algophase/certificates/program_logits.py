"""The numbers of a network's distilled program, and its logits with their error.

    logits(a, b)[c] = sum over k of (g_k(d) cos w_k r + h_k(d) sin w_k r)
                      + Re sum over k of R_k(c) e^{i w_k s} + offset(c)

d = a - b, s = a + b, r = s - c, w_k = 2 pi k / p, as `distill` writes it. A certificate holds these
numbers as decimals, and they are exactly what it speaks of.
"""

from typing import Any

import numpy as np

from algophase.analysis.program.distill import Distilled
from algophase.certificates.balls import Ball
from algophase.certificates.sound import ProgramRows
from algophase.core.group import Elements

# cos and sin of NumPy at angles below 2 pi, and the rounding of the angle, relative to one.
WAVE_ERROR = 2.0**-46


def program_numbers(program: Distilled) -> dict[str, Any]:
    """The program as a certificate writes it."""
    readout = program.readout
    return {
        "frequencies": list(program.frequencies),
        "profiles": program.profiles.tolist(),
        "sine_profiles": _listed(program.sine_profiles),
        "readout_real": _listed(None if readout is None else readout.real),
        "readout_imaginary": _listed(None if readout is None else readout.imag),
        "offsets": _listed(program.offsets),
    }


def _listed(values: Any) -> Any:
    return None if values is None else values.tolist()


def program_rows(numbers: dict[str, Any], order: int, elements: Elements) -> ProgramRows:
    """The program's logits by the numbers' own names. numbers: as `program_numbers` gives them;
    elements: which element of the group each number stands for.
    """
    every = np.arange(order)
    by_answer = np.zeros((order, order))  # (d, r)
    by_sum = np.zeros((order, order))  # (s, c)
    size = 0.0
    for row, k in enumerate(numbers["frequencies"]):
        angles = 2 * np.pi * (k * every % order) / order
        cosine, sine = np.cos(angles), np.sin(angles)
        by_answer += np.outer(numbers["profiles"][row], cosine)
        size += np.abs(numbers["profiles"][row]).max()
        if numbers["sine_profiles"] is not None:
            by_answer += np.outer(numbers["sine_profiles"][row], sine)
            size += np.abs(numbers["sine_profiles"][row]).max()
        if numbers["readout_real"] is not None:
            by_sum += np.outer(cosine, numbers["readout_real"][row])
            by_sum -= np.outer(sine, numbers["readout_imaginary"][row])
            size += np.abs(numbers["readout_real"][row]).max()
            size += np.abs(numbers["readout_imaginary"][row]).max()
    if numbers["offsets"] is not None:
        by_sum += np.array(numbers["offsets"])
        size += np.abs(numbers["offsets"]).max()
    terms = 4 * len(numbers["frequencies"]) + 2
    error = WAVE_ERROR * terms * size

    def rows(chosen: slice) -> Ball:
        first = elements.first[chosen, None]
        d = (first - elements.second) % order
        s = (first + elements.second) % order
        r = (s[..., None] - elements.answer) % order
        mid = by_answer[d[..., None], r] + by_sum[s[..., None], elements.answer]
        return Ball(mid, np.full_like(mid, error))

    return rows
