"""What every network offers, however it came about: released, trained or made by hand.

A network maps the embeddings of its two operands to logits. Keeping that step apart from the
embedding tables lets every
analysis work on every architecture: gradients are taken with respect to the operand embeddings, and
circle isolation runs the same network on other tables.
"""

import cmath
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from algophase.core.errors import InputError
from algophase.core.seeding import generator
from algophase.core.settings import Cut, NetworkSettings, RunSettings, TaskSettings
from algophase.core.task import all_pairs, tokens

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


@dataclass(frozen=True)
class HiddenUnits:
    """A network's first hidden layer, at the position where the answer is read.

    units: how many it has. activation: theirs.
    pre_activations: what the units read, (n, units), from operand embeddings (n, width) of n pairs.
    readout: gives what each unit writes on the p labels, (units, p); None where other units come
        in between.
    """

    units: int
    activation: Callable[[Tensor], Tensor]
    pre_activations: Callable[[Tensor, Tensor], Tensor]
    readout: Callable[[], Tensor] | None


class Network(nn.Module):
    """Base of all networks.

    task, settings: what it solves and what it is.
    id: how it is called in reports; run: its training settings where they are known.
    cut: what the operand tables are: an embedding, a first layer that reads one-hot numbers, or
        none at all.
    notes: what should be said about where it comes from and how it was cut.

    >>> from algophase import handmade_pizza
    >>> network = handmade_pizza(23)
    >>> [tuple(table.shape) for table in network.operand_tables()]
    [(23, 4), (23, 4)]
    >>> logits, cache = network.run_with_cache()
    >>> tuple(logits.shape)
    (529, 23)
    """

    concurrent: bool = True  # whether several threads may run it at once

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
        told = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in self.settings.described.items()
        )
        return f"<{type(self).__name__} {self.id}: {self.task.described}; {told}>"

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        """Embeddings of the first and of the second operand, each (p, width); the same tensor
        where they share one.
        """
        raise NotImplementedError

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        """Logits (n, outputs) for operand embeddings (n, width); positional embeddings are added
        inside.
        """
        raise NotImplementedError

    @property
    def concatenates(self) -> bool:
        """Whether the operands' embeddings are concatenated, so that each has a basis of its
        own.
        """
        return False

    @property
    def normalises(self) -> bool:
        """Whether it has layer norm or the like, which rescales what is left of an embedding
        when a part is taken out.
        """
        return any("Norm" in type(each).__name__ for each in self.modules())

    def hidden_layer(self) -> HiddenUnits | None:
        """Its first hidden layer; None where it has none, or nobody has said which it is."""
        return None

    def initial_values(self) -> dict[str, InitialValues]:
        """The published initial distribution of every parameter, by name."""
        raise NotImplementedError

    def distinct_tables(self) -> tuple[Tensor, ...]:
        """The operand tables, once where both operands share one."""
        first, second = self.operand_tables()
        return (first,) if _same(first, second) else (first, second)

    def forward(self, sequence: Tensor, cache: Cache | None = None) -> Tensor:
        """Logits (n, outputs) for tokens (n, context) as `task.tokens` writes them."""
        first, second = self.operand_tables()
        offset = self.task.modulus if self.task.separate_vocabularies else 0
        return self.logits_from_embeddings(
            first[sequence[:, 0]], second[sequence[:, 1] - offset], cache
        )

    def run_with_cache(self, sequence: Tensor | None = None) -> tuple[Tensor, Cache]:
        """Logits and every named activation; on all p * p pairs, in lexicographic order, unless
        tokens are given.
        """
        if sequence is None:
            sequence = tokens(self.task, all_pairs(self.task.modulus)).to(
                self.operand_tables()[0].device
            )
        cache: Cache = {}
        return self(sequence, cache), cache

    @torch.no_grad()
    def check_finite(self) -> None:
        """Stop at the first parameter that holds a NaN or an infinity, and name it."""
        # A sum is finite only if all its terms are. That is nearly always so, and waits for a GPU
        # once, not at each parameter.
        held: dict[torch.device, list[Tensor]] = {}
        for parameter in self.parameters():
            held.setdefault(parameter.device, []).append(parameter.flatten())
        if all(cmath.isfinite(torch.cat(each).sum().item()) for each in held.values()):
            return
        for name, parameter in self.named_parameters():
            bad = int((~torch.isfinite(parameter)).sum())
            if bad:
                raise InputError(
                    f"network {self.id}: parameter {name} holds {bad} values that are NaN or "
                    "infinite"
                )

    @torch.no_grad()
    def initialise(self, seed: int) -> None:
        """Draw every parameter from its own stream of `seed`, on the CPU."""
        rules = self.initial_values()
        for name, parameter in self.named_parameters():
            rule, draw = rules[name], generator(seed, name)
            if rule.distribution == "normal":
                values = draw.standard_normal(parameter.shape) * rule.scale
            elif rule.distribution == "uniform":
                values = draw.uniform(-rule.scale, rule.scale, parameter.shape)
            else:
                parameter.zero_()
                continue
            parameter.copy_(torch.from_numpy(values))
