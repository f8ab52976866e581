"""The readout of a linear Pizza (appendix L.4): f(cos t, sin t) against 8 cos(2t + 2), and the
paper's printed coefficients.
"""

import csv
import math
from importlib.resources import files
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from algophase.analysis.circles.find import points_in_plane
from algophase.analysis.circles.formulas import pizza_logits
from algophase.analysis.hidden.anatomy import READOUT_POINTS, Anatomy, Readout, fit_readout
from algophase.core.fourier import cos_turn
from algophase.core.palette import COLORS
from algophase.networks import Linear
from algophase.paper.anatomy_items import both_sides, open_model_beta
from algophase.paper.product import Claim, Product
from algophase.paper.published import number
from algophase.paper.rules import approximated, measured
from algophase.paper.sources import Exhibit, Sources
from algophase.pictures.style import new_figure
from algophase.reports.figures import draw_readout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_FORMULA = "8 cos(2t + 2)"
HALF_DIGIT = 0.0005 + 1e-6  # of three decimals, and the rounding of float32 weights


def printed_coefficients() -> Tensor:
    """Appendix L.4's 44 rows (x, y, bias, readout), as printed to three decimals."""
    text = files("algophase.paper").joinpath("appendix_l4.csv").read_text(encoding="utf-8")
    return torch.tensor(
        [[float(cell) for cell in row] for row in list(csv.reader(text.splitlines()))[1:]],
        dtype=torch.float64,
    )


def readout(sources: Sources) -> Product:
    found, network, opened = open_model_beta(sources)
    pizza = opened.pizzas[0]
    first, rows = pizza.readouts[0], len(pizza.rows)
    claims = [
        measured("beta-columns", found, rows, str(rows)),
        measured("beta-readout-amplitude", found, first.amplitude, f"{first.amplitude:.2f}"),
        measured("beta-readout-phase", found, first.phase, f"{first.phase:.2f}"),
        approximated(
            "f(cos t, sin t) is well approximated by A cos(2t + phi)",
            first.variance_explained,
            f"{first.variance_explained:.2%} of its variance by {_formula(first)}",
            published=PAPER_FORMULA,
        ),
        *([_printed_formula(first)] if found.published else []),
        _every_readout(opened),
        _absolute_values(network, opened),
        _evenness(first),
        *_whole_pizza(found, network, opened),
        _doubling(found.modulus),
        _printed_readout(),
        *(_coefficient_claims(found, network, opened) if found.published else []),
    ]
    return Product(found.source, {"": _draw_readout(first)}, claims=tuple(claims))


def _formula(one: Readout) -> str:
    return f"{one.amplitude:.2f} cos(2t {'+' if one.phase >= 0 else '-'} {abs(one.phase):.2f})"


def _paper_curve(angles: Tensor) -> Tensor:
    return number("beta-readout-amplitude").value * torch.cos(
        2 * angles + number("beta-readout-phase").value
    )


def _explained(values: Tensor, formula: Tensor) -> float:
    return 1 - ((values - formula).square().mean() / values.var(correction=0)).item()


def _printed_formula(one: Readout) -> Claim:
    formula = _paper_curve(one.angles)
    explained, deviation = (
        _explained(one.values, formula),
        (one.values - formula).abs().max().item(),
    )
    ours = f"{explained:.2%} of its variance, largest deviation {deviation:.2f}"
    text = f"f(cos t, sin t) is well approximated by {PAPER_FORMULA}"
    return approximated(text, explained, ours, published=PAPER_FORMULA)


def _evenness(one: Readout) -> Claim:
    """An absolute value is even; a ReLU is not, but a sum of them may be: f(cos t, sin t) =
    f(-cos t, -sin t).
    """
    values = one.values
    even = (values + values.roll(READOUT_POINTS // 2)) / 2
    share = (even.var(correction=0) / values.var(correction=0)).item()
    also = " of f, the sum over entries, is even in (x, y), as a sum of absolute values is"
    return approximated("... so that their sum is one", share, f"{share:.2%} of f is even", also)


def _hidden_rows(network: Linear, opened: Anatomy) -> tuple[list[int], Tensor, Tensor]:
    """Of the first pizza: its hidden units, how they read the circle's plane (rows, 2), and
    their biases (rows, 1).
    """
    pizza = opened.pizzas[0]
    rows, columns = list(pizza.rows), [number - 1 for number in pizza.embedding_components[:2]]
    return (
        rows,
        opened.aligned_w1[rows][:, columns].double(),
        network.l1.bias[rows].detach().double()[:, None],
    )


def _absolute_values(network: Linear, opened: Anatomy) -> Claim:
    """Each entry ReLU(u x + v y + bias) of the first pizza against |u x + v y|, scale and offset
    fitted, on the unit circle.
    """
    rows, reading, bias = _hidden_rows(network, opened)
    angles = opened.pizzas[0].readouts[0].angles.double()
    inputs = reading @ torch.stack([angles.cos(), angles.sin()])  # (rows, points)
    entries = torch.relu(inputs + bias)
    explained = torch.stack(
        [
            torch.corrcoef(torch.stack(pair))[0, 1] ** 2
            for pair in zip(entries, inputs.abs(), strict=True)
        ]
    )
    return approximated(
        "after the ReLU each entry is an absolute value ...",
        explained.min().item(),
        f"|u x + v y| explains {explained.median():.0%} of an entry's variance in the median, "
        f"at most {explained.max():.0%}",
        f" of each of the {len(rows)} entries; one ReLU keeps one half of an absolute value",
    )


def _every_readout(opened: Anatomy) -> Claim:
    """Both unembedding dimensions of every pizza, not the first one's first alone."""
    readouts = [one for pizza in opened.pizzas for one in pizza.readouts]
    least, sizes = (
        min(one.variance_explained for one in readouts),
        [one.amplitude for one in readouts],
    )
    return approximated(
        "the other pizzas and the sine do the same",
        least,
        f"at least {least:.2%} of the variance of each, amplitudes {min(sizes):.1f} to "
        f"{max(sizes):.1f}",
        f", for all {len(readouts)} readouts of {len(opened.pizzas)} pizzas (appendix L.2)",
    )


def _whole_pizza(found: Exhibit, network: Linear, opened: Anatomy) -> list[Claim]:
    """f on the network's own E'_a + E'_b, for all pairs, against C |cos w(a - b)/2| cos(w(a + b)
    + phase).
    """
    p, pizza = found.modulus, opened.pizzas[0]
    circle = next(circle for circle in found.circles if circle.frequency == pizza.frequency)
    first, second = points_in_plane(found.components, circle)[[0, -1]].double()
    rows, reading, bias = _hidden_rows(network, opened)
    writing = opened.aligned_w2[pizza.unembedding_components[0] - 1, rows].double()
    hidden = torch.relu((first[:, None] + second) @ reading.T + bias[:, 0])
    values = (hidden @ writing).flatten()  # (p * p,)
    # |cos| cos(w(a + b) - w c) at two labels c spans every phase.
    waves = pizza_logits(p, pizza.frequency).flatten(0, 1)[:, :2]
    design = torch.cat([waves, torch.ones(p * p, 1, dtype=torch.float64)], dim=1)
    weights = torch.linalg.lstsq(design, values[:, None]).solution
    explained = _explained(values, (design @ weights).flatten())
    turn = 2 * torch.pi * pizza.frequency / p
    scale = (
        torch.complex(weights[0] + weights[1] * math.cos(turn), weights[1] * math.sin(turn))
        .abs()
        .item()
    )
    return [
        approximated(
            "so the readout of a pair is about |cos w(a - b)/2| cos w(a + b), if phase and "
            "scaling are ignored",
            explained,
            f"{explained:.2%} of its variance over all pairs",
            ", scale and phase fitted",
        ),
        measured(
            "beta-pair-amplitude",
            found,
            scale,
            f"{scale:.1f}",
            "the sum of two embeddings is up to twice the circle's radius long: the factor that "
            "L.2 lacks (below)",
        ),
    ]


def _doubling(p: int) -> Claim:
    numbers = torch.arange(p)
    total = cos_turn(numbers[:, None], p) + cos_turn(numbers, p)
    half = cos_turn(numbers[:, None] - numbers, 2 * p) * cos_turn(numbers[:, None] + numbers, 2 * p)
    ratio = (total * half).sum() / half.square().sum()
    return Claim(
        "cos w a + cos w b is cos(w(a - b)/2) cos(w(a + b)/2), times",
        "1 (appendix L.2), 2 (appendix A)",
        f"{ratio.item():.3f}",
        "paper contradicts itself",
        note="appendix A is right; the sum in L.2 lacks the factor 2",
    )


def _printed_readout() -> Claim:
    x, y, bias, weight = printed_coefficients().T[:, :, None]
    angles = torch.arange(READOUT_POINTS, dtype=torch.float64) * (2 * torch.pi / READOUT_POINTS)
    values = (weight * torch.relu(x * angles.cos() + y * angles.sin() + bias)).sum(dim=0)
    fit = fit_readout(1, angles, values)
    explained = _explained(values, _paper_curve(angles))
    return approximated(
        f"the 44 printed columns and weights give {PAPER_FORMULA}",
        explained,
        f"{explained:.2%} of their variance; best is {_formula(fit)}, {fit.variance_explained:.2%}",
        "; from the printed digits alone",
        published=PAPER_FORMULA,
    )


def _coefficient_claims(found: Exhibit, network: Linear, opened: Anatomy) -> list[Claim]:
    """The printed lists against the network's aligned weights, up to the signs of components."""
    printed = printed_coefficients()
    rows = list(opened.pizzas[0].rows)
    count = len(printed)
    if len(rows) != count:
        return [
            Claim(
                "the printed columns",
                str(count),
                str(len(rows)),
                "differs",
                note="not the same columns",
            )
        ]
    embedding, unembedding = both_sides(found, network)
    biases = int(((network.l1.bias[rows] - printed[:, 2]).abs() <= HALF_DIGIT).sum())
    weights = (
        (opened.aligned_w1[rows, 0], embedding, 0),
        (opened.aligned_w1[rows, 1], embedding, 1),
    )
    plain, shifted, largest, left, shifts = 0, 0, 0.0, 0.0, []
    for column, (ours, side, component) in zip(
        (printed[:, 0], printed[:, 1], printed[:, 3]),
        (*weights, (opened.aligned_w2[0, rows], unembedding, 0)),
        strict=True,
    ):
        sign = (ours * column).sum().sign()
        mean = sign * (side.means[0] @ side.directions[component])  # what centring a row takes off
        difference = (sign * ours - column).abs()
        plain += int((difference <= HALF_DIGIT).sum())
        off = (sign * ours - mean - column).abs()
        shifted += int((off <= HALF_DIGIT).sum())
        largest, left = max(largest, difference.max().item()), max(left, off.max().item())
        shifts.append(f"{mean.item():.4f}")
    total = 3 * count
    centred = (
        "with the mean of the (un)embedding along v taken off, as a PCA transform does "
        f"({', '.join(shifts)} for x, y, weights)"
    )
    rest = f"{shifted} are equal and the largest difference is {left:.5f}"
    return [
        Claim(
            "the 44 printed biases are the network's b_1",
            f"{count} numbers",
            f"{biases} equal",
            "reproduced" if biases == count else "differs",
            note="to the printed digits",
        ),
        Claim(
            "the printed coefficients and weights are W_1 v and v^T W_2, as the text defines them",
            f"{total} numbers",
            f"{plain} equal, largest difference {largest:.4f}",
            "reproduced" if plain == total else "differs",
            note=f"to the printed digits, up to signs of components; {centred}, {rest}",
        ),
    ]


def _draw_readout(one: Readout) -> "Figure":
    figure = new_figure(4.2, 4.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    draw_readout(top, one)
    paper = _paper_curve(one.angles)
    top.plot(one.angles, paper, color=COLORS[6], linestyle=":", label=PAPER_FORMULA)
    fit = one.amplitude * torch.cos(2 * one.angles + one.phase)
    bottom.plot(one.angles, one.values - fit, color=COLORS[5], linestyle="--")
    bottom.plot(one.angles, one.values - paper, color=COLORS[6], linestyle=":")
    bottom.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    figure.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    top.set(ylabel="readout", xlabel="")
    bottom.set(ylabel="difference", xlabel="t")
    return figure
