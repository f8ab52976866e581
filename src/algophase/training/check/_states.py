"""States of a network at which its gradient is checked: an engine must be right from the first
epoch to the last.

Late in training a gradient is the small difference of large terms, and rounding that nobody sees at
the start can be all there is of it. So an ensemble is trained here for a few hundred quick steps,
in float32, without weight decay and without kernels of our own. A network that diverges at that
rate is trained at the largest half, quarter, ... at which it does not.

    start             as drawn from the seed
    middle            after 100 steps
    late              after 300 steps, with the unembedding scaled so that the training loss is
                      about 1e-7
    dead attention    the late state with queries and keys at 1e-12 of their size, as weight decay
                      leaves them at low rates
    near divergence   the start with larger parameters: doubled with one layer, and with more layers
                      by what makes logits as large, up to 64 times what they were
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from algophase.core.settings import RunSettings, TrainingSettings
from algophase.networks import initialize
from algophase.networks.stacking import take_out
from algophase.training.engines.plain import PlainEngine
from algophase.training.run.optimizer import AdamW
from algophase.training.run.plan import ENGINES, choose_engine

STATES = ("start", "middle", "late", "dead attention", "near divergence")
QUICK = TrainingSettings(learning_rate=1e-2, weight_decay=0.0)
LOWEST_RATE = TrainingSettings().learning_rate  # what diverges at that is taken as it is
MIDDLE, LATE = 100, 300  # steps
LATE_LOSS = 1e-7

Parameters = dict[str, Tensor]  # one network's, under the specification's names


def states(runs: Sequence[RunSettings], device: torch.device) -> dict[str, list[Parameters]]:
    """Parameters of every run, at its own size, in each of `STATES` that its architecture has."""
    start = [_parameters(initialize(run)) for run in runs]
    middle, late = _trained(runs, device, QUICK)
    late = [_sharpened(run, values, device) for run, values in zip(runs, late, strict=True)]
    by_name = {"start": start, "middle": middle, "late": late}
    if any(name.endswith("W_Q") for name in late[0]):
        by_name["dead attention"] = [
            {
                name: value * (1e-12 if name.endswith(("W_Q", "W_K")) else 1.0)
                for name, value in values.items()
            }
            for values in late
        ]
    by_name["near divergence"] = [
        _enlarged(run, values) for run, values in zip(runs, start, strict=True)
    ]
    return by_name


def _parameters(network: torch.nn.Module) -> Parameters:
    return {name: value.detach() for name, value in network.named_parameters()}


def _enlarged(run: RunSettings, values: Parameters) -> Parameters:
    """A logit passes the embedding, the unembedding and four matrices of every layer. Doubled, four
    layers have 2^18 times the
    logits: so far from any training that every rounding gives another gradient, and no mistake
        would show."""
    factor = 2 ** (6 / (2 + 4 * getattr(run.network, "layers", 1)))
    return {name: factor * value for name, value in values.items()}


def _trained(
    runs: Sequence[RunSettings], device: torch.device, training: TrainingSettings
) -> tuple[list[Parameters], list[Parameters]]:
    """After `MIDDLE` and after `LATE` steps. Networks that have more loss then than at their start
    begin again at half the
    rate: what diverges is no state of training, and rounding says nothing about an engine there."""
    quick = [replace(run, training=training) for run in runs]
    name = choose_engine(runs[0], "auto", device, "float32")
    engine_class = ENGINES[name](runs[0])
    engine = engine_class(quick, device, "float32")
    engine.kernels = False  # they would have to be compiled, for a few hundred steps
    optimizer = AdamW(engine.parameters, quick)
    diverged_at = torch.full((len(runs),), -1, device=device)
    taken = []
    losses = []
    for step in range(LATE + 1):
        loss = engine.loss_and_gradient()
        if step in (0, MIDDLE, LATE):
            losses.append(loss.tolist())
            stacked = {name: value.cpu() for name, value in engine.export().items()}
            taken.append(
                [_parameters(take_out(stacked, index, run)) for index, run in enumerate(runs)]
            )
        optimizer.epoch(engine.gradients, loss, diverged_at)
    _, middle, late = taken
    astray = [
        position
        for position, (start, *after) in enumerate(zip(*losses, strict=True))
        if not all(x < start for x in after)
    ]
    slower = replace(training, learning_rate=training.learning_rate / 2)
    if astray and slower.learning_rate >= LOWEST_RATE:
        again = [runs[position] for position in astray]
        middle_again, late_again = _trained(again, device, slower)
        for number, position in enumerate(astray):
            middle[position] = middle_again[number]
            late[position] = late_again[number]
    return middle, late


def _sharpened(run: RunSettings, values: Parameters, device: torch.device) -> Parameters:
    """The same network with its logits scaled, by an eighth to eight, so that its loss is
    `LATE_LOSS` if that is in reach.
    """
    (unembedding,) = (name for name in values if name.startswith("unembed"))
    engine = PlainEngine([run], device, "float64")
    low = -3.0
    high = 3.0
    # a network whose training pairs are all right has the less loss, the larger its logits
    for _ in range(12):
        middle = (low + high) / 2
        scaled = {**values, unembedding: values[unembedding] * 2**middle}
        engine.put([scaled])
        if engine.loss_and_gradient().item() > LATE_LOSS:
            low = middle
        else:
            high = middle
    return scaled
