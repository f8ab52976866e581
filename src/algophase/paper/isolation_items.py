"""Circle isolation of Models A and B: sections 3.3 and 3.4 and appendix D."""

import torch
from torch import Tensor

from algophase.analysis.circles.formulas import half_angle_cosine, variance_explained
from algophase.analysis.circles.roles import CircleEvidence
from algophase.analysis.logits.all_pairs import by_difference_and_sum
from algophase.core.fourier import cos_turn, folded
from algophase.core.group import cyclic_group
from algophase.core.lines import exceeds, falls_short
from algophase.paper.measure import Measurement, Spread, listed, measured, quantity
from algophase.paper.plates import MOST_SHOWN, isolated_figure
from algophase.paper.product import Product, Table, entry
from algophase.paper.rules import HALF
from algophase.paper.sources import Exhibit, Sources, source_of

Pair = tuple[CircleEvidence, CircleEvidence]


def _largest_pizzas(network: Exhibit) -> list[CircleEvidence]:
    """The paper's pizzas 1, 2 and 3: the largest circles that act as one."""
    return network.of_role("Pizza")[:3]


def _pairs(network: Exhibit, pizzas: list[CircleEvidence]) -> list[Pair]:
    """Those of these pizzas that have an accompanying circle, with it."""
    pairs = []
    for pizza in pizzas:
        companion = network.companion(pizza)
        if companion is not None:
            pairs.append((pizza, companion))
    return pairs


# --- Model A: circles of a Pizza


def _shown_of_pizza(network: Exhibit) -> list[CircleEvidence]:
    """The largest pizzas and the circle that accompanies the last of them."""
    pizzas = _largest_pizzas(network)
    circles = [*pizzas, *(companion for _, companion in _pairs(network, pizzas[-1:]))]
    return circles or list(network.evidence[:MOST_SHOWN])


def pizza_isolated(sources: Sources) -> Product:
    network = sources.network("model-a")
    figure = isolated_figure(network, _shown_of_pizza(network))
    return Product(source_of(network), {"": figure})


@quantity
def explained_by_difference(network: Exhibit) -> list[float]:
    """Of the correct logits of each circle shown, the share of the variance that a - b explains."""
    return [network.only([item]).by_difference for item in _shown_of_pizza(network)]


@quantity
def differences_lost(network: Exhibit) -> Measurement:
    """Of each pizza alone, the number of values of a - b at which no pair is answered right."""
    counts = []
    for pizza in _largest_pizzas(network):
        accuracies = network.only([pizza]).accuracies
        counts.append(int((accuracies == 0).sum()))
    return measured(counts, counts=listed(counts), modulus=network.modulus)


@quantity
def third_is_accompanied(network: Exhibit) -> Measurement:
    pizzas = _largest_pizzas(network)
    pairs = _pairs(network, pizzas[-1:])
    companion_words = "none"
    for _, companion in pairs:
        companion_words = (
            f"frequency {companion.circle.frequency} accompanies {companion.accompanies}"
        )
    return measured(len(pizzas) == 3 and bool(pairs), companion=companion_words)


@quantity
def longer_is_better(network: Exhibit, short: float, long: float) -> Measurement:
    """Sections 3.2 and 3.4: near-antipodal pairs, whose midpoint is near the origin, are
    answered wrong more often.
    """
    accuracies = []
    for pizza in _largest_pizzas(network):
        circle = pizza.circle
        length = half_angle_cosine(network.modulus, circle.frequency, circle.offset)[..., 0]
        right = network.only([pizza]).right.double()
        of_short = right[falls_short(length, short)].mean().item()
        of_long = right[exceeds(length, long)].mean().item()
        accuracies.append((of_short, of_long))
    longer_better = all(falls_short(of_short, of_long) for of_short, of_long in accuracies)
    in_words = ", ".join(f"{of_short:.1%} and {of_long:.1%}" for of_short, of_long in accuracies)
    return measured(bool(accuracies) and longer_better, accuracies=in_words or "no Pizza")


def _best_accuracies(network: Exhibit, circles: list[CircleEvidence], axis: int) -> list[float]:
    """Of each circle alone, the best accuracy at any a - b (axis 1) or a + b (axis 0)."""
    best = []
    for item in circles:
        right = by_difference_and_sum(network.only([item]).right.double())  # (a - b, a + b)
        best.append(right.nanmean(axis).max().item())
    return best


@quantity
def best_accuracy_by_difference(network: Exhibit) -> list[float]:
    return _best_accuracies(network, _largest_pizzas(network), axis=1)


@quantity
def accuracy_of_largest_pizzas(network: Exhibit, count: int) -> Measurement | None:
    """Accuracy with the `count` largest pizzas alone. The paper gives 91.4% (main text) and 99.7%
    (footnote) for three.
    """
    pizzas = _largest_pizzas(network)
    if not pizzas:
        return None
    one, two, three = (network.only(pizzas[:kept]).accuracy for kept in (1, 2, 3))
    which_is_printed = ""
    is_of_two = ""
    if network.published:
        alone = listed((item.accuracy_alone for item in pizzas), ".2%")
        which_is_printed = f"circles 1, 2, 3 alone give {alone}: the printed value is circle 2's"
        is_of_two = ": the main text's value is that of two circles (components 1 to 4)"
    return measured(
        (one, two, three)[count - 1],
        one=one,
        two=two,
        three=three,
        which_is_printed=which_is_printed,
        is_of_two=is_of_two,
    )


# --- Model B: circles of a Clock


def clock_isolated(sources: Sources) -> Product:
    network = sources.network("model-b")
    figure = isolated_figure(network, network.evidence[:MOST_SHOWN])
    return Product(source_of(network), {"": figure})


def _shown_clocks(network: Exhibit) -> list[CircleEvidence]:
    return [item for item in network.evidence[:MOST_SHOWN] if item.role == "Clock"]


def _relative_spread(network: Exhibit, item: CircleEvidence) -> float:
    """Standard deviation over mean of a circle's accuracy by a - b."""
    accuracies = network.only([item]).accuracies
    return (accuracies.std(correction=0) / accuracies.mean()).item()


@quantity
def relative_spreads(network: Exhibit) -> Measurement:
    """Of each Clock shown, how much its accuracy alone varies with a - b; others in words."""
    spreads = []
    other_roles = []
    for item in network.evidence[:MOST_SHOWN]:
        spread = _relative_spread(network, item)
        if item.role == "Clock":
            spreads.append(spread)
        else:
            other_roles.append(f"k = {item.circle.frequency} ({item.role}): {spread:.2f}")
    in_words = f" ({'; '.join(other_roles)})" if other_roles else ""
    return measured(spreads, others=in_words)


def _by_sum_and_answer(network: Exhibit, item: CircleEvidence) -> float:
    """Share of the variance of an isolated circle's logits that a + b and the answer c together
    explain.
    """
    logits = network.isolate([item]).logits  # (p, p, p)
    a = torch.arange(network.modulus)
    b = cyclic_group(network.modulus).difference(a[:, None], a)  # of each sum and each a
    rows = logits[a, b]  # (a + b, a, c)
    return (rows.mean(dim=1).var(correction=0) / logits.var(correction=0)).item()


@quantity
def explained_by_sum_and_answer(network: Exhibit) -> list[float]:
    return [_by_sum_and_answer(network, item) for item in network.evidence[:MOST_SHOWN]]


@quantity
def best_accuracy_by_sum(network: Exhibit) -> list[float]:
    return _best_accuracies(network, _shown_clocks(network), axis=0)


@quantity
def mostly_clock(network: Exhibit) -> Measurement:
    """Whether the paper's label is Clock, and the Pizza has less than half of the logits."""
    verdict = network.analysis.paper
    share = verdict.pizza_share
    roles = ", ".join(f"{item.circle.frequency} {item.role}" for item in network.evidence)
    if share is None:
        return measured(False, roles=roles, pizza_share="")
    is_clock = verdict.label == "Clock" and bool(falls_short(share, HALF))
    in_words = f"; Pizza's share of the logit variance {share:.1%}"
    return measured(is_clock, roles=roles, pizza_share=in_words)


@quantity
def accuracy_of_first_components(network: Exhibit, count: int) -> float:
    return network.first_components(count).accuracy


# --- tables 2 and 3: explained variance


def _turn(modulus: int, frequency: int) -> str:
    return f"2π/{modulus} · {frequency}"


def _printed_cells(frequency: str, *names: str) -> tuple[str, ...]:
    """The paper's cells of a row, by the names of its claims."""
    printed = (entry(name).published for name in names)
    return f"2π/59 · {entry(frequency).published}", *printed


def explained(sources: Sources) -> Product:
    network = sources.network("model-a")
    rows = []
    for number, pizza in enumerate(_largest_pizzas(network), start=1):
        claim = f"isolation-{number}"
        ours = _turn(network.modulus, pizza.circle.frequency)
        theirs = _printed_cells(f"{claim}-frequency", f"{claim}-clock", f"{claim}-pizza")
        rows.append(
            (f"#{number}", ours, f"{pizza.fve_clock:.2%}", f"{pizza.fve_pizza:.2%}", *theirs)
        )
    columns = (
        "Circle",
        "w_k",
        "Clock FVE",
        "Pizza FVE",
        "paper: w_k",
        "paper: Clock FVE",
        "paper: Pizza FVE",
    )
    return Product(source_of(network), tables={"": Table(columns, tuple(rows))})


@quantity
def frequency_of_pizza(network: Exhibit, number: int) -> Measurement | None:
    """Of the largest pizzas, the one of this number, from 1."""
    pizzas = _largest_pizzas(network)
    if len(pizzas) < number:
        return None
    return measured(pizzas[number - 1].circle.frequency, modulus=network.modulus)


@quantity
def explained_of_pizza(network: Exhibit, number: int, formula: str) -> float | None:
    """Of a pizza's logits, the share of the variance that the formula, clock or pizza, explains."""
    pizzas = _largest_pizzas(network)
    if len(pizzas) < number:
        return None
    pizza = pizzas[number - 1]
    return {"clock": pizza.fve_clock, "pizza": pizza.fve_pizza}[formula]


@quantity
def gain_of_pizza_formula(network: Exhibit) -> Measurement:
    """How much more the Pizza's formula explains of each pizza than the Clock's."""
    gains = [pizza.fve_pizza - pizza.fve_clock for pizza in _largest_pizzas(network)]
    return measured(gains, points=Spread(100 * gain for gain in gains))


@quantity
def absolute_dot_explains_less(network: Exhibit) -> Measurement:
    """Whether |E_ab . (cos w c/2, sin w c/2)| explains less of every pizza than its formula."""
    explains = []
    is_less = []
    for pizza in _largest_pizzas(network):
        logits = network.isolate([pizza]).logits[..., : network.modulus]
        share = variance_explained(logits, _absolute_dot(network, pizza))
        explains.append(share)
        is_less.append(bool(falls_short(share, pizza.fve_pizza)))
    return measured(bool(is_less) and all(is_less), explained=Spread(explains))


def _absolute_dot(network: Exhibit, item: CircleEvidence) -> Tensor:
    """|cos w(a - b)/2| |cos w(a + b - c)/2|, (p, p, p)."""
    p = network.modulus
    k = item.circle.frequency
    n = torch.arange(p)
    angle = cos_turn(k * (n[:, None, None] + n[:, None] - n), 2 * p)
    return half_angle_cosine(p, k, item.circle.offset) * angle.abs()


def explained_side(sources: Sources) -> Product:
    network = sources.network("model-a")
    rows = []
    for number, pizza in enumerate(_largest_pizzas(network), start=1):
        for _, companion in _pairs(network, [pizza]):
            name = f"#{network.number_of(companion)} (accompanying #{number})"
            ours = _turn(network.modulus, pizza.circle.frequency)
            claim = f"isolationside-{number}"
            theirs = _printed_cells(f"{claim}-frequency", claim)
            rows.append((name, ours, f"{companion.fve_accompanying:.2%}", *theirs))
    columns = ("Circle", "w_k", "A_c FVE", "paper: w_k", "paper: A_c FVE")
    return Product(source_of(network), tables={"": Table(columns, tuple(rows))})


def _numbered_pair(network: Exhibit, number: int) -> Pair | None:
    """The pizza of this number, from 1, and its companion, where it has one."""
    pairs = _pairs(network, _largest_pizzas(network)[number - 1 : number])
    return pairs[0] if pairs else None


@quantity
def frequency_of_accompanied(network: Exhibit, number: int) -> Measurement | None:
    pair = _numbered_pair(network, number)
    return pair and measured(pair[0].circle.frequency, modulus=network.modulus)


@quantity
def explained_of_companion(network: Exhibit, number: int) -> float | None:
    """Of the accompanying circle's logits, the share that the accompanying formula explains."""
    pair = _numbered_pair(network, number)
    return pair and pair[1].fve_accompanying


@quantity
def all_three_accompanied(network: Exhibit) -> Measurement:
    pizzas = _largest_pizzas(network)
    accompanied = len(_pairs(network, pizzas))
    return measured(
        accompanied == len(pizzas) == 3,
        accompanied=accompanied,
        pizzas=len(pizzas),
        in_all=len(network.of_role("Pizza")),
    )


@quantity
def spacings_doubled(network: Exhibit) -> Measurement:
    """Whether the spacing of every pizza is twice its companion's (mod p)."""
    p = network.modulus
    spacings = []
    doubled = []
    for pizza, companion in _pairs(network, _largest_pizzas(network)):
        first = pow(pizza.circle.frequency, -1, p)
        second = pow(companion.circle.frequency, -1, p)
        spacings.append(f"{first} and {second}")
        doubled.append(folded(first, p) == folded(2 * second, p))
    return measured(bool(doubled) and all(doubled), spacings=", ".join(spacings) or "no circle")


# --- the accompanying circles alone


def _all_pairs(network: Exhibit) -> list[Pair]:
    return _pairs(network, network.of_role("Pizza"))


def _companions(network: Exhibit) -> list[CircleEvidence]:
    return [companion for _, companion in _all_pairs(network)]


def side_isolated(sources: Sources) -> Product:
    network = sources.network("model-a")
    circles = _companions(network)[:MOST_SHOWN] or network.evidence[:MOST_SHOWN]
    return Product(source_of(network), {"": isolated_figure(network, circles)})


@quantity
def correlations_with_companions(network: Exhibit) -> list[float]:
    """Of each pizza and its companion, that of their mean correct logits by a - b."""
    correlations = []
    for pair in _all_pairs(network):
        profiles = torch.stack([network.only([item]).profile for item in pair])
        correlations.append(torch.corrcoef(profiles)[0, 1].item())
    return correlations


@quantity
def accuracy_of_circles(network: Exhibit, kept: str) -> float:
    """With these circles alone: pizzas, companions or both."""
    pizzas = network.of_role("Pizza")
    companions = _companions(network)
    circles = {"pizzas": pizzas, "companions": companions, "both": [*pizzas, *companions]}
    return network.only(circles[kept]).accuracy


@quantity
def accuracy_without_companions(network: Exhibit) -> Measurement:
    companions = _companions(network)
    without = network.without(companions).accuracy
    alone = network.only(companions).accuracy
    return measured([without] if companions else [], without=without, alone=alone)
