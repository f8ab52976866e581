"""A population of runs as pictures need it: the runs that count, groups of equal settings, and where a network stands in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from algophase.analysis.analyze import Analysis
from algophase.errors import InputError
from algophase.networks import Network
from algophase.runs.comparison import IRRELEVANCE, NAMES, SYMMETRICITY, WRONG_LOGIT
from algophase.runs.matching import (
    ACCURACIES,
    MATCHED,
    METRICS,
    NO_WIDTH,
    accurate,
    circular,
    continuous_width,
    finished,
    has_circularity,
    has_width,
    numbers_of,
    plain_setting,
)
from algophase.settings import network_to_dict
from algophase.storage.runs_table import read_ends
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    import pandas

EXACT = "gradient_symmetricity_exact"
CIRCULARITY = "circularity"
SHOWN = (EXACT, SYMMETRICITY, IRRELEVANCE, WRONG_LOGIT, CIRCULARITY)  # what a network is set against
LABELS = {**NAMES, EXACT: "gradient symmetricity (all triples)", SYMMETRICITY: "gradient symmetricity"}
CIRCULAR_RUNS, ACCURATE_RUNS = "circular accurate runs", "accurate runs"
MOST_GROUPS = 6
_NUMBERS = ("attention_rate", "width", "diverged_at", *ACCURACIES, *METRICS, EXACT, CIRCULARITY, "parameter_norm")


@dataclass(frozen=True)
class Population:
    """Runs with `_accurate`, `_rate` and `_tenth` (see `populations.finished`) and `_verdict`, a text for every run."""

    name: str
    runs: "pandas.DataFrame"
    rows: int
    left_out: tuple[tuple[int, str], ...] = ()
    label: str = ""

    @property
    def rates_vary(self) -> bool:
        return bool(self.runs["_rate"].nunique() > 1)

    @property
    def continuous_width(self) -> bool:
        return continuous_width(self.runs)

    @property
    def core_name(self) -> str:
        """What `core` is: the paper looks at circular runs at full accuracy, where circularity is defined."""
        return CIRCULAR_RUNS if has_circularity(accurate(self.runs)) else ACCURATE_RUNS

    @property
    def core(self) -> "pandas.DataFrame":
        return circular(self.runs) if self.core_name == CIRCULAR_RUNS else accurate(self.runs)

    def groups(self) -> list["Population"]:
        """Parts of equal settings, largest first: by all settings with a few values, but for rate and continuous width."""
        keys = [key for key in MATCHED if key in self.runs and not (key == "width" and self.continuous_width)]
        keys = [key for key in keys if 1 < self.runs[key].astype(str).nunique() <= 2 * MOST_GROUPS]
        if not keys:
            return [self]
        found = []
        for values, runs in self.runs.groupby([self.runs[key].astype(str) for key in keys], sort=True):
            label = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in zip(keys, values, strict=True))
            found.append(Population(self.name, runs, len(runs), (), label))
        return sorted(found, key=lambda group: -len(group.runs))


def population_of(table: "pandas.DataFrame", name: str) -> Population:
    """The runs of a table that have an outcome. Columns that are missing cost their pictures; an accuracy must be there."""
    import pandas

    accuracy = next((column for column in ACCURACIES if column in table), None)
    if accuracy is None:
        has = ", ".join(map(str, table.columns[:8])) or "no columns"
        raise InputError(f"{name} needs the column {' or '.join(ACCURACIES)}; it has {has}")
    table = table.copy()
    for column in _NUMBERS:
        if column in table:
            numbers = numbers_of(table, column, name)
            table[column] = numbers.where(numpy.isfinite(numbers))
    side = finished(table, name, accuracy)
    side = side.without(has_width(side.runs), NO_WIDTH) if continuous_width(side.runs) else side
    runs = side.runs.copy()
    diverged = runs["diverged_at"].notna() if "diverged_at" in runs else pandas.Series(False, index=runs.index)
    instead = pandas.Series("not analysed", index=runs.index, dtype=object).mask(diverged, "diverged")
    given = runs["verdict"].astype(object) if "verdict" in runs else pandas.Series(None, index=runs.index, dtype=object)
    runs["_verdict"] = given.where(given.notna() & (given.astype(str) != ""), instead).astype(str)
    return Population(name, runs, side.rows, side.left_out)


def read_population(path: str | Path) -> Population:
    path = Path(path)
    return population_of(read_ends(path), path.resolve().name)


def is_sweep(path: Path) -> bool:
    """Whether a path is a table of runs rather than networks."""
    if not path.is_dir():
        return path.suffix == ".parquet"
    return SweepDirectory(path).exists or any(path.glob("*.parquet"))


def settings_of(network: Network) -> dict[str, Any]:
    return {**network.task.to_dict(), **network_to_dict(network.settings)}


def foreign_settings(network: Network, population: Population) -> list[str]:
    """Settings in which a network is unlike every run of a population, in words."""
    found = []
    own = settings_of(network)
    for key in MATCHED:
        if key not in population.runs:
            continue
        values = {plain_setting(value) for value in population.runs[key].unique()}
        if key == "width" and population.continuous_width:
            low, high = population.runs[key].min(), population.runs[key].max()
            if "width" not in own or not low <= own["width"] <= high:
                found.append(f"width {own.get(key, 'none')} (there {low:g} to {high:g})")
        elif plain_setting(own.get(key)) not in values:
            there = ", ".join(sorted(map(str, values))[:5])
            found.append(f"{key.replace('_', ' ')} {plain_setting(own.get(key))} (there {there})")
    return found


@dataclass(frozen=True)
class Standing:
    """Where one metric of a network stands: values of the population's core, and the share of them below it, ties half."""

    metric: str
    value: float
    among: str
    values: "pandas.DataFrame"  # columns `value` and `_verdict`

    @property
    def percentile(self) -> float | None:
        numbers = self.values["value"].to_numpy(float)
        if not len(numbers) or self.value != self.value:
            return None
        return float(((numbers < self.value).mean() + (numbers <= self.value).mean()) / 2)

    def __str__(self) -> str:
        if self.value != self.value:
            return f"{LABELS[self.metric]} is undefined"
        share = self.percentile
        if share is None:
            return f"{LABELS[self.metric]} {self.value:.4f}"
        place = f"percentile {100 * share:.0f} of {len(self.values):,} {self.among}"
        return f"{LABELS[self.metric]} {self.value:.4f}, {place}"


def standings(analysis: Analysis, population: Population) -> list[Standing]:
    """A network's metrics among those of a population's core, for each metric that the population has."""
    core, found = population.core, []
    record: Mapping[str, Any] = vars(analysis)
    for metric in SHOWN:
        if metric in core and core[metric].notna().any():
            known = core[core[metric].notna()]
            values = known[["_verdict"]].assign(value=known[metric])
            found.append(Standing(metric, float(record[metric]), population.core_name, values))
    return found
