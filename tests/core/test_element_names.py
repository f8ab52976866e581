import pytest

from algophase.core.element_names import class_names, element_names
from algophase.core.named_groups import named_group


@pytest.mark.parametrize("name", ["S4", "A4", "D6", "Dic3", "Q8", "Z2xZ6", "(1 2 3); (1 2)"])
def test_every_element_has_a_name_of_its_own(name: str) -> None:
    group = named_group(name)
    names = element_names(group)
    assert len(set(names)) == len(names) == group.order


def test_names_follow_the_order_of_the_elements() -> None:
    group = named_group("D5")
    names = element_names(group)
    turn, flip = names.index("r"), names.index("s")
    assert names[group.identity] == "1"
    assert names[group.sum(turn, flip)] == "r s"
    assert names[group.sum(flip, turn)] == "r^4 s"
    quaternions = named_group("Q8")
    names = element_names(quaternions)
    assert names[quaternions.sum(names.index("x"), names.index("x"))] == "a^2"


def test_classes_are_named_by_an_element_and_their_size() -> None:
    assert class_names(named_group("D4")) == ["1", "r^2", "s: 2", "r s: 2", "r: 2"]
