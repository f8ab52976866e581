"""`certify`: what can be proved of a network, over all pairs."""

import hashlib
from typing import Any

import numpy as np

from algophase.analysis.operation import on_its_group
from algophase.analysis.program.distill import Distilled, distill
from algophase.certificates.certificate import NetworkCertificate
from algophase.certificates.forms import form_of, weights_of
from algophase.certificates.program_logits import program_numbers, program_rows
from algophase.certificates.sound import prove
from algophase.core.task import answers
from algophase.networks import Network


def certify(network: Network) -> NetworkCertificate:
    """Prove what a network answers, with every rounding bounded.

    Arguments:
        network: a transformer of one layer, a linear model or an MLP, on any group.

    Returns:
        A `NetworkCertificate`: pairs proved right and wrong, and how far the network can be from
        its distilled program. `text` is the file that `certificates/check.py` checks.

    Raises:
        InputError: no certificate is made for such a network.

    Example:
        >>> from algophase import certify, handmade_pizza
        >>> certify(handmade_pizza(23))
        <NetworkCertificate pizza-p23-k1-5: proved right on 529 of 529 pairs>
    """
    with np.errstate(invalid="ignore", over="ignore"):  # such numbers prove nothing
        return _certified(network)


def _certified(network: Network) -> NetworkCertificate:
    form = form_of(network)
    finite = all(np.isfinite(values).all() for values in weights_of(network).values())
    network = on_its_group(network) if finite else network
    task = network.task
    numbers = None
    distilled = distill(network) if finite and not task.group else None
    if isinstance(distilled, Distilled):
        numbers = program_numbers(distilled)
    program = None if numbers is None else program_rows(numbers, task.modulus, task.elements)
    sound = prove(form, answers(task).numpy(), program)
    return NetworkCertificate(
        network=_described(network),
        group=_group(network),
        pairs=sound.pairs,
        proved_right=sound.proved_right,
        proved_wrong=sound.proved_wrong,
        largest_difference=sound.largest_difference,
        share_explained=sound.share_explained,
        program=numbers,
        compact=None,
    )


def weights_sha256(network: Network) -> str:
    """SHA-256 over every tensor, with its name, precision and shape, by name."""
    digest = hashlib.sha256()
    for name, values in weights_of(network).items():
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


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
    table = task.finite_group.table.tolist() if task.group else None
    elements = None if task.is_addition else [names.tolist() for names in task.elements]
    return {"order": task.modulus, "table": table, "elements": elements}
