"""Distill a network to a short Python file: the formula, its numbers, and a certificate of how
closely it matches the network.

The file computes, with NumPy alone,

    logits(a, b)[c] = sum over k of (g_k(d) cos w_k r + h_k(d) sin w_k r)
                      + Re sum over k of R_k(c) e^{i w_k s} + offset(c),

d = a - b, s = a + b, r = s - c. The *whole* program has every key frequency with its exact
profiles, p numbers each.

The *smallest* one that still answers every pair as the network does has the fewest key frequencies
and, for those, the fewest numbers: profiles are sums of their largest waves over d, taken in order
of size; the smaller parts are added only if no number of waves is enough. For a network that is
right on every pair that is nearly always one number, since cos w r alone is right on every pair.
`least_share` therefore sets a share of the logits that the program must have. If no program answers
every pair as the network does, there is no smallest one, and that is an error.

All choices are by shares of the logits' size, so a network and the same network times a thousand
have the same program.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis.logits.all_pairs import right_answers
from algophase.analysis.logits.sums import answers, smallest_margin
from algophase.analysis.operation import on_its_group
from algophase.analysis.program.certificate import Certificate, no_smallest, rounded
from algophase.analysis.program.distill_group import DistilledGroup, distill_group
from algophase.analysis.program.read import Program, program_logits, program_of_logits
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.fourier import Array, transform, waves_at
from algophase.core.wording import counted
from algophase.networks import Network
from algophase.pages.program_file import ProgramNumbers, Waves, program_file

LEAST_PART = 1e-6  # a part of the whole program below this share of the logits is left out


@dataclass(frozen=True)
class Distilled:
    """A program small enough to read, with its numbers as they are written.

    Attributes:
        id: the network's name.
        modulus: p.
        frequencies: the key frequencies k.
        profiles: g_k(d), (frequencies, p).
        sine_profiles: h_k(d), (frequencies, p); None if left out.
        waves: the profiles as waves over d; None if the program has the profiles themselves.
        readout: R_k(c), (frequencies, p); None if left out.
        offsets: (p,); None if left out.
        certificate: how closely it matches the network.
    """

    id: str
    modulus: int
    frequencies: tuple[int, ...]
    profiles: Array
    sine_profiles: Array | None
    waves: tuple[tuple[Waves, ...], tuple[Waves, ...]] | None
    readout: NDArray[np.complex128] | None
    offsets: Array | None
    certificate: Certificate

    def __repr__(self) -> str:
        return f"<Distilled {self.id}: {self.summary}>"

    @property
    def parts(self) -> str:
        """What it is made of, in words."""
        return f"key frequencies {', '.join(map(str, self.frequencies))}"

    @property
    def summary(self) -> str:
        return f"{counted(self.numbers, 'number')}, {self.parts}: {self.certificate}"

    @property
    def numbers(self) -> int:
        count = 0
        if self.waves is None:
            count += self.profiles.size
            if self.sine_profiles is not None:
                count += self.sine_profiles.size
        else:
            for rows in self.waves:
                for row in rows:
                    count += sum((cosine != 0) + (sine != 0) for _, cosine, sine in row)
        if self.readout is not None:
            count += 2 * self.readout.size
        if self.offsets is not None:
            count += self.offsets.size
        return count

    @property
    def source(self) -> str:
        """The Python file."""
        numbers = ProgramNumbers(
            modulus=self.modulus,
            frequencies=self.frequencies,
            profiles=self.profiles,
            sine_profiles=self.sine_profiles,
            waves=self.waves,
            readout=self.readout,
            offsets=self.offsets,
        )
        return program_file(self.id, numbers, self.numbers, vars(self.certificate))


def distill(
    network: Network, *, smallest: bool = False, least_share: float = 0.0
) -> Distilled | DistilledGroup:
    """Write a network's program as a short Python file.

    Arguments:
        network: the network.
        smallest: write the smallest program that answers every pair as the network does.
        least_share: the share of the logits' squared norm that the smallest program must have.

    Returns:
        A `Distilled`: `source` is the file's text, and `certificate` says on how many pairs it
        agrees with the network. Of a network on a group that is not cyclic, a `DistilledGroup`.

    Raises:
        InputError: with `smallest`, no program of that share answers every pair as the network
            does.

    Example:
        >>> from algophase import distill, handmade_clock
        >>> program = distill(handmade_clock(59))
        >>> program.parts, program.certificate.agreeing == program.certificate.pairs
        ('key frequencies 1, 5, 17', True)
    """
    subject = Subject(on_its_group(network))
    if not subject.group.is_cyclic:
        return distill_group(subject, smallest=smallest, least_share=least_share)
    name = network.id
    if not network.task.is_addition:
        name += f" ({subject.seen.notes[0]})"
    return distill_logits(subject.logits, name, smallest=smallest, least_share=least_share)


def distill_logits(
    logits: Tensor, name: str = "unnamed", *, smallest: bool = False, least_share: float = 0.0
) -> Distilled:
    """The same of logits (p, p, outputs), wherever they come from."""
    program = program_of_logits(logits)
    labels = logits[..., : program.modulus].double()
    network_answers = answers(logits.double())
    centered = labels - labels.mean(dim=-1, keepdim=True)
    whole = _written(program, _whole(program), name, network_answers, centered)
    if not smallest:
        return whole
    parts = _smallest(program, network_answers, least_share)
    if parts is not None:
        return _written(program, parts, name, network_answers, centered)
    if whole.certificate.disagreeing == 0 and whole.certificate.share >= least_share:
        return whole
    raise InputError(no_smallest(whole.id, whole.numbers, whole.certificate, least_share))


@dataclass(frozen=True)
class _Parts:
    """The parts of a program that are kept: how many key frequencies, how many waves of their
    profiles (None: whole profiles), and which of the smaller parts.
    """

    frequencies: int
    waves: int | None
    sines: bool
    readout: bool
    offsets: bool


def _whole(program: Program) -> _Parts:
    sines = np.square(_relative(program.sine_profiles, program)).sum() / (2 * program.modulus)
    return _Parts(
        frequencies=len(program.frequencies),
        waves=None,
        sines=bool(sines > LEAST_PART),
        readout=program.readout_share > LEAST_PART,
        offsets=program.offset_share > LEAST_PART,
    )


def _relative(values: Array, program: Program) -> Array:
    """Numbers of a program in units of its logits' size."""
    return values / program.norm if program.norm > 0 else values


def _by_size(values: Array) -> NDArray[np.int64]:
    """The places of all numbers, the largest first. Equal ones, up to rounding, are taken in
    their order.
    """
    sizes = np.abs(values)
    largest = float(sizes.max(initial=0.0))
    if largest > 0:
        sizes = (sizes / largest).round(12)
    return np.argsort(-sizes, axis=None, kind="stable")


def _coefficients(program: Program, count: int) -> Array:
    """Waves of g and h of the first key frequencies, (2, count, p): cosines of harmonic 0.. and
    sines after them.
    """
    p = program.modulus
    waves = _basis(p)
    profiles = np.stack([program.profiles[:count], program.sine_profiles[:count]])
    return profiles @ (waves.T / np.square(waves).sum(axis=1))


def _basis(p: int) -> Array:
    """(p, p): the waves over d that `_coefficients` counts."""
    waves = transform(p)
    return np.concatenate([waves.real[: p // 2 + 1], -waves.imag[1 : (p + 1) // 2]])


def _largest(values: Array, count: int) -> Array:
    """The `count` largest of all coefficients, others zero."""
    order = _by_size(values)[:count]
    kept = np.zeros(values.size)
    kept[order] = values.ravel()[order]
    return kept.reshape(values.shape)


def _cut(program: Program, parts: _Parts) -> tuple[Program, Array | None]:
    """The program with these parts only, its numbers rounded as they are written; and the waves
    over d, if it has those.
    """
    n, p = parts.frequencies, program.modulus
    waves = None
    if parts.waves is None:
        g = rounded(program.profiles[:n])
        h = rounded(program.sine_profiles[:n]) * parts.sines
    else:
        waves = rounded(_largest(_coefficients(program, n), parts.waves))
        g, h = waves @ _basis(p)
    readout = rounded(program.readout.real[:n]) + 1j * rounded(program.readout.imag[:n])
    changed = replace(
        program,
        frequencies=program.frequencies[:n],
        profiles=g,
        sine_profiles=h,
        readout=readout * parts.readout,
        offsets=rounded(program.offsets) * parts.offsets,
    )
    return changed, waves


def _smallest(program: Program, network_answers: Tensor, least_share: float) -> _Parts | None:
    """The fewest key frequencies, then the fewest numbers, with which every pair is answered as
    the network does. None if none do.
    """
    for n in range(1, len(program.frequencies) + 1):
        strengths = _strengths(program, n)
        for readout, offsets in ((False, False), (False, True), (True, True)):
            extra = readout * program.readout_share + offsets * program.offset_share

            def agrees(waves: int) -> bool:
                # Called before the next turn of the loops, so their variables have not changed.
                parts = _Parts(n, waves, True, readout, offsets)  # noqa: B023
                if strengths[: waves + 1][-1] + extra < least_share:  # noqa: B023
                    return False
                return torch.equal(
                    answers(program_logits(_cut(program, parts)[0])), network_answers
                )

            whole = 2 * n * program.modulus
            if not agrees(whole):
                continue
            # Where so many waves agree, more of them need not: all small numbers are tried, then
            # doubled.
            few = next((waves for waves in range(n, 8 * n + 1) if agrees(waves)), None)
            if few is None:
                few = 16 * n
                while few < whole and not agrees(few):
                    few *= 2
            return _Parts(n, min(few, whole), True, readout, offsets)
    return None


def _strengths(program: Program, count: int) -> Array:
    """Share of the logits of the largest 0, 1, 2, ... waves over d of the first key frequencies."""
    p = program.modulus
    values = _coefficients(program, count)
    over_d = np.square(_basis(p)).mean(axis=1)
    over_r = np.array([1 / waves_at(p, k) for k in program.frequencies[:count]])
    shares = np.square(_relative(values, program)) * over_d * over_r[:, None]
    return np.concatenate([[0.0], np.cumsum(shares.ravel()[_by_size(values)])])


def _written(
    program: Program, parts: _Parts, name: str, network_answers: Tensor, centered: Tensor
) -> Distilled:
    """The program of these parts, and the certificate of exactly the numbers that are written."""
    changed, waves = _cut(program, parts)
    logits = program_logits(changed)
    norm = centered.norm().item()
    error = centered - (logits - logits.mean(dim=-1, keepdim=True))
    certificate = Certificate(
        share=1 - (error.norm().item() / norm) ** 2 if norm > 0 else math.nan,
        largest_error=error.abs().max().item(),
        norm=program.norm,
        agreeing=int((answers(logits) == network_answers).sum()),
        pairs=program.modulus**2,
        accuracy=right_answers(logits).double().mean().item(),
        smallest_margin=smallest_margin(logits),
    )
    listed = None
    if waves is not None:
        listed = _listed(waves[0], program.modulus), _listed(waves[1], program.modulus)
    return Distilled(
        id=name,
        modulus=program.modulus,
        frequencies=changed.frequencies,
        profiles=changed.profiles,
        sine_profiles=changed.sine_profiles if changed.sine_profiles.any() else None,
        waves=listed,
        readout=changed.readout if parts.readout else None,
        offsets=changed.offsets if parts.offsets else None,
        certificate=certificate,
    )


def _listed(rows: Array, p: int) -> tuple[Waves, ...]:
    """Each row's waves that are there."""
    half = p // 2 + 1
    cosines = rows[:, :half]
    sines = np.zeros_like(cosines)
    sines[:, 1 : (p + 1) // 2] = rows[:, half:]
    listed = []
    for cosine, sine in zip(cosines, sines, strict=True):
        harmonics = np.flatnonzero((cosine != 0) | (sine != 0)).tolist()
        waves = tuple((j, float(cosine[j]), float(sine[j])) for j in harmonics)
        listed.append(waves)
    return tuple(listed)
