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
    companions_figure,
    population_figure,
    stages,
    stages_figure,
    state_figure,
)
from algophase.paper.measure import SUBSETS, Measurement, find_population, measured, quantity
from algophase.paper.product import Product, Table
from algophase.paper.rules import OTHER_NETWORK
from algophase.paper.sources import Exhibit, Missing, Sources
from algophase.reports.moments_section import quartiles
from algophase.runs.statistics import Share

if TYPE_CHECKING:
    import pandas

EARLY = 2000  # epochs up to which a state is early (ours)
STATE = 600  # epochs of the paper's early Pizza
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
        of_pairs = zip(table[f"pairs.{name}"], strongest, strict=True)
        table[column] = [values[pair] for values, pair in of_pairs]
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


def _quartiles(values: "pandas.Series[float]", form: str, template: str, otherwise: str) -> str:
    """shown: how, with the lower quartile, the median and the upper quartile as {0}, {1} and
    {2}.
    """
    if not len(values):
        return otherwise
    quartiles = [format(values.quantile(level), form) for level in (0.25, 0.5, 0.75)]
    return template.format(*quartiles)


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


def _moments(sources: Sources, space: str) -> "pandas.DataFrame":
    return followed(sources.moments(space).frame)


SUBSETS["moments"] = _moments


# --- appendix J: a Pizza early in the training of a Clock


def clock_training(sources: Sources) -> Product:
    moments = sources.moments("clock-training")
    series = sources.series("early-clock")
    table = find_population(sources, "clock-training moments")
    return Product(
        source=f"{moments.source}; {series.source}",
        figures={
            "": stages_figure(stages(series.networks)),
            "population": population_figure(table),
        },
        tables={"population": _along(table)},
    )


@quantity
def pizza_early(table: "pandas.DataFrame") -> Measurement:
    """Runs whose strongest pair looked like a Pizza early."""
    early, _ = dissolving(table)
    as_pizza = table[(table["role"] == "Pizza") & (table["epoch"] <= EARLY)]
    last = as_pizza.groupby("run_id").last()
    return measured(_share(early), accuracy=_middle(last["validation_accuracy"], ".1%"))


@quantity
def early_pizza_gone(table: "pandas.DataFrame") -> Share:
    """Of those, the ones in which that is gone at the end."""
    early, gone = dissolving(table)
    return _share(gone[early])


@quantity
def pizza_early_and_gone(table: "pandas.DataFrame") -> Measurement:
    early, gone = dissolving(table)
    return measured(_share(early & gone), labels=_counts(_ends(table)["paper_label"]))


@quantity
def falls_gradually(table: "pandas.DataFrame", rise: float) -> Measurement:
    """Of runs whose Pizza dissolves: does the median share fall step by step from its peak on?"""
    early, gone = dissolving(table)
    dissolved = table[table["run_id"].isin(early.index[early & gone])]
    with_form = dissolved[dissolved["role"].isin(FORMS)]
    if with_form.empty:
        return measured(None, sample=0, course="no such run")
    median = quartiles(with_form, "pizza_share_of_pair")["middle"]
    after = median[median.index >= median.idxmax()]
    falls = bool(stays_within(after.diff().dropna(), rise).all())
    is_gone = bool(falls_short(after.iloc[-1], 1 - Thresholds().pizza_part))
    below_half = after.index[falls_short(after, 0.5)]
    course = "stays"
    if len(below_half):
        course = f"median {after.iloc[0]:.2f} at epoch {after.index[0]:,}, "
        course += f"below a half at {below_half[0]:,}"
    course += f", {after.iloc[-1]:.2f} at the end"
    sample = int(dissolved["run_id"].nunique())
    return measured(falls and is_gone, sample=sample, course=course)


def _along(table: "pandas.DataFrame") -> Table:
    """Medians [quartiles] by epoch."""
    rows = []
    for epoch, part in table.groupby("epoch"):
        with_form = part[part["role"].isin(FORMS)]
        shares = [f"{(part['role'] == role).mean():.0%}" for role in FORMS]
        numbers = [
            _bracketed(with_form["pizza_share_of_pair"]),
            *(_bracketed(part[name]) for name in SHOWN),
        ]
        rows.append((f"{epoch:,}", str(len(part)), *shares, *numbers))
    return Table(
        ("epoch", "runs", *FORMS, "Pizza's share of the pair", *map(label, SHOWN)), tuple(rows)
    )


# --- appendix K: the accompanying Pizza


def accompanying_pizza(sources: Sources) -> Product:
    moments = sources.moments("pizza-training")
    exhibit = sources.network("early-pizza")
    table = find_population(sources, "pizza-training moments")
    if STATE not in table["epoch"].to_numpy():
        advice = f"make them with: algophase sweep pizza-training --snapshot {STATE}"
        raise Missing(f"the moments of pizza-training have no epoch {STATE}; {advice}")
    return Product(
        source=f"{moments.source}; {exhibit.source}",
        figures={"": state_figure(exhibit), "population": companions_figure(table)},
        tables={"population": _companion_table(table)},
    )


@quantity
def accuracy(network: Exhibit) -> float:
    return network.analysis.accuracy


@quantity
def accuracy_without_accompanying(network: Exhibit) -> Measurement:
    """The accuracy of a network without the circles in the accompanying role."""
    companions = network.of_role("accompanying")
    count = len(companions)
    return measured(
        network.without(companions).accuracy,
        removed=f"{count} accompanying {plural(count, 'circle')}",
        other_network="" if network.published else f"{OTHER_NETWORK}; ",
    )


def _early_and_end(table: "pandas.DataFrame") -> tuple["pandas.DataFrame", "pandas.DataFrame"]:
    """The runs that have an accompanying circle at the paper's early state: then, and at the
    end.
    """
    early = table[table["epoch"] == STATE].set_index("run_id")
    having = early[early["accompanying"] > 0]
    return having, _ends(table).loc[having.index]


@quantity
def companion_early(table: "pandas.DataFrame") -> Measurement:
    """Runs that have an accompanying circle at the paper's early state."""
    early = table[table["epoch"] == STATE].set_index("run_id")
    at_end = _share(_ends(table)["accompanying"] > 0)
    return measured(_share(early["accompanying"] > 0), at_end=at_end)


@quantity
def companion_of_use(table: "pandas.DataFrame") -> Measurement:
    """Of those, the ones in which removing it costs accuracy."""
    having, _ = _early_and_end(table)
    return measured(_share(having["cost"] > 0), lost=_middle(having["cost"]))


@quantity
def companion_costs_less_later(table: "pandas.DataFrame") -> Measurement:
    """Of those in which what removal costs changed, the ones in which it costs less at the end."""
    having, later = _early_and_end(table)
    less = later["cost"] < having["cost"]
    changed = later["cost"] != having["cost"]
    return measured(
        _share(less[changed]),
        changed=int(changed.sum()),
        having=len(having),
        lost=_middle(having["cost"]),
        lost_at_end=_middle(later["cost"]),
        at_both=_share(less[later["accompanying"] > 0]),
    )


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
        share = f"{len(having) / len(part):.0%}"
        cost = _bracketed(having["cost"])
        rows.append((f"{epoch:,}", str(len(part)), share, *accuracies, cost))
    return Table(columns, tuple(rows))
