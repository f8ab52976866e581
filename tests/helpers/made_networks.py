"""Networks of known kind, made on the spot: lookup tables on random features, mixtures,
relabeled and rotated copies.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from algophase.core.fourier import circle, cos_turn
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings
from algophase.networks import Cache, Linear, Network, initialize
from algophase.networks.handmade import Clock, handmade_clock, handmade_pizza

EMBEDDINGS = ("gaussian", "orthonormal", "one-hot", "shuffled circles", "circles")


def embedding(kind: str, p: int, seed: int = 0) -> Tensor:
    """(p, width): no order of the numbers in any of them but the last."""
    draw = np.random.default_rng(seed)
    if kind == "one-hot":
        return torch.eye(p, dtype=torch.float64)
    if kind == "orthonormal":
        return torch.from_numpy(np.linalg.qr(draw.standard_normal((p, p)))[0])
    if kind == "gaussian":
        return torch.from_numpy(draw.standard_normal((p, p)))
    every = torch.cat([circle(p, k) for k in (1, 3, 5)], dim=1)
    return every[torch.from_numpy(draw.permutation(p))] if kind == "shuffled circles" else every


@torch.no_grad()
def lookup(table: Tensor, targets: Tensor, hidden: int = 0, seed: int = 0) -> Linear:
    """A Model alpha on this embedding, its first layer random and its read-out the least squares
    solution for these targets.

    targets: (p, p, p), alike for (a, b) and (b, a), as the logits of a Model alpha are.
    """
    p, width = table.shape
    hidden = hidden or 2 * p * p
    network = initialize(
        RunSettings(TaskSettings(modulus=p), LinearSettings("alpha", width, hidden), seed=seed)
    )
    assert isinstance(network, Linear)
    network = network.double()
    draw = np.random.default_rng(seed + 1)
    network.embed.weight.copy_(table)
    network.l1.weight.copy_(torch.from_numpy(draw.standard_normal((hidden, width))))
    network.l1.bias.copy_(torch.from_numpy(draw.standard_normal(hidden)))
    features = torch.relu((table[:, None] + table) @ network.l1.weight.T + network.l1.bias).flatten(
        0, 1
    )
    # Through the normal equations of the fewer unknowns: features has more columns than rows.
    gram = features @ features.T
    gram.diagonal().add_(1e-9 * gram.diagonal().mean())
    network.unembed.weight.copy_((features.T @ torch.linalg.solve(gram, targets.flatten(0, 1))).T)
    network.id = "lookup"
    return network


def right_labels(p: int) -> Tensor:
    numbers = torch.arange(p)
    return torch.nn.functional.one_hot((numbers[:, None] + numbers) % p, p).double()


def random_labels(p: int, seed: int = 0) -> Tensor:
    """A label drawn for each unordered pair."""
    drawn = torch.from_numpy(np.random.default_rng(seed).integers(0, p, (p, p)))
    return torch.nn.functional.one_hot(torch.triu(drawn) + torch.triu(drawn, 1).T, p).double()


class Mixture(Network):
    """Clocks and Pizzas side by side in one embedding, each in circles of its own: logits w_c
    Q_Clock + w_p Q_Pizza.
    """

    def __init__(
        self, clock: Clock, pizza: Linear, clock_weight: float, pizza_weight: float
    ) -> None:
        super().__init__(clock.task, LinearSettings("alpha", 2, 2))
        self.clock, self.pizza = clock, pizza
        self.clock_weight, self.pizza_weight = clock_weight, pizza_weight
        self.embedding = nn.Parameter(
            torch.cat([clock.embed.weight.detach(), pizza.embed.weight.detach()], dim=1)
        )
        self.id = "mixture"

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.embedding, self.embedding

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        cut = self.clock.embed.weight.shape[1]
        one = self.clock.logits_from_embeddings(first[:, :cut], second[:, :cut])
        other = self.pizza.logits_from_embeddings(first[:, cut:], second[:, cut:])
        return self.clock_weight * one + self.pizza_weight * other


def mixture(p: int, clocks: Sequence[int], pizzas: Sequence[int], clock_share: float) -> Mixture:
    """Whose Clocks hold this share of the squared norm of the logits, the Pizzas the others."""
    clock, pizza = handmade_clock(p, clocks), handmade_pizza(p, pizzas)
    sizes = []
    for network in (clock, pizza):
        table = network.operand_tables()[0]
        pairs = table[:, None].expand(-1, p, -1).flatten(0, 1), table.repeat(p, 1)
        logits = network.logits_from_embeddings(*pairs)
        logits = logits - logits.mean(dim=1, keepdim=True)
        sizes.append((logits - logits.mean(dim=0)).square().sum().item())
    return Mixture(
        clock, pizza, (clock_share / sizes[0]) ** 0.5, ((1 - clock_share) / sizes[1]) ** 0.5
    )


class EveryFrequency(Network):
    """W_out act(W_in (x_a + x_b)) on one-hot tokens: units of every frequency, at even phases,
    p/2 included at even p.
    """

    def __init__(self, p: int, *, square: bool = False, phases: int = 16) -> None:
        super().__init__(TaskSettings(modulus=p), LinearSettings("alpha", p, 2))
        tokens, reading, writing = torch.arange(p), [], []
        for k in range(1, p // 2 + 1):
            for j in range(phases):
                turned = (
                    2 * phases * k * tokens + (2 * j + 1) * p
                )  # half a step off, so that no unit is exactly at zero
                reading.append(cos_turn(turned, 2 * phases * p))
                writing.append(cos_turn(turned + (2 * j + 1) * p, 2 * phases * p))
        self.embedding = nn.Parameter(torch.eye(p, dtype=torch.float64))
        self.reading, self.writing = (
            nn.Parameter(torch.stack(reading).T),
            nn.Parameter(torch.stack(writing)),
        )
        self.square = square
        self.id = "every-frequency"

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.embedding, self.embedding

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        pre = (first + second) @ self.reading
        return (pre.square() if self.square else pre.relu()) @ self.writing


@torch.no_grad()
def relabeled(network: Linear, factor: int) -> Linear:
    """The same network with every number t renamed factor * t: circle k becomes circle k /
    factor (mod p).
    """
    p = network.task.modulus
    old = (factor * torch.arange(p)) % p
    network.embed.weight.copy_(network.embed.weight[old])
    network.unembed.weight.copy_(network.unembed.weight[old])
    return network


@torch.no_grad()
def rotated(network: Linear, seed: int = 0) -> Linear:
    """The same function with its embedding in other axes."""
    width = network.embed.weight.shape[1]
    turn = torch.from_numpy(
        np.linalg.qr(np.random.default_rng(seed).standard_normal((width, width)))[0]
    )
    network.embed.weight.copy_(network.embed.weight @ turn)
    network.l1.weight.copy_(network.l1.weight @ turn)
    return network


@torch.no_grad()
def shuffled(network: Linear, seed: int = 0) -> Linear:
    """Answers right, on an embedding whose tokens are permuted: the first layer reads numbers
    that no order holds together.
    """
    p = network.task.modulus
    order = torch.from_numpy(np.random.default_rng(seed).permutation(p))
    network.embed.weight.copy_(network.embed.weight[order])
    return network


def parity_clock(p: int) -> Clock:
    """At even p: a Clock of frequency 1 beside one of p/2, whose circle is two points."""
    return handmade_clock(p, (1, p // 2))
