"""Settings of a task: the group, how pairs are written as tokens, and how they are split."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from algophase.core._checked_settings import (
    Settings,
    check_choice,
    check_flag,
    check_integer,
    shown,
)
from algophase.core.errors import InputError
from algophase.core.group import (
    CyclicGroup,
    Elements,
    Group,
    cyclic_group,
    discrete_logarithms,
    is_prime,
)
from algophase.core.named_groups import named_group

DEFAULT_MODULUS = 59
OUTPUTS = ("vocabulary", "modulus")
OPERATIONS = ("add", "subtract", "multiply")


def _checked_relabeling(relabeling: object, modulus: int) -> tuple[tuple[int, ...], ...]:
    allowed = f"relabeling must be two or three permutations of 0 to {modulus - 1}"
    if not isinstance(relabeling, tuple | list) or len(relabeling) not in (0, 2, 3):
        raise InputError(f"{allowed}; it is {shown(relabeling)}")
    permutations = []
    for entry in relabeling:
        names = tuple(entry) if isinstance(entry, tuple | list) else (entry,)
        numbers = sorted(name for name in names if isinstance(name, int))
        if len(names) != modulus or numbers != list(range(modulus)):
            raise InputError(f"{allowed}; one of them is {shown(names)}")
        permutations.append(names)
    return tuple(permutations)


def _check_order(modulus: int, group: Group) -> None:
    if modulus != group.order:
        raise InputError(
            f"modulus is {modulus}; group {group.spelled} has {group.order} elements, so leave "
            "modulus out"
        )


@dataclass(frozen=True)
class TaskSettings(Settings):
    """Addition modulo p, or the operation of another finite group: how pairs are written as
    tokens, and how they are split.

    Arguments:
        modulus: p; the order of the group where one is given, and then it can be left out.
        separate_vocabularies: the second operand is token b + p, so that each operand has its own
            embedding.
        equals_sign: a third position has the last token of the vocabulary, and the answer is read
            there.
        training_fraction: int(training_fraction * p * p) pairs are trained on, the others validate.
            None where it is unknown, as for a network from elsewhere.
        outputs: a transformer's logits: "vocabulary" for one per token, "modulus" for one per
            number.
        operation: "add", "subtract" or "multiply". For "multiply" token t stands for t + 1, a
            non-zero number modulo the prime `modulus` + 1; that is addition of exponents modulo
            `modulus`. `TaskSettings.multiplication(59)` says it in terms of the prime.
        relabeling: addition of renamed numbers, as two or three permutations of 0 .. p - 1: the
            answer to (a, b) is the c with third[c] = first[a] + second[b] modulo p, or in the
            group. Without a third, answers keep their names.
        group: the name of a finite group ("S5", "D59", "Z2xZ30") or its generators ("(1 2 3 4 5);
            (1 2)"); docs/groups.md lists the names. "" is addition modulo p, and so is "Z59".

    Raises:
        InputError: a setting is out of range.

    Example:
        >>> task = TaskSettings(modulus=23, equals_sign=True)
        >>> task.vocabulary, task.context
        (24, 3)
        >>> TaskSettings.multiplication(59).modulus
        58
        >>> TaskSettings(group="S5").modulus
        120
    """

    modulus: int = DEFAULT_MODULUS
    separate_vocabularies: bool = False
    equals_sign: bool = False
    training_fraction: float | None = 0.8
    outputs: str = "vocabulary"
    operation: str = "add"
    relabeling: tuple[tuple[int, ...], ...] = ()
    group: str = ""

    _written_if_changed: ClassVar[tuple[str, ...]] = (
        *("outputs", "operation", "relabeling", "group"),
    )

    def __post_init__(self) -> None:
        check_integer("modulus", self.modulus, 2)
        if self.group:
            self._take_group()
        check_choice("outputs", self.outputs, OUTPUTS)
        check_choice("operation", self.operation, OPERATIONS)
        if self.operation == "multiply" and not is_prime(self.modulus + 1):
            raise InputError(
                f"modulus is {self.modulus}; numbers multiply modulo {self.modulus + 1}, which "
                "is not a prime"
            )
        self._set("relabeling", _checked_relabeling(self.relabeling, self.modulus))
        if self.relabeling and self.operation != "add":
            raise InputError(f"operation is {self.operation!r}; a relabeling goes with 'add'")
        check_flag("separate_vocabularies", self.separate_vocabularies)
        check_flag("equals_sign", self.equals_sign)
        if self.training_fraction is not None:
            self._set_in_range("training_fraction")
            if self.training_pairs < 1:
                fraction = self.training_fraction
                raise InputError(
                    f"training_fraction {fraction} leaves no training pair at modulus "
                    f"{self.modulus}"
                )

    def _take_group(self) -> None:
        """Check the group's name, and take a cyclic one as addition modulo its order."""
        group = named_group(self.group)
        if self.modulus != DEFAULT_MODULUS:
            _check_order(self.modulus, group)
        if self.operation != "add":
            raise InputError(f"operation is {self.operation!r}; a group goes with 'add'")
        self._set("modulus", group.order)
        self._set("group", "" if group.is_cyclic else group.spelled)
        if group.is_cyclic and not isinstance(group, CyclicGroup):
            if self.relabeling:
                raise InputError(f"group is {group.spelled}; a cyclic one takes no relabeling here")
            exponents = tuple(group.logarithms().tolist())
            self._set("relabeling", (exponents, exponents, exponents))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """A task from its settings by name.

        Arguments:
            data: the settings that are not at their defaults.

        Returns:
            The task.

        Raises:
            InputError: a setting is unknown or out of range, or the modulus is not the group's
                order.
        """
        task = super().from_dict(data)
        if data.get("group") and "modulus" in data:  # also 59, where it is said
            _check_order(data["modulus"], named_group(data["group"]))
        return task

    @classmethod
    def multiplication(cls, prime: int, **settings: Any) -> Self:
        """Multiplication of the non-zero numbers modulo a prime.

        Arguments:
            prime: the prime.
            settings: the other settings of the task.

        Returns:
            The task.
        """
        return cls(modulus=prime - 1, operation="multiply", **settings)

    @property
    def described(self) -> str:
        """The task in words: "addition modulo 59"."""
        if self.group:
            return f"the group {self.group}"
        if self.operation == "multiply":
            return f"multiplication modulo {self.modulus + 1}"
        name = {
            "add": "relabeled addition" if self.relabeling else "addition",
            "subtract": "subtraction",
        }[self.operation]
        return f"{name} modulo {self.modulus}"

    @property
    def is_addition(self) -> bool:
        """Whether it is addition of numbers under their own names."""
        return self.operation == "add" and not self.relabeling and not self.group

    @property
    def finite_group(self) -> Group:
        """The group that the task adds in, whatever its numbers are called."""
        return named_group(self.group) if self.group else cyclic_group(self.modulus)

    @property
    def elements(self) -> Elements:
        """Which element of the group each number stands for, so that operands add to the answer."""
        own = self.finite_group.elements
        if self.operation == "subtract":  # a - b adds -b
            return Elements(own, self.finite_group.inverses, own)
        if self.operation == "multiply":  # powers of one number add their exponents
            exponents = discrete_logarithms(self.modulus + 1)
            return Elements(exponents, exponents, exponents)
        if self.relabeling:
            first, second, *third = (np.array(names) for names in self.relabeling)
            return Elements(first, second, third[0] if third else own)
        return Elements(own, own, own)

    @property
    def vocabulary(self) -> int:
        """Number of tokens: p or 2p, and one more for the equals sign."""
        return self.modulus * (2 if self.separate_vocabularies else 1) + int(self.equals_sign)

    @property
    def logits(self) -> int:
        """Number of logits of a transformer."""
        return self.modulus if self.outputs == "modulus" else self.vocabulary

    @property
    def training_pairs(self) -> int:
        """Number of pairs to train on."""
        if self.training_fraction is None:
            raise InputError(
                "training_fraction is not known; give the share of pairs to train on, a number "
                "in (0, 1]"
            )
        return int(self.training_fraction * self.modulus**2)

    @property
    def context(self) -> int:
        """Number of positions in the input: two operands, and the equals sign."""
        return 3 if self.equals_sign else 2
