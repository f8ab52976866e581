"""What `--hidden` adds to the summary of a network: its first hidden layer as text."""

from collections.abc import Sequence
from typing import NamedTuple

from algophase.pages.network_text import Record, number
from algophase.pages.table import Table
from algophase.pages.text import accuracy_text, percent

CLUSTER_HEAD = [
    "frequency",
    "units",
    "disc",
    "torus",
    "circle",
    "logits' circle",
    "products",
    "integral's error",
]
GROUP_UNITS_HEAD = ["read most", "dimension", "units", "share of their variance"]
BETTI_HEAD = ["frequency", "shape of", "Betti numbers", "counted", "not counted", "radius", ""]


class BettiRow(NamedTuple):
    """The Betti numbers of one shape, in words; the persistences that count and that do not; the
    radius of the smallest loop that is sure to be counted; and why nothing is decided.
    """

    frequency: int
    shape_of: str
    betti_numbers: str
    counted: float
    not_counted: float
    radius: float
    reason: str


def hidden_lines(
    record: Record, heads: Sequence[str] | None, betti: Sequence[BettiRow], least_persistence: float
) -> list[str]:
    """record: what `analyze --json` prints of the hidden layer. heads: a phrase for each group of
    attention heads, None without attention. least_persistence: that of a hole that counts.
    """
    lines = ["", "  inside the first hidden layer:"]
    geometry = record["geometry"]
    neurons = record["neurons"]
    if geometry is None or neurons is None:
        lines.append("    no hidden units: only transformers and linear models have them")
    else:
        lines += _cluster_table(geometry, neurons).lines(indent=4)
        lines.append(_means_line(geometry, neurons))
    if heads is not None:
        lines.append(f"    attention heads: {'; '.join(heads)}")
    if betti:
        lines += _betti_table(betti).lines(indent=4)
        lines.append(
            f"    a hole counts if its persistence is above {least_persistence:.2f}; loops of a "
            "smaller radius may be missed"
        )
    lines.append(_progress_line(record["progress_measures"]))
    without = record["without_interactions"]
    if without is not None:
        lines.append(_without_interactions_line(without))
    return lines


def group_units_lines(record: Record) -> list[str]:
    """record: of the hidden units of a network on a group that is not cyclic."""
    lines = ["", "  inside the first hidden layer:"]
    if not record["units"]:
        return [*lines, "    it is not known what its hidden units read"]
    rows = []
    for cluster in record["clusters"]:
        name = cluster["representation"]
        share = percent(cluster["share"])
        rows.append([name, str(cluster["dimension"] or ""), str(cluster["units"]), share])
    lines += Table(GROUP_UNITS_HEAD, rows, numbers=(1, 2, 3)).lines(indent=4)
    lines.append(
        f"    {record['units']} units, {record['silent']} of them silent; interactions of both "
        f"operands are {percent(record['interaction'])} of the variance of what they read"
    )
    without = accuracy_text(record["accuracy_without"])
    return [*lines, f"    without interactions: accuracy {without}"]


def _cluster_table(geometry: Record, neurons: Record) -> Table:
    """The units of each frequency."""
    errors = {}
    for quadrature in neurons["quadrature"]:
        errors[quadrature["frequency"]] = _decimals(quadrature["error"], 3)
    rows = []
    for cluster in geometry["clusters"]:
        names = ("disc", "torus", "circle", "logits_circle")
        likeness = [_decimals(cluster[name], 4) for name in names]
        products = cluster["product_share"]
        rows.append(
            [
                str(cluster["frequency"]),
                str(cluster["units"]),
                *likeness,
                "-%" if products is None else f"{products:.2%}",
                errors.get(cluster["frequency"], "-"),
            ]
        )
    return Table(CLUSTER_HEAD, rows, numbers=range(len(CLUSTER_HEAD)))


def _betti_table(betti: Sequence[BettiRow]) -> Table:
    """The shapes and their Betti numbers."""
    rows = []
    for row in betti:
        frequency, shape_of, betti_numbers, *numbers, reason = row
        cells = [f"{value:.2f}".replace("nan", "-") for value in numbers]
        rows.append([str(frequency), shape_of, betti_numbers, *cells, reason])
    return Table(BETTI_HEAD, rows, numbers=(0, 3, 4, 5))


def _decimals(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _means_line(geometry: Record, neurons: Record) -> str:
    """Means over the clusters."""
    disc = number(geometry["disc"])
    torus = number(geometry["torus"])
    products = number(geometry["product_share"])
    fit = number(neurons["mean_fit"])
    resultant = number(neurons["resultant"])
    line = (
        f"    disc {disc:.4f}, torus {torus:.4f}, products {products:.2%} of the variance; "
        f"R² {fit:.4f}, phase resultant {resultant:.4f}"
    )
    return line.replace("nan", "undefined")


def _progress_line(progress: Record) -> str:
    loss = number(progress["loss"])
    restricted = number(progress["restricted_loss"])
    excluded = number(progress["excluded_loss"])
    gini = number(progress["gini"])
    return (
        f"    loss {loss:.3g}, restricted {restricted:.3g}, excluded {excluded:.3g}; "
        f"Gini of the embedding {gini:.4f}"
    )


def _without_interactions_line(without: Record) -> str:
    """without: the record of the network without interactions."""
    instances = []
    for instance in without["instances"]:
        leading, *_ = instance["frequencies"]
        instances.append(f"{leading}: {instance['form']}")
    symmetricity = without["gradient_symmetricity"]
    symmetricity_text = "undefined" if symmetricity is None else f"{symmetricity:.4f}"
    return (
        f"    without interactions: accuracy {accuracy_text(without['accuracy'])}, "
        f"gradient symmetricity {symmetricity_text}; {', '.join(instances) or 'no instance'}"
    )
