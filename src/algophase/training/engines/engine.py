"""What the training loop asks of an engine: the loss and the gradient of every network in an
ensemble, and how it does on all pairs.

An engine holds its parameters in a `Flat`, in whatever layout suits it; `export` gives them back
under the specification's names.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import NetworkSettings, RunSettings, TaskSettings
from algophase.core.task import answers, split
from algophase.networks.stacking import (
    exact_size,
    padded_settings,
    round_size,
    stack,
    stack_initial,
)
from algophase.training.engines._loss import Loss
from algophase.training.engines.crew import Crew
from algophase.training.engines.flat import Flat
from algophase.training.engines.sizing import parameter_count

PRECISIONS = ("float32", "tf32", "half", "float64")


class Engine:
    """An ensemble of runs that share a stack (see `networks.stacking`), on one device."""

    name: ClassVar[str]
    # Whether kernels of our own take the place of PyTorch's operations, in an engine that has both
    kernels = False
    any_loss: ClassVar[bool] = True  # whether it has every loss, in float64 too
    one_at_a_time: ClassVar[bool] = False  # whether an ensemble of it has one network
    rounds_sizes_on: ClassVar[tuple[str, ...]] = (
        "cuda",
    )  # kinds of device on which `padded` takes round sizes

    def __init__(self, runs: Sequence[RunSettings], device: torch.device, precision: str) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"precision is {precision!r}; choose one of {', '.join(PRECISIONS)}")
        self.runs = list(runs)
        self.device = device
        self.precision = precision
        self.loss = Loss.of(runs)
        self.crew = Crew(
            1
        )  # the threads that share its work on a CPU, for an engine that shares it out
        self.dtype = torch.float64 if precision == "float64" else torch.float32
        self.task = runs[0].task
        self.settings = self.padded(runs, device)
        self.modulus = self.task.modulus
        self.labels = answers(self.task).to(device)
        # (n, p, p): 1 / number of training pairs at training pairs, 0 elsewhere
        weights = torch.zeros(len(runs), self.modulus**2, dtype=torch.float64)
        for index, run in enumerate(runs):
            training = split(run.task, run.seed).training
            weights[index, training] = 1 / len(training)
        self.weights = weights.view(-1, self.modulus, self.modulus).to(device, self.dtype)
        initial = stack_initial(runs, self.settings)
        self.parameters = self.allocate(
            {name: tuple(value.shape[1:]) for name, value in initial.items()}
        )
        self.gradients = self.parameters.like()
        self.load(initial)

    @classmethod
    def unsupported(cls, run: RunSettings, device: torch.device) -> str | None:
        """Why this engine cannot train a run on a device, or None if it can."""
        raise NotImplementedError

    @classmethod
    def unsupported_loss(cls, run: RunSettings) -> str | None:
        """Why this engine does not have the loss of a run, or None if it has."""
        training = run.training
        if cls.any_loss or training.is_published_loss:
            return None
        in_float64 = " in float64" if training.loss_precision == "float64" else ""
        return f"it has the cross-entropy in its own precision, not {training.loss}{in_float64}"

    @classmethod
    def precisions(cls, device: torch.device) -> tuple[str, ...]:
        """Precisions that mean something for this engine on a device, the default first."""
        return ("float32", "float64") if device.type == "cpu" else ("tf32", "float32", "float64")

    @classmethod
    def padded(cls, runs: Sequence[RunSettings], device: torch.device) -> NetworkSettings:
        """The network that holds every run of an ensemble.

        Networks that are padded to the same sizes alone may share one: then padding, which decides
        how sums are rounded, does not depend on the company a network has. On a CPU, where sharing
        gains little, sizes stay as they are.
        """
        return padded_settings(
            runs, round_size if device.type in cls.rounds_sizes_on else exact_size
        )

    @classmethod
    def block(cls, run: RunSettings) -> int:
        """Block size: up to this many networks like this run's cost the same as one."""
        return 1

    @classmethod
    def working_numbers(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """Numbers of the precision's size (half: of four bytes) that an epoch needs for each
        network beside its parameters: an estimate, on the high side."""
        raise NotImplementedError

    @classmethod
    def numbers_per_network(cls, task: TaskSettings, network: NetworkSettings) -> int:
        """All numbers that an ensemble holds at once for each of its networks."""
        # weights, gradients, two moments, their copies, the update's intermediates
        parameters = 10 * parameter_count(task, network.shapes())
        return parameters + cls.working_numbers(task, network) + 4 * task.modulus**2

    @property
    def count(self) -> int:
        return len(self.runs)

    def allocate(self, shapes: dict[str, tuple[int, ...]]) -> Flat:
        """Parameters in this engine's layout, given the specification's names and padded shapes."""
        return Flat(self.count, shapes, self.device, self.dtype)

    def load(self, stacked: dict[str, Tensor]) -> None:
        """Fill the parameters from stacked tensors under the specification's names."""
        for name, value in stacked.items():
            self.parameters[name].copy_(value)

    def put(self, networks: Sequence[Mapping[str, Tensor]]) -> None:
        """Fill the parameters with one network for each run, given at its own size."""
        self.load(stack(networks, self.task, self.settings))

    def overwrite(self, stacked: Mapping[str, Tensor]) -> None:
        """Replace some parameters, as stacked tensors under the specification's names."""
        exported = self.export()
        for name, value in stacked.items():
            exported[name].copy_(value)

    def export(self, values: Flat | None = None) -> dict[str, Tensor]:
        """Parameters (or gradients, or anything of their shape) as stacked tensors under the
        specification's names. They are views, unless `overwrite` is the engine's own.
        """
        return dict(self.parameters if values is None else values)

    def loss_and_gradient(self) -> Tensor:
        """Mean loss over each network's training pairs, (n,); its gradient is left in
        `self.gradients`.
        """
        raise NotImplementedError

    def all_pairs(self) -> tuple[Tensor, Tensor]:
        """Loss and right or wrong of every pair at the current parameters, each (n, p, p)."""
        raise NotImplementedError


def run_values(
    runs: Sequence[RunSettings], name: str, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """A network setting of every run, (n,)."""
    return torch.tensor([getattr(run.network, name) for run in runs], device=device, dtype=dtype)


@contextmanager
def matmul_precision(device: torch.device, precision: str) -> Iterator[None]:
    """TF32 products inside for precision tf32; float32 products for all others."""
    if device.type != "cuda":
        yield
        return
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


def missing_triton() -> str | None:
    """Why no kernel of ours can run, or None if they can. A PyTorch for AMD's cards calls them
    cuda, too."""
    if torch.version.hip is not None:
        return "its kernels are written for NVIDIA cards"
    try:
        import triton  # noqa: F401
    except ImportError:
        return "Triton is not installed"
    return None
