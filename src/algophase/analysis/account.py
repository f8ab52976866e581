"""The whole account of networks, one or many: program, instances and answer, in three rounds that never wait for the device.

    1. the program           from the network's own logits
    2. every circle alone    of the frequencies that the program and the embedding name
    3. the instances         each kept and each left out, as the circles of round 2 group them

What a round needs of the one before is read on the CPU a few networks later, when it has long arrived.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from algophase.analysis.answer import Answer, AnswerThresholds, Findings, decide, findings
from algophase.analysis.device import Download, overlapped
from algophase.analysis.instances import (
    CircleAlone,
    Instances,
    candidates,
    grouped,
    launch_groups,
    read_circles,
    read_instances,
    stands_out,
)
from algophase.analysis.logit_sums import read_sums
from algophase.analysis.principal import PrincipalComponents
from algophase.analysis.program import Program, launch_program, read_program
from algophase.analysis.subject import Subject
from algophase.devices import choose_device
from algophase.errors import InputError
from algophase.networks import Network


@dataclass(frozen=True)
class Account:
    """What is inside a network: `account` makes it. `decide(found.findings, thresholds)` answers again, with other lines.

    >>> from algophase import account, handmade_clock
    >>> found = account(handmade_clock(23, (3, 7)))
    >>> round(found.program.explained, 6), round(found.instances.additivity, 6), found.answer.label
    (1.0, 1.0, 'Clock')
    """

    id: str
    program: Program
    instances: Instances
    findings: Findings
    answer: Answer


@dataclass(frozen=True)
class _First:
    network: Network  # in float64, where it is computed
    components: PrincipalComponents
    numbers: Download


@dataclass(frozen=True)
class _Second:
    before: _First
    program: Program
    frequencies: list[int]
    numbers: Download


@dataclass(frozen=True)
class _Third:
    before: _Second
    circles: list[CircleAlone]
    groups: list[list[int]]
    numbers: Download


def account(network: Network, thresholds: AnswerThresholds = AnswerThresholds(), device: torch.device | str = "cpu") -> Account:
    """Which algorithm runs inside a network: its program, its parallel instances, and an answer with its reasons.

    >>> from algophase import account, handmade_pizza
    >>> found = account(handmade_pizza(59, accompanied=True))
    >>> found.answer.sentence, [instance.frequencies for instance in found.instances.instances]
    ('three Pizzas', [(1, 2), (5, 10), (17, 25)])
    """
    (found,) = accounts([network], thresholds, device)
    if isinstance(found, InputError):
        raise found
    return found


def accounts(
    networks: Iterable[Network], thresholds: AnswerThresholds = AnswerThresholds(), device: torch.device | str = "cpu"
) -> Iterator[Account | InputError]:
    """Each network's account in the order given, or the error that says why it has none."""
    there = choose_device(device)
    first = overlapped(networks, lambda network: _first(network, there), _second, there)
    second = overlapped(first, lambda begun: begun, _third, there)
    return overlapped(second, lambda begun: begun, lambda begun: _finished(begun, thresholds), there)


def _first(network: Network, device: torch.device) -> _First | InputError:
    try:
        subject = Subject(network, device)
    except InputError as error:
        return error
    numbers = Download({"sums": launch_program(subject.network)})
    return _First(subject.network, subject.components, numbers)


def _second(begun: _First | InputError) -> _Second | InputError:
    if isinstance(begun, InputError):
        return begun
    program = read_program(begun.numbers.get()["sums"], begun.network.task.modulus)
    frequencies = candidates(program, begun.components)
    launched = launch_groups(begun.network, begun.components, [[k] for k in frequencies])
    return _Second(begun, program, frequencies, Download({"sums": launched}))


def _third(begun: _Second | InputError) -> _Third | InputError:
    if isinstance(begun, InputError):
        return begun
    network, components = begun.before.network, begun.before.components
    sums = read_sums(begun.numbers.get()["sums"], begun.program.modulus, 1 + len(begun.frequencies))
    circles = read_circles(sums, begun.frequencies, components)
    groups = grouped(begun.program, circles, stands_out(components))
    return _Third(begun, circles, groups, Download({"sums": launch_groups(network, components, groups, groups)}))


def _finished(begun: _Third | InputError, thresholds: AnswerThresholds) -> Account | InputError:
    if isinstance(begun, InputError):
        return begun
    program, first = begun.before.program, begun.before.before
    sums = read_sums(begun.numbers.get()["sums"], program.modulus, 1 + 2 * len(begun.groups))
    instances = read_instances(program, first.components, begun.circles, begun.groups, sums)
    measured = findings(program, instances, len(stands_out(first.components)), first.network.cut != "none")
    return Account(first.network.id, program, instances, measured, decide(measured, thresholds))
