"""What the elements of a group are called, for people: (1 2 3), r^4 s, or their numbers.

The names are those of `named_groups`, by the name that the group was made from. A group of a table
or of generators has numbers for names.
"""

import re
from collections.abc import Sequence

from algophase.core.group import Group
from algophase.core.named_groups import cycles_of, permutations_of


def element_names(group: Group) -> list[str]:
    """A name for each element, (n,).

    >>> from algophase.core.named_groups import named_group
    >>> element_names(named_group("S3"))
    ['()', '(2 3)', '(1 2)', '(1 2 3)', '(1 3 2)', '(1 3)']
    >>> element_names(named_group("D3"))
    ['1', 'r', 'r^2', 's', 'r s', 'r^2 s']
    """
    family = re.fullmatch(r"(S|A|D|Dic|Q)(\d+)", group.spelled.replace(" ", ""))
    if family is None:
        return [str(number) for number in group.elements]
    kind = family[1]
    size = int(family[2])
    if kind in "SA":
        return [cycles_of(images) for images in permutations_of(size, even_only=kind == "A")]
    if kind == "D":
        return _powers("r", size, "s")
    return _powers("a", group.order // 2, "x")


def _powers(turn: str, length: int, second: str) -> list[str]:
    """turn^i for every i, then turn^i other."""
    turns = [_power(turn, exponent) for exponent in range(length)]
    crossed = [f"{power} {second}" if power else second for power in turns]
    return [power or "1" for power in turns] + crossed


def _power(turn: str, exponent: int) -> str:
    if exponent == 0:
        return ""
    return turn if exponent == 1 else f"{turn}^{exponent}"


def class_names(group: Group) -> Sequence[str]:
    """Each conjugacy class by its first element and its size, where that is above one.

    >>> from algophase.core.named_groups import named_group
    >>> class_names(named_group("S3"))
    ['()', '(2 3): 3', '(1 2 3): 2']
    """
    names = element_names(group)
    classes = []
    for element in group.class_members.tolist():
        size = int(group.class_sizes[element])
        classes.append(names[element] if size == 1 else f"{names[element]}: {size}")
    return classes
