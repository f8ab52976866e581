"""What a network answers to all pairs: which formula its answers follow, or which group they form.

A network that subtracts, or multiplies permutations, learned something, though not addition. Its p
x p answers say what.

A table may be a group under other names: answers c with h(c) = f(a) g(b) for three ways f, g, h to
name the elements. Then (a * b0) . (a0 * b) = a * b, with any fixed a0 and b0, is the table of the
same group (Albert 1943), which `nearest_group` reads, though some answers may be wrong.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algophase.core.errors import InputError
from algophase.core.group import Group, Numbers, group_from_table, is_prime
from algophase.core.known_groups import described, isomorphism, name_of
from algophase.core.named_groups import named_group, spelled_by_generators
from algophase.core.partial_table import is_no_chance, nearest_group

# A network follows a formula, or forms a group, from this share of all pairs on. Different formulas
# have few pairs in common.
FOLLOWS = 0.9

Formula = Callable[[Numbers, Numbers, int], Numbers]
FORMULAS: dict[str, Formula] = {
    "a + b": lambda a, b, p: a + b,
    "a - b": lambda a, b, p: a - b,
    "b - a": lambda a, b, p: b - a,
    "-(a + b)": lambda a, b, p: -a - b,
    "a * b": lambda a, b, p: a * b,
    "a^2 + b^2": lambda a, b, p: a * a + b * b,
    "a^2 + a * b + b^2": lambda a, b, p: a * a + a * b + b * b,
    "max(a, b)": lambda a, b, p: np.maximum(a, b),
    "min(a, b)": lambda a, b, p: np.minimum(a, b),
    "a": lambda a, b, p: a + 0 * b,
    "b": lambda a, b, p: b + 0 * a,
}
OPERATION = {"a + b": "add", "a - b": "subtract", "a * b": "multiply"}  # what an analysis knows
FROM_ONE = "(a + 1) * (b + 1) - 1 modulo "  # of tokens that stand for 1, 2, ...


@dataclass(frozen=True)
class Learned:
    """What the answers are.

    what: the formula, or the group; share: of all pairs; is_group: which of the two it is.
    operation: to analyze it as, "" where the analysis knows none.
    relabeling: how numbers are named so that they add, for `TaskSettings`; () where they do not
        add.
    group: the group that they add in, for `TaskSettings`; "" where it is cyclic.
    """

    what: str
    share: float
    is_group: bool = False
    operation: str = ""
    relabeling: tuple[tuple[int, ...], ...] = ()
    group: str = ""

    @property
    def sentence(self) -> str:
        """It agrees with a - b on 100% of pairs; its answers form the group S5 of order 120."""
        share = "100%" if self.share == 1 else f"{100 * self.share:.2f}%"
        if not self.is_group:
            return f"it agrees with {self.what} on {share} of pairs"
        return f"its answers form {self.what}" + (f" on {share} of pairs" if self.share < 1 else "")

    @property
    def asked_as(self) -> str:
        """The `operation` that takes it, or ""."""
        return self.operation or ("auto" if self.relabeling else "")

    @property
    def counts_from_one(self) -> bool:
        """Whether it multiplies non-zero numbers, the first of which has number 0."""
        return self.what.startswith(FROM_ONE)


def learned(table: Numbers) -> Learned | None:
    """What a table of answers (p, p) follows, in the terms of its own numbers; None where nothing
    is found.

    >>> a, b = np.ogrid[:7, :7]
    >>> learned((a - b) % 7).sentence
    'it agrees with a - b on 100% of pairs'
    """
    formula, share = _best_formula(table)
    behind = _group_behind(table) if share < FOLLOWS or formula not in OPERATION else None
    relabeling = () if behind is None else behind.relabeling
    if share >= FOLLOWS:
        operation = OPERATION.get(formula, "")
        if operation == "multiply" and not is_prime(
            len(table)
        ):  # then even non-zero numbers have no order that adds
            operation = ""
        return Learned(
            formula, share, operation=operation, relabeling=() if operation else relabeling
        )
    return None if behind is None else _as_learned(behind, table)


def learned_in_part(table: Numbers) -> Learned | None:
    """The group that answers (p, p) follow though most may be wrong, as those of a network that
    memorized some pairs; None where they follow none.

    >>> a, b = np.ogrid[:30, :30]
    >>> sums = (a + b) % 30
    >>> sums[::2, ::3] = 0
    >>> round(learned_in_part(sums).share, 2)
    0.84
    """
    behind = _behind_a_part(table)
    return None if behind is None else _as_learned(behind, table)


def on_given_group(group: Group, table: Numbers) -> Learned:
    """A group that answers (p, p) are said to be of, and how well they agree. Its elements are the
    numbers; where more answers fit the same group under other names, these.
    """
    as_given = _Behind(group, group.elements, group.elements)
    in_answers = _group_behind(table) or _behind_a_part(table)
    if in_answers is None or in_answers.agreement(table) <= as_given.agreement(table):
        return _as_learned(as_given, table)
    if isomorphism(group, in_answers.group) is None:
        return _as_learned(as_given, table)
    return _as_learned(in_answers, table)


def _as_learned(behind: "_Behind", table: Numbers) -> Learned:
    what = described(behind.group) + ("" if behind.same_names else ", under other names")
    if behind.group.is_cyclic and behind.relabeling:
        what = f"a cyclic group of order {len(table)} with its elements in another order"
    return Learned(
        what,
        behind.agreement(table),
        is_group=True,
        relabeling=behind.relabeling,
        group=behind.group_name,
    )


def why_no_group(table: Numbers) -> str:
    """What fails where answers (p, p) form no group, "" where they do."""
    try:
        group_from_table(table)
    except InputError as error:
        return str(error)
    return ""


def _best_formula(table: Numbers) -> tuple[str, float]:
    p = len(table)
    a, b = np.ogrid[:p, :p]
    shares = {
        name: float((formula(a, b, p) % p == table).mean()) for name, formula in FORMULAS.items()
    }
    products = (a + 1) * (b + 1) % (p + 1) - 1
    shares[f"{FROM_ONE}{p + 1}"] = float((products == table).mean())
    best = max(shares, key=lambda name: shares[name])  # of equal ones, the first
    return best, shares[best]


@dataclass(frozen=True)
class _Behind:
    """A group, how the two operands are named in it, and the answers (p, p) that it would give."""

    group: Group
    first: Numbers
    second: Numbers

    @property
    def table(self) -> Numbers:
        return self.group.table[self.first[:, None], self.second]

    def agreement(self, table: Numbers) -> float:
        """Share of the pairs on which it gives these answers."""
        return float((self.table == table).mean())

    @property
    def same_names(self) -> bool:
        numbers = np.arange(self.group.order)
        return bool(np.array_equal(self.first, numbers) and np.array_equal(self.second, numbers))

    @functools.cached_property
    def _spelled(self) -> tuple[str, Numbers]:
        """How `named_group` is asked for it, and the number of each element there, (n,)."""
        if self.group.spelled:
            return self.group.spelled, self.group.elements
        name = name_of(self.group)
        elements = isomorphism(named_group(name), self.group) if name else None
        if elements is None:
            return spelled_by_generators(self.group)
        return name, elements.argsort()

    @property
    def group_name(self) -> str:
        return "" if self.group.is_cyclic else self._spelled[0]

    @functools.cached_property
    def relabeling(self) -> tuple[tuple[int, ...], ...]:
        """() where the numbers are the elements in their own order."""
        numbers = self.group.logarithms() if self.group.is_cyclic else self._spelled[1]
        if self.same_names and np.array_equal(numbers, self.group.elements):
            return ()
        named = (numbers[self.first], numbers[self.second], numbers)
        return tuple(tuple(names.tolist()) for names in named)


def _group_behind(table: Numbers) -> _Behind | None:
    """The group that nearly all answers follow."""
    p = len(table)
    numbers = np.arange(p)
    # Answers that are no element are wrong, whatever stands for them.
    elements = np.where((table >= 0) & (table < p), table, 0)
    identity = int((elements == numbers).sum(axis=1).argmax())
    # Most tables of networks are no group. This says so before products are voted on, which takes
    # milliseconds.
    if (elements[identity] == numbers).mean() > 0.5 and (
        elements[:, identity] == numbers
    ).mean() > 0.5:
        candidate = _candidate(table, elements, numbers, numbers)
        if candidate is not None:
            return candidate
    whole_rows = (np.sort(elements, axis=1) == numbers).all(axis=1)
    whole_columns = (np.sort(elements, axis=0) == numbers[:, None]).all(axis=0)
    if not whole_rows.any() or not whole_columns.any():
        return None
    a0 = int(whole_rows.argmax())
    b0 = int(whole_columns.argmax())
    first = elements[:, b0]
    second = elements[a0]  # a * b0 and a0 * b, as elements of the group
    isotope = np.empty_like(elements)
    isotope[first[:, None], second] = elements
    return _candidate(table, isotope, first, second)


def _behind_a_part(table: Numbers) -> _Behind | None:
    """The group that these answers vote for, its elements under the answers' own names."""
    p = len(table)
    elements = np.where((table >= 0) & (table < p), table, 0)
    group = nearest_group(elements)
    if group is None or not is_no_chance(group, table):
        return None
    return _Behind(group, group.elements, group.elements)


def _candidate(
    answers: Numbers, products: Numbers, first: Numbers, second: Numbers
) -> _Behind | None:
    """The group that has these products, or nearly, if it gives these answers."""
    group = nearest_group(products)
    if group is None:
        return None
    behind = _Behind(group, first, second)
    return behind if behind.agreement(answers) >= FOLLOWS else None
