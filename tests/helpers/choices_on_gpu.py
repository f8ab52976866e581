"""Every training choice on this machine's GPU against the plain engine in float64, after 20 epochs at
the paper's size, and how long an epoch takes. No test framework is needed:

    python tests/helpers/choices_on_gpu.py              # --cpu: try the script itself on a CPU

A line has the choice, the engine, and the distance of the weights, as a share of how far training
moved them. Rounding to eleven bits gives a few percent; a wrong update gives tens of percent.
"""

import argparse
import sys
import time
from dataclasses import replace

import torch

from algophase import RunSettings, TaskSettings, TrainingSettings, TransformerSettings, train
from algophase.networks import initialize
from algophase.training.run.loop import Ensemble
from algophase.training.run.plan import plan

CHOICES: dict[str, dict[str, object]] = {
    "adamw": {},
    "muon": {"optimizer": "muon"},
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 1e-3},
    "stablemax": {"loss": "stablemax"},
    "float64 loss": {"loss_precision": "float64"},
    "PyTorch's loss": {"loss": "torch-cross-entropy"},
    "fixed norm": {"fixed_norm": 20.0, "weight_decay": 0.0},
    "decay for some epochs": {"decay_from": 5, "decay_until": 20},
    "cosine": {"schedule": "cosine"},
    "large start": {"initial_scale": 1.5},
}
LARGEST_DISTANCE = 0.15
EPOCHS = 20


def flat(network: torch.nn.Module | None) -> torch.Tensor:
    assert network is not None
    return torch.cat([value.detach().double().flatten() for value in network.parameters()])


def distances(run: RunSettings, device: str) -> dict[str, float]:
    """How far the weights of an engine are from the specification's, by engine."""
    (reference,) = train([run], "plain", device, "float64", progress=False)
    exact = flat(reference.network)
    moved = (exact - flat(initialize(run))).norm()
    by_engine = {}
    for engine in ("auto", "stacked"):
        (trained,) = train([run], engine, device, progress=False, check_gradients=False)
        by_engine[trained.engine] = float((flat(trained.network) - exact).norm() / moved)
    return by_engine


def milliseconds(
    training: TrainingSettings, device: str, networks: int, layers: int, precision: str | None
) -> str:
    """Of an epoch of an ensemble at the paper's size, with its engine."""
    network = TransformerSettings(layers=layers)
    runs = [RunSettings(TaskSettings(), network, training, seed) for seed in range(networks)]
    (group,) = plan(runs, device=device, precision=precision, ensemble_size=networks)
    ensemble = Ensemble(group)
    epochs = 200 if device == "cuda" else 2
    torch.cuda.synchronize() if device == "cuda" else None
    ensemble.start(1)
    ensemble.wait()
    started = time.perf_counter()
    for _ in range(epochs):
        ensemble.advance()
    torch.cuda.synchronize() if device == "cuda" else None
    seconds = (time.perf_counter() - started) / epochs
    per_run = seconds / networks * 20_000
    return f"{group.engine} {group.precision} {1e3 * seconds:.2f} ms per epoch, {per_run:.2f} s per 20,000 epochs"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true")
    device = "cpu" if parser.parse_args().cpu else "cuda"
    wrong = 0
    for name, choice in CHOICES.items():
        training = TrainingSettings(**{"epochs": EPOCHS, **choice})  # type: ignore[arg-type]
        run = RunSettings(TaskSettings(), TransformerSettings(), training, 1)
        for engine, off in distances(run, device).items():
            is_wrong = not off <= LARGEST_DISTANCE
            wrong += is_wrong
            print(f"{name}, {engine}: {off:.4f}{'  WRONG' if is_wrong else ''}", flush=True)
    networks = 128 if device == "cuda" else 1
    cases: list[tuple[int, str, str | None]] = [
        (1, name, None) for name in ("adamw", "muon", "fixed norm", "stablemax")
    ]
    cases += [(4, "float64 loss", "float32"), (4, "adamw", "float64")]
    for layers, name, precision in cases:
        training = replace(TrainingSettings(epochs=5000), **CHOICES[name])  # type: ignore[arg-type]
        duration = milliseconds(training, device, networks, layers, precision)
        print(f"{layers} layers, {name}: {duration}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
