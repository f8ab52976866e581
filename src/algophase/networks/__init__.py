"""The networks of the paper, written as the paper writes them: the specification every engine is
checked against.
"""

from collections.abc import Callable
from typing import Any

import torch

from algophase.core.errors import InputError
from algophase.core.settings import (
    NETWORK_KINDS,
    ClockSettings,
    LensSettings,
    LinearSettings,
    MLPSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
    WrappedSettings,
    shown,
)
from algophase.networks.handmade import Clock
from algophase.networks.linear import Linear
from algophase.networks.mlp import MLP
from algophase.networks.network import Cache, Network
from algophase.networks.planted import plant
from algophase.networks.recorded import Recorded
from algophase.networks.transformer import Transformer

__all__ = [
    "MLP",
    "Cache",
    "Clock",
    "Linear",
    "Network",
    "Recorded",
    "Transformer",
    "add_architecture",
    "build",
    "initialize",
    "template",
]


# Which network has which settings. A new architecture needs its settings class, its network and an
# entry here; files and spaces then know its kind.
ARCHITECTURES: dict[type[NetworkSettings], Callable[[TaskSettings, Any], Network]] = {
    TransformerSettings: Transformer,
    LinearSettings: Linear,
    ClockSettings: Clock,
    LensSettings: Transformer,
    MLPSettings: MLP,
    WrappedSettings: Recorded,  # what a file keeps of a network with code of its own
}
for _settings in ARCHITECTURES:
    NETWORK_KINDS.setdefault(_settings.kind, _settings)


def add_architecture(
    settings: type[NetworkSettings], network: Callable[[TaskSettings, Any], Network]
) -> None:
    """Add your own architecture: it is then trained, saved, loaded, swept and analyzed as ours are.

    Arguments:
        settings: a frozen dataclass that subclasses `NetworkSettings`, with a new `kind`, and
            defaults.
        network: the `Network` subclass, called with a task and such settings.

    Raises:
        InputError: another architecture has this `kind`.

    Example:
        >>> from algophase import TransformerSettings, add_architecture
        >>> add_architecture(TransformerSettings, Transformer)  # which every transformer of ours is
    """
    of_this_kind = NETWORK_KINDS.setdefault(settings.kind, settings)
    if of_this_kind is not settings:
        raise InputError(
            f"kind is {settings.kind!r}, which {of_this_kind.__name__} has already; choose another"
        )
    ARCHITECTURES[settings] = network


def build(task: TaskSettings, settings: NetworkSettings) -> Network:
    """Make a network with uninitialized weights.

    Arguments:
        task: what it solves.
        settings: what it is.

    Returns:
        The network; load or draw its weights before use.

    Raises:
        InputError: no architecture has such settings.

    Example:
        >>> network = build(TaskSettings(modulus=23), TransformerSettings(width=32))
        >>> tuple(network.state_dict()["embed.W_E"].shape)
        (23, 32)
    """
    if type(settings) not in ARCHITECTURES:
        choices = ", ".join(kind.__name__ for kind in ARCHITECTURES)
        raise InputError(f"network settings are {shown(settings)}; choose one of {choices}")
    return ARCHITECTURES[type(settings)](task, settings)


def template(task: TaskSettings, settings: NetworkSettings) -> Network:
    """The shapes of a network and no memory: what a file is checked against before anything is
    allocated.
    """
    with torch.device("meta"):
        return build(task, settings)


def initialize(run: RunSettings) -> Network:
    """Make the network that a run starts from, drawn from its seed alone.

    Arguments:
        run: the run's settings.

    Returns:
        The network before training.

    Raises:
        InputError: `run` is not `RunSettings`.

    Example:
        >>> network = initialize(RunSettings(network=TransformerSettings(width=32), seed=3))
        >>> network.id == network.run.run_id
        True
    """
    if not isinstance(run, RunSettings):
        raise InputError(f"the run is {shown(run)}; it must be RunSettings")
    network = build(run.task, run.network)
    network.initialize(run.seed)
    if run.training.planted_trio:
        plant(network, run)
    if run.training.initial_scale != 1:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(run.training.initial_scale)
    network.id, network.run = run.run_id, run
    return network
