"""The Python file that a distilled program is written to: what it is, its numbers, its formula,
and a check of itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algophase.core.wording import counted

Floats = NDArray[np.float64]
# Waves over d of one profile, (harmonic j, cosine, sine): sum of cosine cos(2 pi j d / p) + sine
# sin(2 pi j d / p).
Waves = tuple[tuple[int, float, float], ...]

HEAD = '''"""Addition modulo {p}, as network {id} computes it, distilled by algophase to {numbers}.

{formula}

with w = 2 pi k / {p}, d = a - b, s = a + b, r = a + b - c. Certificate, over all {pairs} pairs:

{certificate}
"""

import numpy as np

MODULUS = {p}
'''
CERTIFICATE = """\
    share of the network's logits (squared norm, centered over {label})  {share:.6f}
    largest error of a logit, where their size is {norm:.4g}{pad}{error:.4g}
    pairs answered as the network does                            {agreeing} of {pairs}
    accuracy                                                      {accuracy}
    smallest margin of a right answer                             {margin:.4g}"""

WAVES = '''

def profile(waves, d):
    """Sum of cosine cos(2 pi j d / p) + sine sin(2 pi j d / p) over (j, cosine, sine)."""
    angle = 2 * np.pi * d / MODULUS
    total = np.zeros(np.shape(d))
    for j, cosine, sine in waves:
        total = total + cosine * np.cos(j * angle) + sine * np.sin(j * angle)
    return total
'''

BODY = '''

def logits(a, b):
    """Logits of the p labels, on a last axis, for numbers or arrays a and b."""
    a, b = np.broadcast_arrays(np.asarray(a)[..., None], np.asarray(b)[..., None])
    c = np.arange(MODULUS)
    d, s, r = (a - b) % MODULUS, (a + b) % MODULUS, (a + b - c) % MODULUS
    total = np.zeros(r.shape)
    for k in PROFILES:
        angle = 2 * np.pi * k / MODULUS
        total = total + {profile} * np.cos(angle * r)
{terms}    return total


def answer(a, b):
    """The label with the largest logit."""
    return logits(a, b).argmax(axis=-1)


if __name__ == "__main__":
    every = np.arange(MODULUS)
    values = logits(every[:, None], every)
    right = (every[:, None] + every) % MODULUS
    of_right = np.take_along_axis(values, right[..., None], axis=-1)
    others = np.where(every == right[..., None], -np.inf, values).max(axis=-1)
    margin = of_right[..., 0] - others
    accuracy, smallest = (margin > 0).mean(), margin.min()
    right_pairs = f"{{(margin > 0).sum()}} of {{margin.size}} pairs are answered right"
    print(f"{{right_pairs}}; smallest margin {{smallest:.4g}}")
    assert abs(accuracy - {accuracy!r}) < 1e-9, "the accuracy differs from the certificate"
    rounding = 1e-9 * np.abs(values).max()
    assert abs(smallest - {margin!r}) <= rounding, "the margin differs from the certificate"
'''


@dataclass(frozen=True)
class ProgramNumbers:
    """The numbers of a distilled program, as they are written.

    profiles, sine_profiles: g_k(d) and h_k(d), (frequencies, p). waves: the same two as waves over
        d, per frequency (j, cosine, sine), where the program is written with those.
    readout: R_k(c), (frequencies, p); offsets: (p,). None for a part that is left out.
    """

    modulus: int
    frequencies: tuple[int, ...]
    profiles: Floats
    sine_profiles: Floats | None
    waves: tuple[tuple[Waves, ...], tuple[Waves, ...]] | None
    readout: NDArray[np.complex128] | None
    offsets: Floats | None


def program_file(
    name: str, program: ProgramNumbers, count: int, certificate: Mapping[str, float]
) -> str:
    """The file as text. count: how many numbers the program has; certificate: by the names of
    `Certificate`.
    """
    by_waves = program.waves is not None
    formula, tables, terms = _parts(program, by_waves)
    head = _head(name, program, count, certificate, formula)
    body = BODY.format(
        profile=_at("PROFILES", by_waves),
        terms="".join(terms),
        accuracy=certificate["accuracy"],
        margin=float(certificate["smallest_margin"]),
    )
    written = "".join(f"\n{table}" for table in tables)
    return head + written + (WAVES if by_waves else "") + body


def _parts(program: ProgramNumbers, by_waves: bool) -> tuple[str, list[str], list[str]]:
    """The formula, the tables of numbers, and the statements that add the smaller parts."""
    formula = ["g_k(d) cos w r"]
    tables = [_profile_table("PROFILES", "g_k", program, 0)]
    terms = []
    if program.sine_profiles is not None:
        formula.append("h_k(d) sin w r")
        tables.append(_profile_table("SINE_PROFILES", "h_k", program, 1))
        sines = _at("SINE_PROFILES", by_waves)
        terms.append(f"        total = total + {sines} * np.sin(angle * r)\n")
    if program.readout is not None:
        formula.append("Re R_k(c) exp(i w s)")
        comment = "# R_k(c): what is read off the sum without following the answer."
        rows = _array_rows(program.frequencies, program.readout)
        tables.append(f"{comment}\nREADOUT = {{\n{rows}}}\n")
        terms.append("        total = total + (READOUT[k] * np.exp(1j * angle * s)).real\n")
    text = f"    logits(a, b)[c] = sum over k of {' + '.join(formula)}"
    if program.offsets is not None:
        text += " + offset(c)"
        tables.append(f"OFFSETS = np.array([{_listed(program.offsets)}])\n")
        terms.append("    total = total + OFFSETS\n")
    return text, tables, terms


def _head(
    name: str,
    program: ProgramNumbers,
    count: int,
    certificate: Mapping[str, float],
    formula: str,
) -> str:
    """The docstring with the certificate."""
    return HEAD.format(
        p=program.modulus,
        id=quoted(name),
        numbers=counted(count, "number"),
        formula=formula,
        pairs=certificate["pairs"],
        certificate=certificate_lines(certificate, "c"),
    )


def certificate_lines(certificate: Mapping[str, float], label: str) -> str:
    """The certificate, its numbers below one another. label: what a label is called there."""
    size = f"{certificate['norm']:.4g}"
    words = len("largest error of a logit, where their size is ")
    return CERTIFICATE.format(
        label=label,
        share=certificate["share"],
        norm=certificate["norm"],
        pad=" " * max(2, 62 - words - len(size)),
        error=certificate["largest_error"],
        agreeing=certificate["agreeing"],
        pairs=certificate["pairs"],
        accuracy=f"{certificate['accuracy']:.6g}",
        margin=certificate["smallest_margin"],
    )


def quoted(text: object) -> str:
    """Text from anywhere for a docstring: no quote, backslash or line of it can end the
    docstring and run as code.
    """
    letters = []
    for letter in str(text):
        if letter in '"\\':
            letters.append(f"\\{letter}")
        elif letter.isprintable():
            letters.append(letter)
        else:
            letters.append(letter.encode("unicode_escape").decode())
    return "".join(letters)


def _at(table: str, by_waves: bool) -> str:
    return f"profile({table}[k], d)" if by_waves else f"{table}[k][d]"


def _profile_table(name: str, symbol: str, program: ProgramNumbers, which: int) -> str:
    """The profiles of every frequency as a dictionary. which: 0 for those of the cosine, 1 for
    those of the sine.
    """
    if program.waves is not None:
        comment = f"# {symbol}(d) of each frequency k: waves (j, cosine, sine)."
        rows = _wave_rows(program.frequencies, program.waves[which])
    else:
        comment = f"# {symbol}(d) of each frequency k, for d = 0 to p - 1."
        table = program.profiles if which == 0 else program.sine_profiles
        assert table is not None
        rows = _array_rows(program.frequencies, table)
    return f"{comment}\n{name} = {{\n{rows}}}\n"


def _wave_rows(frequencies: Sequence[int], waves: Sequence[Waves]) -> str:
    rows = []
    for k, waves_of_k in zip(frequencies, waves, strict=True):
        words = [f"({j}, {cosine:g}, {sine:g})" for j, cosine, sine in waves_of_k]
        rows.append(f"    {k}: [{wrapped(words)}],\n")
    return "".join(rows)


def _array_rows(frequencies: Sequence[int], table: Floats | NDArray[np.complex128]) -> str:
    rows = []
    for k, values in zip(frequencies, table, strict=True):
        rows.append(f"    {k}: np.array([{_listed(values)}]),\n")
    return "".join(rows)


def _listed(values: Floats | NDArray[np.complex128]) -> str:
    return wrapped([f"{value:g}" for value in values.tolist()])


def wrapped(words: Sequence[str], width: int = 100) -> str:
    """Separated by commas, a new line where one is full."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += f"{word}, "
    lines.append(line)
    if len(lines) == 1:
        return line.rstrip(", ")
    indented = "\n        ".join(line.rstrip() for line in lines)
    return f"\n        {indented}\n    "
