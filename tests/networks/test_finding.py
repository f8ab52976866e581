"""A modulus that does not go with a module is asked about, by what the module shows: rows,
logits, and right answers.
"""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.networks._finding import likely_moduli
from algophase.networks.handmade import handmade_clock
from algophase.networks.wrapped import wrap

P = 37
CLOCK = handmade_clock(P, (1, 5, 8))
TABLE = CLOCK.operand_tables()[0].detach()


class Adder(nn.Module):
    """A Clock with a table of places beside that of tokens; spare: rows and outputs without a
    meaning.
    """

    def __init__(self, spare: int = 0, spare_outputs: int = 0) -> None:
        super().__init__()
        self.tok = nn.Embedding.from_pretrained(F.pad(TABLE, (0, 0, 0, spare)))
        self.pos = nn.Embedding(3, TABLE.shape[1], dtype=torch.float64)
        self.pos.weight.data.zero_()
        self.clock, self.spare_outputs = CLOCK, spare_outputs

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1])
        vectors = self.tok(tokens) + self.pos(places)
        logits = self.clock.logits_from_embeddings(vectors[:, 0], vectors[:, 1])
        return F.pad(logits, (0, self.spare_outputs), value=-9.0)


class TwoTables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = (nn.Embedding.from_pretrained(TABLE.clone()) for _ in range(2))
        self.clock = CLOCK

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.clock.logits_from_embeddings(self.left(a), self.right(b))


class OneHot(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.out = nn.Linear(2 * P, 9), nn.Linear(9, P)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.first(x).relu())


@pytest.mark.parametrize("modulus", [31, 36])
def test_a_modulus_below_what_the_module_adds_modulo_is_asked_about(modulus: int) -> None:
    with pytest.raises(InputError) as refused:
        analyze(Adder(), modulus=modulus)
    said = str(refused.value)
    assert (
        f"modulus is {modulus}, but tok has 37 rows and pos has 3 rows and 37 logits come out"
        in said
    )
    assert "100.00% of all pairs are right modulo 37" in said
    assert "Did you mean modulus=37?" in said
    insisted = analyze(Adder(), modulus=modulus, outputs=modulus)
    assert insisted.accuracy < 1


@pytest.mark.parametrize(
    ("module", "seen"),
    [
        (Adder, "tok has 37 rows and pos has 3 rows and 37 logits come out"),
        (TwoTables, "left has 37 rows and right has 37 rows and 37 logits come out"),
        (OneHot, "first reads 74 numbers and 37 logits come out"),
    ],
)
def test_a_modulus_above_it_is_asked_about(module: Any, seen: str) -> None:
    with pytest.raises(InputError) as refused:
        wrap(module(), 59)
    assert (
        str(refused.value)
        == f"module {module.__name__}: modulus is 59, but {seen}; did you mean modulus=37?"
    )


def test_a_function_is_asked_about_too() -> None:
    logits = grid_logits(CLOCK)

    def add(a: Tensor, b: Tensor) -> Tensor:
        return logits[a, b]

    with pytest.raises(
        InputError,
        match=r"function add: modulus is 31, but 37 logits come out; .* mean modulus=37\?",
    ):
        wrap(add, 31)
    assert analyze(add, modulus=31, outputs=31).accuracy < 1


@pytest.mark.parametrize(("spare", "outputs"), [(0, 0), (1, 0), (1, 1), (2, 2), (13, 13)])
def test_spare_rows_and_outputs_do_not_matter_where_all_answers_are_right(
    spare: int, outputs: int
) -> None:
    network = wrap(Adder(spare, outputs), P)
    assert analyze(network).accuracy == 1
    assert not any("modulus is" in note for note in network.notes)


def test_an_untrained_module_is_not_asked_about_but_sizes_are_said() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(P, 4), nn.Flatten(), nn.Linear(8, P))
    network = wrap(module, 31)
    assert "modulus is 31, but 0 has 37 rows and 37 logits come out" in network.notes


def test_likely_moduli() -> None:
    assert likely_moduli(Adder())[:4] == [37, 36, 35, 18]
    assert likely_moduli(OneHot()) == [37, 74]
    assert likely_moduli(len, 5) == [5, 4]


def test_a_wrapped_network_shows_its_sizes_and_no_others() -> None:
    assert repr(wrap(TwoTables(), P)) == (
        "<Wrapped TwoTables: addition modulo 37; architecture TwoTables, cut embedding, width "
        "6, own tables True, outputs 37>"
    )
    function = wrap(lambda a, b: grid_logits(CLOCK)[a, b], P)
    assert (
        repr(function)
        == "<Recorded function: addition modulo 37; architecture function, cut none, outputs 37>"
    )
