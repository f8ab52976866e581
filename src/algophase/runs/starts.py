"""The power of each frequency in the tables that a run starts from. Its seed gives them back:
nothing is trained.
"""

import numpy
import torch
from torch import Tensor

from algophase.core.settings import RunSettings
from algophase.networks import initialize
from algophase.runs.statistics import Floats

Starts = dict[str, Floats]
EMBEDDING, UNEMBEDDING, BOTH = "W_E", "W_U", "W_E + W_U"


def initial_powers(run: RunSettings) -> Starts:
    """Power of the frequencies 1 to floor(p / 2) in the embedding, the unembedding and both, each
    over its mean.

    Frequencies count in the order in which the task's numbers add.
    """
    network = initialize(run)
    p = run.task.modulus
    weights = dict(network.named_parameters())
    unembedding = (
        weights["unembed.W_U"].mT if "unembed.W_U" in weights else weights["unembed.weight"]
    )
    first, second, answer = run.task.elements.names
    tables = network.operand_tables()
    embedding = [_power(table[order]) for table, order in zip(tables, (first, second), strict=True)]
    of_embedding = numpy.mean(embedding, axis=0)
    of_answers = _power(unembedding[:p][answer])
    return {EMBEDDING: of_embedding, UNEMBEDDING: of_answers, BOTH: of_embedding + of_answers}


def _power(table: Tensor) -> Floats:
    """Of every frequency in (p, width), over the mean."""
    modes = torch.fft.rfft(table.detach().double(), dim=0)[1:]
    power: Floats = modes.abs().square().sum(dim=1).numpy()
    return power / power.mean()
