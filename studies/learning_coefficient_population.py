"""The local learning coefficient of two populations, at four settings: measure it, or draw what was
measured.

    python studies/learning_coefficient_population.py    # draws and sums up gallery/llc.csv:
                                                         # docs/images/llc-population.png
    python studies/learning_coefficient_population.py measure gallery/llc.csv SWEEP SWEEP

The sweeps are of `clock-training` and `pizza-training` (attention rates 1 and 0, as in the one
published figure), made with --keep-weights all.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy
import pandas

from algophase import Sampling, learning_coefficients, load, read_runs
from algophase.core.palette import VERDICTS
from algophase.pictures.style import house_style, new_figure
from algophase.reports.save_figure import save_figure
from algophase.runs.boundary import bootstrap_interval
from algophase.storage.sweep_directory import SweepDirectory

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "gallery" / "llc.csv"
PICTURE = ROOT / "docs" / "images" / "llc-population.png"
PAIRS = 2784  # trained on
SETTINGS = {  # chains, burn-in, draws
    "gamma 1000": Sampling(4, 200, 400, localization=1000.0),
    "gamma 300": Sampling(4, 300, 400, localization=300.0),
    "gamma 100": Sampling(4, 400, 400, localization=100.0),
    "published": Sampling(4, 0, 2000, localization=100.0, inverse_temperature=10 / PAIRS),
}
TITLES = {
    "gamma 1000": "$\\beta = 1/\\log n$, $\\gamma$ = 1000",
    "gamma 300": "$\\beta = 1/\\log n$, $\\gamma$ = 300",
    "gamma 100": "$\\beta = 1/\\log n$, $\\gamma$ = 100",
    "published": "$n\\beta$ = 10, $\\gamma$ = 100, no burn-in",
}
PUBLISHED = {1.0: (24, 31), 0.0: (45, 69)}  # by attention rate, five seeds each
COLUMNS = (
    "setting",
    "attention_rate",
    "verdict",
    "run_id",
    "value",
    "low",
    "high",
    "distance",
    "r_hat",
    "loss",
    "trusted",
)


def measure(out: Path, sweeps: Sequence[Path], most: int, device: str) -> None:
    """One row per setting and network: the first runs of each sweep that answer every pair
    right.
    """
    rows, networks = [], []
    for sweep in sweeps:
        table = read_runs(sweep)
        right = table[table.accuracy == 1].sort_values("index").head(most)
        rows += list(right.itertuples())
        files = SweepDirectory(sweep).kept_files()
        networks += [load(files[row.run_id]) for row in right.itertuples()]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for name, sampling in SETTINGS.items():
            for row, coefficient in zip(
                rows, learning_coefficients(networks, sampling, device=device), strict=True
            ):
                numbers = (
                    coefficient.value,
                    *coefficient.interval,
                    coefficient.distance,
                    coefficient.r_hat,
                    coefficient.loss,
                )
                cells = [f"{number:.6g}" for number in numbers]
                writer.writerow(
                    [
                        name,
                        row.attention_rate,
                        row.verdict,
                        row.run_id,
                        *cells,
                        not coefficient.warnings,
                    ]
                )
            print(
                f"{name}: {len(networks)} networks, {coefficient.engine} engine on "
                f"{coefficient.device}, {coefficient.precision}",
                flush=True,
            )


def draw(path: Path) -> None:
    from matplotlib.ticker import NullFormatter

    table = pandas.read_csv(path)
    with house_style():
        figure = new_figure(9.6, 2.9)
        panels = figure.subplots(1, len(TITLES))
        for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
            at_setting = table[table.setting == name]
            for position, (rate, group) in enumerate(at_setting.dropna().groupby("attention_rate")):
                draws = numpy.random.default_rng(0).uniform(-0.2, 0.2, len(group))
                for verdict, networks in group.groupby("verdict"):
                    color, marker = VERDICTS[verdict][:2]
                    shift = draws[group.verdict.to_numpy() == verdict]
                    axes.scatter(
                        position + shift,
                        networks.value,
                        s=9,
                        color=color,
                        marker=marker,
                        linewidth=0,
                        alpha=0.8,
                    )
                middle, left, right = group.value.median(), position - 0.3, position + 0.3
                axes.hlines(middle, left, right, color="black", linewidth=1.2)
                if name == "published":
                    axes.vlines(position + 0.4, *PUBLISHED[rate], color="0.4", linewidth=3)
            axes.set(title=title, xlabel="attention rate", xlim=(-0.6, 1.6), yscale="log")
            axes.set_xticks([0, 1], ["0", "1"])
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
        figure.axes[0].set_ylabel("local learning coefficient")
        present = [verdict for verdict in VERDICTS if (table.verdict == verdict).any()]
        first, *_, next_to_last, last = figure.axes
        for verdict in present:
            color, marker = VERDICTS[verdict][:2]
            first.scatter([], [], s=14, color=color, marker=marker, label=verdict)
        first.plot([], [], color="black", linewidth=1.2, label="median")
        first.legend(frameon=False, loc="best")
        last.plot([], [], color="0.4", linewidth=3, label="published: five seeds")
        last.legend(frameon=False, loc="upper right")
        next_to_last.set(yticks=[70, 100, 200, 500])
        last.set(ylim=(20, 100), yticks=[20, 30, 50, 70, 100])
        save_figure(figure, PICTURE)


def summary(path: Path) -> list[str]:
    """A line per setting and attention rate: the median with its 95% interval over networks
    whose chains did not diverge.
    """
    table = pandas.read_csv(path)
    lines = []
    random = numpy.random.default_rng(0)
    for name in TITLES:
        for rate, group in table[table.setting == name].groupby("attention_rate"):
            values = group.value.dropna().to_numpy()
            count = len(values)
            drawn = random.integers(count, size=(2000, count))
            low, high = bootstrap_interval(numpy.median(values[drawn], axis=1))
            median = f"median {numpy.median(values):.3g} [{low:.3g}, {high:.3g}]"
            fifth, last = numpy.quantile(values, [0.05, 0.95])
            spread = f"90% from {fifth:.3g} to {last:.3g}"
            trust = f"{int(group.trusted.sum())} without a warning"
            lines.append(
                f"{name}, rate {rate:g}, {count} networks: {median}, {spread}; "
                f"distance {group.distance.median():.2f}, {trust}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", nargs="?", choices=("draw", "measure"), default="draw")
    parser.add_argument("table", nargs="?", type=Path, default=TABLE)
    parser.add_argument("sweeps", type=Path, nargs="*")
    parser.add_argument("--networks", type=int, default=64, help="of each sweep")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    if arguments.do == "measure":
        measure(arguments.table, arguments.sweeps, arguments.networks, arguments.device)
    else:
        draw(arguments.table)
        print("\n".join(summary(arguments.table)))


if __name__ == "__main__":
    main()
