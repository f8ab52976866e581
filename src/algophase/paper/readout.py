"""The readout of a linear Pizza (appendix L.4): f(cos t, sin t) against 8 cos(2t + 2), and the
paper's printed coefficients.
"""

import csv
import math
from dataclasses import dataclass, replace
from importlib.resources import files

import torch
from torch import Tensor

from algophase.analysis.circles.find import points_in_plane
from algophase.analysis.circles.formulas import pizza_logits
from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.hidden.anatomy import READOUT_POINTS, Readout, fit_readout
from algophase.core.fourier import cos_turn
from algophase.core.palette import COLORS
from algophase.paper.anatomy_items import Opened, open_model_beta
from algophase.paper.measure import Measurement, measured, quantity
from algophase.paper.product import Product, entry
from algophase.paper.sources import Sources
from algophase.pictures.marks import Axis, Figure, Legend, Panel, Rule
from algophase.reports.anatomy_section import HALF_TURNS, readout_lines

PAPER_FORMULA = "8 cos(2t + 2)"
HALF_DIGIT = 0.0005 + 1e-6  # of three decimals, and the rounding of float32 weights


def printed_coefficients() -> Tensor:
    """Appendix L.4's 44 rows (x, y, bias, readout), as printed to three decimals."""
    text = files("algophase.paper").joinpath("appendix_l4.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())  # without the head
    numbers = [[float(cell) for cell in row] for row in rows]
    return torch.tensor(numbers, dtype=torch.float64)


def readout(sources: Sources) -> Product:
    beta = open_model_beta(sources)
    return Product(beta.exhibit.source, {"": _readout_figure(_first(beta))})


def _first(beta: Opened) -> Readout:
    """The readout that the paper shows: the first dimension of the first pizza."""
    return beta.anatomy.pizzas[0].readouts[0]


def _formula(wave: Readout) -> str:
    sign = "+" if wave.phase >= 0 else "-"
    return f"{wave.amplitude:.2f} cos(2t {sign} {abs(wave.phase):.2f})"


def _paper_curve(angles: Tensor) -> Tensor:
    amplitude = entry("beta-readout-amplitude").value
    phase = entry("beta-readout-phase").value
    assert amplitude is not None
    assert phase is not None
    return amplitude * torch.cos(2 * angles + phase)


def _explained(values: Tensor, formula: Tensor) -> float:
    return 1 - ((values - formula).square().mean() / values.var(correction=0)).item()


@quantity
def columns_of_first_pizza(beta: Opened) -> int:
    return len(beta.anatomy.pizzas[0].rows)


@quantity
def amplitude_of_readout(beta: Opened) -> float:
    return _first(beta).amplitude


@quantity
def phase_of_readout(beta: Opened) -> float:
    return _first(beta).phase


@quantity
def readout_as_wave(beta: Opened) -> Measurement:
    """Of the readout, the share of the variance that its best A cos(2t + phi) explains."""
    wave = _first(beta)
    return measured(wave.variance_explained, formula=_formula(wave))


@quantity
def readout_as_printed_wave(beta: Opened) -> Measurement | None:
    """The same of the paper's formula; of the paper's network alone."""
    if not beta.published:
        return None
    wave = _first(beta)
    formula = _paper_curve(wave.angles)
    deviation = (wave.values - formula).abs().max().item()
    return measured(_explained(wave.values, formula), deviation=deviation)


@quantity
def even_part_of_readout(beta: Opened) -> float:
    """An absolute value is even; a ReLU is not, but a sum of them may be: f(cos t, sin t) =
    f(-cos t, -sin t).
    """
    values = _first(beta).values
    even = (values + values.roll(READOUT_POINTS // 2)) / 2
    return (even.var(correction=0) / values.var(correction=0)).item()


@quantity
def every_readout_as_wave(beta: Opened) -> Measurement:
    """Both unembedding dimensions of every pizza, not the first one's first alone."""
    pizzas = beta.anatomy.pizzas
    readouts = [wave for pizza in pizzas for wave in pizza.readouts]
    amplitudes = [wave.amplitude for wave in readouts]
    return measured(
        min(wave.variance_explained for wave in readouts),
        smallest=min(amplitudes),
        largest=max(amplitudes),
        readouts=len(readouts),
        pizzas=len(pizzas),
    )


def _hidden_rows(beta: Opened) -> tuple[list[int], Tensor, Tensor]:
    """Of the first pizza: its hidden units, how they read the circle's plane (rows, 2), and
    their biases (rows, 1).
    """
    pizza = beta.anatomy.pizzas[0]
    rows = list(pizza.rows)
    columns = [component - 1 for component in pizza.embedding_components[:2]]
    reading = beta.anatomy.aligned_w1[rows][:, columns].double()
    bias = beta.network.l1.bias[rows].detach().double()[:, None]
    return rows, reading, bias


@quantity
def entries_as_absolute_values(beta: Opened) -> Measurement:
    """Each entry ReLU(u x + v y + bias) of the first pizza against |u x + v y|, scale and offset
    fitted, on the unit circle.
    """
    rows, reading, bias = _hidden_rows(beta)
    angles = _first(beta).angles.double()
    inputs = reading @ torch.stack([angles.cos(), angles.sin()])  # (rows, points)
    entries = torch.relu(inputs + bias)
    pairs = zip(entries, inputs.abs(), strict=True)
    correlations = [torch.corrcoef(torch.stack(pair))[0, 1] for pair in pairs]
    explained = torch.stack(correlations) ** 2
    return measured(
        explained.min().item(),
        median=explained.median().item(),
        largest=explained.max().item(),
        entries=len(rows),
    )


def _fit_pairs(beta: Opened) -> tuple[float, float]:
    """f on the network's own E'_a + E'_b, for all pairs, against C |cos w(a - b)/2| cos(w(a + b)
    + phase): the share explained, and C.
    """
    p = beta.modulus
    pizza = beta.anatomy.pizzas[0]
    circles = beta.exhibit.circles
    circle = next(circle for circle in circles if circle.frequency == pizza.frequency)
    first, second = points_in_plane(beta.exhibit.components, circle)[[0, -1]].double()
    rows, reading, bias = _hidden_rows(beta)
    writing = beta.anatomy.aligned_w2[pizza.unembedding_components[0] - 1, rows].double()
    hidden = torch.relu((first[:, None] + second) @ reading.T + bias[:, 0])
    values = (hidden @ writing).flatten()  # (p * p,)
    # |cos| cos(w(a + b) - w c) at two labels c spans every phase.
    waves = pizza_logits(p, pizza.frequency).flatten(0, 1)[:, :2]
    design = torch.cat([waves, torch.ones(p * p, 1, dtype=torch.float64)], dim=1)
    weights = torch.linalg.lstsq(design, values[:, None]).solution
    explained = _explained(values, (design @ weights).flatten())
    turn = 2 * torch.pi * pizza.frequency / p
    real = weights[0] + weights[1] * math.cos(turn)
    imaginary = weights[1] * math.sin(turn)
    return explained, torch.complex(real, imaginary).abs().item()


@quantity
def readout_of_pairs(beta: Opened) -> float:
    return _fit_pairs(beta)[0]


@quantity
def amplitude_of_readout_of_pairs(beta: Opened) -> float:
    return _fit_pairs(beta)[1]


@quantity
def factor_of_sum_of_cosines(beta: Opened) -> float:
    """cos w a + cos w b over cos(w(a - b)/2) cos(w(a + b)/2), by least squares."""
    p = beta.modulus
    numbers = torch.arange(p)
    total = cos_turn(numbers[:, None], p) + cos_turn(numbers, p)
    difference = cos_turn(numbers[:, None] - numbers, 2 * p)
    half = difference * cos_turn(numbers[:, None] + numbers, 2 * p)
    return ((total * half).sum() / half.square().sum()).item()


@quantity
def printed_readout(_: None) -> Measurement:
    """The readout of the printed columns and weights, against the paper's formula."""
    x, y, bias, weight = printed_coefficients().T[:, :, None]
    angles = torch.arange(READOUT_POINTS, dtype=torch.float64) * (2 * torch.pi / READOUT_POINTS)
    hidden = torch.relu(x * angles.cos() + y * angles.sin() + bias)
    values = (weight * hidden).sum(dim=0)
    fit = fit_readout(1, angles, values)
    return measured(
        _explained(values, _paper_curve(angles)),
        formula=_formula(fit),
        by_best=fit.variance_explained,
    )


# --- the printed lists against the network's aligned weights, of the paper's network alone


def _same_columns(beta: Opened) -> bool:
    return len(beta.anatomy.pizzas[0].rows) == len(printed_coefficients())


@quantity
def other_columns(beta: Opened) -> Measurement | None:
    """Only where the network has another number of columns than the paper printed."""
    if not beta.published or _same_columns(beta):
        return None
    return measured(False, columns=len(beta.anatomy.pizzas[0].rows))


@quantity
def printed_biases(beta: Opened) -> Measurement | None:
    if not beta.published or not _same_columns(beta):
        return None
    printed = printed_coefficients()[:, 2]
    rows = list(beta.anatomy.pizzas[0].rows)
    equal = int(((beta.network.l1.bias[rows] - printed).abs() <= HALF_DIGIT).sum())
    return measured(equal == len(printed), equal=equal)


@dataclass(frozen=True)
class _Compared:
    """A printed column against ours: differences as they are, and without the mean along the
    component, which centering takes off.
    """

    mean: float
    difference: Tensor
    without_mean: Tensor


def _compare_column(
    printed: Tensor, ours: Tensor, components: PrincipalComponents, component: int
) -> _Compared:
    sign = (ours * printed).sum().sign()  # of a component, either is right
    mean = sign * (components.means[0] @ components.directions[component])
    difference = (sign * ours - printed).abs()
    without_mean = (sign * ours - mean - printed).abs()
    return _Compared(mean.item(), difference, without_mean)


@quantity
def printed_weights(beta: Opened) -> Measurement | None:
    """Coefficients (x, y) and readout weights, up to the signs of components."""
    if not beta.published or not _same_columns(beta):
        return None
    printed = printed_coefficients()
    anatomy = beta.anatomy
    rows = list(anatomy.pizzas[0].rows)
    embedding = beta.exhibit.components
    unembedding = beta.unembedding
    columns = (
        _compare_column(printed[:, 0], anatomy.aligned_w1[rows, 0], embedding, 0),
        _compare_column(printed[:, 1], anatomy.aligned_w1[rows, 1], embedding, 1),
        _compare_column(printed[:, 3], anatomy.aligned_w2[0, rows], unembedding, 0),
    )
    difference = torch.cat([column.difference for column in columns])
    without_mean = torch.cat([column.without_mean for column in columns])
    equal = int((difference <= HALF_DIGIT).sum())
    return measured(
        equal == len(difference),
        equal=equal,
        difference=difference.max().item(),
        means=", ".join(f"{column.mean:.4f}" for column in columns),
        equal_without_mean=int((without_mean <= HALF_DIGIT).sum()),
        difference_without_mean=without_mean.max().item(),
    )


def _readout_figure(wave: Readout) -> Figure:
    """The readout with its fit and the paper's formula, and what either leaves."""
    measured, fit = readout_lines(wave)
    formula = _paper_curve(wave.angles).numpy()
    paper = replace(fit, y=formula, color=COLORS[6], dash=":", name=PAPER_FORMULA)
    differences = [replace(line, y=measured.y - line.y, name="") for line in (fit, paper)]
    above = Panel(marks=[measured, fit, paper], x=HALF_TURNS, y=Axis(name="readout"))
    below = Panel(marks=[*differences, Rule(y=0)], x=HALF_TURNS, y=Axis(name="difference"))
    return Figure(
        rows=[[above], [below]],
        width=4.2,
        height=4.0,
        heights=(3, 1),
        legend=Legend(where="above", columns=3),
        names_outside=True,
    )
