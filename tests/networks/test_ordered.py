"""Subtraction, multiplication and relabeled addition are found to be the addition that they
are.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from algophase import (
    RunSettings,
    TrainingSettings,
    analyze,
    build,
    distill,
    grid_logits,
    initialize,
    load,
    save,
    train,
)
from algophase.analysis.logits.all_pairs import accuracy
from algophase.core.errors import InputError
from algophase.core.group import primitive_root
from algophase.core.settings import LensSettings, LinearSettings, TaskSettings, TransformerSettings
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Network, Transformer
from algophase.networks.handmade import handmade_pizza
from algophase.networks.ordered import Ordered, ordered

FIRST, SECOND, THIRD = ((2, 0, 3, 1, 4), (1, 3, 0, 4, 2), (4, 2, 1, 0, 3))
TASKS = {
    "subtract": TaskSettings(7, operation="subtract"),
    "multiply": TaskSettings.multiplication(11),
    "multiply, equals sign": TaskSettings.multiplication(
        7, equals_sign=True, separate_vocabularies=True
    ),
    "relabeled": TaskSettings(
        5, relabeling=(FIRST, SECOND, THIRD), outputs="modulus", equals_sign=True
    ),
    "answers as they are": TaskSettings(5, relabeling=(FIRST, FIRST)),
}


def right_answer(task: TaskSettings, a: int, b: int) -> int:
    p = task.modulus
    if task.operation == "subtract":
        return (a - b) % p
    if task.operation == "multiply":
        return (a + 1) * (b + 1) % (p + 1) - 1
    first, second, *third = task.relabeling
    total = (first[a] + second[b]) % p
    return third[0].index(total) if third else total


@pytest.mark.parametrize("name", TASKS)
def test_right_answers(name: str) -> None:
    task = TASKS[name]
    expected = [
        [right_answer(task, a, b) for b in range(task.modulus)] for a in range(task.modulus)
    ]
    assert answers(task).tolist() == expected


def test_roots() -> None:
    assert [primitive_root(prime) for prime in (2, 3, 5, 7, 23, 41, 59)] == [1, 2, 2, 3, 5, 6, 2]


def by_name(network: Network) -> Tensor:
    """The logits of all pairs by the numbers' own names, put into order by hand."""
    p = network.task.modulus
    logits = network(tokens(network.task, all_pairs(p))).detach().view(p, p, -1)
    first, second, third = network.task.elements.names
    return torch.cat(
        [logits[first][:, second][..., third], logits[first][:, second][..., p:]], dim=-1
    )


@pytest.mark.parametrize("name", TASKS)
def test_an_ordered_network_is_the_network(name: str) -> None:
    network = initialize(RunSettings(TASKS[name], TransformerSettings(width=16), seed=1)).double()
    seen = ordered(network)
    assert seen.task.is_addition
    alike = name not in ("subtract", "relabeled")
    assert isinstance(seen, Transformer if alike else Ordered)
    torch.testing.assert_close(grid_logits(seen), by_name(network))
    torch.testing.assert_close(grid_logits(network), by_name(network))
    assert accuracy(grid_logits(network)) == analyze(network).accuracy
    generic = Ordered(network, *map(torch.from_numpy, network.task.elements.names))
    torch.testing.assert_close(grid_logits(generic), grid_logits(seen))


def test_a_pizza_on_exponents(tmp_path: Path) -> None:
    """A Pizza for addition modulo 22, its numbers renamed as those of multiplication modulo 23."""
    pizza = handmade_pizza(22, (1, 3), accompanied=True)
    task = TaskSettings.multiplication(23)
    network = initialize(RunSettings(task, pizza.settings)).double()
    exponents = task.elements.first
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.copy_(
                pizza.state_dict()[name][exponents] if "embed" in name else pizza.state_dict()[name]
            )
    found, expected = analyze(network), analyze(pizza)
    assert (found.verdict.label, found.verdict.sentence) == (
        expected.verdict.label,
        expected.verdict.sentence,
    )
    assert found.verdict.label == "Pizza"
    assert found.accuracy == 1
    assert found.cautions[0].startswith("it multiplies modulo 23")
    assert found.anatomy is not None
    assert "discrete logarithms to base 5" in distill(network).source
    again = load(save(network, tmp_path / "product"))
    assert again.task == task
    assert analyze(again).verdict.sentence == found.verdict.sentence


def test_a_shared_table_has_a_circularity_when_it_is_read_backwards() -> None:
    network = initialize(RunSettings(TASKS["subtract"], TransformerSettings(width=16)))
    analysis = analyze(network)
    assert analysis.circularity == analysis.operand_circularity[0]


def test_training_learns_the_answers_by_name() -> None:
    recipe = TrainingSettings(epochs=400, learning_rate=0.02, weight_decay=0)
    run = RunSettings(TaskSettings.multiplication(7), LinearSettings("beta", 32, 32), recipe)
    (trained,) = train([run], device="cpu")
    assert trained.history.training_accuracy[-1] == 1
    assert trained.network is not None
    assert analyze(trained.network).accuracy >= 28 / 36  # the pairs that it was trained on


def test_other_tasks_leave_ids_and_files_alone() -> None:
    assert TaskSettings(59).to_dict().keys() == {
        "modulus",
        "separate_vocabularies",
        "equals_sign",
        "training_fraction",
    }
    for task in TASKS.values():
        assert TaskSettings.from_dict(task.to_dict()) == task
    ids = {
        RunSettings(task=TaskSettings(58, operation=name)).run_id
        for name in ("add", "subtract", "multiply")
    }
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"operation": "divide"}, "operation is 'divide'; choose one of add, subtract, multiply"),
        ({"modulus": 9, "operation": "multiply"}, "multiply modulo 10, which is not a prime"),
        ({"relabeling": (FIRST,)}, "two or three permutations"),
        ({"relabeling": (FIRST, (0, 1, 2, 3, 3))}, r"one of them is \(0, 1, 2, 3, 3\)"),
        (
            {"relabeling": (FIRST, SECOND), "operation": "subtract"},
            "a relabeling goes with 'add'",
        ),
        ({"outputs": "all"}, "outputs is 'all'; choose one of vocabulary, modulus"),
    ],
)
def test_what_is_no_task(settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TaskSettings(**{"modulus": 5, **settings})  # type: ignore[arg-type]


def test_a_model_that_cannot_tell_its_operands_apart_does_not_subtract() -> None:
    with pytest.raises(InputError, match="cannot tell a from b"):
        RunSettings(TASKS["subtract"], LinearSettings("alpha"))
    with pytest.raises(InputError, match="cannot tell a from b"):
        RunSettings(TaskSettings(group="S3"), LinearSettings("alpha"))
    RunSettings(TaskSettings(group="Z2xZ2"), LinearSettings("alpha"))


def test_a_transformer_with_biases_is_put_in_order_from_outside() -> None:
    """Its unembedding's bias has labels, too: no copy with its weights in another order is made."""
    network = build(TASKS["multiply"], LensSettings(8, 1, 2, 4, 16))
    network.initialize(0)
    adding = ordered(network)
    assert type(adding) is Ordered
    assert grid_logits(network).shape == (10, 10, 10)
