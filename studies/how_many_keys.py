"""How many key frequencies a network has, by modulus, and whether composite moduli prefer cosets.
The plan is `plans/how_many_keys.md`.

    python studies/how_many_keys.py                  # prints; docs/images/keys-by-modulus.png
    python studies/how_many_keys.py --tables DIR     # tables of another directory than gallery/
    python studies/how_many_keys.py power            # what the planned tests can find
    python studies/how_many_keys.py time 157 257 509 # ms per epoch of each engine on this machine
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pandas
from numpy.typing import NDArray

from algophase import Runs, RunSettings, TaskSettings, TransformerSettings
from algophase.core.group import is_prime
from algophase.core.palette import COLORS, GRAY
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import Estimate
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[numpy.float64]

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "keys-by-modulus.png"
SCALING_TABLES = ("moduli", "large-moduli", "largest-modulus")
# `largest-modulus` has the settings of `large-moduli` but for the modulus: one level for both.
LEVEL_OF_TABLE = {"moduli": "80%", "large-moduli": "40%", "largest-modulus": "40%"}
PLANNED_MODULI = 780  # runs of `moduli` that the plan names: its first ones, 600 of them of primes
KEYS = "program.frequencies"
DRAWS = 2000
EXPONENTS = numpy.linspace(-0.5, 1.0, 601)
COMPOSITE, PRIME = 66, 67
CLEAR = 10.0  # of AIC: the usual line for "essentially no support"
STYLES = {0.0: ("s", COLORS[1]), 0.5: ("^", COLORS[5]), 1.0: ("o", COLORS[0])}


@dataclass(frozen=True)
class Fits:
    """Three laws for the number of keys, fitted with a level of its own for each group of runs.

    aic: of "constant", "log" and "power", less the smallest of them. slope: keys per factor e of
    the modulus. exponent: of the power law.
    """

    aic: dict[str, float]
    slope: float
    exponent: float


@dataclass(frozen=True)
class Cell:
    """The numbers of keys of all runs with one modulus, attention rate and table's settings.

    group: the same for cells that differ in the modulus alone.
    """

    modulus: int
    group: tuple[str, float]
    numbers: NDArray[numpy.int64]


def read_keys(tables: Path, names: Sequence[str]) -> pandas.DataFrame:
    """Accurate networks of those tables that exist: table, index, modulus, rate, keys and their
    number."""
    frames = []
    for name in names:
        if not (tables / name).exists():
            print(f"no table {tables / name}: left out")
            continue
        every = Runs.read(tables / name)
        accurate = every.accurate.frame
        accurate = accurate[accurate[KEYS].notna()]
        keys = [tuple(sorted(map(int, own))) for own in accurate[KEYS]]
        frame = pandas.DataFrame(
            {
                "table": name,
                "index": accurate["index"].to_numpy(),
                "modulus": accurate["modulus"].to_numpy(),
                "rate": accurate["attention_rate"].to_numpy(),
                "keys": keys,
            }
        )
        frame["number"] = frame["keys"].map(len)
        frame = frame[frame["number"] > 0]
        print(f"{name}: {len(frame)} accurate networks with keys, of {len(every.frame)} runs")
        frames.append(frame)
    return pandas.concat(frames, ignore_index=True)


def cells_of(runs: pandas.DataFrame) -> list[Cell]:
    level = runs["table"].map(LEVEL_OF_TABLE)
    cells = []
    for (modulus, settings, rate), part in runs.groupby(["modulus", level, "rate"]):
        cells.append(Cell(int(modulus), (settings, float(rate)), part["number"].to_numpy()))
    return cells


def fit_laws(cells: Sequence[Cell]) -> Fits:
    """Least squares, with one variance for all runs: AIC = n log(RSS / n) + 2 parameters."""
    modulus = numpy.array([cell.modulus for cell in cells], dtype=float)
    runs = numpy.array([len(cell.numbers) for cell in cells], dtype=float)
    keys = numpy.array([cell.numbers.sum() for cell in cells], dtype=float)
    squares = float(sum((cell.numbers**2).sum() for cell in cells))
    groups = sorted({cell.group for cell in cells})
    is_member = [[cell.group == group for cell in cells] for group in groups]
    member = numpy.array(is_member, dtype=float)

    of_group = member @ runs
    level = (member @ keys) / of_group
    residual_constant = squares - (level**2 * of_group).sum()

    # The log law: every group's own level, and one slope against the logarithm within groups.
    logarithm = numpy.log(modulus)
    middle = (member @ (runs * logarithm)) / of_group
    centered = logarithm - middle @ member
    spread = (runs * centered**2).sum()
    slope = (keys * centered).sum() / spread
    residual_log = residual_constant - slope**2 * spread

    # The power law: for a given exponent it is linear in each group's factor.
    powers = modulus ** EXPONENTS[:, None]  # (exponent, cell)
    along = (powers * keys) @ member.T  # (exponent, group)
    length = (powers**2 * runs) @ member.T
    residuals = squares - (along**2 / length).sum(axis=1)
    best = int(residuals.argmin())

    residual = {"constant": residual_constant, "log": residual_log, "power": residuals[best]}
    parameters = {"constant": 1, "log": 2, "power": 2}  # besides the levels: variance, slope
    aic = {}
    for law, rest in residual.items():
        count = len(groups) + parameters[law]
        aic[law] = runs.sum() * math.log(rest / runs.sum()) + 2 * count
    least = min(aic.values())
    above_least = {law: value - least for law, value in aic.items()}
    return Fits(above_least, float(slope), float(EXPONENTS[best]))


def drawn_again(cells: Sequence[Cell], generator: numpy.random.Generator) -> list[Cell]:
    """As many runs in each cell, drawn with replacement."""
    again = []
    for cell in cells:
        numbers = generator.choice(cell.numbers, len(cell.numbers))
        again.append(Cell(cell.modulus, cell.group, numbers))
    return again


def interval(values: Sequence[float]) -> tuple[float, float]:
    low, high = numpy.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def print_scaling(runs: pandas.DataFrame, seed: int = 0, draws: int = DRAWS) -> Estimate:
    """The three laws with their intervals, and what the plan's rule says of them. Returns the slope
    of the log law."""
    generator = numpy.random.default_rng(seed)
    cells = cells_of(runs)
    fits = fit_laws(cells)
    again = [fit_laws(drawn_again(cells, generator)) for _ in range(draws)]
    moduli = sorted(runs["modulus"].unique())
    print(f"{len(runs)} networks at {len(moduli)} primes from {moduli[0]} to {moduli[-1]}")
    for law, aic in fits.aic.items():
        low, high = interval([fit.aic[law] for fit in again])
        print(f"  {law:<9} AIC {aic:+.1f} above the best [{low:.1f}, {high:.1f}]")
    slope = Estimate(fits.slope, interval([fit.slope for fit in again]))
    exponent = Estimate(fits.exponent, interval([fit.exponent for fit in again]))
    proportional = runs["number"].mean() / numpy.log(runs["modulus"]).mean()
    print(f"  log law: {slope} keys per factor e of p; proportional to log p: {proportional:.3f}")
    print(f"  power law: exponent {exponent}")
    assert slope.interval is not None
    grows = fits.aic["constant"] >= CLEAR and slope.interval[0] > 0
    print(f"  1. the number grows with p: {'yes' if grows else 'not shown'}")
    ahead = abs(fits.aic["log"] - fits.aic["power"])
    better = "log" if fits.aic["log"] < fits.aic["power"] else "power"
    decided = better if ahead >= CLEAR else "undecided"
    print(f"  2. log or power: {decided} ({better} ahead by {ahead:.1f} of AIC)")
    below = slope.interval[1] < proportional
    print(f"  3. slower than in proportion to log p: {'yes' if below else 'not shown'}")
    return slope


def is_planned(runs: pandas.DataFrame) -> "pandas.Series[bool]":
    """Runs that the plan names: `moduli` was continued afterwards, at its primes up to 101."""
    return (runs["table"] != "moduli") | (runs["index"] < PLANNED_MODULI)


def print_accuracy(tables: Path) -> None:
    """Moduli of which fewer than half of the runs are accurate would be left out."""
    for name in SCALING_TABLES:
        if not (tables / name).exists():
            continue
        every = Runs.read(tables / name).frame.assign(table=name)
        every = every[every["modulus"].map(is_prime) & is_planned(every)]
        share = (every["accuracy"] == 1).groupby(every["modulus"]).mean()
        least = share.idxmin()
        print(f"{name}: fewest accurate runs at p = {least}, {share[least]:.0%}")


def print_meeting(first: Estimate, second: Estimate) -> None:
    """The plan: slopes of the two sets of tables whose intervals do not meet are no single law."""
    assert first.interval is not None
    assert second.interval is not None
    meet = first.interval[0] <= second.interval[1] and second.interval[0] <= first.interval[1]
    word = "meet" if meet else "do not meet: no single law"
    print(f"slopes with 80% of the pairs {first}, with 40% {second}: they {word}")


def print_drift(directory: Path) -> None:
    """Whether the number of keys has settled: the mean over networks at each look, by modulus."""
    kept = SweepDirectory(directory).moments()
    if kept is None:
        print(f"{directory.name}: looked at once, so no drift can be told")
        return
    moments = kept.to_pandas()
    moments = moments[moments[KEYS].notna()]
    number = moments[KEYS].map(len)
    means = number.groupby([moments["modulus"], moments["epoch"]]).mean().unstack()
    first, last = means.columns[0], means.columns[-1]
    for modulus, row in means.iterrows():
        numbers = f"{row[first]:.2f} at epoch {first:,}, {row[last]:.2f} at {last:,}"
        change = row[last] - row[first]
        print(f"{directory.name}, p = {modulus}: mean keys {numbers}, change {change:+.2f}")


def print_after_the_fact(runs: pandas.DataFrame) -> None:
    """Where the two sets of tables differ; added when the runs had been seen."""
    print("after the fact, not planned: the number of keys at p = 113, 40% of the pairs less 80%")
    generator = numpy.random.default_rng(0)
    at_113 = runs[runs["modulus"] == 113]
    for rate in (0.0, 1.0):
        at_rate = at_113[at_113["rate"] == rate]
        of_table = {name: part["number"] for name, part in at_rate.groupby("table")}
        fewer = of_table["large-moduli"].to_numpy(float)
        more = of_table["moduli"].to_numpy(float)
        print(f"  rate {rate:g}: {difference(fewer, more, generator)}")
    new = runs["table"] != "moduli"
    print("after the fact: 40% of the pairs without p = 113, which another engine trained")
    print_scaling(runs[new & (runs["modulus"] > 113)])
    print("after the fact: 40% of the pairs without p = 509, where two of six networks err")
    print_scaling(runs[new & (runs["modulus"] < 509)])
    print("after the fact: 80% of the pairs, with the runs added to `moduli`")
    print_scaling(runs[~new])
    print("after the fact: 80% of the pairs, with these, p = 59 and above")
    print_scaling(runs[~new & (runs["modulus"] >= 59)])


def order_of(frequency: int, modulus: int) -> int:
    """How many values exp(2 pi i k a / p) takes: the wave is constant on the cosets of a subgroup
    with p / order elements."""
    return modulus // math.gcd(frequency, modulus)


def relative_to_chance(
    sets: Sequence[Sequence[int]], chosen: Sequence[int], among: Sequence[int]
) -> Array:
    """(networks, 2): of each network's keys among some frequencies, how many are chosen ones, and
    how many would be if all of these were equally likely."""
    share = len(chosen) / len(among)
    rows = []
    for keys in sets:
        eligible = [key for key in keys if key in among]
        observed = sum(key in chosen for key in eligible)
        rows.append((observed, share * len(eligible)))
    return numpy.array(rows, dtype=float)


def ratio(counts: Array, generator: numpy.random.Generator, draws: int = DRAWS) -> Estimate:
    """Observed over expected, with a bootstrap interval over networks."""
    chosen = generator.integers(len(counts), size=(draws, len(counts)))
    sums = counts[chosen].sum(axis=1)
    observed, expected = counts.sum(axis=0)
    return Estimate(float(observed / expected), interval(sums[:, 0] / sums[:, 1]))


def print_cosets(runs: pandas.DataFrame, seed: int = 0) -> None:
    generator = numpy.random.default_rng(seed)
    composite = runs[runs["modulus"] == COMPOSITE]
    prime = runs[runs["modulus"] == PRIME]
    print(f"{len(composite)} networks at p = {COMPOSITE}, {len(prime)} at p = {PRIME}")
    frequencies = range(1, COMPOSITE // 2 + 1)
    orders = {k: order_of(k, COMPOSITE) for k in frequencies}
    cosets = [k for k, order in orders.items() if order < COMPOSITE]
    circles = [k for k in frequencies if orders[k] > 2]
    sets = list(composite["keys"])
    every = ratio(relative_to_chance(sets, cosets, frequencies), generator)
    print(f"  coset frequencies relative to chance: {every}")
    of_circles = [k for k in cosets if orders[k] > 2]
    without = ratio(relative_to_chance(sets, of_circles, circles), generator)
    print(f"  the same without {COMPOSITE // 2}: {without}")
    for order in sorted(set(orders.values())):
        chosen = [k for k in frequencies if orders[k] == order]
        estimate = ratio(relative_to_chance(sets, chosen, frequencies), generator)
        print(f"    order {order:>2} ({len(chosen):>2} frequencies): {estimate}")
    for rate in sorted(runs["rate"].unique()):
        at_composite = composite[composite["rate"] == rate]
        at_prime = prime[prime["rate"] == rate]["number"].to_numpy(float)
        more = difference(at_composite["number"].to_numpy(float), at_prime, generator)
        print(f"  rate {rate:g}: keys at {COMPOSITE} less keys at {PRIME}: {more}")
        # After the fact: is what p = 66 has more the parity?
        has_parity = numpy.array([COMPOSITE // 2 in keys for keys in at_composite["keys"]])
        others = at_composite["number"].to_numpy(float) - has_parity
        without_parity = difference(others, at_prime, generator)
        of_all = f"a key of {has_parity.sum()} of {len(has_parity)}"
        print(f"    {COMPOSITE // 2} is {of_all}; not counting it: {without_parity}")


def difference(first: Array, second: Array, generator: numpy.random.Generator) -> Estimate:
    """Of two means, with a bootstrap interval over the networks of each."""
    again = []
    for _ in range(DRAWS):
        first_drawn = generator.choice(first, len(first))
        second_drawn = generator.choice(second, len(second))
        again.append(float(first_drawn.mean() - second_drawn.mean()))
    return Estimate(float(first.mean() - second.mean()), interval(again))


def draw_numbers(axes: "Axes", runs: pandas.DataFrame) -> None:
    """Means with their intervals, a little apart where moduli are equal. A cell of one network has
    no interval and no line to it."""
    for rate, at_rate in runs.groupby("rate"):
        marker, color = STYLES[float(rate)]
        for level, part in at_rate.groupby(at_rate["table"].map(LEVEL_OF_TABLE)):
            grouped = part.groupby("modulus")["number"]
            counts = grouped.size()
            means = grouped.mean()
            aside = 1 + 0.06 * (float(rate) - 0.5)
            for modulus in counts.index[counts == 1]:
                axes.plot(modulus * aside, means[modulus], marker, color=color, mfc="none", ms=4)
                axes.annotate(
                    "one network",
                    (modulus * aside, means[modulus]),
                    (5, -6),
                    textcoords="offset points",
                    ha="right",
                    va="top",
                    fontsize=7,
                    color=color,
                )
            means = means[counts > 1]
            reach = 1.96 * (grouped.std() / counts**0.5)[counts > 1]
            axes.errorbar(
                means.index * aside,
                means,
                reach,
                fmt=f"{marker}-",
                color=color,
                fillstyle="full" if level == "80%" else "none",
                label=f"rate {rate:g}, {level} of the pairs",
                markersize=4,
                linewidth=1,
            )
    moduli = numpy.geomspace(runs["modulus"].min(), runs["modulus"].max())
    factor = runs["number"].mean() / numpy.log(runs["modulus"]).mean()
    axes.plot(moduli, factor * numpy.log(moduli), color=GRAY, ls=":", label="proportional to log p")
    axes.set_xscale("log", base=2)
    ticks = [tick for tick in (17, 31, 59, 113, 257, 509) if tick <= moduli[-1]]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set(xlabel="prime modulus p", ylabel="key frequencies", ylim=(0, None))
    axes.legend(frameon=False, loc="lower right", fontsize=7)


def draw_orders(axes: "Axes", runs: pandas.DataFrame) -> None:
    generator = numpy.random.default_rng(0)
    sets = list(runs[runs["modulus"] == COMPOSITE]["keys"])
    frequencies = range(1, COMPOSITE // 2 + 1)
    orders = sorted({order_of(k, COMPOSITE) for k in frequencies})
    for position, order in enumerate(orders):
        chosen = [k for k in frequencies if order_of(k, COMPOSITE) == order]
        estimate = ratio(relative_to_chance(sets, chosen, frequencies), generator)
        assert estimate.interval is not None
        low, high = estimate.interval
        color = GRAY if order == COMPOSITE else COLORS[0]
        reach = [[estimate.value - low], [high - estimate.value]]
        axes.errorbar([position], [estimate.value], reach, fmt="o", color=color, markersize=4)
    axes.axhline(1, color="0.3", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(orders)), [str(order) for order in orders])
    axes.set(
        xlabel=f"order of the frequency at p = {COMPOSITE}",
        ylabel="keys relative to chance",
        ylim=(0, None),
    )


def report(tables: Path, picture: Path) -> None:
    runs = read_keys(tables, SCALING_TABLES)
    runs = runs[runs["modulus"].map(is_prime)]
    planned = runs[is_planned(runs)]
    print_scaling(planned)
    is_new = planned["table"] != "moduli"
    if planned[is_new]["modulus"].nunique() > 2:
        print("80% of the pairs, 20,000 epochs:")
        of_most_pairs = print_scaling(planned[~is_new])
        print("40% of the pairs, 3,000 epochs:")
        of_fewer_pairs = print_scaling(planned[is_new])
        print("what would count against it:")
        print_meeting(of_most_pairs, of_fewer_pairs)
        print_accuracy(tables)
        print_drift(tables / "large-moduli")
        print_drift(tables / "largest-modulus")
        print_after_the_fact(runs)
    has_cosets = (tables / "cosets").exists()
    if has_cosets:
        of_cosets = read_keys(tables, ["cosets"])
        print_cosets(of_cosets)
    with house_style():
        figure = new_figure(9.6 if has_cosets else 5.6, 3.4)
        (panels,) = figure.subplots(1, 2 if has_cosets else 1, squeeze=False)
        draw_numbers(panels[0], runs)
        if has_cosets:
            draw_orders(panels[1], of_cosets)
        print(save_figure(figure, picture))


def simulated(slope: float, generator: numpy.random.Generator) -> list[Cell]:
    """The new tables alone, with numbers of keys spread as in `moduli` (0.7)."""
    cells = []
    for modulus, count in ((113, 8), (157, 8), (257, 8), (509, 3)):
        for rate in (0.0, 1.0):
            mean = 3.8 + slope * math.log(modulus / 113)
            numbers = numpy.rint(generator.normal(mean, 0.7, count)).clip(1).astype(numpy.int64)
            cells.append(Cell(modulus, ("40%", rate), numbers))
    return cells


def print_power(trials: int = 200, draws: int = 200) -> None:
    generator = numpy.random.default_rng(0)
    print("scaling, new tables alone: chance that the slope's interval is above 0")
    for slope in (0.0, 0.2, 0.4, 0.8):
        above = 0
        for _ in range(trials):
            cells = simulated(slope, generator)
            again = [fit_laws(drawn_again(cells, generator)) for _ in range(draws)]
            low, _ = interval([fits.slope for fits in again])
            above += low > 0
        print(f"  {slope:g} keys per factor e: {above / trials:.2f}")
    print("cosets: chance that the ratio's interval is above 1, 96 networks with four keys each")
    frequencies = numpy.arange(1, COMPOSITE // 2 + 1)
    cosets = [int(k) for k in frequencies if math.gcd(int(k), COMPOSITE) > 1]
    for preference in (1.0, 1.25, 1.5, 2.0):
        weights = numpy.where(numpy.isin(frequencies, cosets), preference, 1.0)
        chances = weights / weights.sum()
        above = 0
        for _ in range(trials):
            drawn = [generator.choice(frequencies, 4, replace=False, p=chances) for _ in range(96)]
            sets = [keys.tolist() for keys in drawn]
            counts = relative_to_chance(sets, cosets, frequencies.tolist())
            estimate = ratio(counts, generator, draws)
            assert estimate.interval is not None
            above += estimate.interval[0] > 1
        print(f"  coset frequencies {preference:g} times as likely as others: {above / trials:.2f}")


def print_times(moduli: Sequence[int], epochs: int = 20) -> None:
    """Milliseconds per epoch, optimizer left out, of one network by each engine that can."""
    import torch

    from algophase.training.run.plan import plan

    on_gpu = torch.cuda.is_available()
    for modulus in moduli:
        task = TaskSettings(modulus, training_fraction=0.4)
        run = RunSettings(task, TransformerSettings(128, attention_rate=0.5))
        for name in ("stacked", "grid"):
            (group,) = plan([run], name)
            engine = group.engine_class(list(group.runs), group.device, group.precision)
            engine.loss_and_gradient()
            started = time.perf_counter()
            for _ in range(epochs):
                loss = engine.loss_and_gradient()
            float(loss[0])  # waits for the GPU
            elapsed = (time.perf_counter() - started) / epochs
            memory = f", {torch.cuda.max_memory_allocated() / 1e9:.1f} GB" if on_gpu else ""
            print(f"p = {modulus}, {name} in {group.precision}: {1000 * elapsed:.2f} ms{memory}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=[], help="power, or time MODULUS...")
    parser.add_argument("--tables", type=Path, default=ROOT / "gallery")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    if options.what[:1] == ["power"]:
        print_power()
    elif options.what[:1] == ["time"]:
        print_times([int(modulus) for modulus in options.what[1:]])
    else:
        report(options.tables, options.picture)


if __name__ == "__main__":
    main()
