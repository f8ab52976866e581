"""Every item of the paper, in the order in which it stands there."""

from algophase.errors import InputError
from algophase.paper import (
    anatomy_items,
    dynamics_items,
    illustration_items,
    isolation_items,
    network_items,
    population_items,
    population_unfiltered,
    population_variants,
    text_items,
    variant_items,
)
from algophase.paper.product import Item

# The paper's own order of labels, then what has none; a module may hold several.
ORDER = (
    "algorithms",
    "clock-pizza",
    "efflc",
    "corlogit",
    "corlogitpizza",
    "corlogitclock",
    "isolation",
    "metricvs",
    "onelayer",
    "variouswidth",
    "approx",
    "noncirc",
    "noncirc2",
    "multilayers",
    "accompill",
    "isolationside",
    "corlogitpizzaside",
    "lineararchs",
    "corlogitbeta",
    "corlogitdelta",
    "widepizza",
    "gelu",
    "diff-vocab",
    "iso-diffemb",
    "eqn-sign",
    "clock-training",
    "accompanying-pizza",
    "pcaeu",
    "aligned",
    "approx2",
    "settings",
    "text",
)
_MODULES = (
    illustration_items,
    network_items,
    isolation_items,
    variant_items,
    population_items,
    population_unfiltered,
    population_variants,
    dynamics_items,
    anatomy_items,
    text_items,
)
_FOUND = {item.label: item for module in _MODULES for item in module.ITEMS}
ITEMS = {label: _FOUND[label] for label in ORDER if label in _FOUND}


def find_items(labels: list[str]) -> list[Item]:
    """The items of these labels, or of all with "all"."""
    if "all" in labels:
        return list(ITEMS.values())
    unknown = [label for label in labels if label not in ITEMS]
    if unknown:
        raise InputError(f"the paper has no item {', '.join(unknown)}; choose from all, {', '.join(ITEMS)}")
    return [ITEMS[label] for label in dict.fromkeys(labels)]
