"""Everything that is measured on a network by its weights alone: metrics, answers, hidden units.

It is computed on the network's device without waiting, so that a GPU can record it (`replay`), and
read on the CPU when it arrives.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from algophase.analysis._pending import Packed, Pending, pack
from algophase.analysis.catalogue import metrics, unit_means
from algophase.analysis.checks import not_finite, wrong_size
from algophase.analysis.hidden.anatomy import (
    IdleReLU,
    has_second_relu,
    measure_without_second_relu,
)
from algophase.analysis.hidden.units import units_of_waves
from algophase.analysis.subject import Subject
from algophase.analysis.verdict.cautions import cautions_of, effects_of_moves
from algophase.core.fourier import Array

LARGEST, ANSWERS, WITHOUT_SECOND_RELU = "largest logit", "answers", "without second ReLU"
UNIT, MOVE = "unit ", "move "  # what names of hidden units and of moved embeddings begin with


@dataclass(frozen=True)
class Measured:
    """metrics: every metric of the catalogue, by name. answers: the largest output at each pair,
    (p, p).

    second_relu: what a second ReLU does, where there is one. cautions: what the metrics cannot say.
    """

    metrics: dict[str, float]
    answers: NDArray[np.int64]
    second_relu: IdleReLU | None
    cautions: tuple[str, ...]


@torch.no_grad()
def measure_on_device(subject: Subject) -> Packed:
    """All that depends on the weights alone, by name. Nothing here waits for the device, or looks
    at a number.
    """
    subject.run()
    least, most = subject.logits.aminmax()  # no copy of them all, as abs() makes
    numbers = {LARGEST: torch.maximum(-least, most), ANSWERS: subject.logits.argmax(dim=-1)}
    for quantity in metrics():
        if quantity.measure is not None:
            value = quantity.measure(subject)
            if isinstance(value, Tensor):
                numbers[quantity.name] = value
    if has_second_relu(subject.network):
        numbers[WITHOUT_SECOND_RELU] = measure_without_second_relu(subject.network)
    for name, effect in effects_of_moves(subject).items():
        numbers[MOVE + name] = effect
    if subject.unit_waves is not None:
        for name, tensor in subject.unit_waves.tensors().items():
            numbers[UNIT + name] = tensor
    return pack(numbers)


def measure(
    subject: Subject, compute: Callable[[Subject], Packed] = measure_on_device
) -> Pending[Measured]:
    """compute: `measure_on_device`, or a recording of it."""
    packed = compute(subject)
    on_cpu = metrics_on_cpu(subject, packed)
    return Pending(packed, functools.partial(_measured, subject, on_cpu))


def metrics_on_cpu(subject: Subject, packed: Packed) -> dict[str, float]:
    """The metrics that are computed on the CPU, by name: all that are not among the packed ones."""
    values = {}
    for quantity in metrics():
        if quantity.measure is not None and quantity.name not in packed.shapes:
            values[quantity.name] = float(quantity.measure(subject))
    return values


def _measured(subject: Subject, on_cpu: dict[str, float], numbers: Mapping[str, Array]) -> Measured:
    _check_logits(subject, float(numbers[LARGEST]))
    waves = _beginning_with(UNIT, numbers)
    if waves:
        subject.units = units_of_waves(waves, subject.modulus)
    values = {name: float(value) for name, value in numbers.items() if value.ndim == 0}
    values |= on_cpu | unit_means(subject.units if waves else None)
    in_order = {quantity.name: values[quantity.name] for quantity in metrics()}
    second_relu = None
    if WITHOUT_SECOND_RELU in numbers:
        accuracy_without, cross_entropy_without = numbers[WITHOUT_SECOND_RELU].tolist()
        second_relu = IdleReLU(
            accuracy=in_order["accuracy"],
            accuracy_without=accuracy_without,
            cross_entropy=in_order["cross_entropy"],
            cross_entropy_without=cross_entropy_without,
        )
    return Measured(
        metrics=in_order,
        answers=numbers[ANSWERS].astype(np.int64),
        second_relu=second_relu,
        cautions=cautions_of(subject, _beginning_with(MOVE, numbers)),
    )


def _check_logits(subject: Subject, largest: float) -> None:
    """Refuse logits that are no numbers, or so large or small that arithmetic on them fails."""
    if not math.isfinite(largest):
        raise not_finite(subject.given, subject.logits)
    error = wrong_size(subject.given, "logits", largest)
    if error is not None:
        raise error


def _beginning_with(prefix: str, numbers: Mapping[str, Array]) -> dict[str, Array]:
    """The numbers whose names begin so, by the rest of their names."""
    chosen = {name: value for name, value in numbers.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): value for name, value in chosen.items()}
