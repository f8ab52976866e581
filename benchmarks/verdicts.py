"""What an analysis costs, and how well verdicts hold on fresh runs of the paper's main experiment.

    .venv/bin/python benchmarks/verdicts.py --runs 256                 # needs a GPU: four minutes on an H200
    .venv/bin/python benchmarks/verdicts.py --runs 4 --epochs 2000     # tries it on a CPU

Trains one-layer networks (p = 59, width 128) at attention rates drawn from 0 to 1, then prints
milliseconds per network of `analyze_many`, measured in this run, and for the networks that answer
every pair right: quantiles of the program's share of the logits and of the instances' additivity,
the rate at which half are Pizzas, our labels beside the paper's and by tenth of the rate, and on
how many networks the distilled program agrees with every pair. With --out, one JSON row per network
is kept.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy

from algophase import (
    RunSettings,
    TrainingSettings,
    TransformerSettings,
    analyze_many,
    distill,
    train,
)
from algophase.analysis.catalogue import CIRCULARITY
from algophase.analysis.result import Analysis
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.devices import choose_device
from algophase.core.lines import reaches
from algophase.runs.boundary import phase_boundary

FIRST_SEED = 9000  # beyond those of the gallery


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--runs", type=int, default=256, help="networks to train (default: %(default)s)"
    )
    arguments.add_argument(
        "--epochs", type=int, default=20_000, help="of each (default: %(default)s)"
    )
    arguments.add_argument(
        "--device", default="auto", help="auto, cpu, cuda (default: %(default)s)"
    )
    arguments.add_argument("--out", type=Path, help="JSON file for one row per network")
    options = arguments.parse_args()
    device = choose_device(options.device)
    rates = numpy.random.default_rng(17).uniform(size=options.runs).tolist()
    training = TrainingSettings(epochs=options.epochs)
    runs = [RunSettings(network=TransformerSettings(attention_rate=rate), training=training, seed=FIRST_SEED + place)
            for place, rate in enumerate(rates)]  # fmt: skip
    begun = time.perf_counter()
    networks = [
        each.network for each in train(runs, device=str(device)) if each.network is not None
    ]
    print(
        f"trained {len(networks)} networks on {device}, "
        f"{(time.perf_counter() - begun) / len(runs):.3g} s per run"
    )
    analyses = list[Analysis]()
    for name in ("first", "again"):  # the first round warms up
        begun = time.perf_counter()
        analyses = [
            each for each in analyze_many(networks, device=device) if isinstance(each, Analysis)
        ]
        print(
            f"{name}: analysis {1e3 * (time.perf_counter() - begun) / len(networks):.1f} ms per "
            "network"
        )
    right = [place for place, each in enumerate(analyses) if each.accuracy == 1]
    print(f"{len(right)} of {len(networks)} answer every pair right")
    circular = [
        place for place in right if reaches(analyses[place].circularity, Thresholds().circularity)
    ]
    for name, places in (
        ("circular", circular),
        ("others", sorted({*right} - {*circular})),
        ("all", right),
    ):
        if places:
            program = quantiles([analyses[i].program.explained for i in places])
            additivity = quantiles([analyses[i].additivity for i in places])
            print(
                f"{name} ({len(places)}), 5%, 25% and median: program {program}, additivity "
                f"{additivity}"
            )
            pizzas = numpy.array([analyses[i].verdict.label == "Pizza" for i in places], float)
            boundary = phase_boundary(numpy.array([rates[i] for i in places]), pizzas)
            print(f"    attention rate at which half are Pizzas: {boundary}")
    for (paper, ours), count in Counter(
        (analyses[i].paper_label, analyses[i].verdict.label) for i in right
    ).most_common():
        print(f"{count:5}  paper's {paper}, ours {ours}")
    for tenth in range(10):
        labels = Counter(analyses[i].verdict.label for i in right if int(10 * rates[i]) == tenth)
        print(
            f"rate {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}: "
            f"{', '.join(f'{n} {label}' for label, n in labels.most_common())}"
        )
    proofs = [distill(networks[i]).certificate for i in right]
    print(
        "the distilled program answers every pair as the network does in "
        f"{sum(p.agreeing == p.pairs for p in proofs)} networks"
    )
    if options.out is not None:
        rows = [{"attention_rate": rates[i], "seed": runs[i].seed, "paper_label": analyses[i].paper_label,
                 "circularity": analyses[i].metrics[CIRCULARITY], "label": analyses[i].verdict.label,
                 "sentence": analyses[i].sentence, "explained": analyses[i].program.explained,
                 "additivity": analyses[i].additivity, "accuracy": analyses[i].accuracy}
                for i in range(len(networks))]  # fmt: skip
        options.out.write_text(json.dumps(rows, indent=1))


def quantiles(values: list[float]) -> str:
    return " / ".join(f"{value:.3f}" for value in numpy.quantile(values, [0.05, 0.25, 0.5]))


if __name__ == "__main__":
    main()
