"""Train networks over the whole range of attention rates with the fastest engine and show the phase transition.

    .venv/bin/python benchmarks/transition.py --runs 64 --out transition.csv      # on a GPU: about a minute a hundred runs

Prints, for each fifth of the range, how many runs reached full accuracy, how many of those are circular, and the
medians of the metrics over circular runs; writes one row a run.
"""

import argparse
import csv
import multiprocessing
import os
import statistics
import time
from pathlib import Path

import torch

from algophase import RunSettings, TransformerSettings, analyze, train
from algophase.networks import Network

COLUMNS = [
    "run_id",
    "seed",
    "attention_rate",
    "accuracy",
    "validation_accuracy",
    "training_loss",
    "parameter_norm",
    "gradient_symmetricity",
    "gradient_symmetricity_exact",
    "distance_irrelevance",
    "distance_irrelevance_wrong_logit",
    "circularity",
    "verdict",
]


def measure(network: Network) -> dict[str, object]:
    torch.set_num_threads(1)
    return analyze(network).to_dict()


def median(rows: list[dict[str, object]], name: str) -> str:
    values = [float(str(row[name])) for row in rows if row[name] is not None]
    return f"{statistics.median(values):.3f}" if values else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--precision")
    parser.add_argument("--out", type=Path, default=Path("transition.csv"))
    options = parser.parse_args()
    runs = [
        RunSettings(
            network=TransformerSettings(width=options.width, attention_rate=(i + 0.5) / options.runs),
            seed=options.first_seed + i,
        )
        for i in range(options.runs)
    ]
    started = time.perf_counter()
    trained = train(runs, precision=options.precision, history_stride=1000, notice=print)
    seconds = time.perf_counter() - started
    print(f"trained {len(runs)} networks in {seconds:.1f} s: {seconds / len(runs):.3f} s a run, history and check included")
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        finite = [(outcome, outcome.network) for outcome in trained if outcome.network is not None]
        analyses = pool.map(measure, [network for _, network in finite], chunksize=1)
    rows: list[dict[str, object]] = []
    for (outcome, _), analysis in zip(finite, analyses, strict=True):
        network = outcome.run.network
        assert isinstance(network, TransformerSettings)
        last = {
            name: float(getattr(outcome.history, name)[-1])
            for name in ("validation_accuracy", "training_loss", "parameter_norm")
        }
        rows.append(
            {
                "run_id": outcome.run.run_id,
                "seed": outcome.run.seed,
                "attention_rate": network.attention_rate,
                **last,
                **analysis,
            }
        )
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    counted = f"{'rate':<12} {'runs':>5} {'full accuracy':>14} {'circular':>9}"
    print(f"{counted} {'symmetricity':>13} {'irrelevance':>12} {'wrong logit':>12}")
    for fifth in range(5):
        some = [row for row in rows if fifth / 5 <= float(str(row["attention_rate"])) < (fifth + 1) / 5]
        full = [row for row in some if row["validation_accuracy"] == 1]
        circular = [row for row in full if float(str(row["circularity"])) >= 0.995]
        names = ("gradient_symmetricity", "distance_irrelevance", "distance_irrelevance_wrong_logit")
        medians = [median(circular, name) for name in names]
        counts = f"{len(some):>5} {len(full):>14} {len(circular):>9}"
        print(f"{fifth / 5:.1f} to {(fifth + 1) / 5:.1f}   {counts} {medians[0]:>13} {medians[1]:>12} {medians[2]:>12}")
    print(f"one row a run: {options.out}")


if __name__ == "__main__":
    main()
