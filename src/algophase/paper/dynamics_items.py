"""Training dynamics (appendices J and K): the paper's single pictures, and how general they are
over a population.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from algophase.analysis.catalogue import IRRELEVANCE, SYMMETRICITY, label
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.lines import falls_short, stays_within
from algophase.core.wording import plural
from algophase.paper.dynamics_figures import (
    draw_companions,
    draw_population,
    draw_stages,
    draw_state,
    stages,
)
from algophase.paper.product import Claim, Product, Table
from algophase.paper.rules import MOST, OTHER_NETWORK, measured, share_claim, statement
from algophase.paper.sources import Exhibit, Missing, Sources, optional
from algophase.reports.moments_section import quartiles
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

EARLY = 2000  # epochs up to which a state is early (ours)
STATE = 600  # epochs of the paper's early Pizza
RISE = 0.05  # how much a median that falls gradually may rise between two epochs
PICTURE = "one run, a picture"
LOOKS = (
    "looks like a Pizza: forms explain half of the strongest pair's logits, the Pizza has "
    "two thirds of the amplitude"
)
NEEDED = ("epoch", "epochs_trained", "accompanying", "accuracy_without_accompanying")
PAIR_NUMBERS = ("clock_weight", "pizza_weight", "pizza_share", "role", "explained", "frequency")
FORMS = ("Pizza", "mixed", "Clock")
SHOWN = ("validation_accuracy", SYMMETRICITY, IRRELEVANCE)


def followed(table: "pandas.DataFrame") -> "pandas.DataFrame":
    """The moments of all runs that have their end, with the strongest pair's numbers: `role`,
    `pizza_share_of_pair`.

    The strongest pair is the one with the largest sum of Clock and Pizza weights.
    """
    lacking = [
        name for name in (*NEEDED, *(f"pairs.{name}" for name in PAIR_NUMBERS)) if name not in table
    ]
    if lacking:
        raise InputError(
            f"the moments have no column {', '.join(lacking)}: they are another version's; make "
            "them again"
        )
    ended = table.loc[table["epoch"] == table["epochs_trained"], "run_id"]
    table = table[table["run_id"].isin(ended) & table["pairs.role"].notna()].copy()
    if table.empty:
        raise InputError("no run of these moments was followed to its end")
    weights = zip(table["pairs.clock_weight"], table["pairs.pizza_weight"], strict=True)
    strongest = [_strongest(clock, pizza) for clock, pizza in weights]
    for name, column in (
        ("role", "role"),
        ("pizza_share", "pizza_share_of_pair"),
        ("explained", "explained"),
    ):
        table[column] = [
            values[pair] for values, pair in zip(table[f"pairs.{name}"], strongest, strict=True)
        ]
    table["pizza_share_of_pair"] = table["pizza_share_of_pair"].astype(float)
    table["cost"] = 100 * (table["accuracy"] - table["accuracy_without_accompanying"])
    return table


def _strongest(clock: Sequence[float | None], pizza: Sequence[float | None]) -> int:
    amplitudes = []
    for of_clock, of_pizza in zip(clock, pizza, strict=True):
        if of_clock is None or of_pizza is None:
            amplitudes.append(-math.inf)
        else:
            amplitudes.append(of_clock + of_pizza)
    return amplitudes.index(max(amplitudes))


def _ends(table: "pandas.DataFrame") -> "pandas.DataFrame":
    return table[table["epoch"] == table["epochs_trained"]].set_index("run_id")


def _counts(values: "pandas.Series[str]") -> str:
    return ", ".join(f"{count} {name}" for name, count in values.value_counts().items())


def _quartiles(values: "pandas.Series[float]", form: str, shown: str, otherwise: str) -> str:
    """shown: how, with the lower quartile, the median and the upper quartile as {0}, {1} and
    {2}.
    """
    return (
        shown.format(*(format(values.quantile(level), form) for level in (0.25, 0.5, 0.75)))
        if len(values)
        else otherwise
    )


def _middle(values: "pandas.Series[float]", form: str = ".2f") -> str:
    return _quartiles(values, form, "median {1}, quartiles {0} and {2}", "no runs")


def _bracketed(values: "pandas.Series[float]", form: str = ".2f") -> str:
    return _quartiles(values.dropna(), form, "{1} [{0}, {2}]", "-")


def dissolving(table: "pandas.DataFrame") -> tuple["pandas.Series[bool]", "pandas.Series[bool]"]:
    """By run: whether its strongest pair looked like a Pizza early, and whether that was gone at
    the end.
    """
    early = table[(table["epoch"] <= EARLY) & (table["epoch"] < table["epochs_trained"])]
    pizza = (early["role"] == "Pizza").groupby(early["run_id"]).any()
    end = _ends(table)
    gone = falls_short(end["pizza_share_of_pair"], 1 - Thresholds().pizza_part)
    return pizza.reindex(end.index, fill_value=False), gone


def _share(chosen: "pandas.Series[bool]") -> Share:
    return Share(int(chosen.sum()), len(chosen))


def clock_training(sources: Sources) -> Product:
    found, series = sources.moments("clock-training"), sources.series("early-clock")
    table = followed(found.table)
    pizza, gone = dissolving(table)
    seen = table[(table["role"] == "Pizza") & (table["epoch"] <= EARLY)].groupby("run_id").last()
    accuracy = _middle(seen["validation_accuracy"], ".1%")
    claims = [
        share_claim(text, share, MOST, what, PICTURE)
        for text, share, what in (
            (
                "a Pizza-like pattern is there early in the training of a network with attention",
                _share(pizza),
                f"{LOOKS}, at an epoch up to {EARLY:,}; validation accuracy when last seen: "
                f"{accuracy}",
            ),
            (
                "the pattern disappears during the run",
                _share(gone[pizza]),
                "of the runs that had it; gone: the Pizza has less than a third of the "
                "strongest pair at the end",
            ),
            (
                "a Pizza early that is gone at the end is the way of most networks with "
                "attention (our question)",
                _share(pizza & gone),
                f"all runs end as: {_counts(_ends(table)['paper_label'])}",
            ),
        )
    ]
    claims.append(_gradual(table[table["run_id"].isin(pizza.index[pizza & gone])]))
    return Product(
        source=f"{found.source}; {series.source}",
        figures={"": draw_stages(stages(series.networks)), "population": draw_population(table)},
        tables={"population": _along(table)},
        claims=tuple(claims),
    )


def _gradual(table: "pandas.DataFrame") -> Claim:
    """Of runs whose Pizza dissolves: does the median share fall step by step from its peak on?"""
    text = "the pattern disappears gradually"
    rule = (
        "rule: from its peak on, the median share of the runs above never rises by more "
        f"than {RISE} between two epochs"
    )
    known = table[table["role"].isin(FORMS)]
    if known.empty:
        return statement(text, None, "no such run", rule, published=PICTURE, sample=0)
    median = quartiles(known, "pizza_share_of_pair")["middle"]
    after = median[median.index >= median.idxmax()]
    falls = bool(stays_within(after.diff().dropna(), RISE).all())
    half = after.index[falls_short(after, 0.5)]
    ours = (
        f"median {after.iloc[0]:.2f} at epoch {after.index[0]:,}, below a half at {half[0]:,}"
        if len(half)
        else "stays"
    )
    ours, holds = (
        f"{ours}, {after.iloc[-1]:.2f} at the end",
        falls and bool(falls_short(after.iloc[-1], 1 - Thresholds().pizza_part)),
    )
    return statement(
        text, holds, ours, rule, published=PICTURE, sample=int(table["run_id"].nunique())
    )


def _along(table: "pandas.DataFrame") -> Table:
    """Medians [quartiles] by epoch."""
    rows = []
    for epoch, part in table.groupby("epoch"):
        known = part[part["role"].isin(FORMS)]
        shares = [f"{(part['role'] == role).mean():.0%}" for role in FORMS]
        numbers = [
            _bracketed(known["pizza_share_of_pair"]),
            *(_bracketed(part[name]) for name in SHOWN),
        ]
        rows.append((f"{epoch:,}", str(len(part)), *shares, *numbers))
    return Table(
        ("epoch", "runs", *FORMS, "Pizza's share of the pair", *map(label, SHOWN)), tuple(rows)
    )


def accompanying_pizza(sources: Sources) -> Product:
    found, exhibit = sources.moments("pizza-training"), sources.network("early-pizza")
    table = followed(found.table)
    if STATE not in table["epoch"].to_numpy():
        advice = f"make them with: algophase sweep pizza-training --snapshot {STATE}"
        raise Missing(f"the moments of pizza-training have no epoch {STATE}; {advice}")
    accuracy = exhibit.analysis.accuracy
    claims = [
        measured("early-pizza-accuracy", exhibit, accuracy, f"{accuracy:.1%}"),
        _without_companions("early-pizza-accuracy-without", exhibit, ", in the paper one"),
        *_model_a(sources),
        *_companion_claims(table),
    ]
    return Product(
        source=f"{found.source}; {exhibit.source}",
        figures={"": draw_state(exhibit), "population": draw_companions(table)},
        tables={"population": _companion_table(table)},
        claims=tuple(claims),
    )


def _without_companions(name: str, of: Exhibit, also: str = "") -> Claim:
    """A printed accuracy without accompanying circles beside that of a network without its own."""
    companions = of.of_role("accompanying")
    accuracy, count = of.without(companions).accuracy, len(companions)
    note = f"{count} accompanying {plural(count, 'circle')} removed{also}"
    return measured(
        name, of, accuracy, f"{accuracy:.1%}", note if of.published else f"{OTHER_NETWORK}; {note}"
    )


def _model_a(sources: Sources) -> list[Claim]:
    """The trained network that the paper compares with, where there is one."""
    model = optional(sources.network, "model-a")
    return [] if model is None else [_without_companions("trained-pizza-accuracy-without", model)]


def _companion_claims(table: "pandas.DataFrame") -> list[Claim]:
    early, end = table[table["epoch"] == STATE].set_index("run_id"), _ends(table)
    having = early[early["accompanying"] > 0]
    later = end.loc[having.index]
    less, changed = later["cost"] < having["cost"], later["cost"] != having["cost"]
    lost = _middle(having["cost"])
    return [
        share_claim(
            "an accompanying Pizza emerges early in the training of a network without "
            f"attention (at {STATE} epochs)",
            _share(early["accompanying"] > 0),
            MOST,
            "at least one circle in the accompanying role; at the end "
            f"{_share(end['accompanying'] > 0)}",
            PICTURE,
        ),
        share_claim(
            f"it is of use: removing it at {STATE} epochs costs accuracy",
            _share(having["cost"] > 0),
            MOST,
            f"of the runs that have one; accuracy lost without them, in points: {lost}",
            "1.8 points in one run",
        ),
        share_claim(
            "accompanying Pizzas are less helpful later",
            _share(less[changed]),
            MOST,
            "what removal costs at the end (nothing where none is left) is less than at "
            f"{STATE} epochs, of the "
            f"{int(changed.sum())} of {len(having)} runs that have one then and in which it "
            "changed; "
            f"points lost at {STATE} epochs: {lost}; at the end: {_middle(later['cost'])}; "
            f"with one at both: {_share(less[later['accompanying'] > 0])}",
            "1.8 points then, 0.3 in Model A",
        ),
    ]


def _companion_table(table: "pandas.DataFrame") -> Table:
    columns = (
        "epoch",
        "runs",
        "with an accompanying circle",
        "accuracy of those",
        "without the circles",
        "points lost",
    )
    rows = []
    for epoch, part in table.groupby("epoch"):
        having = part[part["accompanying"] > 0]
        accuracies = [
            _bracketed(having[name], ".4f")
            for name in ("accuracy", "accuracy_without_accompanying")
        ]
        rows.append(
            (
                f"{epoch:,}",
                str(len(part)),
                f"{len(having) / len(part):.0%}",
                *accuracies,
                _bracketed(having["cost"]),
            )
        )
    return Table(columns, tuple(rows))
