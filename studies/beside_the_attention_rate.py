"""Draw what decides the algorithm beside the attention rate: heads, weight decay, modulus, data,
depth; and what heads follow.

    python studies/beside_the_attention_rate.py    # field.png, heads.png, depth.png of docs/images
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from algophase import Runs, attention_heads, load, read_runs
from algophase.analysis.hidden.heads import leans
from algophase.analysis.subject import Subject
from algophase.core.palette import COLORS, GRAY, VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import phase_boundary
from algophase.runs.laws import with_keys
from algophase.runs.statistics import Floats

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CLOCK = "fixed-width/networks/da98a6312948.safetensors"
HIGH = 0.8  # attention rates above this, where Clocks are the rule with four heads
DEPTHS = {"1": "fixed-width", "2": "layers-2", "3": "layers-3", "4": "layers-4"}
STEPS = {  # what ends, and how a run is still before it
    "symmetric gradients": ("^", COLORS[5], lambda runs: runs.gradient_symmetricity > 0.98),
    "Pizzas": ("s", COLORS[1], lambda runs: runs.verdict == "Pizza"),
}


def accurate(name: str) -> Runs:
    return Runs.read(ROOT / "gallery" / name).accurate


def stacked(axes: "Axes", groups: Mapping[str, Sequence[str]], verdicts: Sequence[str]) -> None:
    """A bar of verdicts for each group, with their numbers where there is room."""
    bottom = numpy.zeros(len(groups))
    for verdict in verdicts:
        numbers = [list(labels).count(verdict) for labels in groups.values()]
        sizes = [len(labels) for labels in groups.values()]
        share = numpy.array(numbers) / numpy.array(sizes)
        axes.bar(range(len(groups)), share, 0.7, bottom, color=VERDICTS[verdict][0], label=verdict)
        for position, (number, part, low) in enumerate(zip(numbers, share, bottom, strict=True)):
            if part > 0.06:
                middle = low + part / 2
                text = axes.text(position, middle, f"{number:,}", color="white", fontweight="bold")
                text.set(ha="center", va="center")
        bottom += share
    axes.set_xticks(range(len(groups)), list(groups))
    axes.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))


def by_heads(axes: "Axes") -> None:
    runs = accurate("heads").frame
    runs = runs[runs.attention_rate > HIGH]
    by_count = {str(count): group.verdict for count, group in runs.groupby("heads")}
    stacked(axes, by_count, ("Clock", "hybrid", "Pizza"))
    axes.set(
        xlabel="heads",
        ylabel=f"share of networks at rates above {HIGH}",
        title="one head: no Clock; eight: only Clocks",
    )


def boundaries(axes: "Axes", name: str, column: str) -> None:
    runs = accurate(name).frame
    for number, (label, (marker, color, is_still)) in enumerate(STEPS.items()):
        values, rates = [], []
        for value, group in runs.groupby(column):
            inside = is_still(group).to_numpy(float)
            boundary = phase_boundary(group.attention_rate.to_numpy(), inside)
            if boundary.rate is not None and boundary.rate.interval is not None:
                values.append(float(value))
                rates.append((boundary.rate.value, *boundary.rate.interval))
        step = 0.012 * (max(values) - min(values)) * (2 * number - 1)
        at, low, high = numpy.array(rates).T
        axes.errorbar(
            numpy.array(values) + step,
            at,
            [at - low, high - at],
            fmt=f"{marker}-",
            color=color,
            label=label,
            markersize=5,
            linewidth=1,
        )
    axes.set(ylabel="attention rate where\nhalf are left", ylim=(0.35, 1.0))
    axes.legend(frameon=False, loc="upper right")


def by_modulus(axes: "Axes") -> None:
    runs, _ = with_keys(accurate("moduli"))
    looks = ((0.0, "s", COLORS[1]), (0.5, "^", COLORS[5]), (1.0, "o", COLORS[0]))
    for rate, marker, color in looks:
        at_rate = runs[runs["attention_rate"] == rate]
        groups = [(p, part["_keys"].map(len).to_numpy()) for p, part in at_rate.groupby("modulus")]
        positions = [p + 1.2 * (rate - 0.5) for p, _ in groups]
        means = numpy.array([keys.mean() for _, keys in groups])
        errors = [1.96 * keys.std(ddof=1) / len(keys) ** 0.5 for _, keys in groups]
        spread = numpy.array(errors)
        axes.errorbar(
            positions,
            means,
            spread,
            fmt=f"{marker}-",
            color=color,
            label=f"rate {rate:g}",
            markersize=4,
            linewidth=1,
        )
    axes.set(
        xlabel="modulus p",
        ylabel="key frequencies",
        ylim=(0, None),
        title="three or four keys, at every p",
    )
    axes.legend(frameon=False, loc="lower right", ncols=3)


def draw_field() -> "Figure":
    figure = new_figure(9.6, 6.4)
    (heads, decay), (modulus, data) = figure.subplots(2, 2)
    by_heads(heads)
    boundaries(decay, "decay", "weight_decay")
    decay.set(xlabel="weight decay", title="more weight decay, earlier Clocks")
    by_modulus(modulus)
    boundaries(data, "data", "training_fraction")
    data.set(xlabel="share of pairs to train on", title="more data, slightly earlier Clocks")
    return figure


def draw_depth() -> "Figure":
    """Left: verdicts by depth. Middle: networks that answer some pairs wrong. Right: the
    read-out of four layers.
    """
    tables = {layers: read_runs(ROOT / "gallery" / name) for layers, name in DEPTHS.items()}
    figure = new_figure(9.6, 3.6)
    verdicts, wrong, readout = figure.subplots(1, 3)
    kinds = ("Clock", "hybrid", "Pizza", "other", "not learned")
    stacked(verdicts, {layers: runs.verdict for layers, runs in tables.items()}, kinds)
    verdicts.set(
        xlabel="layers",
        ylabel="share of networks",
        title="four layers: half do not learn all pairs",
    )
    for (layers, runs), marker in zip(tables.items(), "Ds^o", strict=True):
        networks = runs[runs.accuracy < 1]
        name = f"{layers} layer" if layers == "1" else f"{layers} layers"
        style = {
            "marker": marker,
            "color": COLORS[5] if layers == "4" else "black",
            "alpha": 0.6,
            "linewidth": 0,
        }
        wrong.scatter(
            networks.accuracy, networks["program.answer_accuracy"], 16, label=name, **style
        )
    wrong.plot([0, 1], [0, 1], color=GRAY, linewidth=0.9, linestyle=":")
    wrong.set(xlabel="pairs the network answers right", ylabel="by what follows the answer alone")
    wrong.set(title="where it errs, the answer is there", xlim=(0, 1.03), ylim=(0, 1.03))
    wrong.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    runs = tables["4"]
    for verdict in kinds:
        networks, (color, marker) = runs[runs.verdict == verdict], VERDICTS[verdict]
        readout.scatter(
            networks.cross_entropy,
            networks["program.readout_share"],
            12,
            marker=marker,
            color=color,
            label=verdict,
        )
    readout.set(xscale="log", xlabel="loss, all pairs", ylabel="read-out's share of the logits")
    readout.set(title="four layers: read-out and loss")
    readout.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return figure


def draw_heads() -> "Figure":
    """Left: the waves of one network's four heads. Right: what a frequency does, by how many
    heads follow it.
    """
    network = load(ROOT / "gallery" / CLOCK)
    heads = attention_heads(network)
    p = network.task.modulus
    waves = leans(Subject(network).network).mean(dim=2).numpy()  # (head, a)
    figure = new_figure(9.6, 3.0)
    first, second, right = figure.subplots(1, 3)
    for axes, frequency in zip((first, second), sorted({*heads.frequency.tolist()}), strict=True):
        turn = (frequency * numpy.arange(p)) % p
        order = turn.argsort()
        for number, head in enumerate(heads.followers(frequency)):
            style = {
                "color": COLORS[(0, 5)[number]],
                "marker": "os"[number],
                "markersize": 3,
                "linewidth": 1,
            }
            axes.plot(
                turn[order], waves[head][order] - waves[head].mean(), label=f"head {head}", **style
            )
        axes.set(
            xlabel=f"{frequency} a mod {p}",
            ylabel="lean towards a",
            title=f"the Clock of frequency {frequency}",
        )
        axes.set_ylim(-0.32, 0.42)
        axes.legend(frameon=False, ncols=2, loc="upper center")
    runs = read_runs(ROOT / "gallery" / "heads-short")
    random = numpy.random.default_rng(0)
    looks = ((1, "s", COLORS[1]), (2, "^", COLORS[5]), (4, "o", COLORS[0]), (8, "D", COLORS[2]))
    for count, marker, color in looks:
        followers, parts = followers_and_parts(runs[runs.heads == count])
        shift = 0.12 * (numpy.log2(count) - 1.5) + random.uniform(-0.04, 0.04, len(parts))
        label = f"{count} head{'s' * (count > 1)}"
        right.scatter(followers + shift, parts, 16, marker=marker, color=color, label=label)
    for line in (1 / 3, 2 / 3):
        right.axhline(line, color=GRAY, linewidth=0.9, linestyle=":")
    right.set_xticks(range(5))
    right.set(xlabel="heads that follow a frequency", ylabel="Pizza's part of its circle")
    right.set_title("no head: Pizza; two heads: Clock")
    right.legend(frameon=False, loc="upper right")
    return figure


def followers_and_parts(networks: "pandas.DataFrame") -> tuple[Floats, Floats]:
    """Of every instance of these networks: how many heads follow its leading frequency, and the
    Pizza's part of its circle.
    """
    pairs = []
    for _, row in networks.iterrows():
        of_heads = numpy.array(row["hidden.heads.frequency"])
        instances = zip(row["instances.frequencies"], row["instances.pizza_part"], strict=True)
        for frequencies, part in instances:
            followers = (of_heads == frequencies[0]).sum()
            pairs.append((followers, part))
    followers_of, parts = numpy.array(pairs, dtype=float).T
    return followers_of, parts


def main() -> None:
    with house_style():
        save_figure(draw_field(), IMAGES / "field.png")
        save_figure(draw_heads(), IMAGES / "heads.png")
        save_figure(draw_depth(), IMAGES / "depth.png")


if __name__ == "__main__":
    main()
