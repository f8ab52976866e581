"""Which instances multiply? Eleven groups, attention rates from 0 to 1.

    python studies/which_instances_multiply.py          # gallery/groups and gallery/groups-arms:
                                                        # tables, docs/images/groups-rates.png
    python studies/which_instances_multiply.py power    # what the planned tests can find

The plan is studies/plans/which_instances_multiply.md. It was committed before the runs were made.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import pandas

from algophase import read_runs
from algophase.analysis.verdict.group_verdict import ADDS, MULTIPLIES
from algophase.core.palette import GRAY, VERDICTS, kind_of
from algophase.pictures.style import house_style, new_figure
from algophase.record.columns import items_of
from algophase.reports.save_figure import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "groups"
ARMS = ROOT / "gallery" / "groups-arms"
PICTURE = ROOT / "docs" / "images" / "groups-rates.png"
LEAST_SHARE = 0.05  # of the logits, of an instance that counts
HIGH_RATE = 0.75
LEAST_ACCURACY = 1.0
DRAWS = 2000
ABELIAN = ("Z59", "Z60", "Z2xZ30")
MIXED = ("S3xZ11", "Q8xZ7", "D5xZ7")
CIRCLE, SIGN, HIGHER = "complex character", "real character", "higher"
CYCLIC = {59: "Z59", 60: "Z60"}  # whose rows have a modulus and no group

Array = numpy.ndarray
# Of instances, each of which counts as often as its weight says, or once.
Statistic = Callable[[pandas.DataFrame, Array | None], float]


class Interval(NamedTuple):
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def instances_of(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The instances of one run that count, one record each."""
    group = row.get("group")
    is_cyclic = not isinstance(group, str)
    modulus = int(row["modulus"])
    for item in items_of(row, "instances" if is_cyclic else "on_group.instances"):
        if item["share"] < LEAST_SHARE:
            continue
        yield {
            "group": CYCLIC[modulus] if is_cyclic else group,
            "run_id": row["run_id"],
            "rate": row["attention_rate"],
            "heads": row["heads"],
            "weight_decay": row["weight_decay"],
            "kind": _kind_of_frequency(item, modulus) if is_cyclic else _kind(item),
            "name": _name(item, is_cyclic),
            "form": item["form"],
            "dimension": 1 if is_cyclic else item["dimensions"][0],
            "share": item["share"],
            "adding": item["adding"],
            "interaction": item["interaction"],
        }


def _kind_of_frequency(item: Mapping[str, Any], modulus: int) -> str:
    return SIGN if 2 * item["frequencies"][0] == modulus else CIRCLE


def _kind(item: Mapping[str, Any]) -> str:
    if item["dimensions"][0] > 1:
        return HIGHER
    return CIRCLE if item["kinds"][0] == "complex" else SIGN


def _name(item: Mapping[str, Any], is_cyclic: bool) -> str:
    return ", ".join(map(str, item["frequencies" if is_cyclic else "representations"]))


def read_instances(table: Path, least_accuracy: float = LEAST_ACCURACY) -> pandas.DataFrame:
    """One row per instance of the accurate networks of a table."""
    records: list[dict[str, Any]] = []
    for row in read_runs(table).to_dict("records"):
        if row["accuracy"] >= least_accuracy:
            records += instances_of(row)
    frame = pandas.DataFrame(records)
    frame["multiplies"] = frame.adding <= MULTIPLIES
    frame["adds"] = frame.adding >= ADDS
    return frame


def share_multiplying(frame: pandas.DataFrame, weights: Array | None = None) -> float:
    """Of these instances, the share that multiplies. weights: how often each one counts."""
    counts = numpy.ones(len(frame)) if weights is None else weights
    whole = counts.sum()
    return float(counts @ frame.multiplies.to_numpy(float) / whole) if whole else float("nan")


def bootstrap(frame: pandas.DataFrame, statistic: Statistic, seed: int = 0) -> Interval:
    """A statistic and its 95% interval, by drawing networks anew within each group."""
    generator = numpy.random.default_rng(seed)
    networks, network_of_instance = numpy.unique(frame.run_id, return_inverse=True)
    first_instances = numpy.unique(network_of_instance, return_index=True)[1]
    group_of_network = frame.group.to_numpy()[first_instances]
    members = [numpy.flatnonzero(group_of_network == name) for name in sorted(set(frame.group))]
    values = []
    for _ in range(DRAWS):
        chosen = numpy.concatenate([generator.choice(every, len(every)) for every in members])
        draws = numpy.bincount(chosen, minlength=len(networks)).astype(float)
        values.append(statistic(frame, draws[network_of_instance]))
    low, high = numpy.nanpercentile(values, [2.5, 97.5])
    return Interval(statistic(frame, None), float(low), float(high))


def _difference(
    frame: pandas.DataFrame, weights: Array | None, ones: Array, others: Array
) -> float:
    """The share that multiplies of some instances, minus that of others."""
    counts = numpy.ones(len(frame)) if weights is None else weights
    return share_multiplying(frame, counts * ones) - share_multiplying(frame, counts * others)


def difference_of_kinds(frame: pandas.DataFrame, weights: Array | None) -> float:
    """Of circles, the share that multiplies, minus that of higher instances."""
    kinds = frame.kind.to_numpy()
    return _difference(frame, weights, kinds == CIRCLE, kinds == HIGHER)


def difference_of_neighbors(circles: pandas.DataFrame, weights: Array | None) -> float:
    """Of circles in abelian groups, the share that multiplies, minus that in mixed groups."""
    groups = circles.group
    abelian = groups.isin(ABELIAN).to_numpy()
    mixed = groups.isin(MIXED).to_numpy()
    return _difference(circles, weights, abelian, mixed)


def turning_rate(circles: pandas.DataFrame, weights: Array | None) -> float:
    """The rate at which half of the circles multiply, by a logistic fit; NaN outside [0, 1]."""
    counts = numpy.ones(len(circles)) if weights is None else weights
    rates = circles.rate.to_numpy(float)
    outcome = circles.multiplies.to_numpy(float)
    if not 0 < counts @ outcome < counts.sum():
        return float("nan")
    design = numpy.column_stack([numpy.ones_like(rates), rates])
    fit = numpy.zeros(2)
    for _ in range(50):  # Newton's method, with a little of a ridge where rates separate perfectly
        logits = numpy.clip(design @ fit, -30, 30)
        chance = 1 / (1 + numpy.exp(-logits))
        slope = design.T @ (counts * (outcome - chance)) - 1e-3 * fit
        variances = counts * chance * (1 - chance)
        curvature = (design.T * variances) @ design + 1e-3 * numpy.eye(2)
        fit = fit + numpy.linalg.solve(curvature, slope)
    rate = -fit[0] / fit[1] if fit[1] > 0 else float("nan")
    return float(rate) if 0 <= rate <= 1 else float("nan")


def print_hypotheses(frame: pandas.DataFrame) -> None:
    higher = frame[frame.kind == HIGHER]
    high = frame[frame.rate >= HIGH_RATE]
    print(f"{len(frame):,} instances of {frame.run_id.nunique():,} networks")
    print("1. higher instances that multiply:")
    print(f"   all rates        {bootstrap(higher, share_multiplying)} of {len(higher):,}")
    at_high = high[high.kind == HIGHER]
    print(f"   rates >= {HIGH_RATE}    {bootstrap(at_high, share_multiplying)} of {len(at_high):,}")
    mixed = high[high.group.isin(MIXED)]
    print(f"2. circles minus higher, {', '.join(MIXED)}, rates >= {HIGH_RATE}:")
    print(f"   {bootstrap(mixed, difference_of_kinds)}")
    circles = high[(high.kind == CIRCLE) & high.group.isin(ABELIAN + MIXED)]
    print("3. circles of abelian groups minus circles of mixed groups:")
    print(f"   {bootstrap(circles, difference_of_neighbors)}")
    print("4. rate at which half of the circles multiply:")
    every_circle = frame[frame.kind == CIRCLE]
    for group in (*ABELIAN, *MIXED):
        print(f"   {group:<8}{bootstrap(every_circle[every_circle.group == group], turning_rate)}")


def table_by_kind(frame: pandas.DataFrame) -> pandas.DataFrame:
    """By group and kind: how many instances, how many multiply, the median and lowest `adding`."""
    rows = []
    for (group, kind), part in frame.groupby(["group", "kind"], sort=False):
        high = part[part.rate >= HIGH_RATE]
        rows.append(
            {
                "group": group,
                "kind": kind,
                "instances": len(part),
                "multiply": int(part.multiplies.sum()),
                "at high rates": len(high),
                "multiply at high rates": int(high.multiplies.sum()),
                "adding, median": part.adding.median(),
                "adding, lowest": part.adding.min(),
            }
        )
    return pandas.DataFrame(rows)


def exceptions(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Higher instances that multiply."""
    chosen = frame[(frame.kind == HIGHER) & frame.multiplies]
    columns = ["group", "name", "dimension", "rate", "share", "adding", "interaction", "run_id"]
    return chosen[columns].sort_values("adding")


def print_forms(frame: pandas.DataFrame) -> None:
    """On the cyclic groups, where an instance also has a form: how often the causal test disagrees
    with it.
    """
    cyclic = frame[frame.group.isin(CYCLIC.values()) & (frame.kind == CIRCLE)]
    kinds = cyclic.form.map(kind_of)
    clocks = kinds == "Clock"
    pizzas = kinds == "Pizza"
    opposite = (clocks & cyclic.adds) | (pizzas & cyclic.multiplies)
    between = ~cyclic.adds & ~cyclic.multiplies
    differs = opposite | ((clocks | pizzas) & between) | ((kinds == "hybrid") & ~between)
    print(f"On Z59 and Z60, of {len(cyclic):,} instances the causal test and the form")
    print(f"  say the opposite:            {int(opposite.sum())}")
    print(f"  differ, one of them 'both':  {int((differs & ~opposite).sum())}")
    for name, part in (("Clocks", clocks), ("Pizzas", pizzas), ("both", kinds == "hybrid")):
        adding = cyclic.adding[part]
        if len(adding):
            print(f"  {name}: adding from {adding.min():.3f} to {adding.max():.3f}, {len(adding)}")


def drawn(frame: pandas.DataFrame) -> "Figure":
    """`adding` by attention rate, one panel per group, one color per kind."""
    names = list(dict.fromkeys(frame.group))
    with house_style():
        figure = new_figure(11, 7.5)
        axes = figure.subplots(3, 4, sharex=True, sharey=True)
        looks = {CIRCLE: VERDICTS["Clock"], HIGHER: VERDICTS["Pizza"], SIGN: (GRAY, "x")}
        panels = axes.flatten()
        for axis, name in zip(panels, names, strict=False):
            part = frame[frame.group == name]
            for kind, (color, marker) in looks.items():
                points = part[part.kind == kind]
                look = {"color": color, "marker": marker, "alpha": 0.7, "label": kind}
                axis.scatter(points.rate, points.adding, s=12, **look)
            axis.axhline(MULTIPLIES, color=GRAY, linewidth=0.8, linestyle="--")
            axis.set_title(name)
        for axis in panels[len(names) :]:
            axis.set_axis_off()
        panels[len(names)].legend(*panels[0].get_legend_handles_labels(), loc="center")
        figure.supxlabel("attention rate")
        figure.supylabel("adding: share of an instance's logits left without interactions")
    return figure


def print_power(seed: int = 0) -> None:
    """How often the planned tests succeed, if instances multiply in these shares."""
    generator = numpy.random.default_rng(seed)
    for truth in (0.01, 0.025):
        wins = sum(_finds_few(generator, truth) for _ in range(200))
        print(f"hypothesis 1, {truth:.1%} of higher instances multiply: {wins / 200:.2f}")
    for truth in (0.20, 0.12):
        wins = sum(_finds_more(generator, truth, 0.02) for _ in range(200))
        print(f"hypothesis 2, {truth:.0%} of circles, 2% of higher multiply: {wins / 200:.2f}")


def _outcomes(
    generator: numpy.random.Generator, networks: int, instances: int, share: float
) -> numpy.ndarray:
    """(networks,), the share of each network's instances that multiply. Those of one network are
    correlated: its own chance is drawn from a beta distribution (correlation 0.3).
    """
    strength = 1 / 0.3 - 1
    chance = generator.beta(share * strength, (1 - share) * strength, networks)
    return generator.binomial(instances, chance) / instances


def _percentiles(generator: numpy.random.Generator, values: numpy.ndarray) -> Sequence[float]:
    draws = generator.integers(0, len(values), (400, len(values)))
    percentiles: list[float] = numpy.percentile(values[draws].mean(axis=1), [2.5, 97.5]).tolist()
    return percentiles


def _finds_few(generator: numpy.random.Generator, share: float) -> bool:
    return _percentiles(generator, _outcomes(generator, 600, 3, share))[1] < 0.05


def _finds_more(generator: numpy.random.Generator, circles: float, higher: float) -> bool:
    of_circles = _outcomes(generator, 96, 2, circles)
    of_higher = _outcomes(generator, 96, 1, higher)
    return _percentiles(generator, of_circles - of_higher)[0] > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["power"])
    if parser.parse_args().what == "power":
        print_power()
        return
    frame = read_instances(TABLE)
    print_hypotheses(frame)
    print("\nNetworks with at least 99% of the pairs right:")
    print_hypotheses(read_instances(TABLE, 0.99))
    print()
    print_forms(frame)
    print("\n" + table_by_kind(frame).to_string(index=False, float_format="{:.3f}".format))
    print("\nHigher instances that multiply:")
    print(exceptions(frame).to_string(index=False, float_format="{:.3f}".format))
    save_figure(drawn(frame), PICTURE)
    for (heads, decay), arm in read_instances(ARMS).groupby(["heads", "weight_decay"]):
        print(f"\n{heads} heads, weight decay {decay:g}:")
        print(table_by_kind(arm).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
