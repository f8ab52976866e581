"""A start with three strong frequencies: an intervention on which frequencies become keys.

The trio is drawn from the run's seed. With `planted_trio` "sum" it is k, l and k + l (or k - l).
With "unrelated" k and l are the same, and no relation of `core/relations.py` holds between the
three. Runs of one seed differ in the third frequency alone.
"""

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.fourier import frequencies, frequency_basis
from algophase.core.relations import RELATIONS, relation_counts
from algophase.core.seeding import generator
from algophase.core.settings import RunSettings
from algophase.networks.network import Network

Trio = tuple[int, int, int]
SUM = "i + j = l"


class Trios(NamedTuple):
    """Trios in which a sum is the only relation, and those without any."""

    summing: list[list[int]]
    unrelated: list[list[int]]


@lru_cache(maxsize=16)
def trios(modulus: int) -> Trios:
    members = numpy.array(list(combinations(frequencies(modulus), 3))).reshape(-1, 3)
    sums = relation_counts(members, modulus, RELATIONS[SUM])
    unwanted_relations = numpy.zeros_like(sums)
    for name, coefficients in RELATIONS.items():
        if name != SUM:
            unwanted_relations += relation_counts(members, modulus, coefficients)
    summing = members[(sums > 0) & (unwanted_relations == 0)]
    unrelated = members[(sums == 0) & (unwanted_relations == 0)]
    return Trios(summing.tolist(), unrelated.tolist())


def planted_frequencies(run: RunSettings) -> Trio:
    """The frequencies that are strong in a run's start: k, l, and the third."""
    random = generator(run.seed, "planted trio")
    summing, unrelated = trios(run.task.modulus)
    if not summing:
        raise InputError(
            f"modulus is {run.task.modulus}; it has no three frequencies whose only relation is a "
            "sum: plant a trio at 59, for example"
        )
    members = list(summing[random.integers(len(summing))])
    third = members.pop(random.integers(3))
    first, second = members
    if run.training.planted_trio == "unrelated":
        thirds = list[int]()
        for trio in unrelated:
            further = set(trio) - {first, second}
            if len(further) == 1:
                thirds += further
        if not thirds:
            raise InputError(
                f"modulus is {run.task.modulus}; no third frequency is unrelated to {first} and "
                f"{second}: plant a trio at 59, for example"
            )
        third = thirds[random.integers(len(thirds))]
    return first, second, third


@torch.no_grad()
def plant(network: Network, run: RunSettings) -> None:
    """Scale the waves of the run's trio in the initial embedding. The direction of each stays.

    Each becomes `planted_power` times as strong as the mean frequency was.
    """
    trio = planted_frequencies(run)
    first, second = network.operand_tables()
    _plant_in(first, trio, run.training.planted_power)
    if second.data_ptr() != first.data_ptr():
        _plant_in(second, trio, run.training.planted_power)


def _plant_in(table: Tensor, trio: Trio, power: float) -> None:
    """table: (p, width), changed in place."""
    modulus = len(table)
    values = table.double()
    changed = values.clone()
    mean_power = (values - values.mean(dim=0)).square().sum() / len(frequencies(modulus))
    for frequency in trio:
        waves = frequency_basis(modulus, frequency)  # (2, p)
        part = waves.T @ (waves @ values)
        scale = (power * mean_power / part.square().sum()).sqrt()
        changed += (scale - 1) * part
    table.copy_(changed)
