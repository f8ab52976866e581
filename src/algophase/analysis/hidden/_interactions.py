"""Does the small product term carry the Clock? The network without the interactions in its hidden
pre-activations.

What the hidden layer reads at the last position is x(a, b) = mean + A(a) + B(b) + interactions.
Without the latter it is a sum:

    x'(e_1, e_2) = mean over b of x(e_1, E_b) + mean over a of x(E_a, e_2) - mean,

which is a function of any two embeddings, so that the logits have gradients and every circle alone
has its own x'. With `products_only` no more than the product terms e^{i(+-w_f a +- w_f b)} go. That
is no function of two embeddings, and gradient symmetricity is then undefined.

The hidden units read x'. The logits also read the stream past the hidden layer: they go on to read
x, unless `direct`.
"""

from functools import cached_property

import torch
from torch import Tensor

from algophase.analysis.analyze import analyze_subject
from algophase.analysis.hidden.units import on_grid
from algophase.analysis.logits.metrics import paper_triples_on, similarity
from algophase.analysis.operation import on_its_group
from algophase.analysis.result import Analysis
from algophase.analysis.subject import Subject
from algophase.core.errors import InputError
from algophase.core.fourier import padded_basis
from algophase.networks import Network
from algophase.networks.pair_logits import PairLogits, Prepared


def without_interactions(
    network: Network,
    *,
    direct: bool = False,
    products_only: bool = False,
    device: torch.device | str = "cpu",
) -> Analysis:
    """Analyze a one-layer transformer after removing every interaction of the two operands from
    what its hidden units read.

    Both gradient symmetricities are then those of the paper's 100 triples. A linear model's units
    read a sum by construction, so there is nothing to remove.

    Arguments:
        network: a one-layer transformer of the paper.
        direct: also remove interactions from what the logits read past the hidden layer.
        products_only: remove only product terms of one frequency; gradient symmetricity is then
            undefined.
        device: where to compute.

    Returns:
        The `Analysis` of the changed network.

    Raises:
        InputError: the network is not a one-layer transformer.

    Example:
        >>> from algophase import RunSettings, TaskSettings, TransformerSettings, initialize
        >>> settings = TransformerSettings(8, attention_rate=1.0)
        >>> network = initialize(RunSettings(TaskSettings(7), settings))
        >>> round(without_interactions(network).product_share, 6)
        0.0
    """
    return analyze_subject(_Without(network, direct, products_only, device))


def can_lose_interactions(network: Network) -> bool:
    """Whether it is a one-layer transformer."""
    return network.stream_layer() is not None


class _Without(Subject):
    """A network under measurement, its hidden units without interactions."""

    def __init__(
        self, network: Network, direct: bool, products_only: bool, device: torch.device | str
    ) -> None:
        super().__init__(on_its_group(network), device)
        layer = self.network.stream_layer()
        if layer is None:
            raise InputError(
                f"network {network.id} is not a one-layer transformer of the paper; "
                "interactions are defined for its hidden units alone"
            )
        self.layer, self.direct, self.products_only = layer, direct, products_only

    def _reduced(self, stream: Tensor) -> Tensor:
        """The stream of all pairs, (p * p, width), without interactions."""
        p = self.modulus
        x = stream.view(p, p, -1)
        if not self.products_only:
            of_a = x.mean(dim=1, keepdim=True)
            of_b = x.mean(dim=0, keepdim=True)
            return (of_a + of_b - x.mean(dim=(0, 1))).flatten(0, 1)
        waves = padded_basis(p, stream.device)
        modes = waves @ (waves @ stream.view(p, -1)).view(len(waves), p, -1)
        # the frequency of each wave
        of_row = (torch.arange(len(waves), device=stream.device) + 1) // 2
        same = (of_row[:, None] == of_row) & (of_row > 0)
        product = waves.T @ (modes * same[..., None])  # (of a, b, width)
        return stream - (waves.T @ product.flatten(1)).view_as(stream)

    def _answer(self, stream: Tensor, reduced: Tensor) -> Tensor:
        """Logits (n, outputs) of the stream and of what the hidden units read of it."""
        past = reduced if self.direct else stream
        return self.layer.logits(past, self.layer.pre_activations(reduced))

    @cached_property
    def prepared(self) -> Prepared:
        outputs = self.layer.outputs
        # Interactions are what means over all pairs leave, so the logits of all pairs are made at
        # once.
        return Prepared(self._prepare, self.layer.units + outputs, self.modulus * outputs)

    @torch.no_grad()
    def _prepare(self, first: Tensor, second: Tensor) -> PairLogits:
        p = self.modulus
        by_embedding = list[Tensor]()
        for tables in zip(first, second, strict=True):
            stream = self.layer.stream(*on_grid(self.network, tables))
            by_embedding.append(self._answer(stream, self._reduced(stream)).view(p, p, -1))
        logits = torch.stack(by_embedding)

        def of_rows(embeddings: slice, rows: slice) -> Tensor:
            return logits[embeddings, rows]

        return PairLogits(of_rows, lambda every: every)

    def run(self) -> None:
        """Nothing at once: neither logits nor similarities are the transformer's own."""

    units_at_once = True  # what is left without the interactions is a mean over all pairs

    @cached_property
    def logits(self) -> Tensor:
        first, second = self.network.operand_tables()
        return self.prepared(first[None], second[None])(slice(None), slice(None))[0]

    @cached_property
    @torch.no_grad()
    def pre_activations(self) -> Tensor | None:
        stream = self.layer.stream(*on_grid(self.network))
        return self.layer.pre_activations(self._reduced(stream))

    @cached_property
    def similarities(self) -> Tensor:
        """Of the paper's triples; NaN elsewhere, and everywhere where the logits are no function
        of two embeddings.
        """
        p, network, stream = self.modulus, self.network, self.layer.stream
        first, second = (table.detach() for table in network.operand_tables())
        similarities = first.new_full((p, p, p), torch.nan)
        if self.products_only:
            return similarities
        triples = paper_triples_on(p, first.device)
        n = len(triples)
        with torch.enable_grad():
            a = first[triples[:, 0]].requires_grad_()
            b = second[triples[:, 1]].requires_grad_()
            over_b = stream(a.repeat_interleave(p, 0), second.repeat(n, 1)).view(n, p, -1)
            over_a = stream(first.repeat(n, 1), b.repeat_interleave(p, 0)).view(n, p, -1)
            mean = stream(*on_grid(network)).mean(dim=0)
            reduced = over_b.mean(dim=1) + over_a.mean(dim=1) - mean
            logits = self._answer(stream(a, b), reduced)
            gradients = torch.autograd.grad(logits.gather(1, triples[:, 2:]).sum(), (a, b))
        similarities[tuple(triples.T)] = similarity(*gradients)
        return similarities
