"""`certify`: what can be proved of a network, over all pairs."""

from typing import Any

import numpy as np

from algophase.analysis.operation import on_its_group
from algophase.analysis.program.distill import Distilled, distill
from algophase.analysis.program.distill_group import DistilledGroup
from algophase.certificates.advice import Advice, Numbers
from algophase.certificates.certificate import NetworkCertificate
from algophase.certificates.compact import prove_compact
from algophase.certificates.find_advice import find_advice
from algophase.certificates.forms import Form, form_of, weights_of, weights_sha256
from algophase.certificates.operations import count_operations
from algophase.certificates.program_logits import (
    cyclic_terms,
    group_terms,
    program_rows,
)
from algophase.certificates.sound import prove
from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.subgroups import few_cosets
from algophase.core.task import answers
from algophase.networks import Network

MOST_COSETS = 20  # of a subgroup that is tried as advice


def certify(network: Network) -> NetworkCertificate:
    """Prove what a network answers, with every rounding bounded.

    Arguments:
        network: a transformer of one layer, a linear model or an MLP, on any group.

    Returns:
        A `NetworkCertificate`: pairs proved right and wrong, how far the network can be from its
        distilled program, and a proof for less than brute force. `text` is the file that
        `certificates/check.py` checks.

    Raises:
        InputError: no certificate is made for such a network.

    Example:
        >>> from algophase import certify, handmade_pizza
        >>> certificate = certify(handmade_pizza(23))
        >>> certificate.proved_right, certificate.pairs
        (529, 529)
    """
    with np.errstate(invalid="ignore", over="ignore"):  # such numbers prove nothing
        return _certified(network)


def _certified(network: Network) -> NetworkCertificate:
    form = form_of(network)
    weights = weights_of(network).values()
    finite = all(np.isfinite(values).all() for values in weights)
    network, distilled = _with_program(network) if finite else (network, None)
    task = network.task
    terms, program, frequencies = None, None, None
    if isinstance(distilled, Distilled):
        terms = cyclic_terms(distilled, task.modulus)
        frequencies = _frequencies(network, form, distilled)
    elif distilled is not None:
        terms = group_terms(distilled, task.modulus)
    if terms is not None:
        program = program_rows(terms, task.finite_group, task.elements)
    right = answers(task).numpy()
    sound = prove(form, right, program)
    is_enclosed = sound.share_explained is not None
    compact = None
    if finite and sound.proved_right:
        compact = _compact(form, right, frequencies, _cosets(network))
    return NetworkCertificate(
        network=_described(network),
        group=_group(network),
        pairs=sound.pairs,
        proved_right=sound.proved_right,
        proved_wrong=sound.proved_wrong,
        largest_difference=sound.largest_difference if is_enclosed else None,
        share_explained=sound.share_explained,
        program=terms if is_enclosed else None,
        compact=compact,
    )


def _with_program(network: Network) -> tuple[Network, Distilled | DistilledGroup | None]:
    """The network on the group that it was found to answer, and its distilled program; None where
    its numbers are too large or too small for an analysis.
    """
    try:
        on_group = on_its_group(network)
        return on_group, distill(on_group)
    except InputError:
        return network, None


def _compact(
    form: Form, right: Numbers, start: Numbers | None, cosets: list[Numbers]
) -> dict[str, Any] | None:
    """The proof for less than brute force; None where there is none."""
    try:
        advice = find_advice(form, right, start, cosets)
    except np.linalg.LinAlgError:  # of weights that no network has
        return None
    part = compact_part(form, right, advice)
    proves_for_less = part["proved_right"] and part["operations_share"] < 1
    return part if proves_for_less else None


def compact_part(form: Form, right: Numbers, advice: Advice) -> dict[str, Any]:
    """What a certificate says of a compact proof."""
    operations = count_operations(form, advice)
    return {
        "proved_right": prove_compact(form, right, advice),
        "operations": operations.compact,
        "brute_force_operations": operations.brute_force,
        "operations_share": round(operations.share, 4),
        "advice": advice.as_json(),
    }


def _frequencies(network: Network, form: Form, program: Distilled) -> Numbers | None:
    """For each hidden unit, which of the program's frequencies it writes most; None where there
    is none.
    """
    if not len(program.frequencies):
        return None
    order = network.task.modulus
    names = network.task.elements.names
    by_element = form.readout.mid[:, names.answer]
    strengths = []
    for k in program.frequencies:
        coefficients = by_element @ circle(order, k).numpy()
        strengths.append(np.square(coefficients).sum(axis=1))
    return np.stack(strengths, axis=1).argmax(axis=1)


def _cosets(network: Network) -> list[Numbers]:
    """Ways to divide the answers of a network on a group that is not cyclic into few cosets of a
    subgroup: for each output the number of its coset. Outputs that are no answers are of the first.
    """
    task = network.task
    if not task.group:
        return []
    ways = few_cosets(task.finite_group, MOST_COSETS)
    answers_of = task.elements.answer
    return [labels[answers_of] for labels in ways]


def _described(network: Network) -> dict[str, Any]:
    task = network.task
    return {
        "id": network.id,
        "weights_sha256": weights_sha256(network),
        "settings": {"kind": network.settings.kind, **network.settings.to_dict()},
        "separate_vocabularies": task.separate_vocabularies,
        "equals_sign": task.equals_sign,
    }


def _group(network: Network) -> dict[str, Any]:
    """The right answers: a group, and which of its elements each number is as the first operand,
    the second, and the answer. Addition modulo p under its own names needs neither.
    """
    task = network.task
    table, elements = None, None
    if task.group:
        table = task.finite_group.table.tolist()
    if not task.is_addition:
        elements = [names.tolist() for names in task.elements]
    return {"order": task.modulus, "table": table, "elements": elements}
