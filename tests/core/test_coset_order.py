import numpy as np
import pytest

from algophase.core import coset_order as module
from algophase.core.coset_order import coset_order
from algophase.core.element_names import element_names
from algophase.core.errors import InputError
from algophase.core.group import Group
from algophase.core.named_groups import named_group
from algophase.core.representations import representations


def character(group: Group, name: str) -> np.ndarray:
    (member,) = [member for member in representations(group) if member.name == name]
    return member.character.real


@pytest.mark.parametrize(
    ("name", "representation", "size"),
    # The sign has the even permutations, the standard representation a stabilizer.
    [("S5", "sign", 60), ("S5", "standard", 24), ("A5", "standard", 12), ("S4", "standard", 6)],
)
def test_a_character_shows_by_the_cosets_of_its_subgroup(
    name: str, representation: str, size: int
) -> None:
    group = named_group(name)
    order = coset_order(group, character(group, representation))
    assert order.subgroup.sum() == size
    assert order.cosets == group.order // size
    assert sorted(order.right.tolist()) == list(range(group.order))
    members = np.flatnonzero(order.subgroup)
    for coset in order.right.reshape(-1, size):  # H + t
        assert set(group.table[members, coset[0]]) == set(coset)
    for coset in order.left.reshape(-1, size):  # t + H
        assert set(group.table[coset[0], members]) == set(coset)


def test_rotations_are_in_the_order_of_their_circle() -> None:
    group = named_group("D7")
    names = element_names(group)
    for number in (1, 2, 3):
        values = character(group, f"2.{number}")
        turns = coset_order(group, values).right[:7]
        assert {names[turn][0] for turn in turns} == {"1", "r"}
        # Neighbors on the circle have the largest value but that of the identity.
        assert values[turns[1]] == pytest.approx(2 * np.cos(2 * np.pi / 7))


def test_nothing_to_follow_leaves_the_elements_by_value() -> None:
    group = named_group("S3")
    order = coset_order(group, np.zeros(6))
    assert order.cosets == 1
    assert order.right.tolist() == list(range(6))


def test_cyclic_subgroups_do_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(group: Group) -> None:
        raise InputError("too many subgroups")

    monkeypatch.setattr(module, "subgroup_classes", refuse)
    group = named_group("D5")
    assert coset_order(group, character(group, "sign")).subgroup.sum() == 5
