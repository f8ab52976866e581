"""What every network offers, however it came about: released, trained or made by hand.

A network maps the embeddings of its two operands to logits. Keeping that step apart from the
embedding tables lets every analysis work on every architecture: gradients are taken with respect to
the operand embeddings, and circle isolation runs the same network on other tables.

What an analysis asks of an architecture, the network answers: `jacobians`, `pair_logits`,
`hidden_layer` and so on. Each has a general answer here, so a new architecture needs
`operand_tables` and `logits_from_embeddings` alone.
"""

import cmath
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from algophase.core.errors import InputError
from algophase.core.seeding import generator
from algophase.core.settings import Cut, NetworkSettings, RunSettings, TaskSettings
from algophase.core.task import all_pairs, tokens
from algophase.networks.gradient_products import GradientProducts
from algophase.networks.jacobians import Jacobians, by_autograd
from algophase.networks.pair_logits import Prepared, by_pairs
from algophase.networks.parts import (
    HiddenReads,
    HiddenUnits,
    ResidualStream,
    StreamLayer,
    SumLayers,
)

Cache = dict[str, Tensor]


def record(cache: Cache | None, name: str, value: Tensor) -> Tensor:
    """Keep a named intermediate activation if the caller asked for them."""
    if cache is not None:
        cache[name] = value
    return value


@dataclass(frozen=True)
class InitialValues:
    """How a tensor starts: `scale` is the standard deviation of a Gaussian, or the half-width of
    a uniform distribution.
    """

    distribution: Literal["normal", "uniform", "zeros"]
    scale: float = 0.0


def _same(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors are the same numbers in memory, as two equal slices of one table are."""
    if first is second:
        return True
    if (
        first.device.type == "meta"
        or first.shape != second.shape
        or first.stride() != second.stride()
    ):
        return False
    return first.data_ptr() == second.data_ptr()


# What counts for the class that says it alone: a class derived from it may compute something else.
OF_ONE_CLASS = (
    "jacobians",
    "gradient_products",
    "pair_logits",
    "is_pure",
    "is_recordable",
    "label_axis",
)


class Network(nn.Module):
    """The base class of all networks. To analyze your own, subclass it and write `operand_tables`
    and `logits_from_embeddings`.

    Arguments:
        task: what it solves.
        settings: what it is.

    Attributes:
        id: its name in reports.
        run: the settings of its training run, or None.
        cut: what the operand tables are: "embedding", "first layer" (which reads one-hot numbers)
            or "none".
        notes: what a reader should know about where it comes from and how it was cut.

    Example:
        >>> from algophase import handmade_pizza
        >>> network = handmade_pizza(23)
        >>> [tuple(table.shape) for table in network.operand_tables()]
        [(23, 4), (23, 4)]
        >>> logits, cache = network.run_with_cache()
        >>> tuple(logits.shape)
        (529, 23)
    """

    concurrent: bool = True  # whether several threads may run it at once
    # Whether running it changes nothing in it, and gives the same logits every time.
    is_pure: bool = False
    # Whether it runs on any embeddings: not where a file kept its logits and not its code.
    has_code: bool = True
    # Whether `wrap` made it, which can leave zero out of its numbers.
    can_leave_out_zero: bool = False
    # An analysis that was made where the network's code was.
    known_analysis: object = None
    # Whether its group was settled: the user says it, or its answers were looked at.
    group_is_settled: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in OF_ONE_CLASS:
            if name not in vars(cls):
                setattr(cls, name, getattr(Network, name))

    def __init__(self, task: TaskSettings, settings: NetworkSettings) -> None:
        super().__init__()
        settings.check_task(task)
        self.task = task
        self.settings: NetworkSettings = settings
        self.id = "unnamed"
        self.run: RunSettings | None = None
        self.cut: Cut = "embedding"
        self.notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        described = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in self.settings.described.items()
        )
        return f"<{type(self).__name__} {self.id}: {self.task.described}; {described}>"

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        """Embeddings of the first and the second operand, each (p, width); one tensor twice if they
        share it.
        """
        raise NotImplementedError

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        """Compute the logits for operand embeddings. Positional embeddings are added inside.

        Arguments:
            first, second: embeddings of the operands, each (n, width).
            cache: a dictionary that takes every named activation.

        Returns:
            Logits (n, outputs).
        """
        raise NotImplementedError

    @property
    def architecture(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def concatenates(self) -> bool:
        """Whether it concatenates the operands' embeddings, so that each has its own basis."""
        return False

    @property
    def normalizes(self) -> bool:
        """Whether it has layer norm or the like, which rescales the rest of an embedding after a
        cut.
        """
        return any("Norm" in type(module).__name__ for module in self.modules())

    @property
    def is_recordable(self) -> bool:
        """Whether its operations depend only on its shapes and settings, not on its numbers."""
        return False

    @property
    def label_axis(self) -> int | None:
        """The axis of the labels in its parameters `unembed`; None if other parameters know the
        labels' order too.
        """
        return None

    @property
    def may_read_sum_alone(self) -> bool:
        """Whether its logits could be a function of the sum of the two embeddings."""
        return True

    def checked_logits(self, first: Tensor, second: Tensor) -> Tensor:
        """`logits_from_embeddings`, with a check of what it gives. More outputs than labels are
        allowed: they count as wrong answers.

        Arguments:
            first, second: embeddings of the operands, each (n, width).

        Returns:
            Logits (n, outputs).

        Raises:
            InputError: the logits have another shape or type.
        """
        logits: object = self.logits_from_embeddings(first, second)
        p = self.task.modulus
        pairs = len(first)
        name = f"network {self.id}: logits_from_embeddings gives"
        contract = (
            f"it must give ({pairs}, {p}), one row per pair and one logit per label (or more "
            "outputs than labels)"
        )
        if not isinstance(logits, Tensor):
            raise InputError(f"{name} no tensor but {type(logits).__name__}; {contract}")
        if logits.dim() != 2 or logits.shape[0] != pairs or logits.shape[1] < p:
            raise InputError(f"{name} the shape {tuple(logits.shape)}; {contract}")
        if not logits.is_floating_point():
            raise InputError(f"{name} {logits.dtype}; logits must be floats")
        return logits

    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        """Compute logits and their gradients by each operand's embedding.

        The operands are separate inputs here, even where they share one table and a = b.

        Arguments:
            first, second: embeddings of the operands, each (n, width).
            cache: a dictionary that takes the hidden units' pre-activations, if the chain rule is
                written out.

        Returns:
            `Jacobians`: logits (n, outputs) and two gradients, each (n, p, width).
        """
        return by_autograd(self, first, second)

    def gradient_products(self, first: Tensor, second: Tensor) -> GradientProducts | None:
        """Compute inner products of the gradients of all pairs on a CPU faster than by `jacobians`.

        Arguments:
            first, second: operand tables, each (p, width).

        Returns:
            A function of pairs, with its size; None if the network has no faster way.
        """
        return None

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """A function that gives the logits of all pairs for operand tables (n, p, width)."""
        return by_pairs(self)

    def hidden_layer(self) -> HiddenUnits | None:
        """Its first hidden layer; None if it has none, or if it does not say which it is."""
        return None

    def hidden_reads(self) -> HiddenReads | None:
        """What its only hidden layer reads, and the logits with something else in its place."""
        layer = self.stream_layer()
        if layer is None:
            return None

        def reads(first: Tensor, second: Tensor) -> Tensor:
            return layer.pre_activations(layer.stream(first, second))

        def logits(first: Tensor, second: Tensor, read: Tensor) -> Tensor:
            return layer.logits(layer.stream(first, second), read)

        return HiddenReads(layer.units, reads, logits)

    def sum_layers(self) -> SumLayers | None:
        """Its layers, if it reads the sum of its two embeddings with one or two ReLU layers; None
        otherwise.
        """
        return None

    def stream_layer(self) -> StreamLayer | None:
        """Its hidden layer, if it has just one and that stands in a residual stream; None
        otherwise.
        """
        return None

    def residual_stream(self) -> ResidualStream | None:
        """Its residual stream, layer by layer; None if it has none."""
        return None

    def first_attention(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        """A function from operand embeddings (n, width) to the attention of the first layer's heads
        at the last position, (n, heads, positions); None if it has no attention.
        """
        return None

    def without_equals_sign(self) -> "Network | None":
        """The same weights without the third position: the answer is read at the second operand.
        None if there is no equals sign.
        """
        return None

    def initial_values(self) -> dict[str, InitialValues]:
        """The published initial distribution of every parameter, by name."""
        raise NotImplementedError

    def distinct_tables(self) -> tuple[Tensor, ...]:
        """The operand tables, once where both operands share one."""
        first, second = self.operand_tables()
        return (first,) if _same(first, second) else (first, second)

    def forward(self, sequence: Tensor, cache: Cache | None = None) -> Tensor:
        """Compute the logits for tokens, written as the task says.

        Arguments:
            sequence: tokens (n, context).
            cache: a dictionary that takes every named activation.

        Returns:
            Logits (n, outputs).
        """
        first, second = self.operand_tables()
        offset = self.task.modulus if self.task.separate_vocabularies else 0
        return self.logits_from_embeddings(
            first[sequence[:, 0]], second[sequence[:, 1] - offset], cache
        )

    def run_with_cache(self, sequence: Tensor | None = None) -> tuple[Tensor, Cache]:
        """Compute logits and every named activation.

        Arguments:
            sequence: tokens (n, context); by default all p * p pairs in lexicographic order.

        Returns:
            Logits (n, outputs), and the activations by name.
        """
        if sequence is None:
            device = self.operand_tables()[0].device
            sequence = tokens(self.task, all_pairs(self.task.modulus)).to(device)
        cache: Cache = {}
        return self(sequence, cache), cache

    def weights_digest(self) -> str:
        """A name for its exact weights: 16 hexadecimal digits.

        They are the start of a SHA-256 over every tensor, with its name, precision and shape.

        Example:
            >>> from algophase import handmade_clock
            >>> handmade_clock(23).weights_digest() == handmade_clock(23).weights_digest()
            True
        """
        digest = hashlib.sha256()
        for name, tensor in sorted(self.state_dict().items()):
            values = tensor.detach().cpu().contiguous().numpy()
            digest.update(f"{name} {values.dtype} {values.shape}".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()[:16]

    @torch.no_grad()
    def check_finite(self) -> None:
        """Refuse weights that are not finite.

        Raises:
            InputError: a parameter has a NaN or an infinity; the message names it.
        """
        # A sum is finite only if all its terms are. That is nearly always so, and waits for a GPU
        # once, not at each parameter.
        by_device: dict[torch.device, list[Tensor]] = {}
        for parameter in self.parameters():
            by_device.setdefault(parameter.device, []).append(parameter.flatten())
        totals = [torch.cat(parameters).sum().item() for parameters in by_device.values()]
        if all(map(cmath.isfinite, totals)):
            return
        for name, parameter in self.named_parameters():
            bad = int((~torch.isfinite(parameter)).sum())
            if bad:
                raise InputError(
                    f"network {self.id}: parameter {name} holds {bad} values that are NaN or "
                    "infinite"
                )

    @torch.no_grad()
    def initialize(self, seed: int) -> None:
        """Draw every parameter on the CPU, each from its own random stream.

        Arguments:
            seed: another seed gives other weights.
        """
        rules = self.initial_values()
        for name, parameter in self.named_parameters():
            rule = rules[name]
            draw = generator(seed, name)
            if rule.distribution == "normal":
                values = draw.standard_normal(parameter.shape) * rule.scale
            elif rule.distribution == "uniform":
                values = draw.uniform(-rule.scale, rule.scale, parameter.shape)
            else:
                parameter.zero_()
                continue
            parameter.copy_(torch.from_numpy(values))
