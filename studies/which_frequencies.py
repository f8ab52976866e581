"""Draw what the findings say about key frequencies: which are keys together, how many, and what the
start says about them.

    python studies/which_frequencies.py    # docs/images/laws.png, docs/images/relations.png
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from algophase import Runs
from algophase.core.palette import COLORS, GRAY
from algophase.core.relations import RELATIONS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.law_tests import KeySets, key_sets
from algophase.runs.laws import relations_in, with_keys
from algophase.runs.rows import run_from_row
from algophase.runs.starts import BOTH, EMBEDDING, UNEMBEDDING, initial_powers
from algophase.runs.statistics import wilson

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "laws.png"
RELATIONS_PICTURE = ROOT / "docs" / "images" / "relations.png"
THRESHOLDS = (0.01, 0.05)  # of the logits, of a key frequency
# From the paper's main experiment to those least like it
TABLES = (
    "fixed-width",
    "varying-width",
    "moduli",
    "data",
    "decay",
    "heads",
    "gelu",
    "equals-sign",
    "separate-vocabularies",
    "layers-2",
    "layers-4",
    "linear-beta",
    "linear-gamma",
    "linear-delta",
    "linear-alpha-prime",
    "linear-alpha",
)
MODULUS = 59
WIDTHS = 8  # groups of equal size


def ratio_classes(modulus: int) -> list[int]:
    """The smallest of u, 1/u and their negatives, for each pair of frequencies that can be told
    apart by its ratio.
    """
    classes = []
    for u in range(2, (modulus - 1) // 2 + 1):
        inverse = pow(u, -1, modulus)
        if u < min(inverse, modulus - inverse):
            classes.append(u)
    return classes


def relations_figure() -> "Figure":
    """Every relation in the main table, and sums in every table; keys of two sizes."""
    figure = new_figure(9.6, 3.9)
    relations, tables = figure.subplots(1, 2)
    main_table = Runs.read(ROOT / "gallery" / "fixed-width")
    by_relation = [(name, main_table, name) for name in RELATIONS]
    for least in THRESHOLDS:
        _draw_ratios(relations, by_relation, least)
        by_table = [(name, Runs.read(ROOT / "gallery" / name), "i + j = l") for name in TABLES]
        _draw_ratios(tables, by_table, least)
    relations.set_title("one-layer transformers, by relation")
    relations.legend(frameon=False, loc="lower left", title="a key has, of the logits,")
    tables.set_title("sums i + j = l, by population")
    for axes in (relations, tables):
        axes.axvline(1, color="0.3", linewidth=0.8, linestyle=":")
        axes.set(xlabel="relative to random sets of the same sizes", xlim=(0, 1.3))
        axes.invert_yaxis()
    return figure


def _draw_ratios(axes: "Axes", rows: list[tuple[str, Runs, str]], least: float) -> None:
    """One point per row (label, runs, relation), with its interval."""
    color = COLORS[5] if least == THRESHOLDS[0] else COLORS[0]
    shift = -0.15 if least == THRESHOLDS[0] else 0.15
    for position, (_, runs, relation) in enumerate(rows):
        ratio = relations_in(runs, relation, least)
        low, high = ratio.interval
        axes.errorbar(
            ratio.value,
            position + shift,
            xerr=[[ratio.value - low], [high - ratio.value]],
            fmt="o" if least == THRESHOLDS[0] else "s",
            color=color,
            markersize=4,
            linewidth=0.9,
            label=f"at least {least:.0%}" if position == 0 else None,
        )
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])


def laws_figure() -> "Figure":
    runs, _ = with_keys(Runs.read(ROOT / "gallery" / "fixed-width"))
    widths, _ = with_keys(Runs.read(ROOT / "gallery" / "varying-width"))
    sets = key_sets(MODULUS, runs["_keys"])
    figure = new_figure(9.6, 3.0)
    pairs, number, start = figure.subplots(1, 3)
    _draw_pairs(pairs, sets)
    _draw_numbers(number, widths)
    _draw_starts(start, runs, sets)
    return figure


def _draw_pairs(axes: "Axes", sets: KeySets) -> None:
    """How often k and u k are keys together, relative to chance, with bootstrap intervals."""
    random = numpy.random.default_rng(0)
    ratios = ratio_classes(MODULUS)
    counts = numpy.array([sets.pairs(sets.member, u) for u in ratios])  # (ratio, network)
    chance = (sets.sizes * (sets.sizes - 1) / 2).sum() / len(ratios)
    networks = len(sets.member)
    drawn = random.integers(networks, size=(500, networks))
    again = counts[:, drawn].sum(axis=2) / chance
    value = counts.sum(axis=1) / chance
    low, high = numpy.quantile(again, [0.025, 0.975], axis=1)
    positions = range(len(ratios))
    colors = [COLORS[5] if u == 2 else COLORS[0] for u in ratios]
    axes.bar(positions, value, color=colors, width=0.7)
    reach = [value - low, high - value]
    axes.errorbar(positions, value, reach, fmt="none", ecolor="0.2", linewidth=0.9)
    axes.axhline(1, color="0.3", linewidth=0.8, linestyle=":")
    axes.set_xticks(positions, [str(u) for u in ratios])
    axes.set(
        xlabel="u",
        ylabel="pairs of keys k, uk\nrelative to chance",
        title="k and 2k avoid each other",
    )


def _draw_numbers(axes: "Axes", runs: "pandas.DataFrame") -> None:
    """The mean number of keys by width, in groups of equal size."""
    order = runs["width"].to_numpy().argsort(kind="stable")
    for rows in numpy.array_split(order, WIDTHS):
        counts = runs["_keys"].iloc[rows].map(len).to_numpy()
        middle = float(numpy.median(runs["width"].iloc[rows]))
        spread = 1.96 * counts.std(ddof=1) / len(counts) ** 0.5
        axes.errorbar(middle, counts.mean(), spread, fmt="o", color=COLORS[0], markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks([32, 64, 128, 256, 512], ["32", "64", "128", "256", "512"])
    axes.set(
        xlabel="width",
        ylabel="key frequencies",
        ylim=(0, None),
        title="wider networks have more",
    )


def _draw_starts(axes: "Axes", runs: "pandas.DataFrame", sets: KeySets) -> None:
    """The share of frequencies that become keys, by the rank of their power at the start."""
    powers = [initial_powers(run_from_row(row)) for row in runs.to_dict("records")]
    ranks_drawn = range(1, sets.count + 1)
    looks = ((BOTH, COLORS[5], "o"), (EMBEDDING, COLORS[0], "s"), (UNEMBEDDING, COLORS[2], "^"))
    for table, color, marker in looks:
        ranks = numpy.array([(-of_run[table]).argsort().argsort() for of_run in powers])
        kept = [int(sets.member[ranks == rank].sum()) for rank in range(sets.count)]
        share = numpy.array(kept) / len(powers)
        axes.plot(
            ranks_drawn, share, color=color, marker=marker, markersize=3, linewidth=1, label=table
        )
        if table == BOTH:
            intervals = [wilson(count, len(powers)) for count in kept]
            low, high = zip(*intervals, strict=True)
            axes.fill_between(ranks_drawn, low, high, color=color, alpha=0.2, linewidth=0)
    axes.axhline(sets.member.mean(), color=GRAY, linewidth=0.9, linestyle=":")
    axes.set(
        xlabel="rank of a frequency's power at the start",
        ylabel="share that become keys",
        ylim=(0, None),
    )
    axes.set_title("strong frequencies become keys")
    axes.legend(frameon=False)


def main() -> None:
    with house_style():
        save_figure(relations_figure(), RELATIONS_PICTURE)
        save_figure(laws_figure(), PICTURE)


if __name__ == "__main__":
    main()
