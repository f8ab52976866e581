"""Modules from elsewhere are analyzed as they answer, whatever way their operands enter; what
cannot be cut says why.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.core.settings import LinearSettings, TaskSettings
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.networks.jacobians import by_autograd
from algophase.networks.wrapped import Wrapped, wrap

P = 7


class Attending(nn.Module):
    """Layer norm, GELU, dropout, biases, two heads, positions, an equals sign; logits at every
    position.
    """

    def __init__(self, outputs: int = P) -> None:
        super().__init__()
        self.embed, self.places = nn.Embedding(P + 1, 8), nn.Embedding(3, 8)
        self.block = nn.TransformerEncoderLayer(
            8, 2, 20, dropout=0.5, activation="gelu", batch_first=True
        )
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, outputs)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.norm(self.block(self.embed(tokens) + self.places(torch.arange(3)))))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.inner, self.out = (
            nn.Embedding(P, 8),
            nn.Linear(8, 8),
            nn.Linear(8, P, bias=False),
        )
        self.out.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        return {"hidden": tokens, "logits": self.out(F.silu(self.inner(self.embed(tokens).sum(1))))}


class TwoTables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.out = nn.Embedding(P, 8), nn.Embedding(P, 8), nn.Linear(16, P)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.out(torch.cat([self.left(a), self.right(b)], dim=1).relu())


class BareTables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W_x, self.W_y = (nn.Parameter(torch.randn(P, 8)) for _ in "xy")
        self.W = nn.Parameter(torch.randn(16, P))

    def forward(self, pairs: Tensor) -> Tensor:
        return torch.cat([self.W_x[pairs[:, 0]], self.W_y[pairs[:, 1]]], dim=1).relu() @ self.W


class BareColumns(nn.Module):
    """The table transposed, as wide as it has tokens: only one of its axes works."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.W = nn.Parameter(torch.randn(9, P + 1)), nn.Parameter(torch.randn(9, P))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table[:, tokens].prod(-1).T @ self.W


class OneHotInside(nn.Module):
    """Makes its one-hot numbers itself, in float32, and multiplies by a tensor that is no
    buffer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first, self.out, self.scale = (
            nn.Linear(2 * P, 12),
            nn.Linear(12, P),
            torch.full((12,), 2.0),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.first(F.one_hot(tokens, P).float().flatten(1)).relu() * self.scale)


class OneHotMatrix(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W_in, self.W_out = nn.Parameter(torch.randn(12, P)), nn.Parameter(torch.randn(12, P))

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.W_in.T).square() @ self.W_out


def one_hot_sequence() -> nn.Module:
    return nn.Sequential(nn.Linear(2 * P, 12), nn.ReLU(), nn.Linear(12, P))


CASES: dict[str, tuple[Callable[[], nn.Module], dict[str, Any], int]] = {
    "transformer": (Attending, {}, 1),
    "one more output": (lambda: Attending(P + 1), {}, 1),
    "tied weights": (Tied, {}, 1),
    "a named output": (Tied, {"answer": "logits"}, 1),
    "two tables": (TwoTables, {}, 2),
    "two bare tables": (BareTables, {"embedding": ("W_x", "W_y")}, 2),
    "a transposed table": (BareColumns, {"embedding": "table", "tokens": "a b"}, 1),
    "one-hot input": (one_hot_sequence, {}, 2),
    "one-hot inside": (OneHotInside, {}, 2),
    "one-hot matrix": (OneHotMatrix, {"embedding": "W_in", "tokens": "one-hot sum"}, 1),
}


def wrapped(case: str) -> tuple[nn.Module, Wrapped]:
    torch.manual_seed(1)
    make, how, _ = CASES[case]
    module = make()
    network = wrap(module, P, **how)
    assert isinstance(network, Wrapped)
    return module, network


@pytest.mark.parametrize("case", CASES)
def test_a_wrapped_module_answers_as_it_does(case: str) -> None:
    module, network = wrapped(case)
    assert all(each.training for each in module.modules())
    assert len(network.distinct_tables()) == CASES[case][2]
    module.eval()
    numbers = torch.arange(P)
    a, b = numbers.repeat_interleave(P), numbers.repeat(P)
    torch.testing.assert_close(grid_logits(network).flatten(0, 1), network.logits_of(a, b))
    analysis = analyze(network)
    assert analysis.cautions[: len(network.notes)] == network.notes
    assert not any("forward" in vars(each) for each in module.modules())


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_the_embeddings(case: str) -> None:
    """Against differences of the logits themselves."""
    network = wrapped(case)[1].double().eval()
    first, second = (table.detach()[:3].clone() for table in network.operand_tables())
    _, to_first, to_second = by_autograd(network, first, second)
    step = 1e-6 * torch.randn(
        first.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    for gradients, moved in (
        (to_first, (first + step, second)),
        (to_second, (first, second + step)),
    ):
        with torch.no_grad():
            change = network.logits_from_embeddings(*moved) - network.logits_from_embeddings(
                first, second
            )
        expected = torch.einsum("ncd,nd->nc", gradients, step)
        torch.testing.assert_close(change[:, :P], expected, rtol=1e-3, atol=1e-9)


def test_a_cut_at_the_first_layer_is_said() -> None:
    analysis = analyze(one_hot_sequence(), modulus=P)
    assert "no embedding: the first matrix, 0, is taken" in str(analysis)
    assert analysis.gradient_symmetricity == 1
    assert analysis.circularity != analysis.circularity
    assert any("1 by construction" in caution for caution in analysis.cautions)


class Handmade(nn.Module):
    """One of the two algorithms behind an embedding of our own choice of place and name."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.numbers, self.network = (
            nn.Embedding.from_pretrained(network.operand_tables()[0].detach()),
            network,
        )

    def forward(self, tokens: Tensor) -> Tensor:
        first, second = self.numbers(tokens).unbind(1)
        return self.network.logits_from_embeddings(first, second)


@pytest.mark.parametrize("make", [handmade_clock, handmade_pizza])
def test_a_wrapped_algorithm_is_found(make: Callable[..., Network]) -> None:
    network = make(23, (3, 7))
    whole, inside = analyze(network), analyze(Handmade(network), modulus=23, embedding="numbers")
    assert inside.verdict.label == whole.verdict.label
    of_units = {
        "disc_cka",
        "torus_cka",
        "turned_disc_cka",
        "product_share",
        "single_frequency_fit",
        "phase_resultant",
    }  # which nobody named
    expected = {
        name: math.nan if name in of_units else value for name, value in whole.metrics.items()
    }
    assert inside.metrics == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert inside.verdict.sentence == whole.verdict.sentence


def test_a_function_gets_what_needs_no_embedding() -> None:
    clock = grid_logits(handmade_clock(11, (2, 3)))

    def many(a: Tensor, b: Tensor) -> Tensor:
        return clock[a, b]

    def one(a: int, b: int) -> list[float]:
        assert isinstance(a, int)
        return clock[a, b].tolist()

    for function in (many, one):
        network = wrap(function, 11)
        analysis = analyze(network)
        assert sorted(analysis.program.frequencies) == [2, 3]
        assert analysis.program.explained == pytest.approx(1)
        assert "instances cannot be isolated" in analysis.verdict.sentence
        assert analysis.accuracy == 1
        assert not analysis.circles
        assert analysis.gradient_symmetricity != analysis.gradient_symmetricity


def test_templates_write_tokens() -> None:
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    network = wrap(Attending(), P, embedding="embed", tokens="a b 7")
    assert isinstance(network, Wrapped)
    assert network.write(a, b)[0].tolist() == [[1, 3, 7], [2, 4, 7]]
    network = wrap(nn.Sequential(nn.Embedding(2 * P, 4), nn.Flatten(), nn.Linear(8, P)), P)
    assert isinstance(network, Wrapped)
    assert network.write(a, b)[0].tolist() == [[1, 10], [2, 11]]
    assert len(network.distinct_tables()) == 2
    network = wrap(Attending(), P, tokens=lambda a, b: torch.stack([b, a, a * 0 + 7], dim=1))
    assert isinstance(network, Wrapped)
    assert len(network.distinct_tables()) == 1


@pytest.mark.parametrize("zeros", [0, 1])
def test_multiplication_and_subtraction(zeros: int) -> None:
    """A Clock's logits under the names of another operation, as a module and as a function."""
    clock, powers = grid_logits(handmade_clock(10, (1, 3))), [pow(2, k, 11) for k in range(10)]
    products = torch.full((11, 11, 11), -9.0, dtype=torch.float64)
    for i, a in enumerate(powers):
        for j, b in enumerate(powers):
            products[a, b, powers] = clock[i, j]

    def multiply(a: Tensor, b: Tensor) -> Tensor:
        assert min(a.min(), b.min()) == 1
        return products[a, b]

    analysis = analyze(multiply, modulus=11, operation="multiply")
    assert analysis.accuracy == 1
    assert sorted(analysis.program.frequencies) == [1, 3]
    assert analysis.cautions[0].startswith("it multiplies modulo 11")

    module = Handmade(handmade_clock(11, (1, 2)))
    subtracted = analyze(
        module,
        modulus=11,
        operation="subtract",
        tokens=lambda a, b: torch.stack([a, -b % 11], dim=1),
    )
    assert subtracted.verdict.sentence == "two Clocks"

    class Products(nn.Module):
        """Zero has a token, and an output, too."""

        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11 + zeros, 4)
            self.embed.weight.data[:, 0] = torch.arange(11 + zeros)

        def forward(self, tokens: Tensor) -> Tensor:
            a, b = self.embed(tokens)[:, :2, 0].round().long().clamp(0, 10).unbind(1)
            return products[a, b].to(self.embed.weight.dtype)

    network = wrap(Products(), 11, operation="multiply")
    assert network.operand_tables()[0][:, 0].tolist() == list(range(1, 11))
    assert analyze(network).accuracy == 1


class Slices(Network):
    def __init__(self) -> None:
        super().__init__(TaskSettings(modulus=P), LinearSettings())
        self.table = nn.Parameter(torch.randn(P + 1, 4))

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.table[:P], self.table[:P]


def test_equal_slices_of_one_table_are_shared() -> None:
    assert len(Slices().distinct_tables()) == 1


class Leaking(nn.Module):
    """Its operands also enter beside the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(P, 4), nn.Linear(4, P)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.embed(tokens).sum(1)) + (tokens == 3).sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("module", "how", "said"),
    [
        (Leaking, {}, "operands also enter elsewhere"),
        (BareTables, {}, "name the embedding, one of W_x, W_y, W"),
        (Tied, {"embedding": "embedding"}, "embedding is 'embedding'; module Tied has embed"),
        (Tied, {"tokens": "a a"}, "must name a and b"),
        (Tied, {"tokens": 3}, "give a template"),
        (
            Tied,
            {"tokens": lambda a, b: (a + b)[:, None]},
            "each operand must have a token of its own",
        ),
        (Tied, {"answer": "scores"}, "the module gives hidden, logits"),
        (Tied, {"outputs": 3}, "keep at least 7"),
        (Tied, {"answer": 1.5}, "answer is 1.5"),
        (lambda: nn.Sequential(nn.ReLU()), {}, "has no parameters"),
        (lambda: handmade_clock(P), {}, "is a network already"),
    ],
)
def test_what_cannot_be_wrapped_says_why(
    module: Callable[[], nn.Module], how: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        wrap(module(), P, **how)


def test_a_module_without_a_modulus_is_told_how() -> None:
    with pytest.raises(InputError, match="modulus=59"):
        analyze(Tied())


class Normed(nn.Module):
    """A Clock whose embeddings are brought to one length first: a part of them alone is blown up
    to it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = handmade_clock(23, (1, 5, 8))
        self.numbers = nn.Embedding.from_pretrained(3 * self.clock.embed.weight.detach())
        self.norm = nn.RMSNorm(6, eps=0.0, elementwise_affine=False)

    def forward(self, tokens: Tensor) -> Tensor:
        first, second = self.norm(self.numbers(tokens)).unbind(1)
        return self.clock.logits_from_embeddings(first, second)


def test_layer_norm_is_not_taken_for_a_lookup_table() -> None:
    analysis = analyze(Normed(), modulus=23)
    assert analysis.sentence == "three Clocks"
    assert analysis.additivity == pytest.approx(1)
    assert [each.kept for each in analysis.instances.instances] == pytest.approx([1, 1, 1])
    assert any("layer norm rescales" in caution for caution in analysis.cautions)
