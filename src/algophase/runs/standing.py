"""Where a network stands in a population: its metrics among those of its runs, and settings it
shares with none.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from algophase.analysis.catalogue import label, metrics, quantity
from algophase.analysis.result import Analysis
from algophase.core.settings import network_to_dict
from algophase.networks import Network
from algophase.runs.runs import MATCHED, Runs, comparable_setting

if TYPE_CHECKING:
    import pandas


def settings_of(network: Network) -> dict[str, Any]:
    return {**network.task.to_dict(), **network_to_dict(network.settings)}


def foreign_settings(network: Network, population: Runs) -> list[str]:
    """Settings in which a network is unlike every run of a population, in words."""
    differences = []
    own = settings_of(network)
    if "group" in population.frame:
        own.setdefault("group", f"Z{network.task.modulus}")
    for key in MATCHED:
        if key == "group" and own.get(key) and key not in population.frame:
            differences.append(f"group {own[key]} (there addition)")
        if key == "operation" and own.get(key, "add") != "add" and key not in population.frame:
            differences.append(f"operation {own[key]} (there add)")
        if key not in population.frame:
            continue
        values = {comparable_setting(value) for value in population.frame[key].unique()}
        if key == "width" and population.continuous_width:
            low = population.frame[key].min()
            high = population.frame[key].max()
            if "width" not in own or not low <= own["width"] <= high:
                differences.append(f"width {own.get(key, 'none')} (there {low:g} to {high:g})")
        elif comparable_setting(own.get(key)) not in values:
            population_values = ", ".join(sorted(map(str, values))[:5])
            own_value = comparable_setting(own.get(key))
            differences.append(f"{key.replace('_', ' ')} {own_value} (there {population_values})")
    return differences


@dataclass(frozen=True)
class MetricStanding:
    """Where one metric of a network stands: values of the population's core, and the share of
    them below it, ties half.
    """

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
            return f"{label(self.metric)} is undefined"
        share = self.percentile
        value = quantity(self.metric).text(self.value)
        if share is None:
            return f"{label(self.metric)} {value}"
        return (
            f"{label(self.metric)} {value}, percentile {100 * share:.0f} of "
            f"{len(self.values):,} {self.among}"
        )


def standings(analysis: Analysis, population: Runs) -> list[MetricStanding]:
    """A network's metrics among those of a population's core, for each metric that is shown and
    that the population has.

    Not accuracy: it is the same for all of the core.
    """
    core = population.core.frame
    by_metric = []
    for metric in metrics():
        name = metric.name
        if not metric.shown or name == "accuracy":
            continue
        if name in core and core[name].notna().any():
            measured = core[core[name].notna()]
            values = measured[["_verdict"]].assign(value=measured[name])
            by_metric.append(
                MetricStanding(name, analysis.metrics[name], population.core_name, values)
            )
    return by_metric
