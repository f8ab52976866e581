"""The logits of the distilled program that a certificate holds, as balls."""

import numpy as np
from arithmetic import Ball, floats
from flint import arb, fmpq


def program_logits(program, table, n, elements):
    """The logits of the distilled program, by rows of the first operand. table: of the group, None
    for addition modulo n; elements: of the first operand, the second, and the answer.
    """
    if table is not None:
        return group_logits(program, np.array(table), elements)
    by_answer = by_sum = Ball(np.zeros((n, n)))  # (d, r) and (s, c)
    for part in ("answer", "sum"):
        for k, kind, values in program[part]:
            wave = arb.cos_pi_fmpq if kind == "cosine" else arb.sin_pi_fmpq
            waves = floats([wave(fmpq(2 * k * step, n)) for step in range(n)], (n,))
            if part == "answer":
                by_answer = by_answer + Ball(values)[:, None] * waves
            else:
                by_sum = by_sum + waves[:, None] * Ball(values)

    def of_rows(rows):
        first, second, answer = elements[0][rows, None], elements[1], elements[2]
        s, d = (first + second) % n, (first - second) % n
        return by_answer[d[..., None], (s[..., None] - answer) % n] + by_sum[s][..., answer]

    return of_rows


def group_logits(program, table, elements):
    """F(x^-1 z y^-1) + left(y, x^-1 z) + right(x, z y^-1) + readout(xy, z) + offset(z)"""
    identity = int(np.flatnonzero((table == np.arange(len(table))).all(axis=1))[0])
    inverses = (table == identity).argmax(axis=1)
    names = ("left", "right", "readout")
    products = {name: program[name] for name in names if program[name] is not None}
    values = {name: Ball(first) @ Ball(second) for name, (first, second) in products.items()}
    y, z = elements[1][:, None], elements[2]

    def of_rows(rows):
        x = elements[0][rows, None, None]
        after_x = table[inverses[x], z]
        places = {
            "left": (y, after_x),
            "right": (x, table[z, inverses[y]]),
            "readout": (table[x, y], z),
        }
        total = Ball(np.array(program["function"])[table[after_x, inverses[y]]])
        for name, part in values.items():
            total = total + part[places[name]]
        if program["offsets"] is not None:
            total = total + Ball(np.array(program["offsets"])[z])
        return total

    return of_rows
