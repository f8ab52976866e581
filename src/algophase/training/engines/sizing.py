"""How many networks share an ensemble: as many as fit well into memory.

An engine estimates, on the high side, what it allocates for each network
(`Engine.numbers_per_network`); where that is still too low, training halves the ensemble and goes
on.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
from algophase.networks import template

if TYPE_CHECKING:
    from algophase.training.engines.engine import Engine

MOST_ON_CUDA = 512  # beyond this a GPU is full, and a larger ensemble only finishes later
MOST_ON_CPU = 64
SHARE_OF_FREE_MEMORY = 0.6
# Operations an epoch; on two quiet cores a second thread gains 8% at 44e6, 25% at 309e6
# (docs/speed.md)
SMALL = 150e6
# Bytes: larger ensembles gain nothing on a CPU, which works through its networks one by one
CPU_BUDGET = 64 * 2**20


@lru_cache(maxsize=4096)
def parameter_count(task: TaskSettings, network: NetworkSettings) -> int:
    return sum(parameter.numel() for parameter in template(task, network).parameters())


def run_parameters(run: RunSettings) -> int:
    """Parameters of a run's network, the same for all attention rates."""
    return parameter_count(run.task, run.network.shapes())  # one template for all attention rates


def largest_ensemble(
    engine: "type[Engine]",
    task: TaskSettings,
    network: NetworkSettings,
    device: torch.device,
    precision: str,
) -> int:
    """How many networks of this size may share an ensemble of an engine."""
    if engine.one_at_a_time:
        return 1
    number = 8 if precision == "float64" else 4  # bytes
    per_network = number * engine.numbers_per_network(task, network)
    if device.type == "cuda":
        budget = int(SHARE_OF_FREE_MEMORY * _free_memory(device))
        return max(1, min(MOST_ON_CUDA, budget // per_network))
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
    if device.type != "cpu":
        return 1
    worth = int(operations_per_epoch / SMALL)
    return max(1, min(torch.get_num_threads(), worth))
