"""The Python file that a distilled program is written to: what it is, its numbers, its formula,
and a check of itself.
"""

from typing import TYPE_CHECKING

import numpy as np

from algophase.core.wording import counted

if TYPE_CHECKING:
    from algophase.analysis.program.distil import Distilled

HEAD = '''"""Addition modulo {p}, as network {id} computes it, distilled by algophase to {numbers}.

{formula}

with w = 2 pi k / {p}, d = a - b, s = a + b, r = a + b - c. Certificate, over all {pairs} pairs:

    share of the network's logits (squared norm, centred over c)  {share:.6f}
    largest error of a logit, where their size is {norm:.4g}{pad}{error:.4g}
    pairs answered as the network does                            {agreeing} of {pairs}
    accuracy                                                      {accuracy}
    smallest margin of a right answer                             {margin:.4g}
"""

import numpy as np

MODULUS = {p}
'''

WAVES = '''

def profile(waves, d):
    """Sum of cosine cos(2 pi j d / p) + sine sin(2 pi j d / p) over (j, cosine, sine)."""
    angle = 2 * np.pi * d / MODULUS
    return sum((cosine * np.cos(j * angle) + sine * np.sin(j * angle) for j, cosine, sine in waves), np.zeros(np.shape(d)))
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
    found = logits(every[:, None], every)
    right = (every[:, None] + every) % MODULUS
    of_right = np.take_along_axis(found, right[..., None], axis=-1)
    others = np.where(every == right[..., None], -np.inf, found).max(axis=-1)
    margin = of_right[..., 0] - others
    accuracy, smallest = (margin > 0).mean(), margin.min()
    print(f"{{(margin > 0).sum()}} of {{margin.size}} pairs are answered right; smallest margin {{smallest:.4g}}")
    assert abs(accuracy - {accuracy!r}) < 1e-9, "the accuracy is not the certificate's"
    rounding = 1e-9 * np.abs(found).max()
    assert abs(smallest - {margin!r}) <= rounding, "the smallest margin is not the certificate's"
'''


def source_of(found: "Distilled") -> str:
    """The file as text."""
    proof = found.certificate
    by_waves = found.waves is not None
    formula, terms, tables = ["g_k(d) cos w r"], [], [_profiles("PROFILES", "g_k", found, 0)]
    if found.sine_profiles is not None:
        formula.append("h_k(d) sin w r")
        tables.append(_profiles("SINE_PROFILES", "h_k", found, 1))
        terms.append(
            f"        total = total + {_at('SINE_PROFILES', by_waves)} * np.sin(angle * r)\n"
        )
    if found.readout is not None:
        formula.append("Re R_k(c) exp(i w s)")
        lines = [
            f"    {k}: np.array([{_listed(row)}]),\n"
            for k, row in zip(found.frequencies, found.readout, strict=True)
        ]
        tables.append(
            "# R_k(c): what is read off the sum without following the answer.\nREADOUT = {\n"
            + "".join(lines)
            + "}\n"
        )
        terms.append("        total = total + (READOUT[k] * np.exp(1j * angle * s)).real\n")
    text = f"    logits(a, b)[c] = sum over k of {' + '.join(formula)}"
    if found.offsets is not None:
        text += " + offset(c)"
        tables.append(f"OFFSETS = np.array([{_listed(found.offsets)}])\n")
        terms.append("    total = total + OFFSETS\n")
    size = f"{proof.norm:.4g}"
    head = HEAD.format(
        p=found.modulus,
        id=_quoted(found.id),
        numbers=counted(found.numbers, "number"),
        formula=text,
        pairs=proof.pairs,
        share=proof.share,
        norm=proof.norm,
        pad=" " * max(2, 62 - len("largest error of a logit, where their size is ") - len(size)),
        error=proof.largest_error,
        agreeing=proof.agreeing,
        accuracy=f"{proof.accuracy:.6g}",
        margin=proof.smallest_margin,
    )
    body = BODY.format(
        profile=_at("PROFILES", by_waves),
        terms="".join(terms),
        accuracy=proof.accuracy,
        margin=float(proof.smallest_margin),
    )
    return head + "".join(f"\n{table}" for table in tables) + (WAVES if by_waves else "") + body


def _quoted(text: object) -> str:
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


def _profiles(name: str, symbol: str, found: "Distilled", which: int) -> str:
    rows = []
    if found.waves is not None:
        comment = f"# {symbol}(d) of each frequency k: waves (j, cosine, sine)."
        for k, waves in zip(found.frequencies, found.waves[which], strict=True):
            rows.append(
                f"    {k}: "
                f"[{_wrapped([f'({j}, {cosine:g}, {sine:g})' for j, cosine, sine in waves])}],\n"
            )
    else:
        comment = f"# {symbol}(d) of each frequency k, for d = 0 to p - 1."
        table = found.profiles if which == 0 else found.sine_profiles
        assert table is not None
        rows += [
            f"    {k}: np.array([{_listed(row)}]),\n"
            for k, row in zip(found.frequencies, table, strict=True)
        ]
    return f"{comment}\n{name} = {{\n{''.join(rows)}}}\n"


def _listed(values: "np.typing.NDArray[np.float64] | np.typing.NDArray[np.complex128]") -> str:
    return _wrapped([f"{value:g}" for value in values.tolist()])


def _wrapped(words: list[str], width: int = 100) -> str:
    """Separated by commas, a new line where one is full."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) > width:
            lines.append(line)
            line = ""
        line += f"{word}, "
    lines.append(line)
    one = "".join(lines).rstrip(", ")
    return (
        one
        if len(lines) == 1
        else "\n        " + "\n        ".join(part.rstrip() for part in lines) + "\n    "
    )
