"""Which operation a network follows, seen from its answers to all pairs, and the network taken
as following it.
"""

import copy
from dataclasses import replace

import numpy as np

from algophase.analysis.logits.all_pairs import grid_answers
from algophase.core.answers import Learned, learned
from algophase.core.errors import InputError
from algophase.core.group import Numbers, is_prime
from algophase.core.settings import TaskSettings, shown
from algophase.core.task import answers, following
from algophase.networks import Network
from algophase.networks.wrapped import OPERATIONS_ASKED


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
    # Every group of prime order is cyclic.
    if network.run is not None or not task.is_addition or is_prime(task.modulus):
        return network
    result = learned(grid_answers(network).cpu().numpy())
    if result is None or not result.group:
        return network
    taken = copy.copy(network)
    taken.task = following(task, result)
    taken.notes = (result.sentence, *network.notes)
    return taken


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
