"""Many networks as one set of stacked parameters: a leading axis over networks, seeded starts, zero
padding, taking one out.

Networks that differ only in width can share a stack: each sits in the leading corner of the padded
tensors and the rest is zero. That is exact, for padded units stay at zero and receive zero gradient
under ReLU and GELU alike.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
from algophase.core.threads import one_thread
from algophase.networks import Network, build, initialize, template


def exact_size(size: int) -> int:
    return size


def round_size(size: int) -> int:
    """The next multiple of 16, beyond 128 of a quarter of the power of two below: 144 becomes
    160, 300 becomes 320.
    """
    step = max(16, (1 << (size - 1).bit_length()) // 8)
    return -(-size // step) * step


def power_of_two(size: int, least: int = 16) -> int:
    """The next one, or `least`."""
    return max(least, 1 << (size - 1).bit_length())


def padded_settings(
    runs: Sequence[RunSettings], size: Callable[[int], int] = exact_size
) -> NetworkSettings:
    """The smallest network of such sizes that holds every one of these in its leading corner."""
    first, *rest = [run.network for run in runs]
    return first.padded(rest, size)


def check_stackable(runs: Sequence[RunSettings]) -> None:
    """Runs share a stack if they solve the same task with the same kind of network; widths and
    rates may differ.
    """
    kinds = {stack_key(run) for run in runs}
    if len(kinds) > 1:
        raise InputError(
            "these runs cannot share a stack, they differ in more than width and rate: "
            f"{sorted(map(str, kinds))}"
        )


def stack_key(run: RunSettings) -> tuple[object, ...]:
    """What must be equal for two runs to share a stack."""
    return (run.task, *run.network.stack_key())


def stack_initial(runs: Sequence[RunSettings], padded: NetworkSettings) -> dict[str, Tensor]:
    """Every run's own start, drawn from its seed, in the leading corner of (n, *shape in the
    padded network).
    """
    check_stackable(runs)
    with one_thread():  # thousands of small copies, for which several threads would only wait
        starts = [dict(initialize(run).named_parameters()) for run in runs]
        return stack(starts, runs[0].task, padded)


def stack(
    networks: Sequence[Mapping[str, Tensor]], task: TaskSettings, padded: NetworkSettings
) -> dict[str, Tensor]:
    """Parameters of several networks, each in the leading corner of (n, *shape in the padded
    network).
    """
    shapes = {
        name: parameter.shape for name, parameter in template(task, padded).named_parameters()
    }
    stacked = {
        name: torch.zeros(len(networks), *shape, dtype=networks[0][name].dtype)
        for name, shape in shapes.items()
    }
    for index, network in enumerate(networks):
        for name, parameter in network.items():
            _corner(stacked[name][index], parameter.shape).copy_(parameter.detach())
    return stacked


def _corner(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    return tensor[tuple(slice(0, size) for size in shape)]


@torch.no_grad()
def take_out(stacked: Mapping[str, Tensor], index: int, run: RunSettings) -> Network:
    """One network of a stack, at its own size, on the CPU in float32."""
    network = build(run.task, run.network)
    for name, parameter in network.named_parameters():
        parameter.copy_(_corner(stacked[name][index], parameter.shape))
    network.id, network.run = run.run_id, run
    return network
