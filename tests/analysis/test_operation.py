"""A network that learned something else than addition is called what it is, and analyzed as that
where it can be.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from commands import call
from torch import Tensor, nn

from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.operation import learned_instead, with_group, with_operation
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.group import Group
from algophase.core.named_groups import named_group
from algophase.core.settings import TaskSettings
from algophase.networks.handmade import handmade_clock
from algophase.networks.handmade_groups import adding_network, multiplying_network
from algophase.networks.wrapped import wrap
from algophase.storage import load, save

P = 23
GROUPS = Path(__file__).resolve().parents[3] / "shared" / "foreign" / "groups"


class Renamed(nn.Module):
    """A hand-made Clock whose numbers have other names."""

    def __init__(self, task: TaskSettings) -> None:
        super().__init__()
        clock = handmade_clock(task.modulus, (1, 5))
        first, second, self.names = map(torch.from_numpy, task.elements)
        table = clock.operand_tables()[0].detach()
        self.left, self.right = (
            nn.Embedding.from_pretrained(table[order]) for order in (first, second)
        )
        self.clock = clock

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.clock.logits_from_embeddings(self.left(a), self.right(b))[:, self.names]


SHUFFLED = tuple(torch.randperm(P, generator=torch.Generator().manual_seed(0)).tolist())
TASKS = {
    "subtract": TaskSettings(P, operation="subtract"),
    "multiply from one": TaskSettings(P - 1, operation="multiply"),
    "other names": TaskSettings(P, relabeling=(SHUFFLED, SHUFFLED, SHUFFLED)),
    "b - a": TaskSettings(P, relabeling=(tuple(-n % P for n in range(P)), tuple(range(P)))),
}
SAID = {
    "subtract": "it agrees with a - b on 100% of pairs (analyze it with operation='subtract')",
    "multiply from one": (
        "it agrees with (a + 1) * (b + 1) - 1 modulo 23 on 100% of pairs "
        "(analyze it with operation='auto')"
    ),
    "other names": "its answers form a cyclic group of order 23 with its elements in another order "
    "(analyze it with operation='auto')",
    "b - a": "it agrees with b - a on 100% of pairs (analyze it with operation='auto')",
}


@pytest.mark.parametrize("kind", TASKS)
def test_a_module_that_learned_something_else(kind: str) -> None:
    task = TASKS[kind]
    analysis = analyze(Renamed(task), modulus=task.modulus)
    assert analysis.sentence == f"learned something else: {SAID[kind]}"
    assert analysis.label == "other"
    assert analysis.to_dict()["learned_instead"] in analysis.sentence
    assert "nothing" not in analysis.sentence
    taken = analyze(Renamed(task), modulus=task.modulus, operation="auto")
    assert taken.sentence == "two Clocks"
    assert any(caution.startswith("operation auto: it") for caution in taken.cautions)


def test_auto_of_addition_is_addition() -> None:
    analysis = analyze(Renamed(TaskSettings(P)), modulus=P, operation="auto")
    assert (analysis.accuracy, analysis.sentence, analysis.instead) == (1, "two Clocks", None)


@pytest.mark.parametrize("kind", ["module", "function"])
def test_multiplication_with_zero(kind: str) -> None:
    """Zero times anything is zero: `multiply` leaves it out."""
    clock = grid_logits(handmade_clock(10, (1, 3)))
    powers = [pow(2, k, 11) for k in range(10)]
    products = torch.full((11, 11, 11), -9.0)
    products[0, :, 0] = products[:, 0, 0] = 9
    for i, a in enumerate(powers):
        for j, b in enumerate(powers):
            products[a, b, powers] = clock[i, j].float()

    class Products(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 1)
            self.embed.weight.data[:, 0] = torch.arange(11)

        def forward(self, tokens: Tensor) -> Tensor:
            a, b = self.embed(tokens)[:, :, 0].round().long().clamp(0, 10).unbind(1)
            return products[a, b].to(self.embed.weight.dtype)

    made: Callable[..., Tensor] = Products() if kind == "module" else lambda a, b: products[a, b]
    analysis = analyze(made, modulus=11)
    assert (
        "it agrees with a * b on 100% of pairs (analyze it with operation='multiply')"
        in analysis.sentence
    )
    assert analyze(made, modulus=11, operation="auto").accuracy == 1


@pytest.fixture
def subtractor(tmp_path: Path) -> Path:
    """A file that does not say that it subtracts: cos w (a - b - c) as products of waves, for
    two frequencies.
    """
    angles = 2 * torch.pi * torch.arange(P, dtype=torch.float64)[:, None] * torch.tensor([1, 5]) / P
    cos, sin = angles.cos(), angles.sin()
    tensors = {
        "W_x": torch.cat([cos, sin, sin, cos], dim=1),
        "W_y": torch.cat([cos, sin, cos, sin], dim=1),
        "W_U": torch.cat([cos, cos, sin, -sin], dim=1).T.contiguous(),
    }
    torch.save(tensors, tmp_path / "subtractor.pt")
    return tmp_path / "subtractor.pt"


def test_a_network_can_be_taken_as_another_operation(subtractor: Path) -> None:
    network = load(subtractor)
    assert "operation='subtract'" in analyze(network).sentence
    for operation in ("subtract", "auto"):
        analysis = analyze(network, operation=operation)
        assert analysis.accuracy == 1
        assert analysis.instead is None
        assert "it subtracts" in analysis.cautions[0]
    assert network.task.is_addition
    assert "agrees with a - b" in analyze(network, operation="add").sentence
    taken = with_operation(network, "subtract")
    added = analyze(taken, operation="add")
    assert added.instead is not None
    with pytest.raises(
        InputError, match="operation is 'divide'; choose one of add, subtract, multiply, auto"
    ):
        analyze(network, operation="divide")
    with pytest.raises(InputError, match="modulus: network subtractor knows"):
        analyze(network, modulus=P)


def test_other_lines_keep_what_was_learned(subtractor: Path) -> None:
    analysis = analyze(load(subtractor))
    assert analysis.decide(Thresholds(accuracy=0.9)).sentence == analysis.sentence


def test_the_command_says_it_in_a_line(subtractor: Path) -> None:
    """One line on standard error and exit code 1; with the right operation, an analysis."""
    failed = call("analyze", str(subtractor))
    assert failed.returncode == 1
    said = (
        "it did not learn addition modulo 23: it agrees with a - b on 100% of pairs; analyze "
        "it with --operation subtract"
    )
    assert said in " ".join(failed.stderr.split())
    assert failed.stdout.strip() == ""
    for operation in ("subtract", "auto"):
        right = call("analyze", str(subtractor), "--operation", operation)
        assert right.returncode == 0, right.stderr
        assert "accuracy (all pairs)   100.00%" in right.stdout
    record = json.loads(call("analyze", str(subtractor), "--json").stdout)
    assert record[0]["learned_instead"] == "it agrees with a - b on 100% of pairs"


def test_a_kept_analysis_keeps_it(tmp_path: Path) -> None:
    network = wrap(Renamed(TASKS["subtract"]), P)
    path = save(network, tmp_path / "kept", analysis=analyze(network))
    assert analyze(load(path)).sentence == analyze(network).sentence


@pytest.mark.skipif(not GROUPS.exists(), reason="the networks of other groups are not here")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("S5_MLP_seed1", "its answers form the group S5 of order 120"),
        ("S5_T_seed1", "its answers form the group S5 of order 120"),
        ("D59_MLP_seed1", "its answers form the group D59 of order 118"),
        ("D59_T_seed1", "its answers form the group D59 of order 118"),
        ("A5_MLP_seed1", "its answers form the group A5 of order 60"),
        ("S5_MLP_hidden_dim_48_seed1", ""),  # it memorized
    ],
)
def test_published_networks_on_other_groups(name: str, said: str) -> None:
    network = load(GROUPS / f"{name}.pt")
    result = learned_instead(network, grid_logits(network).argmax(dim=-1).numpy())
    assert (result.sentence if result is not None else "") == said


@pytest.mark.slow
@pytest.mark.skipif(not GROUPS.exists(), reason="the networks of other groups are not here")
def test_a_published_network_on_another_group_is_analyzed_on_its_group() -> None:
    analysis = analyze(load(GROUPS / "A5_MLP_seed1.pt"))
    assert analysis.sentence.startswith("A5 by adding: ")
    assert analysis.label == "adding"
    assert any("its answers form the group A5 of order 60" in note for note in analysis.cautions)


class OnlySome(nn.Module):
    """A network that multiplies in a group and answers some pairs at random."""

    def __init__(self, group: Group, share: float) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        order = group.order
        is_known = torch.rand(order, order, generator=draw) < share
        others = torch.randint(order, (order, order), generator=draw)
        answers = torch.where(is_known, torch.from_numpy(group.table), others)
        self.embed = nn.Embedding.from_pretrained(torch.eye(order))
        self.answers = 5 * nn.functional.one_hot(answers, order).float()

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        first, second = self.embed(a), self.embed(b)
        return torch.einsum("nx,ny,xyz->nz", first, second, self.answers)


def test_a_network_that_memorized_is_no_algorithm() -> None:
    module = OnlySome(named_group("S4"), 0.6)
    for analysis in (analyze(module, modulus=24), analyze(module, group="S4")):
        assert analysis.label == "not learned"
        assert analysis.sentence.startswith("S4: no algorithm found: it memorized (6")
        assert any("form no group: the table has no identity" in note for note in analysis.cautions)
        assert "modulo" not in str(analysis)


def test_a_network_with_a_few_wrong_pairs_has_its_group() -> None:
    analysis = analyze(OnlySome(named_group("D6"), 0.97), modulus=12)
    assert analysis.on_group is not None
    assert analysis.on_group.name == "D6"
    assert analysis.label == "not learned"


def test_a_group_can_be_given(tmp_path: Path) -> None:
    group = named_group("S3")
    network = adding_network(group)
    table = tmp_path / "s3.json"
    table.write_text(json.dumps(group.table.tolist()))
    asked = ["S3", "(1 2 3); (1 2)", group, group.table, group.table.tolist(), table]
    for given in asked:
        analysis = analyze(network, group=given)
        assert analysis.sentence == "S3 by adding: the standard representation (100%)"
    with pytest.raises(InputError, match="group S4 has 24 elements; network unnamed answers with"):
        analyze(network, group="S4")
    with pytest.raises(InputError, match="choose one of operation and group"):
        analyze(network, group="S3", operation="add")
    as_cyclic = with_group(network, "Z6")
    assert as_cyclic.task.is_addition
    assert "are those of the group S3 of order 6" in as_cyclic.notes[0]
    assert analyze(network, group="Z6").on_group is None


def test_a_group_by_generators_that_has_no_name() -> None:
    """SL(2, 3), by the quaternion group and what turns i to j to k."""
    group = named_group("(1 2 3 4)(5 6 7 8); (1 5 3 7)(2 8 4 6); (2 5 8)(4 7 6)")
    assert group.order == 24
    analysis = analyze(multiplying_network(group))
    assert analysis.on_group is not None
    assert (analysis.on_group.name, analysis.on_group.classes) == ("", 7)
    assert analysis.sentence.startswith("a group of order 24 with 7 classes by multiplying: ")


def test_the_group_of_another_network(tmp_path: Path) -> None:
    """For a network that knows too few pairs to tell."""
    group = named_group("D4")
    other = save(adding_network(group), tmp_path / "other")
    little = adding_network(group)
    with torch.no_grad():
        little.W_U[:, :5] *= -1
    path = save(little, tmp_path / "little")
    network = load(path, group=str(other))
    assert network.task.group == "D4"
    assert network.notes[0].startswith("group given: ")
    with pytest.raises(InputError, match="network unnamed: its answers form no group: "):
        load(other, group=path)


@pytest.mark.parametrize("name", ["Z2xZ2", "S3", "Q8", "Z2xZ6"])
def test_small_groups_and_products_are_read(name: str) -> None:
    analysis = analyze(multiplying_network(named_group(name)))
    assert analysis.on_group is not None
    assert analysis.on_group.name == name


@pytest.mark.parametrize("order", [2, 3, 4, 30])
def test_cyclic_groups_stay_cyclic(order: int) -> None:
    network = multiplying_network(named_group(f"Z{order}"))
    analysis = analyze(network)
    assert analysis.on_group is None
    assert analysis.accuracy == 1


@pytest.mark.slow
@pytest.mark.skipif(not GROUPS.exists(), reason="the networks of other groups are not here")
def test_a_published_network_that_memorized(tmp_path: Path) -> None:
    """30.7% of its answers are right, which is enough to read S5 from them."""
    path = GROUPS / "S5_MLP_hidden_dim_48_seed1.pt"
    expected = "S5: no algorithm found: it memorized (30.68% of the pairs are right)"
    printed = call("analyze", str(path))
    assert printed.returncode == 0
    assert expected in printed.stdout
    assert "modulo" not in printed.stdout
    assert analyze(load(path, group="S5")).sentence == expected
    wrong = analyze(load(path, group="D60"))
    assert wrong.sentence == "not learned"
    assert any("30.69% are those of the group S5 of order 120" in note for note in wrong.cautions)
    refused = call("analyze", str(path), "--group", "A5")
    assert "answers with 120 numbers; the group given has 60 elements" in refused.stderr
    broken = tmp_path / "broken.csv"
    broken.write_text("0 1\n1 1\n")
    refused = call("analyze", str(path), "--group", broken)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "broken.csv: element 1 has no inverse" in " ".join(refused.stderr.split())
