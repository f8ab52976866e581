"""Does an engineered trio of frequencies survive training? Pairs of runs whose start has three
strong frequencies: k, l and k + l, or the same k and l with an unrelated third.

    python studies/engineered_trio.py          # gallery/trios: tests, docs/images/trios.png
    python studies/engineered_trio.py power    # what the planned tests can find

The plan is studies/plans/engineered_trio.md. It was committed before the runs were made.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import pandas

from algophase import read_runs
from algophase.core.palette import COLORS
from algophase.networks.planted import planted_frequencies
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import bootstrap_interval
from algophase.runs.rows import run_from_row
from algophase.runs.statistics import Share, wilson
from algophase.storage.sweep_directory import SweepDirectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "trios"
PICTURE = ROOT / "docs" / "images" / "trios.png"
ARMS = ("sum", "unrelated")
THRESHOLDS = (0.01, 0.05)  # of the logits, of a key frequency
QUESTIONS = {
    "trio": "all three are keys",
    "pair": "k and l are keys",
    "third": "the third is a key",
}
NAMES = ("k", "l", "third")  # of the planted frequencies
LEVEL = 0.01
DRAWS = 2000
COLOR = {"sum": COLORS[5], "unrelated": COLORS[0]}
TRIO = {"sum": "k, l, k + l", "unrelated": "k, l, unrelated"}
MARKER = {"sum": "o", "unrelated": "s"}


def keys_of(row: dict[str, Any], least: float) -> set[int]:
    """The frequencies that hold at least this share of the network's logits."""
    if not isinstance(row["program.frequencies"], list | tuple | numpy.ndarray):
        return set()  # a network without a program
    shares = zip(row["program.frequencies"], row["program.frequency_shares"], strict=True)
    return {int(frequency) for frequency, share in shares if share >= least}


def with_survivors(runs: pandas.DataFrame, least: float) -> pandas.DataFrame:
    """A row per run or moment: which of its planted frequencies are keys."""
    records = []
    for row in runs.to_dict("records"):
        trio = planted_frequencies(run_from_row(row))
        keys = keys_of(row, least)
        kept = [frequency in keys for frequency in trio]
        records.append(
            {
                "arm": row["planted_trio"],
                "seed": row["seed"],
                "epoch": row.get("epoch", row["epochs"]),
                "verdict": row["verdict"],
                "accurate": row["accuracy"] == 1,
                "survivors": sum(kept),
                "trio": all(kept),
                "pair": kept[0] and kept[1],
                "third": kept[2],
                "missing": ", ".join(
                    name for name, is_key in zip(NAMES, kept, strict=True) if not is_key
                ),
                "keys": len(keys),
            }
        )
    return pandas.DataFrame(records)


def paired(ends: pandas.DataFrame, column: str) -> pandas.DataFrame:
    """One row per seed whose two networks are both accurate: a column by arm."""
    accurate = ends[ends.accurate]
    by_arm = accurate.pivot(index="seed", columns="arm", values=column)
    return by_arm.reindex(columns=ARMS).dropna()


def mcnemar(pairs: pandas.DataFrame) -> float:
    """The exact two-sided p-value of equal shares in both arms, from the pairs that differ."""
    from scipy.stats import binomtest

    of_sum = pairs["sum"].astype(bool)
    of_unrelated = pairs["unrelated"].astype(bool)
    only_sum = int((of_sum & ~of_unrelated).sum())
    only_unrelated = int((~of_sum & of_unrelated).sum())
    differing = only_sum + only_unrelated
    if not differing:
        return 1.0
    return float(binomtest(only_sum, differing).pvalue)


def compare(pairs: pandas.DataFrame, seed: int = 0) -> str:
    """Both shares, their ratio and difference with 95% intervals over seeds, and the test."""
    if pairs.empty:
        return "no seed has two accurate networks"
    sums = pairs["sum"].to_numpy(float)
    unrelated = pairs["unrelated"].to_numpy(float)
    random = numpy.random.default_rng(seed)
    drawn = random.integers(len(pairs), size=(DRAWS, len(pairs)))
    sum_means = sums[drawn].mean(axis=1)
    unrelated_means = unrelated[drawn].mean(axis=1)
    low, high = bootstrap_interval(sum_means - unrelated_means)
    ratio_low, ratio_high = bootstrap_interval(sum_means / unrelated_means.clip(min=1e-9))
    ratio = sums.mean() / max(unrelated.mean(), 1e-9)
    return (
        f"sum {Share(int(sums.sum()), len(pairs))}, "
        f"unrelated {Share(int(unrelated.sum()), len(pairs))}\n"
        f"    difference {sums.mean() - unrelated.mean():+.3f} [{low:+.3f}, {high:+.3f}], "
        f"ratio {ratio:.3f} [{ratio_low:.3f}, {ratio_high:.3f}], p = {mcnemar(pairs):.2g}"
    )


def report(runs: pandas.DataFrame) -> None:
    for least in THRESHOLDS:
        ends = with_survivors(runs, least)
        print(f"keys with at least {least:.0%} of the logits")
        for arm in ARMS:
            of_arm = ends[ends.arm == arm]
            accurate = of_arm[of_arm.accurate]
            survivors = accurate.survivors.value_counts().sort_index()
            print(
                f"  {arm}: {len(accurate)} of {len(of_arm)} networks are accurate; planted keys "
                f"left {survivors.to_dict()}, keys in all {accurate['keys'].mean():.2f}"
            )
        for column, question in QUESTIONS.items():
            print(f"  {question}: {compare(paired(ends, column))}")
        for verdict in ("Clock", "hybrid", "Pizza"):
            for arm in ARMS:
                chosen = ends[(ends.arm == arm) & (ends.verdict == verdict) & ends.accurate]
                trios = Share(int(chosen.trio.sum()), len(chosen))
                print(f"  {verdict}, {arm}: all three are keys in {trios}")


def describe(runs: pandas.DataFrame, moments: pandas.DataFrame) -> None:
    """What the plan describes without a test (along training), and what was counted after the
    fact: which of three keys is missing.
    """
    along = with_survivors(moments, THRESHOLDS[0])
    print("along training, all networks of an arm")
    for (arm, epoch), looked_at in along.groupby(["arm", "epoch"]):
        trios = Share(int(looked_at.trio.sum()), len(looked_at))
        accurate = Share(int(looked_at.accurate.sum()), len(looked_at))
        print(f"  {arm}, epoch {epoch:,}: all three are keys in {trios}, accurate {accurate}")
    ends = with_survivors(runs, THRESHOLDS[0])
    print(
        "after the fact: accurate networks with two planted keys left, by the one that is missing"
    )
    for arm in ARMS:
        two_left = ends[(ends.arm == arm) & ends.accurate & (ends.survivors == 2)]
        print(f"  {arm}: {two_left.missing.value_counts().sort_index().to_dict()}")


def draw(runs: pandas.DataFrame, moments: pandas.DataFrame) -> "Figure":
    """Planted keys left at the end, and the share of whole trios along training."""
    figure = new_figure(8.4, 3.0)
    left, right = figure.subplots(1, 2)
    ends = with_survivors(runs, THRESHOLDS[0])
    along = with_survivors(moments, THRESHOLDS[0])
    for shift, arm in ((-0.2, "sum"), (0.2, "unrelated")):
        of_arm = ends[(ends.arm == arm) & ends.accurate]
        for survivors in range(4):
            count = int((of_arm.survivors == survivors).sum())
            share = count / len(of_arm)
            low, high = wilson(count, len(of_arm))
            label = TRIO[arm] if survivors == 0 else None
            x = survivors + shift
            left.bar(x, share, width=0.36, color=COLOR[arm], label=label)
            reach = [[share - low], [high - share]]
            left.errorbar(x, share, reach, fmt="none", ecolor="0.2", linewidth=0.9)
        by_epoch = along[along.arm == arm].groupby("epoch").trio
        shares = by_epoch.mean()
        right.plot(
            shares.index, shares, color=COLOR[arm], marker=MARKER[arm], markersize=4, linewidth=1
        )
        intervals = [wilson(int(trios.sum()), len(trios)) for _, trios in by_epoch]
        lows, highs = zip(*intervals, strict=True)
        right.fill_between(shares.index, lows, highs, color=COLOR[arm], alpha=0.2, linewidth=0)
    left.set_xticks(range(4))
    left.set(
        xlabel="planted frequencies that are keys at the end",
        ylabel="share of networks",
        title="what is left of a trio",
    )
    left.legend(frameon=False, loc="upper left")
    right.set_xscale("log")
    epochs = sorted(along.epoch.unique())
    right.set_xticks(epochs, [f"{epoch:,}" for epoch in epochs])
    right.minorticks_off()
    right.set(
        xlabel="epoch",
        ylabel="all three are keys",
        ylim=(0, None),
        title="when trios break up",
    )
    return figure


def power(seed: int = 0) -> None:
    """How often McNemar's test finds a difference at the level of the plan: 256 pairs whose
    two networks are independent.
    """
    random = numpy.random.default_rng(seed)
    for unrelated in (0.8, 0.5, 0.2, 0.1):
        for ratio in (0.25, 0.5, 0.75):
            rejected = 0
            for _ in range(400):
                of_sum = random.random(256) < ratio * unrelated
                of_unrelated = random.random(256) < unrelated
                pairs = pandas.DataFrame({"sum": of_sum, "unrelated": of_unrelated})
                rejected += mcnemar(pairs) < LEVEL
            print(
                f"{unrelated:.0%} of unrelated trios survive, {ratio:g} times as many of those "
                f"with a sum: found in {rejected / 400:.0%}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", nargs="?", choices=("report", "power"), default="report")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    if arguments.do == "power":
        power()
        return
    runs = read_runs(arguments.table)
    report(runs)
    kept = SweepDirectory(arguments.table).moments()
    assert kept is not None  # the space asks for them
    moments = kept.to_pandas()
    describe(runs, moments)
    with house_style():
        save_figure(draw(runs, moments), arguments.picture)


if __name__ == "__main__":
    main()
