"""The networks of the paper, written as the paper writes them: the specification every engine is checked against."""

import torch

from algophase.errors import InputError
from algophase.networks.handmade import Clock
from algophase.networks.lens import LensTransformer
from algophase.networks.linear import Linear
from algophase.networks.mlp import MLP
from algophase.networks.network import Cache, Network
from algophase.networks.recorded import Recorded
from algophase.networks.transformer import Transformer
from algophase.settings import (
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

__all__ = [
    "MLP",
    "Cache",
    "Clock",
    "LensTransformer",
    "Linear",
    "Network",
    "Recorded",
    "Transformer",
    "build",
    "initialise",
    "template",
]


def build(task: TaskSettings, settings: NetworkSettings) -> Network:
    """A network with its memory allocated and nothing in it yet.

    >>> network = build(TaskSettings(modulus=23), TransformerSettings(width=32))
    >>> tuple(network.state_dict()["embed.W_E"].shape)
    (23, 32)
    """
    match settings:
        case TransformerSettings():
            return Transformer(task, settings)
        case LinearSettings():
            return Linear(task, settings)
        case ClockSettings():
            return Clock(task, settings)
        case LensSettings():
            return LensTransformer(task, settings)
        case MLPSettings():
            return MLP(task, settings)
        case WrappedSettings():
            return Recorded(task, settings)


def template(task: TaskSettings, settings: NetworkSettings) -> Network:
    """The shapes of a network and no memory: what a file is checked against before anything is allocated."""
    with torch.device("meta"):
        return build(task, settings)


def initialise(run: RunSettings) -> Network:
    """The network a run starts from, drawn from its seed alone.

    >>> network = initialise(RunSettings(network=TransformerSettings(width=32), seed=3))
    >>> network.id == network.run.run_id
    True
    """
    if not isinstance(run, RunSettings):
        raise InputError(f"the run is {shown(run)}; it must be RunSettings")
    network = build(run.task, run.network)
    network.initialise(run.seed)
    network.id, network.run = run.run_id, run
    return network
