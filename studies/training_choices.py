"""Five questions about how networks are trained, each with paired seeds and the algorithms learned.

    python studies/training_choices.py norm         # gallery/norm-arms: docs/images/choice-norm.png
    python studies/training_choices.py muon
    python studies/training_choices.py stablemax
    python studies/training_choices.py float64      # also gallery/float64-all, all in float64
    python studies/training_choices.py decay
    python studies/training_choices.py learnable-norm  # the norm again, where networks learn
    python studies/training_choices.py power        # what the planned tests can find

The plan is studies/plans/training_choices.md, that of learnable-norm is learnable_norms.md. They
were committed before the runs were made. Every interval is 95% where it does not say 97.5%, by
drawing the seeds anew (2,000 times): the arms of one seed stay together. Lines with or below "after
the fact" were added when the runs had been seen.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy
import pandas

from algophase import read_runs
from algophase.core.palette import COLORS, VERDICTS, in_order
from algophase.pictures.marks import Axis, Bars, Figure, Legend, Line, Mark, Panel, Points, Whiskers
from algophase.reports.save_figure import save_figure
from algophase.runs.statistics import Share
from algophase.storage.sweep_directory import SweepDirectory

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
IMAGES = ROOT / "docs" / "images"
LEARNED = 0.99  # validation accuracy
LEAST_PAIRS = 30  # that learned in both arms, for a test
HIGH_LOSS = 1e-5  # between the two groups of networks at norm 31
DRAWS = 2000
AFTER_THE_FACT = "after the fact, not planned:"
NAMED = ("Clock", "Pizza", "hybrid")
GROKKING = "epoch with 99% of held-out pairs right"
PIZZA_SHARE = "pizza_logit_share"

ROUND_EPOCHS = [digit * 10**power for power in range(6) for digit in (1, 2, 5)]

THROUGHOUT = "all in float64"  # the first 32 draws of the arm with PyTorch's loss in float64

Array = numpy.ndarray
Arms = Mapping[str, pandas.DataFrame]  # runs by arm, indexed by their draw
ARMS = {
    "norm": ("decay 2", "none", "norm 25", "norm 31", "norm 38"),
    "muon": (
        "AdamW 0.001",
        "Muon 0.001",
        "AdamW 0.003",
        "Muon 0.003",
        "AdamW 0.01",
        "Muon 0.01",
        "AdamW 0.01, decay 1",
        "Muon 0.01, decay 1",
        "AdamW 0.03, decay 1",
        "Muon 0.03, decay 1",
    ),
    "stablemax": (
        "cross-entropy, decay 0",
        "StableMax, decay 0",
        "cross-entropy, decay 2",
        "StableMax, decay 2",
    ),
    "float64": ("PyTorch's loss, float32", "PyTorch's loss, float64", "our loss, half precision"),
    "decay": ("0.1", "0.25", "0.5", "1", "2", "4"),
    "learnable-norm": (
        "decay 2",
        "norm 28",
        "norm 31",
        "norm 34",
        "norm 38",
        "norm 38, small epsilon",
    ),
}


class Interval(NamedTuple):
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def read_arms(table: Path, names: Sequence[str]) -> Arms:
    """The runs of each arm. Run i of a space with n arms is arm i % n of draw i // n."""
    frame = read_runs(table)
    count = len(names)
    frame = frame.assign(draw=frame["index"] // count, arm=frame["index"] % count)
    arms = {}
    for number, name in enumerate(names):
        arms[name] = frame[frame.arm == number].set_index("draw").sort_index()
    return arms


def arms_of(question: str, table: Path) -> Arms:
    """The arms of a question, for float64 with the networks in float64 throughout, if there are."""
    arms = dict(read_arms(table, ARMS[question]))
    throughout = table.parent / "float64-all"
    if question == "float64" and throughout.exists():
        frame = read_runs(throughout)
        draws = frame["index"] // len(ARMS[question])
        arms[THROUGHOUT] = frame.assign(draw=draws).set_index("draw").sort_index()
    return arms


def bootstrap(
    rows: Array, statistic: Callable[[Array], float], seed: int = 0, level: float = 95.0
) -> Interval:
    """A statistic of (draws, ...) and its interval, which has so many percent of the values."""
    undefined = Interval(numpy.nan, numpy.nan, numpy.nan)
    generator = numpy.random.default_rng(seed)
    count = len(rows)
    if count == 0:
        return undefined
    values = [statistic(rows[generator.integers(0, count, count)]) for _ in range(DRAWS)]
    defined = [value for value in values if not numpy.isnan(value)]
    if not defined:
        return undefined
    tail = (100 - level) / 2
    low, high = numpy.percentile(defined, [tail, 100 - tail])
    return Interval(statistic(rows), float(low), float(high))


def mean(rows: Array) -> float:
    return float(rows.mean())


def mean_difference(rows: Array) -> float:
    """Of pairs (draws, 2): the first less the second."""
    return float((rows[:, 0] - rows[:, 1]).mean())


def geometric_ratio(rows: Array) -> float:
    """Of pairs (draws, 2): the geometric mean of the first over the second."""
    logarithms = numpy.log(rows[:, 0] / rows[:, 1])
    return float(numpy.exp(logarithms.mean()))


def pairs(first: pandas.DataFrame, second: pandas.DataFrame, column: str) -> Array:
    """The column's values of draws that have one in both arms, (draws, 2)."""
    both = pandas.concat([first[column], second[column]], axis=1, join="inner").dropna()
    return both.to_numpy(float)


def learned(arm: pandas.DataFrame) -> pandas.DataFrame:
    return arm[arm.validation_accuracy >= LEARNED]


def named(arm: pandas.DataFrame) -> pandas.DataFrame:
    """Every pair right, and a Clock, a Pizza or a hybrid."""
    return arm[arm.verdict.isin(NAMED)]


def print_pizza_difference(arms: Arms, first: str, second: str) -> None:
    """By the plan, of networks that learned; and of those with a name alone."""
    for word, chosen in (("", learned), (" (after the fact: named networks alone)", named)):
        both = pairs(chosen(arms[first]), chosen(arms[second]), PIZZA_SHARE)
        difference = bootstrap(both, mean_difference)
        print(f"Pizza's share{word}, {first} less {second}: {difference} ({len(both)} pairs)")


def verdict_counts(arm: pandas.DataFrame) -> dict[str, int]:
    counts = arm.verdict.fillna("diverged").value_counts()
    return {verdict: int(counts[verdict]) for verdict in in_order(counts.index)}


def print_arms(arms: Arms) -> None:
    """What became of every arm."""
    for name, arm in arms.items():
        done = learned(arm)
        share = Share(len(done), len(arm))
        times = [f"{word} {arm[column].median():.0f}" for word, column in TIMES.items()]
        counts = ", ".join(f"{verdict} {count}" for verdict, count in verdict_counts(done).items())
        print(f"{name}: learned {share}; {counts or 'no verdict'}")
        pizza = bootstrap(done[PIZZA_SHARE].dropna().to_numpy(float), mean)
        print(f"    median epoch of {', '.join(times)} (of those that do)")
        held_out = arm.validation_accuracy.median()
        perfect = Share(int((arm.accuracy == 1).sum()), len(arm))
        print(f"    median accuracy on held-out pairs {held_out:.1%}; every pair right {perfect}")
        norm = arm.parameter_norm.median()
        print(f"    Pizza's share of the logits {pizza}; median norm at the end {norm:.1f}")


TIMES = {"memorizing": "memorized_at", "grokking": "grokked_at", "settling": "settled_at"}


def question_norm(arms: Arms, table: Path) -> None:
    for first, second in (("norm 38", "norm 25"), ("norm 31", "norm 25"), ("norm 25", "decay 2")):
        print_pizza_difference(arms, first, second)
    early = first_look(table)
    if early is None:
        return
    print_turned(arms, early)
    print(AFTER_THE_FACT)
    print_pizza_difference(arms, "norm 38", "norm 31")
    print_pizza_difference(arms, "norm 31", "decay 2")
    for name, arm in arms.items():
        print_early_clocks(name, arm, early)
        print_last_loss(name, arm)
        print_high_loss(name, arm)


def first_look(table: Path) -> pandas.DataFrame | None:
    """The runs at the first epoch that was looked at, by id; None where there was one look."""
    moments = SweepDirectory(table).moments()
    if moments is None:
        return None
    along = moments.to_pandas().set_index("run_id")
    return along[along.epoch == along.epoch.min()]


def print_turned(arms: Arms, early: pandas.DataFrame) -> None:
    """How many of the Pizzas of the first look are none at the end."""
    begun = early[early.verdict == "Pizza"].index
    for name, arm in arms.items():
        turned = learned(arm[arm.run_id.isin(begun)])
        share = Share(multiplying(turned.verdict), len(turned))
        epoch = early.epoch.min()
        print(f"{name}: of Pizzas at epoch {epoch}, Clocks or hybrids at the end {share}")


def print_early_clocks(name: str, arm: pandas.DataFrame, early: pandas.DataFrame) -> None:
    share = Share(multiplying(early.verdict.reindex(arm.run_id)), len(arm))
    print(f"{name}: Clocks or hybrids at epoch {early.epoch.min()} {share}")


def print_last_loss(name: str, arm: pandas.DataFrame) -> None:
    print(f"{name}: median training loss at the end {arm.training_loss.median():.2g}")


def print_high_loss(name: str, arm: pandas.DataFrame) -> None:
    high = Share(int((arm.training_loss > HIGH_LOSS).sum()), len(arm))
    print(f"{name}: training loss above {HIGH_LOSS:g} at the end {high}")


def question_learnable_norm(arms: Arms, table: Path) -> None:
    of_norm, enough = norm_difference(arms, "norm 38", "norm 31")
    of_epsilon, enough_of_epsilon = norm_difference(arms, "norm 38, small epsilon", "norm 31")
    to_decay, _ = norm_difference(arms, "norm 31", "decay 2")
    can_be_made = enough and enough_of_epsilon
    print(f"decision by the plan: {norm_decision(of_norm, of_epsilon, to_decay, can_be_made)}")
    for name, arm in arms.items():
        print_last_loss(name, arm)
    early = first_look(table)
    if early is None:
        return
    print_turned(arms, early)
    print(AFTER_THE_FACT)
    norm_difference(arms, "norm 38", "norm 38, small epsilon")
    norm_difference(arms, "norm 28", "norm 31")
    for name, arm in arms.items():
        print_early_clocks(name, arm, early)
        print_high_loss(name, arm)


def norm_difference(arms: Arms, first: str, second: str) -> tuple[Interval, bool]:
    """Of the Pizza's share, and whether enough draws learned in both arms for a test."""
    both = pairs(learned(arms[first]), learned(arms[second]), PIZZA_SHARE)
    difference = bootstrap(both, mean_difference, level=97.5)
    enough = len(both) >= LEAST_PAIRS
    note = "" if enough else f", fewer than {LEAST_PAIRS}: no test"
    words = f"Pizza's share, {first} less {second}, 97.5% interval: {difference}"
    print(f"{words} ({len(both)} pairs){note}")
    return difference, enough


def norm_decision(
    of_norm: Interval, of_epsilon: Interval, to_decay: Interval, can_be_made: bool
) -> str:
    """The rule of plans/learnable_norms.md."""
    if not can_be_made:
        return "the test cannot be made"
    if of_norm.low <= 0:
        return "open"
    if of_epsilon.low > 0:
        is_all = to_decay.low > -0.15 and to_decay.high < 0.15
        return "the norm, and it is all of it" if is_all else "the norm"
    if of_epsilon.low <= 0 <= of_epsilon.high < 0.10:
        return "the gradients"
    return "open"


def multiplying(verdicts: "pandas.Series[str]") -> int:
    """How many are Clocks or hybrids."""
    return int(verdicts.isin(["Clock", "hybrid"]).sum())


def question_muon(arms: Arms, table: Path) -> None:
    del table
    for name in arms:
        if name.startswith("Muon"):
            compare_optimizers(arms, name.replace("Muon", "AdamW"), name)
    print("at the settings of each with the earliest median:")
    compare_optimizers(arms, *earliest_settings(arms))
    print(AFTER_THE_FACT)
    lasting = {name: arm for name, arm in arms.items() if len(learned(arm)) > len(arm) / 2}
    if len({name.split()[0] for name in lasting}) == 2:
        print("the same among settings where most networks have learned at the end:")
        compare_optimizers(arms, *earliest_settings(lasting))
    for name, arm in arms.items():
        keys = arm["program.frequencies"].dropna().map(len)
        frequencies = (arm.modulus.iloc[0] - 1) // 2
        every = Share(int((keys >= frequencies).sum()), len(arm))
        print(f"{name}: median number of key frequencies {keys.median():g}; every one {every}")


def earliest_settings(arms: Arms) -> list[str]:
    """Of each optimizer, the settings with the earliest median over all networks; those that never
    grok come last."""
    best = []
    for optimizer in ("AdamW", "Muon"):
        medians = {}
        for name, arm in arms.items():
            if name.startswith(optimizer):
                epochs = arm.grokked_at.astype(float).fillna(numpy.inf)
                medians[name] = epochs.median()
        best.append(min(medians, key=lambda name: medians[name]))
    return best


def compare_optimizers(arms: Arms, first: str, second: str) -> None:
    for word, column in TIMES.items():
        both = pairs(arms[first], arms[second], column)
        ratio = bootstrap(both, geometric_ratio)
        print(f"{first} over {second}, epochs until {word}: {ratio} ({len(both)} pairs)")
    ends = pairs(learned(arms[first]), learned(arms[second]), PIZZA_SHARE)
    difference = bootstrap(ends, mean_difference)
    print(f"{first} less {second}, Pizza's share: {difference} ({len(ends)} pairs)")


def question_stablemax(arms: Arms, table: Path) -> None:
    del table
    has_learned = {
        name: (arm.validation_accuracy >= LEARNED).astype(float) for name, arm in arms.items()
    }
    for decay in ("decay 0", "decay 2"):
        ours = f"StableMax, {decay}"
        theirs = f"cross-entropy, {decay}"
        both = pandas.concat([has_learned[ours], has_learned[theirs]], axis=1, join="inner")
        difference = bootstrap(both.to_numpy(), mean_difference)
        print(f"learned, {ours} less {theirs}: {difference}")
    print_pizza_difference(arms, "StableMax, decay 0", "cross-entropy, decay 2")


def question_float64(arms: Arms, table: Path) -> None:
    del table
    for name, arm in arms.items():
        share = Share(int((arm.loss_jumps > 0).sum()), len(arm))
        per_network = bootstrap(arm.loss_jumps.to_numpy(float), mean)
        print(f"{name}: with a jump {share}; jumps per network {per_network}")
    first = arms["PyTorch's loss, float32"]
    for name, arm in arms.items():
        if arm is first:
            continue
        both = pairs(first, arm, "loss_jumps")
        jumps = bootstrap((both > 0).astype(float), mean_difference)
        count = f"({len(both)} pairs)"
        print(f"with a jump, PyTorch's loss in float32 less {name}: {jumps} {count}")
    if THROUGHOUT in arms:
        arm = arms[THROUGHOUT]
        low, _ = Share(int((arm.loss_jumps > 0).sum()), len(arm)).interval
        print(f"numerical at all: {'no' if low > 0.25 else 'not settled'}")


def question_decay(arms: Arms, table: Path) -> None:
    del table
    times = epochs_by_arm(arms, "grokked_at")
    logs = numpy.log(times.to_numpy())
    decays = numpy.log([float(name) for name in times])
    print(f"exponent of the time to grok: {exponent(logs, decays)}")
    complete = logs[~numpy.isnan(logs).any(axis=1)]
    count = f"({len(complete)} of {len(logs)})"
    print(f"  draws that grok at every decay: {exponent(complete, decays)} {count}")
    from_half = decays >= numpy.log(0.5) - 1e-9
    fitted = exponent(logs[:, from_half], decays[from_half])
    print(f"  weight decay of 0.5 and more: {fitted}")
    settled = numpy.log(epochs_by_arm(arms, "settled_at").to_numpy())
    print(f"  of the time to settle: {exponent(settled, decays)}")
    both = times[["0.1", "2"]].dropna().to_numpy()
    ratio = bootstrap(both, geometric_ratio)
    print(f"time at decay 0.1 over that at 2: {ratio} ({len(both)} pairs)")
    verdicts = pandas.DataFrame({name: arm.verdict for name, arm in arms.items()})
    for verdict in ("Pizza", "hybrid", "Clock"):
        own = numpy.where((verdicts == verdict).to_numpy(), logs, numpy.nan)
        runs = f"({(~numpy.isnan(own)).sum()} runs)"
        print(f"  {verdict}, by the verdict at the end: {exponent(own, decays)} {runs}")
    first_arm = next(iter(arms.values()))
    rates = first_arm.attention_rate.reindex(times.index).to_numpy()
    for word, chosen in (("below", rates < 0.5), ("from", rates >= 0.5)):
        print(f"  attention rates {word} 0.5: {exponent(logs[chosen], decays)}")
    print(AFTER_THE_FACT)
    for number, (low, high) in enumerate(pairwise(times.columns)):
        two = slice(number, number + 2)
        print(f"  from decay {low} to {high}: {exponent(logs[:, two], decays[two])}")
    for verdict in NAMED:
        own = numpy.where((verdicts == verdict).to_numpy(), logs, numpy.nan)[:, from_half]
        fitted = exponent(own, decays[from_half])
        runs = f"({(~numpy.isnan(own)).sum()} runs)"
        print(f"  {verdict}, weight decay of 0.5 and more: {fitted} {runs}")


def epochs_by_arm(arms: Arms, column: str) -> pandas.DataFrame:
    """A row per draw and a column per arm."""
    return pandas.DataFrame({name: arm[column] for name, arm in arms.items()}).astype(float)


def exponent(logs: Array, decays: Array) -> Interval:
    """The slope of log epochs (draws, arms) against log weight decays (arms,)."""
    return bootstrap(logs, partial(slope, x=decays))


def slope(rows: Array, x: Array) -> float:
    """Of rows (draws, arms) against x (arms,), with a level of its own for every draw: least
    squares on deviations from the draw's mean, over what is not NaN."""
    present = ~numpy.isnan(rows)
    counts = numpy.maximum(present.sum(axis=1, keepdims=True), 1)
    values = numpy.where(present, rows, 0.0)
    along = numpy.where(present, x, 0.0)
    mean_value = values.sum(axis=1, keepdims=True) / counts
    mean_along = along.sum(axis=1, keepdims=True) / counts
    values = numpy.where(present, values - mean_value, 0.0)
    along = numpy.where(present, along - mean_along, 0.0)
    spread = float((along**2).sum())
    return float((values * along).sum()) / spread if spread > 0 else numpy.nan


QUESTIONS: dict[str, Callable[[Arms, Path], None]] = {
    "norm": question_norm,
    "muon": question_muon,
    "stablemax": question_stablemax,
    "float64": question_float64,
    "decay": question_decay,
    "learnable-norm": question_learnable_norm,
}


def verdicts_panel(arms: Arms) -> Panel:
    """What the networks of every arm learned, stacked."""
    counts = {name: verdict_counts(arm) for name, arm in arms.items()}
    sizes = {name: max(1, sum(of_arm.values())) for name, of_arm in counts.items()}
    verdicts = in_order({verdict for of_arm in counts.values() for verdict in of_arm})
    marks: list[Mark] = []
    start = numpy.zeros(len(arms))
    for verdict in verdicts:
        shares = [of_arm.get(verdict, 0) / sizes[name] for name, of_arm in counts.items()]
        color, _ = VERDICTS.get(verdict, (COLORS[-1], ""))
        positions = list(range(len(arms)))
        marks.append(
            Bars(
                positions=positions,
                lengths=numpy.array(shares),
                start=start.copy(),
                color=color,
                name="some pair wrong" if verdict == "not learned" else verdict,
                horizontal=True,
            )
        )
        start += shares
    return Panel(
        marks=marks,
        x=Axis(name="share of networks", limits=(0, 1)),
        y=arms_axis(arms),
        title="what was learned",
        legend=Legend(where="below", columns=3),
        alt="Bars: verdicts by arm",
    )


def arms_axis(arms: Arms) -> Axis:
    """One row per arm, at the same height in both panels."""
    return Axis(
        ticks=range(len(arms)),
        tick_names=list(arms),
        limits=(-0.6, len(arms) - 0.4),
        reverse=True,
    )


def epochs_axis(arms: Arms, column: str = "grokked_at") -> Axis:
    """Logarithmic, from the earliest network to the end of training."""
    times = pandas.concat([arm[column] for arm in arms.values()]).dropna()
    last = int(max(arm.epochs.max() for arm in arms.values()))
    first = float(times.min()) if len(times) else 1.0
    ticks = [tick for tick in ROUND_EPOCHS if 0.8 * first <= tick <= last]
    names = [f"{tick:,}" for tick in ticks]
    limits = (0.8 * first, 1.15 * last)
    return Axis(name=GROKKING, scale="log", limits=limits, ticks=ticks, tick_names=names)


def times_panel(arms: Arms, column: str = "grokked_at") -> Panel:
    """When every network of every arm groks, and the median."""
    marks: list[Mark] = []
    generator = numpy.random.default_rng(0)
    for number, arm in enumerate(arms.values()):
        times = arm[column].dropna().to_numpy(float)
        y = number + generator.uniform(-0.25, 0.25, len(times))
        marks.append(Points(x=times, y=y, color=COLORS[0], size=1.8, opacity=0.5))
        if len(times):
            middle = bootstrap(times, lambda rows: float(numpy.median(rows)))
            marks.append(
                Whiskers(
                    x=[middle.value],
                    y=[number],
                    low=[middle.low],
                    high=[middle.high],
                    horizontal=True,
                    color=COLORS[1],
                    layer=2,
                )
            )
    return Panel(
        marks=marks,
        x=epochs_axis(arms, column),
        y=arms_axis(arms),
        title="when it groks",
        alt="Points: epochs of grokking by arm, with medians",
    )


def jumps_panel(arms: Arms) -> Panel:
    shares = [Share(int((arm.loss_jumps > 0).sum()), len(arm)) for arm in arms.values()]
    whiskers = Whiskers(
        x=[share.value for share in shares],
        y=list(range(len(arms))),
        low=[share.interval[0] for share in shares],
        high=[share.interval[1] for share in shares],
        horizontal=True,
    )
    return Panel(
        marks=[whiskers],
        x=Axis(name="share of networks whose loss jumps", limits=(0, 1.02), format=".0%"),
        y=arms_axis(arms),
        title="jumps of the loss",
        alt="Points with intervals: share of networks with a jump, by arm",
    )


def pizza_panel(arms: Arms) -> Panel:
    """The mean of the Pizza's share over networks that learned."""
    means = []
    for arm in arms.values():
        shares = learned(arm)[PIZZA_SHARE].dropna().to_numpy(float)
        means.append(bootstrap(shares, mean))
    whiskers = Whiskers(
        x=[middle.value for middle in means],
        y=list(range(len(arms))),
        low=[middle.low for middle in means],
        high=[middle.high for middle in means],
        horizontal=True,
    )
    return Panel(
        marks=[whiskers],
        x=Axis(name="Pizza's share of the logits, of networks that learned", limits=(0, 1.02)),
        y=arms_axis(arms),
        title="how much of a Pizza",
        alt="Points with intervals: the Pizza's share of the logits by arm",
    )


def decay_panel(arms: Arms) -> Panel:
    """Time to grok of every seed along the weight decay, and the median."""
    decays = [float(name) for name in arms]
    times = epochs_by_arm(arms, "grokked_at")
    rows = times.to_numpy()
    marks: list[Mark] = [
        Line(x=decays, y=row, color=COLORS[0], width=0.4, opacity=0.3) for row in rows
    ]
    medians = times.median().to_numpy()
    marks.append(Line(x=decays, y=medians, color=COLORS[1], marker="o", name="median", layer=2))
    return Panel(
        marks=marks,
        x=Axis(name="weight decay", scale="log", ticks=decays, tick_names=list(arms)),
        y=epochs_axis(arms),
        title="when it groks, one line per seed",
        alt="Lines: time to grok by weight decay",
    )


def picture(question: str, arms: Arms) -> Figure:
    panels = {"float64": jumps_panel, "decay": decay_panel, "learnable-norm": pizza_panel}
    panel = panels.get(question, times_panel)
    verdicts = verdicts_panel(arms)
    y = replace(verdicts.y, tick_names=[""] * len(arms))  # the left panel names the arms
    if question == "decay":
        y = replace(verdicts.y, name="weight decay")
    verdicts = replace(verdicts, y=y)
    return Figure(rows=[[panel(arms), verdicts]], width=9.6, height=3.8)


def print_power(networks: int = 128, trials: int = 200) -> None:
    """How often an interval of a paired difference or ratio excludes no effect."""
    generator = numpy.random.default_rng(0)
    spreads = {
        "Pizza's share, difference (spread 0.35 between paired networks)": 0.35,
        "log time ratio (spread 0.4)": 0.4,
    }
    for name, spread in spreads.items():
        for effect in (0.05, 0.1, 0.15):
            wins = 0
            for _ in range(trials):
                values = generator.normal(effect, spread, networks)
                draws = generator.integers(0, networks, (400, networks))
                wins += numpy.percentile(values[draws].mean(axis=1), 2.5) > 0
            print(f"{name}, {effect:g}: {wins / trials:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("question", choices=[*QUESTIONS, "power"])
    parser.add_argument("table", nargs="?", type=Path, help="by default gallery/QUESTION-arms")
    parser.add_argument("--picture", type=Path, help="by default docs/images/choice-QUESTION.png")
    arguments = parser.parse_args()
    question = arguments.question
    if question == "power":
        print_power()
        return
    table = arguments.table or GALLERY / f"{question}-arms"
    arms = arms_of(question, table)
    print_arms(arms)
    print()
    QUESTIONS[question](arms, table)
    save_figure(picture(question, arms), arguments.picture or IMAGES / f"choice-{question}.png")


if __name__ == "__main__":
    main()
