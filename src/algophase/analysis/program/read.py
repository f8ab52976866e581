"""The program inside a network: a few key frequencies with simple profiles, read off its p^3
logits.

With s = a + b, d = a - b, r = a + b - c and w_k = 2 pi k / p, logits centered over c are an
orthogonal sum of four classes:

    offsets            functions of c alone
    answer-following   functions of (d, r): sum over k of g_k(d) cos w_k r + h_k(d) sin w_k r
    read-out           functions of (s, c) that do not follow r: for a key frequency k, e^{i w_k s}
                       times a function of c. Unequal axes of a circle (e^{i w_k (s + c)}) and
                       crosstalk between frequencies (e^{i (w_k s - w_m c)})
    rest               everything else

The class of a mode e^{i(w_i a + w_j b + w_l c)} is a matter of its indices: offsets have i = j = 0,
the answer-following ones i + j + 2 l = 0, the read-out i = j. A *key frequency* holds at least 1%
of the logits' squared norm by its g_k and h_k (at large p, where 1% is more than one of all p/2
frequencies can have, half of an equal part).

Even p. The pair (d, r) still names p triples, one for each a, and so does (s, c): both means are
exact at every p. But d and s have the same parity, (-1)^d = (-1)^s, so some modes belong to two
classes: (-1)^c = (-1)^d (-1)^r is an offset and follows the answer, and (-1)^d e^{-i w_k r} is at
once e^{i(w_k + pi) s} times a function of c. We count (-1)^c among the offsets and the others among
the answer-following. Frequency p/2 has no sine: (-1)^r.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.logits.all_pairs import right_answers, share_right
from algophase.analysis.logits.sums import LogitSums
from algophase.core.fourier import (
    Array,
    amplitude_matrix,
    circle,
    sine_is_zero,
    steps_around,
    transform,
    transform_rows,
    wave_counts,
    waves_at,
)
from algophase.core.group import cyclic_group
from algophase.core.lines import reaches

LEAST_KEY_SHARE = 0.01
HARMONICS = 5  # of a profile that a row keeps: |cos x/2| has 99.96% of its square in its first five


@dataclass(frozen=True)
class Program:
    """Shares are of the squared norm of the centered logits; answer_share + readout_share +
    offset_share + rest = 1.

    accuracy: of the network; norm: root mean square of its centered logits.
    answer_only_share: of functions of r alone, a part of answer_share; sum_share: of all functions
        of (s, c); left_share: of (b, c - a); right_share: of (a, c - b). These are the classes that
        every group has (`actions`); functions of r are in all of them.
    frequencies: the key frequencies, the largest first, and frequency_shares, theirs. spectrum: of
        all, 1 to floor(p / 2).
    profiles: g_k(d), (key, p); sine_profiles: h_k(d); readout: (key, p) complex, R_k(c) of Re
        R_k(c) exp(i w_k s).
    readout_spectrum: (key, floor(p / 2)), share of the read-out from frequency k to that of c.
    offsets: (p,), functions of c alone. answer: (d, r), the whole answer-following class.
    answer_accuracy: share of the pairs that the answer-following class alone answers right.
    harmonics: (key, HARMONICS), of a profile: see `harmonics_of`.

    A table's row holds no functions: read from one, they are empty, but for the harmonics.
    `drawn_profiles` makes do.
    """

    modulus: int
    accuracy: float
    norm: float
    answer_share: float
    answer_only_share: float
    sum_share: float
    left_share: float
    right_share: float
    readout_share: float
    offset_share: float
    rest: float
    answer_accuracy: float
    frequencies: tuple[int, ...]
    frequency_shares: tuple[float, ...]
    harmonics: Array
    spectrum: Array
    profiles: Array
    sine_profiles: Array
    readout: NDArray[np.complex128]
    readout_spectrum: Array
    offsets: Array
    answer: Array

    def __repr__(self) -> str:
        keys = ", ".join(map(str, self.frequencies)) or "none"
        return (
            f"<Program modulo {self.modulus}: key frequencies {keys}; {self.explained:.2%} "
            "of the logits>"
        )

    @property
    def explained(self) -> float:
        """Share of the logits that the program has, key frequencies only."""
        return sum(self.frequency_shares) + self.readout_share + self.offset_share

    @property
    def beyond_offsets(self) -> float:
        """`explained` of what is not an offset: an untrained network has little else. NaN where
        it has nothing else.
        """
        rest = 1.0 - self.offset_share
        return (self.explained - self.offset_share) / rest if rest > 1e-12 else float("nan")

    @property
    def drawn_profiles(self) -> Array:
        """The profiles to draw, (key, p): exact, or as far as the harmonics of a table's row
        tell.
        """
        if self.profiles.size or not self.frequencies:
            return self.profiles
        steps = np.stack([steps_around(self.modulus, k) for k in self.frequencies])
        turns = steps * (2 * np.pi / self.modulus)
        order = np.arange(self.harmonics.shape[1])
        waves = np.cos(order[:, None] * turns[:, None])  # (key, order, p)
        return np.asarray((self.harmonics[:, :, None] * waves).sum(axis=1))

    @property
    def numbers(self) -> int:
        """How many real numbers the program is written with: both profiles, the read-out and the
        offsets.
        """
        return (4 * len(self.frequencies) + 1) * self.modulus

    @property
    def unequal_axes(self) -> Array:
        """Share of each key frequency's read-out at its own frequency, (key,)."""
        rows = zip(self.readout_spectrum, self.frequencies, strict=True)
        return np.array([row[k - 1] for row, k in rows])

    @property
    def crosstalk(self) -> Array:
        """Share of the read-out from each key frequency to each, (key, key), the diagonal zero."""
        columns = [k - 1 for k in self.frequencies]
        table = self.readout_spectrum[:, columns].copy()
        np.fill_diagonal(table, 0.0)
        return table


def no_program(order: int, accuracy: float) -> Program:
    """Of a network on a group that is not cyclic: no frequency, and no share that is defined."""
    undefined = math.nan
    nothing = np.zeros((0, 0))
    return Program(
        modulus=order,
        accuracy=accuracy,
        norm=undefined,
        answer_share=undefined,
        answer_only_share=undefined,
        sum_share=undefined,
        left_share=undefined,
        right_share=undefined,
        readout_share=undefined,
        offset_share=undefined,
        rest=undefined,
        answer_accuracy=undefined,
        frequencies=(),
        frequency_shares=(),
        harmonics=nothing,
        spectrum=np.zeros(0),
        profiles=nothing,
        sine_profiles=nothing,
        readout=nothing.astype(np.complex128),
        readout_spectrum=nothing,
        offsets=np.zeros(0),
        answer=nothing,
    )


def program_of_logits(logits: Tensor, least_share: float = LEAST_KEY_SHARE) -> Program:
    """The program of logits (p, p, outputs), wherever they come from."""
    p = logits.shape[0]
    values = logits.double().cpu()
    labels = values[..., :p]
    x = (labels - labels.mean(dim=-1, keepdim=True)).numpy()
    group = cyclic_group(p)
    numbers = np.arange(p)
    a = numbers[:, None, None]
    d = numbers[:, None]
    r = numbers
    b = group.difference(a, d)
    answer = x[a, b, group.difference(a + b, r)].mean(axis=0)  # (d, r), r = a + b - c
    s, c = d, r
    sums = x[a, group.difference(s, a), c].mean(axis=0)  # (s, c)
    b, u = d, r
    totals = LogitSums(
        right=share_right(right_answers(values)).numpy()[None],
        means=np.zeros(1),
        products=np.array([[(x**2).sum()]]),
        offset=x.mean(axis=(0, 1))[None],
        answer=answer[None],
        sums=sums,
        from_left=x[a, b, group.sum(a, u)].mean(axis=0),
        from_right=x[b, a, group.sum(a, u)].mean(axis=0),  # where a is the second operand
    )
    return program_of_sums(totals, least_share)


def program_of_sums(sums: LogitSums, least_share: float = LEAST_KEY_SHARE) -> Program:
    """The program from the sums of one embedding, with the means over (s, c)."""
    p = sums.offset.shape[-1]
    answer = sums.following[0]
    offsets = sums.offset[0]
    total = max(float(sums.products[0, 0]), np.finfo(np.float64).tiny)

    def share(values: Array, triples_each: int) -> float:
        """Share of the squared norm. triples_each: how many triples have each value."""
        return float(np.square(values).sum()) * triples_each / total

    # The answer-following class, frequency by frequency.
    g, h = np.split(sums.amplitudes[0], 2, axis=-1)  # (d, floor(p / 2))
    spectrum = spectrum_of(sums.amplitudes[0]) / total
    keys = key_frequencies(spectrum, least_share)
    chosen = [k - 1 for k in keys]

    # The read-out of the key frequencies, each wave with its conjugate.
    modes, squares = _readout_modes(sums.sums, keys)
    counts = np.array([waves_at(p, k) for k in keys], dtype=np.float64)[:, None]
    readout = counts * (modes @ transform(p).conj())
    readout_spectrum = counts * squares * p**3 / total

    answer_share = share(answer, p)
    readout_share = float(readout_spectrum.sum())
    offset_share = share(offsets, p * p)
    largest_wrong = answer[:, 1:].max(axis=1, initial=-np.inf)
    return Program(
        modulus=p,
        accuracy=float(sums.right[0]),
        norm=float(np.sqrt(sums.products[0, 0] / p**3)),
        answer_share=answer_share,
        readout_share=readout_share,
        offset_share=offset_share,
        answer_only_share=share(answer.mean(axis=0), p * p),
        sum_share=share(sums.sums, p),
        left_share=share(sums.from_left, p),
        right_share=share(sums.from_right, p),
        rest=1.0 - (answer_share + readout_share + offset_share),
        answer_accuracy=float((answer[:, 0] > largest_wrong).mean()),
        frequencies=tuple(keys),
        frequency_shares=tuple(spectrum[chosen].tolist()),
        harmonics=harmonics_of(g.T[chosen], keys),
        spectrum=spectrum,
        profiles=g.T[chosen],
        sine_profiles=h.T[chosen],
        readout=readout,
        readout_spectrum=readout_spectrum,
        offsets=offsets,
        answer=answer,
    )


def profile_of(answer: Array, frequency: int) -> Array:
    """g(d) of one frequency, (..., p), of functions (..., d, r)."""
    return np.asarray(answer @ amplitude_matrix(answer.shape[-1])[:, frequency - 1])


def harmonics_of(profiles: Array, frequencies: Sequence[int]) -> Array:
    """The mean of each profile (key, p) and the amplitudes of its waves cos j(w_k d + o), o the
    angle of the first wave.

    That is the angle between the operands' circles: 0 where they share one table, where the first
    may be negative.
    """
    order = np.arange(HARMONICS)
    harmonics = np.zeros((len(frequencies), HARMONICS))
    for row, (profile, k) in enumerate(zip(profiles, frequencies, strict=True)):
        p = len(profile)
        modes = transform_rows(p, order * k) @ profile / p
        angle = np.angle(modes[1])
        if abs(angle) > np.pi / 2:
            angle -= np.pi * np.sign(angle)
        counts = np.array([waves_at(p, k * harmonic) for harmonic in range(HARMONICS)])
        harmonics[row] = (modes * np.exp(-1j * order * angle)).real * counts
    return harmonics


def spectrum_of(amplitudes: Array) -> Array:
    """Squared norm over all triples of each frequency, (..., floor(p / 2)), from amplitudes
    (..., d, 2 floor(p / 2)).
    """
    p = amplitudes.shape[-2]
    waves = amplitudes.shape[-1] // 2
    of_d = np.square(amplitudes).sum(axis=-2)  # of g_k and h_k, over d
    mean_squares = 1 / wave_counts(p)  # of a cosine or sine, over r
    return (of_d[..., :waves] + of_d[..., waves:]) * mean_squares * p**2


def least_key_share(count: int, least_share: float = LEAST_KEY_SHARE) -> float:
    """The least share of a key frequency. count: how many frequencies there are."""
    return min(least_share, 0.5 / max(1, count))


def key_frequencies(spectrum: Array, least_share: float = LEAST_KEY_SHARE) -> list[int]:
    """Frequencies that hold enough of the logits, the largest first."""
    least = least_key_share(len(spectrum), least_share)
    # Equal shares are not ordered by their rounding.
    return [
        int(k) + 1
        for k in np.argsort(-spectrum.round(9), kind="stable")
        if reaches(float(spectrum[k]), least)
    ]


def _readout_modes(sums: Array, keys: Sequence[int]) -> tuple[NDArray[np.complex128], Array]:
    """Modes (key, l) of the functions of (s, c) that belong to the read-out, others zero; and
    their squares (key, folded l).
    """
    p = len(sums)
    modes = transform(p)[list(keys)] @ sums @ transform(p) / p**2
    s = np.array(keys, dtype=np.int64)[:, None]
    label = np.arange(p)
    modes[sine_is_zero(p, s + label)] = 0.0  # at odd p S = -l; at even p also S = p/2 - l
    squares = np.abs(modes) ** 2
    folded = squares[:, 1 : p // 2 + 1].copy()
    folded[:, : (p - 1) // 2] += squares[:, : p // 2 : -1][:, : (p - 1) // 2]
    return modes, folded


def program_logits(
    program: Program,
    frequencies: Sequence[int] | None = None,
    *,
    sines: bool = True,
    readout: bool = True,
    offsets: bool = True,
) -> Tensor:
    """The program's logits (p, p, p): of all its key frequencies or of some, with or without its
    smaller parts.
    """
    p = program.modulus
    by_answer = torch.zeros(p, p, dtype=torch.float64)  # (d, r)
    by_sum = torch.zeros(p, p, dtype=torch.float64)  # (s, c)
    for index, k in enumerate(program.frequencies):
        if frequencies is not None and k not in frequencies:
            continue
        cosine, sine = circle(p, k).T
        by_answer += torch.from_numpy(program.profiles[index])[:, None] * cosine
        if sines:
            by_answer += torch.from_numpy(program.sine_profiles[index])[:, None] * sine
        if readout:
            of_label = torch.from_numpy(program.readout[index])
            by_sum += cosine[:, None] * of_label.real - sine[:, None] * of_label.imag
    group = cyclic_group(p)
    numbers = torch.arange(p)
    d = group.difference(numbers[:, None], numbers)  # (a, b)
    s = group.sum(numbers[:, None], numbers)
    r = group.difference(s[..., None], numbers)  # (a, b, c)
    logits = by_answer[d[..., None], r] + by_sum[s]
    return logits + torch.from_numpy(program.offsets) if offsets else logits
