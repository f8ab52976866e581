"""Which algorithm did this network learn? The five stages of an analysis, for one network or many.

    tables -> circles -> program -> instances -> verdict

`find_algorithm` is the whole of it, from top to bottom.
"""

import contextlib
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from algophase.analysis._measured import measure, measure_on_device
from algophase.analysis._pending import (
    UNDER_WAY,
    Packed,
    Pending,
    both,
    run_now,
    run_overlapped,
)
from algophase.analysis._replay import Replays
from algophase.analysis.catalogue import EXACT, IRRELEVANCE
from algophase.analysis.catalogue import metrics as all_metrics
from algophase.analysis.checks import check_network
from algophase.analysis.circles.roles import CircleEvidence, roles_of
from algophase.analysis.device import in_float64
from algophase.analysis.hidden.anatomy import Anatomy, IdleReLU, has_anatomy, open_linear
from algophase.analysis.logits.sums import LogitSums
from algophase.analysis.operation import (
    learned_instead,
    on_its_group,
    with_group,
    with_operation,
)
from algophase.analysis.program.adding import measure_adding
from algophase.analysis.program.by_representation import OnGroup, read_group
from algophase.analysis.program.instances import (
    CircleAlone,
    Instances,
    candidates,
    circles_alone,
    doubled,
    grouped,
    isolate,
    isolated_tables,
    no_instances,
    stands_out,
    weigh_instances,
)
from algophase.analysis.program.read import Program, no_program, program_of_sums
from algophase.analysis.result import Analysis, check_thresholds
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.decide import decide, findings
from algophase.analysis.verdict.group_verdict import decide_on_group
from algophase.analysis.verdict.paper_label import (
    NOT_ADDITION,
    Measurements,
    circularity_name,
    embedding_shape,
    label_by_paper,
)
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.devices import choose_device
from algophase.core.errors import InputError
from algophase.core.given_group import given_group
from algophase.core.memory import FLOAT64, budget, fits
from algophase.core.progress import Bar, Progress, counting
from algophase.core.threads import one_thread, side_by_side
from algophase.networks import Network
from algophase.networks.wrapped import wrap

# Memory of an analysis on a CPU, in arrays as large as the logits of all pairs: 23 at p = 113.
ARRAYS_OF_LOGITS = 25

# What queues the work of a subject that depends on its weights alone: `measure_on_device`, or a
# recording of it
Compute = Callable[[Subject], Packed]


def analyze(
    network: Network | Callable[..., Any],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    *,
    modulus: int | None = None,
    operation: str | None = None,
    group: object = None,
    embedding: str | Sequence[str] | None = None,
    tokens: str | Callable[[Tensor, Tensor], Any] | None = None,
    answer: str | int | Callable[[Any], Tensor] | None = None,
    outputs: int | None = None,
) -> Analysis:
    """Measure a network and say which algorithm it learned.

    The network is read as it answers at inference, without dropout. Its weights, precision and mode
    stay as they are.

    Arguments:
        network: a `Network`, or any PyTorch module or function that adds two numbers. For these,
            give `modulus` too.
        thresholds: the lines between one verdict and the next.
        device: where to compute, for instance "cuda". Results agree up to float64 rounding.
        modulus: what a module adds modulo: `analyze(module, modulus=59)`.
        operation: "add", "subtract" or "multiply"; "auto" takes what the network's answers follow.
            By default what the network says of itself, or "add".
        group: the finite group that the network is on: a name ("S5"), generators ("(1 2 3);
            (1 2)"), a `Group`, a Cayley table (n, n), or a file with one. By default what the
            network's answers form.
        embedding, tokens, answer, outputs: how a module takes its input and where its answer is;
            see `wrap`.

    Returns:
        An `Analysis`: the verdict, its reasons, and every metric. `print` shows a summary.

    Raises:
        InputError: the network cannot be read, its weights are not finite, `modulus` is missing, or
            `group` is not a group.

    Example:
        >>> from algophase import handmade_clock
        >>> analyze(handmade_clock(23)).verdict.label
        'Clock'
    """
    asked = {
        "modulus": modulus,
        "embedding": embedding,
        "tokens": tokens,
        "answer": answer,
        "outputs": outputs,
    }
    arguments = [name for name, value in asked.items() if value is not None]
    if isinstance(network, Network):
        if arguments:
            raise InputError(
                f"{', '.join(arguments)}: network {network.id} knows them itself; they are for "
                "other modules"
            )
        taken = network if operation is None else with_operation(network, operation)
    elif modulus is None and group is None:
        check_network(network)  # which says what a module needs
        raise InputError(
            "modulus is missing: say what the module adds modulo, as in analyze(module, modulus=59)"
        )
    else:
        order = given_group(group).order if modulus is None else modulus
        taken = wrap(network, order, embedding, tokens, answer, outputs, operation or "add")
    if group is not None:
        if operation is not None:
            raise InputError("choose one of operation and group: a group has one operation")
        taken = with_group(taken, group)
    check_thresholds(thresholds)
    device = choose_device(device)
    (result,) = run_overlapped([_analysis_of(taken, thresholds, device, keep=True)], device)
    if isinstance(result, InputError):
        raise result
    return result


def analyze_many(
    networks: Iterable[Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    progress: Callable[[Progress], None] | bool | None = None,
) -> list[Analysis | InputError]:
    """Analyze many networks, and continue past those that fail.

    Arguments:
        networks: the networks to analyze. What is not a network (a path, say) gives an error in its
            place. On a CPU those of a list are analyzed side by side. An iterator may give one
            network in several states: there each is done before the next is asked for. On a GPU
            each must be a network of its own.
        thresholds: the lines between one verdict and the next.
        device: where to compute, for instance "cuda".
        progress: called after each network with a `Progress`. By default a terminal or a notebook
            shows a bar after two seconds; False shows none.

    Returns:
        One entry per network, in the order given: its `Analysis`, or the `InputError` that says why
        it has none.

    Example:
        >>> from algophase import handmade_clock, handmade_pizza
        >>> networks = [handmade_clock(23), handmade_pizza(23)]
        >>> [result.verdict.label for result in analyze_many(networks)]
        ['Clock', 'Pizza']
    """
    results = []
    total = len(networks) if isinstance(networks, Sized) else 0
    is_shown = total > 1 and progress is not False
    with Bar(None if is_shown else False) as bar:
        report = progress if callable(progress) else bar
        for result in analyze_each(networks, thresholds, device):
            results.append(result)
            seconds = time.monotonic() - bar.began
            report(counting("analyzing", len(results), total, seconds))
    return results


def analyze_each(
    networks: Iterable[Network],
    thresholds: Thresholds = Thresholds(),
    device: torch.device | str = "cpu",
    compute: Compute | None = None,
) -> Iterator[Analysis | InputError]:
    """`analyze_many`, one result at a time. A few networks are under way at once, so that a GPU
    never waits for the CPU, and all cores of a CPU are used. On a CPU those of an iterator are not:
    what it gives next may be the same network, changed.

    compute: the `recordings` of an earlier call, for more networks of the same kinds.
    """
    if isinstance(networks, str | os.PathLike | nn.Module):
        raise InputError(
            f"give a list of networks, not one {type(networks).__name__}; analyze takes a "
            "single network"
        )
    check_thresholds(thresholds)
    device = choose_device(device)
    if device.type == "cpu" and isinstance(networks, Sized):
        yield from _each_on_cpu(networks, thresholds, device)
        return
    if compute is None:
        compute = recordings(device)
    upcoming = iter(networks)
    first = list(itertools.islice(upcoming, 1))
    if not first:
        return
    most = most_under_way(_modulus(first[0]), device)
    every = itertools.chain(first, upcoming)
    analyses = (_analysis_of(network, thresholds, device, compute) for network in every)
    yield from run_overlapped(analyses, device, most)


def recordings(device: torch.device) -> Compute:
    """`measure_on_device`; on a GPU recorded once for each kind of network, then played again."""
    return Replays(measure_on_device) if device.type == "cuda" else measure_on_device


def most_under_way(modulus: int, device: torch.device) -> int:
    """How many networks of a modulus a GPU may have under way at once, with half of its memory."""
    if device.type == "cpu":
        return UNDER_WAY
    size = ARRAYS_OF_LOGITS * FLOAT64 * max(1, modulus) ** 3
    return max(1, min(UNDER_WAY, int(0.5 * budget(device) / size)))


def _modulus(network: object) -> int:
    """0 for what is no network: an error, once it is analyzed."""
    return network.task.modulus if isinstance(network, Network) else 0


def _each_on_cpu(
    networks: Iterable[Network], thresholds: Thresholds, device: torch.device
) -> Iterator[Analysis | InputError]:
    """Networks side by side, each on one thread, if the first two may be; else one after the other,
    each on all threads. A third of an analysis has work for one thread alone.
    """
    upcoming = iter(networks)
    first_two = list(itertools.islice(upcoming, 2))
    every = itertools.chain(first_two, upcoming)
    workers = torch.get_num_threads() if len(first_two) == 2 else 1
    are_small = all(_may_run_beside_others(network, workers) for network in first_two)
    if workers == 1 or not are_small:
        compute = measure_on_device
        analyses = (_analysis_of(network, thresholds, device, compute) for network in every)
        yield from run_overlapped(analyses, device)
        return
    alone = threading.Lock()

    def result_of(network: Network) -> Analysis | InputError:
        beside = _may_run_beside_others(network, workers)
        with contextlib.nullcontext() if beside else alone:
            (result,) = run_overlapped([_analysis_of(network, thresholds, device)], device)
        return result

    with one_thread():
        yield from side_by_side(result_of, every, workers)


def _may_run_beside_others(network: Network, workers: int) -> bool:
    """Whether running it changes nothing, and as many such analyses fit the memory."""
    if not isinstance(network, Network) or not network.is_pure or not network.concurrent:
        return False
    size = ARRAYS_OF_LOGITS * FLOAT64 * network.task.modulus**3
    return fits(workers * size, torch.device("cpu"), share=1.0)


async def _analysis_of(
    network: Network,
    thresholds: Thresholds,
    device: torch.device,
    compute: Compute = measure_on_device,
    *,
    keep: bool = False,
) -> Analysis:
    """keep: what was computed of the network stays with the analysis."""
    recorded = network.known_analysis if isinstance(network, Network) else None
    if isinstance(recorded, Analysis):
        return replace(recorded, id=network.id).decide(thresholds)
    check_network(network)
    subject = Subject(on_its_group(network), device)
    analysis = await find_algorithm(subject, thresholds, compute)
    if not keep:
        return analysis
    subject.forget_largest()
    return replace(analysis, subject=subject)


def analyze_subject(subject: Subject, thresholds: Thresholds = Thresholds()) -> Analysis:
    """`analyze` of a network under measurement, which keeps what was computed of it."""
    recorded = subject.given.known_analysis
    if isinstance(recorded, Analysis):
        return recorded.decide(thresholds)
    return replace(run_now(find_algorithm(subject, thresholds)), subject=subject)


async def find_algorithm(
    subject: Subject,
    thresholds: Thresholds = Thresholds(),
    compute: Compute = measure_on_device,
) -> Analysis:
    """Which algorithm did this network learn? Five stages, each the input of the next.

    `await` stands where numbers come from the network's device (`pending`). compute:
    `measure_on_device`, or a recording of it.
    """
    if not subject.group.is_cyclic:
        return await _find_on_group(subject, thresholds)

    # Tables: where the group shows in them, and what the network answers with each frequency alone.
    frequencies = _frequencies_in_tables(subject)
    measuring = measure(subject, compute)
    isolating = _isolate(subject, [[k] for k in frequencies.isolated], with_sums=True)
    measured, sums = await both(measuring, isolating)

    # Circles: what each does alone, by the paper's formulas.
    circles = tuple(roles_of(subject.circles, sums, first=1, thresholds=thresholds))

    # Program: what the network computes. A tie is decided once, by the network's own arithmetic.
    program = replace(program_of_sums(sums), accuracy=measured.metrics["accuracy"])

    # Instances: the small algorithms that run side by side.
    alone = await _circles_alone(subject, program, frequencies, sums)
    instances = await _instances(subject, program, alone)

    # Verdict: what to call it, and how sure we are.
    instead = None
    if program.accuracy < 1:
        instead = learned_instead(subject.given, measured.answers)
    by_paper = _measurements(subject, measured.metrics)
    return Analysis(
        id=subject.given.id,
        metrics=measured.metrics,
        operand_circularity=subject.operand_circularity,
        verdict=decide(findings(program, instances, instead), thresholds),
        program=program,
        instances=instances,
        paper=label_by_paper(by_paper, circles, thresholds),
        measured=by_paper,
        circles=circles,
        anatomy=_anatomy(subject, circles, measured.second_relu),
        cautions=measured.cautions,
        instead=instead,
    )


async def _find_on_group(subject: Subject, thresholds: Thresholds) -> Analysis:
    """The same stages for a group that is not cyclic: representations in place of circles."""
    network, group = subject.network, subject.group
    on_group = await read_group(network, group, subject.prepared)
    metrics = {quantity.name: math.nan for quantity in all_metrics()}
    metrics |= {"accuracy": on_group.accuracy, "cross_entropy": on_group.cross_entropy}
    instances = no_instances(
        on_group.additivity, on_group.remainder, embedded=network.cut != "none"
    )
    return Analysis(
        id=subject.given.id,
        metrics=metrics,
        operand_circularity=tuple(math.nan for _ in subject.tables),
        verdict=decide_on_group(on_group, thresholds),
        program=no_program(group.order, on_group.accuracy),
        instances=instances,
        paper=NOT_ADDITION,
        measured=_not_measured(on_group),
        circles=(),
        anatomy=None,
        cautions=subject.seen.notes,
        on_group=on_group,
    )


class _Frequencies(NamedTuple):
    """embedded: those that the embedding shows, its circles first. isolated: these, and on a GPU
    their doubles, which are cheaper there than to wait again should the program want them.
    """

    embedded: list[int]
    isolated: list[int]


def _frequencies_in_tables(subject: Subject) -> _Frequencies:
    in_circles = [circle.frequency for circle in subject.circles]
    embedded = list(dict.fromkeys([*in_circles, *stands_out(subject.components)]))
    if subject.device.type == "cpu":
        return _Frequencies(embedded, embedded)
    doubles = doubled(embedded, subject.modulus)
    return _Frequencies(embedded, list(dict.fromkeys([*embedded, *doubles])))


def _isolate(
    subject: Subject,
    groups: Sequence[Sequence[int]],
    left_out: Sequence[Sequence[int]] = (),
    *,
    with_sums: bool = False,
) -> Pending[LogitSums]:
    return isolate(
        subject.network,
        subject.components,
        groups,
        left_out,
        with_sums=with_sums,
        prepared=subject.prepared,
    )


async def _circles_alone(
    subject: Subject, program: Program, frequencies: _Frequencies, sums: LogitSums
) -> list[CircleAlone]:
    """What each frequency does alone: those that the embedding shows, and those that the program
    wants.
    """
    circles = circles_alone(sums, frequencies.isolated, subject.components)
    by_program = candidates(program, subject.components)
    frequencies_to_see = list(dict.fromkeys([*frequencies.embedded, *by_program]))
    missing = [k for k in frequencies_to_see if k not in frequencies.isolated]
    if missing:
        more_sums = await _isolate(subject, [[k] for k in missing])
        circles += circles_alone(more_sums, missing, subject.components)
    by_frequency = {circle.frequency: circle for circle in circles}
    return [by_frequency[k] for k in frequencies_to_see]


async def _instances(subject: Subject, program: Program, alone: list[CircleAlone]) -> Instances:
    """The instances, each kept and each left out, as the circles alone group them."""
    components = subject.components
    groups = grouped(program, alone, stands_out(components))
    network = subject.network
    first, second = isolated_tables(network, components, groups)
    without_interactions = measure_adding(network, first[1:], second[1:], subject.prepared)
    isolating = _isolate(subject, groups, left_out=groups)
    sums, adding = await both(isolating, without_interactions)
    normalized = network.normalizes
    instances = weigh_instances(program, components, alone, groups, sums, adding, normalized)
    return replace(instances, embedded=subject.network.cut != "none")


def _not_measured(on_group: OnGroup) -> Measurements:
    pairs = on_group.order**2
    return Measurements(
        accuracy=on_group.accuracy,
        pairs=pairs,
        wrong_pairs=round((1 - on_group.accuracy) * pairs),
        distance_irrelevance=math.nan,
        gradient_symmetricity=math.nan,
        circularity=math.nan,
    )


def _measurements(subject: Subject, metrics: Mapping[str, float]) -> Measurements:
    """What the paper's label rests on."""
    by_operand = subject.operand_circularity
    pairs = subject.modulus**2
    return Measurements(
        accuracy=metrics["accuracy"],
        pairs=pairs,
        wrong_pairs=round((1 - metrics["accuracy"]) * pairs),
        distance_irrelevance=metrics[IRRELEVANCE],
        gradient_symmetricity=metrics[EXACT],
        circularity=min(by_operand),
        circularity_name=circularity_name(len(by_operand), subject.network.cut),
        shape=embedding_shape(subject.components),
    )


def _anatomy(
    subject: Subject, circles: Sequence[CircleEvidence], second_relu: IdleReLU | None
) -> Anatomy | None:
    if not has_anatomy(subject.seen):
        return None
    network = in_float64(subject.seen)
    return open_linear(network, subject.components, circles, second_relu, subject.resolution)
