"""How many networks share an ensemble: as many as fit well into memory.

The counts are estimates, on the high side, of what an engine allocates for each network; where one
is still too low, training halves the ensemble and goes on.
"""

from functools import lru_cache

import torch

from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import template
from algophase.networks.stacking import power_of_two

MOST_ON_CUDA = 512  # beyond this a GPU is full, and a larger ensemble only finishes later
MOST_ON_CPU = 64
SHARE_OF_FREE_MEMORY = 0.6
# Operations an epoch; on two quiet cores a second thread gains 8% at 44e6, 25% at 309e6
# (docs/speed.md)
SMALL = 150e6
CPU_BUDGET = (
    64 * 2**20
)  # bytes: larger ensembles gain nothing on a CPU, which works through its networks one by one


@lru_cache(maxsize=4096)
def parameter_count(task: TaskSettings, network: NetworkSettings) -> int:
    return sum(parameter.numel() for parameter in template(task, network).parameters())


def run_parameters(run: RunSettings) -> int:
    """Parameters of a run's network, the same for all attention rates."""
    return parameter_count(run.task, run.network.shapes())  # one template for all attention rates


def numbers_per_network(engine: str, task: TaskSettings, network: NetworkSettings) -> int:
    """Numbers of the precision's size that an engine holds at once for each network of an
    ensemble (half: of four bytes).
    """
    p, outputs, pairs = task.modulus, task.logits, task.modulus**2
    if isinstance(network, TransformerSettings):
        parameters = parameter_count(task, network.shapes())
        d, heads = network.width, network.heads
        if engine == "fused" and network.layers > 1:
            # of every training pair and position z, u, their gradients, dy, dq, dk and dv, two
            # bytes each, and the stream; then matrices of two bytes and in two parts, and tables
            # over tokens
            channels, positions = (
                power_of_two(heads, 1) * power_of_two(network.head_size, 16),
                task.context,
            )
            per_pair = positions * (
                (network.layers - 1) * (3 * d + 5 * channels // 2) + 3 * channels // 2 + 20
            )
            per_pair += 2 * d + channels + power_of_two(outputs, 64)
            work = (task.training_pairs + 128) * per_pair + 6 * parameters
            work += 10 * positions * power_of_two(p, 16) * (channels + d)
        elif engine == "fused":
            # of every pair z, dz and the slope, for wide networks hidden units and dx too, two
            # bytes each; then sums in 3 parts
            across, outputs = power_of_two(p, 16), power_of_two(outputs, 64)
            channels, columns = (
                power_of_two(heads, 1) * power_of_two(network.head_size, 16),
                4 * d + outputs,
            )
            per_pair = (
                channels
                + outputs // 2
                + 4 * heads * (task.context - 1)
                + (columns if channels > 256 else 0)
            )
            work = (
                across * (p + 12) * per_pair
                + 4 * columns * (channels + outputs)
                + 3 * (p + 12) * columns
            )
            work += 20 * across * (channels + d)
        elif engine == "grid":
            table = 2 * p * heads * (4 * d + 2 * outputs)
            work = (
                4 * table + (18 * heads + 10) * pairs
            )  # of every pair attention, and which rows of the tables it takes
        else:
            # residual stream, queries, keys, values and the MLP's two 4d of every position, with
            # their gradients
            work = pairs * (
                24 * d * network.layers * task.context + 4 * task.context * p + 6 * outputs
            )
    else:
        assert isinstance(network, LinearSettings)
        parameters = parameter_count(task, network)
        if engine == "fused":
            # of every row hidden units, with two layers their gradient, and the slope, two bytes
            # each; then tables
            across, h, outputs = (
                power_of_two(p),
                power_of_two(network.hidden),
                power_of_two(outputs, 64),
            )
            layers = 2 if network.model in ("beta", "gamma") else 1
            rows = 64 + (pairs if network.model in ("delta", "alpha-prime") else (pairs + p) // 2)
            work = (
                rows * (h * layers + outputs) // 2
                + 4 * across * h
                + h * (h + outputs)
                + 2 * across**2
            )
        else:
            work = pairs * (
                6 * network.hidden
                + 4 * outputs
                + (4 * network.width + 4 * p) * (engine == "stacked")
            )
    return (
        10 * parameters + work + 4 * pairs
    )  # weights, gradients, two moments, their copies, the update's intermediates


def largest_ensemble(
    engine: str, task: TaskSettings, network: NetworkSettings, device: torch.device, precision: str
) -> int:
    """How many networks of this size may share an ensemble."""
    if engine == "plain":
        return 1
    per_network = numbers_per_network(engine, task, network) * (8 if precision == "float64" else 4)
    if device.type == "cuda":
        return max(
            1, min(MOST_ON_CUDA, int(SHARE_OF_FREE_MEMORY * _free_memory(device)) // per_network)
        )
    return max(1, min(MOST_ON_CPU, CPU_BUDGET // per_network))


def _free_memory(device: torch.device) -> int:
    return torch.cuda.mem_get_info(device)[0]


def operations(run: RunSettings) -> float:
    """A product and two in its backward for every parameter and pair, of one network and epoch:
    an estimate.
    """
    return 6.0 * run.task.modulus**2 * run_parameters(run)


def cost(run: RunSettings) -> float:
    """Work of a run, up to a factor, to estimate time: the power fits fused runs of width 128 to
    512.
    """
    return run.training.epochs * float(run_parameters(run)) ** 0.75


def most_threads(device: torch.device, operations_per_epoch: float) -> int:
    """Threads that an epoch is worth on a CPU, at most those PyTorch may use: one where more
    would mostly wait.
    """
    return (
        1
        if device.type != "cpu"
        else max(1, min(torch.get_num_threads(), int(operations_per_epoch / SMALL)))
    )
