"""Networks with perturbed weights: no certificate claims more than is true, and the checker agrees.

    python tests/certificates/perturbed.py 10000     # about 3 minutes per 1,000 on one core

Forty networks are perturbed, from tiny noise to broken ones, each weight by its own random factor.
What is claimed is compared with logits in float64 wherever two logits are further apart than
rounding; the checker must prove every certificate.
"""

import argparse
import contextlib
import copy
import dataclasses
import functools
import importlib
import io
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from algophase.certificates.certify import certify, compact_part
from algophase.certificates.find_advice import find_advice
from algophase.certificates.forms import form_of
from algophase.core.settings import (
    LinearSettings,
    MLPSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Network, build, initialize
from algophase.networks.handmade import handmade_pizza
from algophase.storage import save

CHECKER = Path(__file__).parents[2] / "certificates"
SIZES = (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)  # of the noise


@functools.cache
def bases() -> list[Network]:
    """Forty networks: hand-made Pizzas, and small ones of every kind as they start."""
    networks: list[Network] = [
        handmade_pizza(p, frequencies)
        for p, frequencies in ((5, (1,)), (7, (1, 2)), (9, (1, 4)), (11, (1, 3)), (13, (2, 5)))
    ]
    for seed in range(5):
        task = TaskSettings(5 + seed)
        for rate in (0.0, 0.4, 1.0):
            settings = TransformerSettings(8, heads=2, attention_rate=rate)
            networks.append(initialize(RunSettings(task, settings, seed=seed)))
        gelu = TransformerSettings(8, activation="gelu", attention_rate=0.7)
        networks.append(initialize(RunSettings(TaskSettings(5, equals_sign=True), gelu, seed=seed)))
        models = [LinearSettings(model, 8, 12) for model in ("alpha", "beta", "delta")]
        networks += [initialize(RunSettings(task, settings, seed=seed)) for settings in models]
    return [*networks[:39], _mlp()]


def _mlp() -> Network:
    network = build(TaskSettings(group="S3"), MLPSettings(4, 9, "concatenate", own_tables=True))
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    return network


def perturbed(network: Network, size: float, draw: np.random.Generator) -> Network:
    with torch.no_grad():
        for parameter in network.parameters():
            scale = float(parameter.abs().mean()) + 1e-3
            noise = size * scale * draw.standard_normal(parameter.shape)
            parameter.add_(torch.from_numpy(noise).to(parameter.dtype))
    return network


def outcome(base: int, size: float, seed: int, folder: Path) -> str:
    """ "agree", or what is wrong."""
    draw = np.random.default_rng(seed)
    network = perturbed(copy.deepcopy(bases()[base]), size, draw)
    network.id = "perturbed"
    certificate = certify(network)
    right = answers(network.task).numpy()
    form = form_of(network)
    compact = compact_part(form, right, find_advice(form, right, None))
    certificate = dataclasses.replace(certificate, compact=compact)
    file = save(network, folder / "network", overwrite=True)
    certificate.save(folder / "certificate.json")
    with contextlib.redirect_stdout(io.StringIO()) as words:
        verdict = importlib.import_module("check").main(file, folder / "certificate.json")
    if verdict != 0:
        return f"checker: {words.getvalue().strip()}"
    every_pair = tokens(network.task, all_pairs(network.task.modulus))
    logits = network.double()(every_pair).detach().numpy()
    rows, answer = np.arange(len(logits)), right.ravel()
    others = logits.copy()
    others[rows, answer] = -np.inf
    margins = logits[rows, answer] - others.max(axis=1)
    rounding = 1e-12 * max(1.0, float(np.abs(logits).max()))
    may_be_right = int((margins > -rounding).sum())
    may_be_wrong = int((margins < rounding).sum())
    if certificate.proved_right > may_be_right or certificate.proved_wrong > may_be_wrong:
        return "more is claimed than is true"
    if compact["proved_right"] > may_be_right:
        return "the compact proof claims more than is true"
    return "agree"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args()
    sys.path.insert(0, str(CHECKER))
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(chosen.first, chosen.first + chosen.count):
            size = SIZES[(seed // 40) % len(SIZES)]
            tally[outcome(seed % 40, size, seed, Path(folder))] += 1
            if (seed + 1) % 500 == 0:
                print(seed + 1, dict(tally), flush=True)
    print(dict(tally))
    return 0 if set(tally) == {"agree"} else 1


if __name__ == "__main__":
    sys.exit(main())
