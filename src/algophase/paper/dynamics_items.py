"""Training dynamics (appendices J and K): the paper's single pictures, and how general they are over a population."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from algophase.analysis.analyze import analyze
from algophase.analysis.evidence import CLEAR_SHARE
from algophase.analysis.moments import moment_details
from algophase.errors import InputError
from algophase.paper.dynamics_figures import draw_companions, draw_population, draw_stages, draw_state, stages
from algophase.paper.population_claims import MOST, share_claim
from algophase.paper.product import OTHER_NETWORK, Claim, Item, Product, Table
from algophase.paper.published import number
from algophase.paper.sources import FoundRuns, Missing, Sources
from algophase.report.moments_section import quartiles
from algophase.runs.statistics import Share
from algophase.wording import plural

if TYPE_CHECKING:
    import pandas

EARLY = 2000  # epochs up to which a state is early (ours)
STATE = 600  # epochs of the paper's early Pizza
RISE = 0.05  # how much a median that falls gradually may rise between two epochs
PICTURE = "one run, a picture"
LOOKS = "looks like a Pizza: forms explain half of the strongest pair's logits, the Pizza has two thirds of the amplitude"
NEEDED = ("epoch", "epochs_trained", "accompanying", "accuracy_without_accompanying")
PAIR_NUMBERS = ("clock_weight", "pizza_weight", "pizza_share", "role", "explained", "frequency")
SHOWN = ("validation_accuracy", "gradient_symmetricity", "distance_irrelevance")


def followed(found: FoundRuns) -> "pandas.DataFrame":
    """The moments of all runs that have their end, with the strongest pair's numbers: `role`, `pizza_share_of_pair`.

    The strongest pair is the one with the largest sum of Clock and Pizza weights.
    """
    table = found.runs
    lacking = [name for name in (*NEEDED, *(f"pairs.{name}" for name in PAIR_NUMBERS)) if name not in table]
    if lacking:
        raise InputError(f"the moments have no column {', '.join(lacking)}: they are another version's; make them again")
    ended = table.loc[table["epoch"] == table["epochs_trained"], "run_id"]
    table = table[table["run_id"].isin(ended) & table["pairs.role"].notna()].copy()
    if table.empty:
        raise InputError("no run of these moments was followed to its end")
    weights = zip(table["pairs.clock_weight"], table["pairs.pizza_weight"], strict=True)
    strongest = [_strongest(clock, pizza) for clock, pizza in weights]
    for name, column in (("role", "role"), ("pizza_share", "pizza_share_of_pair"), ("explained", "explained")):
        table[column] = [values[pair] for values, pair in zip(table[f"pairs.{name}"], strongest, strict=True)]
    table["pizza_share_of_pair"] = table["pizza_share_of_pair"].astype(float)
    table["cost"] = 100 * (table["accuracy"] - table["accuracy_without_accompanying"])
    return table


def _strongest(clock: Sequence[float | None], pizza: Sequence[float | None]) -> int:
    amplitudes = [-math.inf if None in pair else sum(pair) for pair in zip(clock, pizza, strict=True)]  # type: ignore[arg-type]
    return amplitudes.index(max(amplitudes))


def _ends(table: "pandas.DataFrame") -> "pandas.DataFrame":
    return table[table["epoch"] == table["epochs_trained"]].set_index("run_id")


def _counts(values: "pandas.Series[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in values.value_counts().items())


def _middle(values: "pandas.Series[float]", form: str = ".2f", unit: str = "") -> str:
    """Median and quartiles in words."""
    if not len(values):
        return "no runs"
    low, middle, high = (format(values.quantile(level), form) for level in (0.25, 0.5, 0.75))
    return f"median {middle}{unit}, quartiles {low} and {high}"


def dissolving(table: "pandas.DataFrame") -> tuple["pandas.Series[bool]", "pandas.Series[bool]"]:
    """By run: whether its strongest pair looked like a Pizza early, and whether that was gone at the end."""
    early = table[(table["epoch"] <= EARLY) & (table["epoch"] < table["epochs_trained"])]
    pizza = (early["role"] == "Pizza").groupby(early["run_id"]).any()
    end = _ends(table)
    gone = end["pizza_share_of_pair"] < 1 - CLEAR_SHARE
    return pizza.reindex(end.index, fill_value=False), gone


def clock_training(sources: Sources) -> Product:
    found, series = sources.moments("clock-training"), sources.series("early-clock")
    table = followed(found)
    pizza, gone = dissolving(table)
    end = _ends(table)
    both = table[table["run_id"].isin(pizza.index[pizza & gone])]
    seen = table[(table["role"] == "Pizza") & (table["epoch"] <= EARLY)].groupby("run_id").last()
    ended = f"all runs end as: {_counts(end['verdict'])}"
    claims = [
        share_claim(
            "a Pizza-like pattern is there early in the training of a network with attention",
            Share(int(pizza.sum()), len(pizza)),
            MOST,
            f"{LOOKS}, at an epoch up to {EARLY:,}; validation accuracy when last seen: "
            f"{_middle(seen['validation_accuracy'], '.1%')}",
            PICTURE,
        ),
        share_claim(
            "the pattern disappears during the run",
            Share(int((pizza & gone).sum()), int(pizza.sum())),
            MOST,
            "of the runs that had it; gone: the Pizza has less than a third of the strongest pair at the end",
            PICTURE,
        ),
        share_claim(
            "a Pizza early that is gone at the end is the way of most networks with attention (our question)",
            Share(int((pizza & gone).sum()), len(pizza)),
            MOST,
            ended,
            PICTURE,
        ),
        _gradual(both),
    ]
    return Product(
        source=f"{found.source}; {series.source}",
        figures={"": draw_stages(stages(series.networks)), "population": draw_population(table)},
        tables={"population": _along(table)},
        claims=tuple(claims),
    )


def _gradual(table: "pandas.DataFrame") -> Claim:
    """Of runs whose Pizza dissolves: does the median share fall step by step from its peak on?"""
    text = "the pattern disappears gradually"
    rule = f"rule: from its peak on, the median share of the runs above never rises by more than {RISE} between two epochs"
    known = table[table["role"].isin(("Pizza", "mixed", "Clock"))]
    if known.empty:
        return Claim(text, PICTURE, "no such run", "not tested", 0, rule)
    median = quartiles(known, "pizza_share_of_pair")["middle"]
    after = median[median.index >= median.idxmax()]
    holds = bool((after.diff().dropna() <= RISE).all()) and after.iloc[-1] < 1 - CLEAR_SHARE
    half = after.index[after < 0.5]
    ours = f"median {after.iloc[0]:.2f} at epoch {after.index[0]:,}, below a half at {half[0]:,}" if len(half) else "stays"
    return Claim(
        text, PICTURE, f"{ours}, {after.iloc[-1]:.2f} at the end", "supported" if holds else "not supported", _runs(table), rule
    )


def _runs(table: "pandas.DataFrame") -> int:
    return int(table["run_id"].nunique())


def _along(table: "pandas.DataFrame") -> Table:
    """Medians [quartiles] by epoch."""
    columns = (
        "epoch",
        "runs",
        "Pizza",
        "mixed",
        "Clock",
        "Pizza's share of the pair",
        *(name.replace("_", " ") for name in SHOWN),
    )
    rows = []
    for epoch, part in table.groupby("epoch"):
        known = part[part["role"].isin(("Pizza", "mixed", "Clock"))]
        shares = [f"{(part['role'] == role).mean():.0%}" for role in ("Pizza", "mixed", "Clock")]
        numbers = [_bracketed(known["pizza_share_of_pair"]), *(_bracketed(part[name]) for name in SHOWN)]
        rows.append((f"{epoch:,}", str(len(part)), *shares, *numbers))
    return Table(columns, tuple(rows))


def _bracketed(values: "pandas.Series[float]", form: str = ".2f") -> str:
    values = values.dropna()
    if not len(values):
        return "-"
    low, middle, high = (format(values.quantile(level), form) for level in (0.25, 0.5, 0.75))
    return f"{middle} [{low}, {high}]"


def accompanying_pizza(sources: Sources) -> Product:
    found, exhibit = sources.moments("pizza-training"), sources.network("early-pizza")
    table = followed(found)
    if STATE not in table["epoch"].to_numpy():
        advice = f"make them with: algophase sweep pizza-training --snapshot {STATE}"
        raise Missing(f"the moments of pizza-training have no epoch {STATE}; {advice}")
    analysis = analyze(exhibit.network)
    details = moment_details(exhibit.network, analysis)
    without, count = details.accuracy_without_accompanying, details.accompanying
    claims = [
        number("early-pizza-accuracy").claim(
            analysis.accuracy, f"{analysis.accuracy:.1%}", same_network=exhibit.published, note=OTHER_NETWORK
        ),
        number("early-pizza-accuracy-without").claim(
            without,
            f"{without:.1%}",
            same_network=exhibit.published,
            note=f"{OTHER_NETWORK}; {_counted(count)} removed, in the paper one",
        ),
        *_model_a(sources),
        *_companion_claims(table),
    ]
    return Product(
        source=f"{found.source}; {exhibit.source}",
        figures={"": draw_state(exhibit.network, analysis.circles), "population": draw_companions(table)},
        tables={"population": _companion_table(table)},
        claims=tuple(claims),
    )


def _counted(count: int) -> str:
    return f"{count} accompanying {plural(count, 'circle')}"


def _model_a(sources: Sources) -> list[Claim]:
    """The trained network that the paper compares with, where there is one."""
    try:
        model = sources.network("model-a")
    except Missing:
        return []
    details = moment_details(model.network, analyze(model.network))
    without, note = details.accuracy_without_accompanying, f"{_counted(details.accompanying)} removed"
    note = note if model.published else f"{OTHER_NETWORK}; {note}"
    claim = number("trained-pizza-accuracy-without").claim(without, f"{without:.1%}", same_network=model.published, note=note)
    return [claim]


def _companion_claims(table: "pandas.DataFrame") -> list[Claim]:
    early, end = table[table["epoch"] == STATE].set_index("run_id"), _ends(table)
    having = early[early["accompanying"] > 0]
    later = end.loc[having.index]
    costly, still = having["cost"] > 0, later["accompanying"] > 0
    spread = f"accuracy lost without them, in points: {_middle(having['cost'])}"
    later_spread = f"points lost at {STATE} epochs: {_middle(having['cost'])}; at the end: {_middle(later['cost'])}"
    both = Share(int((later["cost"] < having["cost"])[still].sum()), int(still.sum()))
    changed = later["cost"] != having["cost"]
    everywhere = Share(int((end["accompanying"] > 0).sum()), len(end))
    return [
        share_claim(
            f"an accompanying Pizza emerges early in the training of a network without attention (at {STATE} epochs)",
            Share(len(having), len(early)),
            MOST,
            f"at least one circle in the accompanying role; at the end {everywhere}",
            PICTURE,
        ),
        share_claim(
            f"it is of use: removing it at {STATE} epochs costs accuracy",
            Share(int(costly.sum()), len(having)),
            MOST,
            f"of the runs that have one; {spread}",
            "1.8 points in one run",
        ),
        share_claim(
            "accompanying Pizzas are less helpful later",
            Share(int((later["cost"] < having["cost"]).sum()), int(changed.sum())),
            MOST,
            f"what removal costs at the end (nothing where none is left) is less than at {STATE} epochs, of the "
            f"{int(changed.sum())} of {len(having)} runs that have one then and in which it changed; {later_spread}; "
            f"with one at both: {both}",
            "1.8 points then, 0.3 in Model A",
        ),
    ]


def _companion_table(table: "pandas.DataFrame") -> Table:
    columns = ("epoch", "runs", "with an accompanying circle", "accuracy of those", "without the circles", "points lost")
    rows = []
    for epoch, part in table.groupby("epoch"):
        having = part[part["accompanying"] > 0]
        accuracies = [_bracketed(having[name], ".4f") for name in ("accuracy", "accuracy_without_accompanying")]
        rows.append((f"{epoch:,}", str(len(part)), f"{len(having) / len(part):.0%}", *accuracies, _bracketed(having["cost"])))
    return Table(columns, tuple(rows))


ITEMS: list[Item] = [
    Item(
        "clock-training",
        "figure",
        "appendix J",
        "a Pizza early in the training of a Clock, and how it dissolves",
        ("network:early-clock", "moments:clock-training"),
        clock_training,
    ),
    Item(
        "accompanying-pizza",
        "figure",
        "appendix K",
        "a rate-0 network after 600 epochs, and what its accompanying circle is worth",
        ("network:early-pizza", "moments:pizza-training"),
        accompanying_pizza,
    ),
]
