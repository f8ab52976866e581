"""Which operation a network follows, seen from its answers to all pairs, and the network taken
as following it.
"""

import copy
from dataclasses import replace

import numpy as np

from algophase.analysis.logits.all_pairs import grid_answers
from algophase.core.answers import (
    FOLLOWS,
    Learned,
    learned,
    learned_in_part,
    on_given_group,
    why_no_group,
)
from algophase.core.errors import InputError
from algophase.core.given_group import given_group
from algophase.core.group import Group, Numbers, is_prime
from algophase.core.partial_table import is_no_chance, nearest_group
from algophase.core.settings import TaskSettings, shown
from algophase.core.task import answers, following
from algophase.networks import Network
from algophase.networks.wrapped import OPERATIONS_ASKED

# A network that agrees with a group on less than this many times 1 / n of its pairs agrees by
# chance.
CHANCE = 3.0


def learned_instead(network: Network, in_order: Numbers) -> Learned | None:
    """What a network learned in place of its task; None where it follows its task best, or nothing
    that we know.

    in_order: its answers (p, p) with numbers in the order in which they add, as an analysis sees
        them.
    """
    task = network.task
    own = _by_own_names(task, in_order)
    result = learned(own)
    if result is None or result.share <= (own == answers(task).numpy()).mean():
        return None
    has_zero = network.cut != "none" and not network.can_leave_out_zero
    if result.operation == "multiply" and has_zero:
        return replace(result, operation="")  # only `wrap` can leave zero out
    return result


def _by_own_names(task: TaskSettings, in_order: Numbers) -> Numbers:
    """Answers (p, p) with the task's own numbers for operands and answers. An answer that is not a
    number, such as the token of the equals sign, stays as it is.
    """
    elements = task.elements
    answers_in_order = in_order[elements.first[:, None], elements.second]
    is_element = answers_in_order < task.modulus
    sums = np.where(is_element, answers_in_order, 0)
    return np.where(is_element, elements.names.answer[sums], answers_in_order)


def on_its_group(network: Network) -> Network:
    """The network taken as on the group that its answers form, where that is not cyclic and nothing
    says what it was trained on. Its weights are shared.
    """
    task = network.task
    is_known = network.run is not None or not task.is_addition or network.group_is_settled
    if is_known or is_prime(task.modulus):  # every group of prime order is cyclic
        return network
    table = _answers_by_number(network)
    result = learned(table)
    if result is None:
        result = learned_in_part(table)
    if result is None:
        reason = f"its answers form no group: {why_no_group(table)}"
        return _with_note(network, f"{reason}; --group says on which one it was trained")
    if not result.group:
        return network
    taken = _with_note(network, _said_of(result, table))
    taken.task = following(task, result)
    return taken


def _answers_by_number(network: Network) -> Numbers:
    """(p, p), an answer beyond p - 1 where it is no number."""
    return grid_answers(network).cpu().numpy()


def _with_note(network: Network, note: str) -> Network:
    taken = copy.copy(network)
    taken.notes = (note, *network.notes)
    taken.group_is_settled = True
    return taken


def _said_of(result: Learned, table: Numbers) -> str:
    """How well the answers are those of a group, and why they form none by themselves."""
    if result.share >= FOLLOWS:
        return result.sentence
    share = f"{100 * result.share:.2f}% of its answers are those of {result.what}"
    return f"{share}; all of them form no group: {why_no_group(table)}"


def with_group(network: Network, asked: object) -> Network:
    """The network taken as on a group that the user gives (`given_group`). Its weights are shared.

    Its numbers are the group's elements in their order. Where more of its answers fit the same
    group in another order of its elements, that order is taken, and said.
    """
    group = given_group(asked)
    task = network.task
    if group.order != task.modulus:
        raise InputError(
            f"group {group.spelled or 'of this table'} has {group.order} elements; network "
            f"{network.id} answers with {task.modulus} numbers"
        )
    plain = copy.copy(network)
    plain.task = replace(task, operation="add", relabeling=(), group="")
    table = _answers_by_number(plain)
    result = on_given_group(group, table)
    renamed = result.share > float((group.table == table).mean())
    note = f"group given: {_said_of(result, table)}"
    if renamed:
        note += "; its elements have another order than the one given"
    elif result.share * group.order < CHANCE:
        note += f"; that is chance: {_another_group(table)}"
    taken = _with_note(network, note)
    taken.task = following(plain.task, result)
    taken.known_analysis = None
    if taken.task != task:
        taken.run = None  # whose task is another one
    return taken


def group_of_answers(network: Network) -> Group:
    """The group that a network's answers form, its elements by the network's numbers: that of other
    networks that were trained on the same table.
    """
    plain = copy.copy(network)
    plain.task = replace(network.task, operation="add", relabeling=(), group="")
    table = _answers_by_number(plain)
    group = nearest_group(np.where(table < len(table), table, 0))
    if group is None or not is_no_chance(group, table):
        raise InputError(f"network {network.id}: its answers form no group: {why_no_group(table)}")
    return group


def _another_group(table: Numbers) -> str:
    """What answers are of that agree with the group given by chance alone."""
    result = learned(table) or learned_in_part(table)
    if result is None or not result.is_group:
        return "it may have another order of the elements, or another group"
    return f"{100 * result.share:.2f}% are those of {result.what}"


def with_operation(network: Network, operation: str) -> Network:
    """The network taken as following an operation; with "auto", the one that its answers follow.
    Its weights are shared.
    """
    if operation not in OPERATIONS_ASKED:
        raise InputError(
            f"operation is {shown(operation)}; choose one of {', '.join(OPERATIONS_ASKED)}"
        )
    taken = copy.copy(network)
    taken.task = replace(network.task, operation="add", relabeling=())
    taken.run = None  # whose task may be another one
    if operation == "auto":
        result = learned(grid_answers(taken).cpu().numpy())
        if result is None or not result.asked_as or result.operation == "multiply":
            return network
        taken.task = following(taken.task, result)
        taken.notes = (f"operation auto: {result.sentence}", *network.notes)
    else:
        taken.task = replace(taken.task, operation=operation)
    if taken.task == network.task:
        return network
    return taken
