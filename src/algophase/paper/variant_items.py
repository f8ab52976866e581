"""Circle isolation in other networks: linear models (appendix E), a wide Pizza with attention
(H), separate embeddings (I).
"""

import math
from dataclasses import replace

import torch

from algophase.analysis.circles.roles import CircleEvidence
from algophase.core.fourier import steps_around
from algophase.core.lines import exceeds, falls_short, reaches
from algophase.paper.measure import OTHERS, Measurement, Spread, listed, measured, quantity
from algophase.paper.plates import (
    MOST_SHOWN,
    Plates,
    isolated_figure,
    load_plates,
    plates_figure,
    take,
)
from algophase.paper.populations import circles_of
from algophase.paper.product import Product
from algophase.paper.rules import HALF, Holds
from algophase.paper.sources import Exhibit, Sources, source_of
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share


def _draw_shown(network: Exhibit) -> Product:
    figure = isolated_figure(network, network.evidence[:MOST_SHOWN])
    return Product(source_of(network), {"": figure})


def linear_pizza(sources: Sources) -> Product:
    return _draw_shown(sources.network("model-beta"))


def linear_delta(sources: Sources) -> Product:
    delta = sources.network("model-delta")
    model_b = sources.network("model-b")
    return replace(_draw_shown(delta), source=source_of(delta, model_b))


@quantity
def explained_by_pizza(network: Exhibit) -> Measurement:
    """Of the logits of each circle that acts as a Pizza, the share that the Pizza's formula has."""
    pizzas = network.of_role("Pizza")
    by_clock = Spread(item.fve_clock for item in pizzas)
    return measured([item.fve_pizza for item in pizzas], by_clock=by_clock)


@quantity
def explained_by_sum(network: Exhibit) -> list[float]:
    """Of the correct logits of each circle shown, the share of the variance that a + b explains."""
    return [network.only([item]).by_sum for item in network.evidence[:MOST_SHOWN]]


@quantity
def less_explained_by_sum(networks: tuple[Exhibit, Exhibit]) -> Measurement:
    """Whether a + b explains less of every circle of the first than of any of the second."""
    first, second = (Spread(explained_by_sum(network)) for network in networks)
    is_less = falls_short(max(first, default=1.0), min(second, default=0.0))
    return measured(bool(is_less), first=first, second=second)


# --- appendix H


def _plates(sources: Sources) -> tuple[Plates, str]:
    """From the network where it is at hand; it is too large to ship, so else from plates that
    were taken of it. With where they come from, in words.
    """
    kept = sources.plates("wide-pizza")
    if kept is None:
        network = sources.network("wide-pizza")
        return take(network, network.evidence[:MOST_SHOWN]), source_of(network)
    path, what = kept
    return load_plates(path), f"plates of our network {path.name.split('.')[0]} ({what})"


OTHERS["wide-pizza plates"] = lambda sources: _plates(sources)[0]


def wide_pizza(sources: Sources) -> Product:
    plates, source = _plates(sources)
    return Product(source, {"": plates_figure(plates)})


@quantity
def distance_irrelevance_of_plates(plates: Plates) -> float:
    return plates.distance_irrelevance


@quantity
def gradient_symmetricity_of_plates(plates: Plates) -> float:
    return plates.gradient_symmetricity


@quantity
def circularity_of_plates(plates: Plates) -> float:
    return plates.circularity


@quantity
def paper_label_of_plates(plates: Plates) -> Measurement:
    return measured(
        plates.label,
        irrelevance=plates.distance_irrelevance,
        symmetricity=plates.gradient_symmetricity,
    )


# --- appendix I


def _rows_apart(first: float, second: float, modulus: int) -> float:
    """How far apart two rows are, round the circle."""
    return abs((first - second + modulus / 2) % modulus - modulus / 2)


def _expected_row(network: Exhibit, item: CircleEvidence) -> float:
    """The row k(a - b) at which the two operands line up and the Pizza's factor |cos(w(a - b)/2
    + offset/2)| is largest.
    """
    return -item.circle.offset / (2 * math.pi) * network.modulus % network.modulus


def _measured_row(network: Exhibit, item: CircleEvidence) -> float:
    """Where the correct logits by a - b peak: the phase of their first harmonic in the order of
    the circle.
    """
    p = network.modulus
    rows = torch.from_numpy(steps_around(p, item.circle.frequency))
    harmonic = torch.exp(2j * torch.pi * rows / p)
    angle = (network.only([item]).profile * harmonic).sum().angle().item()
    return angle / (2 * math.pi) * p % p


@quantity
def circles_aligned(network: Exhibit, aligned: float) -> Measurement | None:
    """Whether aligned circles have more than half of all circles' variance in this network, which
    does not say that they often do. None where there is one embedding.
    """
    if len(network.components.coordinates) < 2:
        return None
    circles = [item.circle for item in network.evidence]
    chosen = [circle for circle in circles if reaches(circle.alignment, aligned)]
    share = sum(circle.variance_share for circle in chosen)
    total = sum(circle.variance_share for circle in circles)
    more_than_half = total and exceeds(share, HALF * total)
    holds: Holds = "undecided" if more_than_half else False
    return measured(
        holds,
        count=len(chosen),
        circles=len(circles),
        share=share / total if total else 0,
        alignments=listed((circle.alignment for circle in circles), ".3f"),
    )


@quantity
def runs_with_circles_aligned(runs: Runs, aligned: float) -> Share | None:
    """Runs in which aligned circles have more than half of all circles' variance."""
    if "circles.alignment" not in runs:
        return None
    with_alignment = runs.where(runs["circles.alignment"].notna())
    count = 0
    for circles in circles_of(with_alignment, "variance_share", "alignment"):
        total = sum(share for share, _ in circles)
        of_aligned = sum(share for share, alignment in circles if reaches(alignment, aligned))
        count += bool(exceeds(of_aligned, HALF * total))
    return Share(count, len(with_alignment))


def _shown_pizzas(network: Exhibit) -> list[CircleEvidence]:
    """Its largest pizzas; where there is none, its largest circles."""
    pizzas = network.of_role("Pizza")[:MOST_SHOWN]
    return pizzas or list(network.evidence[:MOST_SHOWN])


@quantity
def rows_off(network: Exhibit) -> Measurement:
    """How far, of each pizza, the row of the largest correct logits is from the expected one."""
    apart = []
    for item in network.of_role("Pizza")[:MOST_SHOWN]:
        expected = _expected_row(network, item)
        measured_row = _measured_row(network, item)
        apart.append(_rows_apart(expected, measured_row, network.modulus))
    shifts = listed((_expected_row(network, item) for item in _shown_pizzas(network)), ".1f")
    return measured(apart, largest=max(apart, default=math.nan), shifts=shifts)


@quantity
def row_of_difference(_: None, difference: int, step: int, modulus: int) -> int:
    """(a - b) / step (mod p)."""
    return difference * pow(step, -1, modulus) % modulus


def separate_pizza(sources: Sources) -> Product:
    network = sources.network("separate-pizza")
    circles = _shown_pizzas(network)
    notes = [f"pattern shifted to row {_expected_row(network, item):.1f}" for item in circles]
    return Product(source_of(network), {"": isolated_figure(network, circles, notes)})
