"""A network of another operation in the order in which its numbers add: then it is a network that
adds, and is analyzed as one.

Multiplication modulo a prime adds exponents, so its numbers are put in the order of their discrete
logarithms. Subtraction adds -b: the second operand's table is read backwards.
"""

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from algophase.core.group import primitive_root
from algophase.core.settings import TaskSettings
from algophase.networks.gradient_products import GradientProducts, Products
from algophase.networks.jacobians import Jacobians
from algophase.networks.network import Cache, Network
from algophase.networks.pair_logits import PairLogits, Prepared
from algophase.networks.parts import HiddenReads, HiddenUnits


class Ordered(Network):
    """Any network, its numbers in another order."""

    def __init__(self, network: Network, first: Tensor, second: Tensor, outputs: Tensor) -> None:
        super().__init__(replace(network.task, operation="add", relabeling=()), network.settings)
        self.inner, self.concurrent = network, network.concurrent
        for name, order in (("first", first), ("second", second), ("outputs", outputs)):
            self.register_buffer(name, order)
        self.id, self.run = network.id, network.run
        self.cut, self.notes = network.cut, network.notes

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        inner_first, inner_second = self.inner.operand_tables()
        first_order = self.get_buffer("first")
        second_order = self.get_buffer("second")
        first = inner_first[first_order]
        one_table = len(self.inner.distinct_tables()) == 1
        if one_table and torch.equal(first_order, second_order):
            return first, first
        return first, inner_second[second_order]

    def distinct_tables(self) -> tuple[Tensor, ...]:
        return self.inner.distinct_tables() if self.cut == "none" else super().distinct_tables()

    def hidden_layer(self) -> HiddenUnits | None:
        """The inner network's, which writes on the answers in this one's order."""
        layer = self.inner.hidden_layer()
        if layer is None or layer.readout is None:
            return layer
        inner_readout = layer.readout
        return replace(layer, readout=lambda: inner_readout()[:, self.get_buffer("outputs")])

    def hidden_reads(self) -> HiddenReads | None:
        """The inner network's, whose answers are put in this one's order."""
        inner = self.inner.hidden_reads()
        if inner is None:
            return None
        inner_logits = inner.logits

        def logits(first: Tensor, second: Tensor, read: Tensor) -> Tensor:
            return self._in_order(inner_logits(first, second, read))

        return replace(inner, logits=logits)

    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        """The inner network's, whose answers are put in this one's order."""
        inner = self.inner.jacobians(first, second, cache)
        order = self.get_buffer("outputs")
        to_first = to_second = inner.to_first[:, order]
        if inner.to_second is not inner.to_first:  # one gradient, where embeddings are added
            to_second = inner.to_second[:, order]
        return Jacobians(self._in_order(inner.logits), to_first, to_second)

    def gradient_products(self, first: Tensor, second: Tensor) -> GradientProducts | None:
        """The inner network's, whose answers are put in this one's order."""
        inner = self.inner.gradient_products(first, second)
        if inner is None:
            return None
        order = self.get_buffer("outputs")
        inner_block = inner.of_block

        def of_block(rows: slice, columns: slice) -> Products:
            products = inner_block(rows, columns)
            return products._replace(
                logits=self._in_order(products.logits),
                first=products.first[..., order],
                second=products.second[..., order],
                mixed=products.mixed[..., order],
            )

        return replace(inner, of_block=of_block)

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """The inner network's, whose answers are put in this one's order."""
        inner = self.inner.pair_logits()

        def of_tables(first: Tensor, second: Tensor) -> PairLogits:
            pairs = inner(first, second)

            def logits(read: Tensor) -> Tensor:
                return self._in_order(pairs.logits(read))

            return replace(pairs, logits=logits)

        return replace(inner, of_tables=of_tables)

    def first_attention(self) -> Callable[[Tensor, Tensor], Tensor] | None:
        return self.inner.first_attention()

    @property
    def concatenates(self) -> bool:
        return self.inner.concatenates

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        return self._in_order(self.inner.logits_from_embeddings(first, second, cache))

    def _in_order(self, logits: Tensor) -> Tensor:
        order = self.get_buffer("outputs")
        p = self.task.modulus
        return torch.cat([logits[..., order], logits[..., p:]], dim=-1)


def ordered(network: Network) -> Network:
    """The network itself if it adds, else one that does: its numbers in the order in which they
    add.

    One of ours whose two operands are named alike becomes a copy with its weights in that order,
    any other an `Ordered`.
    """
    task = network.task
    if task.operation == "add" and not task.relabeling:
        return network
    device = next(network.parameters()).device
    first, second, outputs = (torch.from_numpy(order).to(device) for order in task.elements.names)
    if network.label_axis is not None and torch.equal(first, second):
        adding = _permuted(network, first, outputs, network.label_axis)
    else:
        adding = Ordered(network, first, second, outputs)
    adding.notes = (_note(task), *network.notes)
    return adding


@torch.no_grad()
def _permuted(network: Network, operands: Tensor, outputs: Tensor, label_axis: int) -> Network:
    """A copy with the rows of its embeddings and the labels of its unembedding in these orders."""
    adding = copy.deepcopy(network)
    p = network.task.modulus
    adding.task = replace(network.task, operation="add", relabeling=())
    adding.run = None  # whose task is the other one
    rows = operands
    if network.task.separate_vocabularies:
        rows = torch.cat([operands, operands + p])
    for name, table in adding.named_parameters():
        if name.startswith("embed"):
            table[: len(rows)] = table[rows]
        elif name.startswith("unembed"):
            labels = table.narrow(label_axis, 0, p)
            labels.copy_(table.index_select(label_axis, outputs))
    return adding


def _note(task: TaskSettings) -> str:
    """How its numbers are shown."""
    if task.operation == "subtract":
        return "it subtracts, which adds -b: the second operand is shown as -b"
    if task.operation == "multiply":
        prime = task.modulus + 1
        return (
            f"it multiplies modulo {prime}, which adds exponents modulo {task.modulus}: numbers "
            "are shown by their discrete "
            f"logarithms to base {primitive_root(prime)}"
        )
    if task.group:
        return f"its numbers are shown in the order of the elements of {task.group}"
    return "it adds numbers under other names: they are shown in the order in which they add"
