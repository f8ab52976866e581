"""What the paper's text says beside its figures and tables: settings and cost (appendix F), and
words about many networks.
"""

from algophase.analysis.catalogue import IRRELEVANCE, WRONG_LOGIT, label
from algophase.analysis.logits.metrics import paper_triples
from algophase.core.errors import InputError
from algophase.core.lines import exceeds, falls_short, reaches
from algophase.networks import Linear, Transformer
from algophase.paper.population_released import released_population
from algophase.paper.populations import INSIDE, LOW, MEASURES, circles_of, population, transitions
from algophase.paper.product import Claim, Product, Table
from algophase.paper.published import number
from algophase.paper.rules import MOST, THRESHOLDS, share_claim, statement
from algophase.paper.sources import Sources, optional
from algophase.runs.boundary import Boundary
from algophase.runs.runs import Runs
from algophase.runs.statistics import Share, same_distribution
from algophase.sweeps.paper_spaces import PAPER_SPACES

DAY = 24 * 3600
FEWER = 0.5  # of the paper's time, below which a replication took "significantly" less (ours)
# Printed settings of the main experiment, by the column of a run that records each.
SETTINGS = {
    "setting-modulus": "modulus",
    "setting-width": "width",
    "setting-heads": "heads",
    "setting-training-fraction": "training_fraction",
    "setting-learning-rate": "learning_rate",
    "setting-weight-decay": "weight_decay",
    "setting-epochs": "epochs",
}


def settings(sources: Sources) -> Product:
    runs = sources.runs("fixed-width")
    claims = [_setting(name, runs, column) for name, column in SETTINGS.items()]
    claims += _shapes(sources)
    triples = len(paper_triples(int(runs["modulus"].iloc[0])))
    claims.append(number("setting-triples").claim(triples, str(triples)))
    claims += _widths(sources)
    claims.append(_linear_width(sources))
    cost, spent = _cost(sources)
    claims.append(cost)
    heads = ("sweep", "runs", "training (s)", "analysis (s)", "devices")
    return Product(
        f"the settings that {runs.source} record, and what the gallery's shards say",
        {},
        {"": Table(heads, spent)},
        tuple(claims),
    )


def _setting(name: str, runs: Runs, column: str) -> Claim:
    """What every run of the sweep records for a printed setting."""
    printed = number(name)
    values = sorted(set(runs[column].tolist()))
    shown = ", ".join(f"{value:g}" for value in values)
    same = len(values) == 1 and printed.agrees(values[0])
    return Claim(
        printed.text,
        printed.printed,
        shown,
        "reproduced" if same else "differs",
        len(runs),
        printed.place,
    )


def _shapes(sources: Sources) -> list[Claim]:
    """Sizes that follow from the width, from the weights of Model A."""
    found = optional(sources.network, "model-a")
    if found is None:
        return []
    network = found.given
    if not isinstance(network, Transformer):
        raise InputError(f"{found.source} is not a transformer")
    weights = dict(network.named_parameters())
    width, p = weights["embed.W_E"].shape[1], network.task.modulus
    sizes = {
        "setting-pairs": p * p,
        "setting-head-size": weights["blocks.0.attn.W_Q"].shape[2],
        "setting-hidden-units": weights["blocks.0.mlp.W_in"].shape[1],
    }
    note = f"width {width}, p = {p}: {found.source}"
    return [
        number(name).claim(size, str(size), same_network=width == 128 and p == 59, note=note)
        for name, size in sizes.items()
    ]


def _widths(sources: Sources) -> list[Claim]:
    runs = optional(sources.runs, "varying-width", "width")
    if runs is None:
        return []
    widths, printed = runs["width"], (number("setting-width-from"), number("setting-width-to"))
    holds = printed[0].value <= widths.min() and widths.max() <= printed[1].value
    shown = f"{widths.min():.0f} to {widths.max():.0f}"
    text, between = (
        "widths of the second experiment, log-uniform",
        f"{printed[0].printed} to {printed[1].printed}",
    )
    return [
        statement(
            text, holds, shown, "rule: drawn from there", published=between, sample=len(widths)
        )
    ]


def _linear_width(sources: Sources) -> Claim:
    """Model delta reads two embeddings side by side: at the printed width of 256 for both there
    would be 512 inputs.
    """
    printed = number("setting-linear-width")
    shown, sample = [], 0
    for role in ("model-beta", "model-delta"):
        found = optional(sources.network, role)
        if found is not None and isinstance(found.given, Linear):
            weights = dict(found.given.named_parameters())
            whose = "released" if found.published else "ours"
            embedding, layer = weights["embed.weight"].shape[1], weights["l1.weight"]
            shown.append(
                f"{role.removeprefix('model-')} ({whose}): {embedding}, {layer.shape[1]} and "
                f"{layer.shape[0]}"
            )
            sample += 1
    note = (
        "dimensions of an embedding, of what the first layer reads, and of what it gives; "
        "delta concatenates two embeddings"
    )
    if sources.released is not None:
        return Claim(
            printed.text,
            printed.printed,
            "; ".join(shown),
            "paper contradicts itself",
            sample,
            f"{note}, of 128 each",
        )
    return Claim(printed.text, printed.printed, "; ".join(shown) or "-", "not tested", sample, note)


def _cost(sources: Sources) -> tuple[Claim, tuple[tuple[str, ...], ...]]:
    """What the gallery's tables took, by their own record."""
    printed, rows, whole, count = number("gpu-days"), [], 0.0, 0
    for space in PAPER_SPACES:
        try:
            sittings = sources.sittings(space)
        except InputError:
            continue
        runs = sum(int(one.get("runs") or 0) for one in sittings)
        times = [
            sum(float(one.get(f"{what}_seconds") or 0) for one in sittings)
            for what in ("training", "analysis")
        ]
        devices = sorted({str(one.get("device")) for one in sittings})
        rows.append(
            (space, f"{runs:,}", f"{times[0]:,.0f}", f"{times[1]:,.0f}", ", ".join(devices))
        )
        whole, count = whole + sum(times), count + runs
    note = (
        f"training and analysis of {count:,} runs by the tables' own record (start-up and what "
        "was not finished left out); "
        "the authors' device is another and they ran far more; rule: less than half of "
        f"{printed.printed}"
    )
    text = "a replication would take significantly fewer resources"
    holds = bool(falls_short(whole, FEWER * printed.value * DAY)) if count else None
    shown = f"{whole / 3600:.2f} hours" if count else "no runs"
    return statement(text, holds, shown, note, published=printed.printed, sample=count), tuple(rows)


def words(sources: Sources) -> Product:
    """Statements of sections 1 to 4 about networks in general, each judged on a population."""
    one = population(sources, "fixed-width", "attention_rate", "paper_label", "pizza_share")
    runs = one.circular
    claims: list[Claim] = []
    used = [one.source]
    for space, rate in (("pizza-training", 0), ("clock-training", 1)):
        found = optional(sources.runs, space)
        if found is not None:
            used.append(found.source)
            claims.append(_first_circle(found, rate))
    pizzas = runs.where(runs["paper_label"] == "Pizza")
    claims += [
        _accompanied(pizzas),
        _copies(pizzas),
        _sharp(runs),
        _line(runs),
        _which_logit(sources, one),
    ]
    return Product("; ".join(used), {}, {}, tuple(claims))


def _first_circle(runs: Runs, rate: int) -> Claim:
    held = [
        any(tuple(pair) == (1, 2) and way == "components" for pair, way in circles)
        for circles in circles_of(runs, "components", "method")
    ]
    text = (
        "embeddings usually describe a circle in the plane of the first two principal "
        f"components (section 2.1), rate {rate}"
    )
    what = "components 1 and 2 are waves of one frequency, nine tenths of each"
    return share_claim(text, Share(sum(held), len(runs)), MOST, what)


def _accompanied(pizzas: Runs) -> Claim:
    """Of each network, the Pizzas that have a companion; circles of one network are not
    independent.
    """
    most, count, with_one = 0, 0, 0
    for circles in circles_of(pizzas, "role", "frequency", "accompanies"):
        own, companions = (
            [k for role, k, _ in circles if role == "Pizza"],
            {k for _, _, k in circles},
        )
        has = sum(k in companions for k in own)
        most, count, with_one = most + (2 * has > len(own)), count + len(own), with_one + has
    what = (
        "circular Pizzas of which more than half of the pizzas have one; of all their "
        f"pizzas {Share(with_one, count)}"
    )
    text = "pizzas usually come with accompanying pizzas (section 3.4)"
    return share_claim(text, Share(most, len(pizzas)), MOST, what)


def _copies(pizzas: Runs) -> Claim:
    held, most = 0, 0.0
    for circles in circles_of(pizzas, "role", "accuracy_alone"):
        own = [alone for role, alone in circles if role == "Pizza"]
        held += len(own) >= 2 and bool(falls_short(max(own), 1))
        most = max(most, *own, 0.0)
    what = (
        "circular Pizzas with at least two pizzas, none of which alone answers all pairs; "
        f"the best alone answers {most:.1%}"
    )
    text = (
        "networks often implement multiple, imperfect copies of the Pizza in parallel (section 1)"
    )
    return share_claim(text, Share(held, len(pizzas)), MOST, what)


def _span(boundary: Boundary) -> str:
    """Over how much of the attention rate the fitted share inside a phase falls from 90% to 10%."""
    curve = boundary.curve
    if curve is None:
        return "no curve"
    inside = curve.rates[(curve.probability < 0.9) & (curve.probability > 0.1)]
    open_ended = curve.probability.max() < 0.9 or curve.probability.min() > 0.1
    return f"{'more than ' if open_ended else ''}{float(inside.max() - inside.min()) if len(inside) else 0.0:.2f}"


def _sharp(runs: Runs) -> Claim:
    found = transitions(runs)
    spans = ", ".join(
        f"{_span(found[measure].boundary)} by {label(measure)}" for measure in MEASURES
    )
    note = (
        "attention rate over which the fitted share inside the phase falls from 90% to 10%: "
        "one metric's transition is "
    )
    note += "sharp, the other's is not"
    published = "sharp phase transitions (section 1); the continuous phase change (section 4.2)"
    return Claim(
        "how the Pizza gives way to the Clock",
        published,
        spans,
        "paper contradicts itself",
        len(runs),
        note,
    )


def _line(runs: Runs) -> Claim:
    """The irrelevance that parts Pizzas from Clocks best, told apart by their circles alone."""
    lesser, share, lines = THRESHOLDS.hybrid_share, runs["pizza_share"], (LOW.limit, INSIDE.limit)
    pizza, clock = (
        runs.where(some)[IRRELEVANCE]
        for some in (exceeds(share, 1 - lesser), falls_short(share, lesser))
    )
    published = f"{LOW.limit:g} (section 4.1.2), {INSIDE.limit:g} (figure 7)"
    text = "the distance irrelevance that parts Pizzas from Clocks"
    if pizza.empty or clock.empty:
        return Claim(text, published, "no runs", "not tested", 0)
    wrong = {
        cut: int(reaches(pizza, cut).sum() + falls_short(clock, cut).sum())
        for cut in sorted([*pizza, *clock, *lines])
    }
    best = min((cut for cut in wrong if cut not in lines), key=wrong.__getitem__)
    errors = ", ".join(f"{wrong[cut]} at {cut:.2g}" for cut in (best, *lines))
    note = f"on the wrong side: {errors}; Pizzas and Clocks by the share of their circles' logits"
    return Claim(
        text, published, f"{best:.2f}", "paper contradicts itself", len(pizza) + len(clock), note
    )


def _which_logit(sources: Sources, ours: Runs) -> Claim:
    """The released table's column is not of the definition's logit: over a population the two
    differ.
    """
    text = "distance irrelevance is that of the correct logits (section 4.1.2)"
    theirs = released_population(sources, "fixed-width")
    if theirs is None:
        return Claim(
            text,
            "definition 4.2",
            "-",
            "not tested",
            0,
            "the authors' own table is taken with --released DIR",
        )
    known = theirs.circular.values(WRONG_LOGIT)
    shown = []
    for name, column in (("correct", IRRELEVANCE), ("largest wrong", WRONG_LOGIT)):
        distance, p = same_distribution(known, ours.circular.values(column))
        shown.append(f"{name} logit {distance:.3f} (p = {p:.2g})")
    note = (
        "Kolmogorov-Smirnov distance of the released column from ours, circular runs of one "
        "layer: it is the largest wrong "
        "logit's; the values printed for Models A and B are of the correct one"
    )
    return Claim(
        text,
        "definition 4.2; the released table",
        ", ".join(shown),
        "paper contradicts itself",
        len(known),
        note,
    )
