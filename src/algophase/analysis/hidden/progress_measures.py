"""Progress measures: how much of an algorithm is there before the accuracy shows it (Nanda et al.,
arXiv 2301.05217).

Restricted loss: with nothing but the waves of a + b at the key frequencies. It falls when the
algorithm is there.

Excluded loss: with all but these waves. It rises when a network no longer gets by on what it has
memorized.

Gini: of the norms of the embedding at each frequency; 0 if all are equal, near 1 if few frequencies
hold it all.

Held-out answers are ours. The answer-following part of all pairs is right already where a fifth of
the training pairs are known by heart and nothing else is: averaging spreads them. The same average
over pairs that were never trained on has no such help:

    H(d, r) = mean over the held-out pairs (a, a - d) of Q[a, a - d, 2 a - d - r]

It is right at d if H(d, 0) is the largest.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.circles.principal import PrincipalComponents
from algophase.analysis.device import upload
from algophase.analysis.logits.restricted import key_frequencies_there
from algophase.analysis.subject import Subject, subject_on_cycle
from algophase.core.group import cyclic_group
from algophase.core.task import split
from algophase.networks import Network


@dataclass(frozen=True)
class ProgressMeasures:
    """How much of the algorithm a network has. Losses are mean cross-entropies over all pairs.

    Attributes:
        frequencies: the key frequencies of the program.
        loss: of the network.
        restricted_loss: with nothing but the waves of a + b at the key frequencies.
        excluded_loss: with all but these waves.
        excluded_training_loss: the same over the training pairs; NaN if they are unknown.
        gini: Gini coefficient of the embedding's norms by frequency.
        held_out_answers: share of the differences d at which the mean over held-out pairs is right;
            NaN if they are unknown.

    Example:
        >>> from algophase import handmade_clock, progress_measures
        >>> measures = progress_measures(handmade_clock(7, (1, 2)))
        >>> round(measures.loss, 3), round(measures.restricted_loss, 3), measures.frequencies
        (0.529, 0.529, (1, 2))
    """

    frequencies: tuple[int, ...]
    loss: float
    restricted_loss: float
    excluded_loss: float
    excluded_training_loss: float
    gini: float
    held_out_answers: float

    def __repr__(self) -> str:
        frequencies = ", ".join(map(str, self.frequencies))
        return (
            f"<ProgressMeasures: loss {self.loss:.4g}, restricted {self.restricted_loss:.4g}, "
            f"excluded {self.excluded_loss:.4g}; Gini {self.gini:.4f} at key frequencies "
            f"{frequencies}>"
        )


def embedding_gini(components: PrincipalComponents) -> float:
    """Gini coefficient of the norms of the embedding at each frequency; NaN if it is constant."""
    if components.count == 0:
        return math.nan
    norms = np.sort(np.sqrt(components.variance_by_frequency.numpy()))
    count = len(norms)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    return float(ranks @ norms / (count * norms.sum()))


def progress_measures(network: Network, device: torch.device | str = "cpu") -> ProgressMeasures:
    """Measure how much of the algorithm a network has, before its accuracy shows it.

    Arguments:
        network: the network.
        device: where to compute.

    Returns:
        `ProgressMeasures`: `restricted_loss`, `excluded_loss`, the `gini` coefficient of the
        embedding, and the key `frequencies`.

    Example:
        >>> from algophase import handmade_pizza
        >>> progress_measures(handmade_pizza(23)).frequencies
        (1, 5)
    """
    return progress_measures_of(subject_on_cycle(network, device))


@torch.no_grad()
def progress_measures_of(subject: Subject) -> ProgressMeasures:
    """`progress_measures` of a network under measurement."""
    excluded = subject.losses[2]
    loss, restricted_loss, excluded_loss = subject.mean_losses.tolist()
    training = held_out = math.nan
    pairs = training_pairs(subject.given)
    if pairs is not None:
        training = excluded.flatten()[pairs.to(excluded.device)].mean().item()
        held_out = held_out_answers(subject.logits, pairs).item()
    keys = key_frequencies_there(subject.logits).nonzero().flatten() + 1
    return ProgressMeasures(
        frequencies=tuple(keys.tolist()),
        loss=loss,
        restricted_loss=restricted_loss,
        excluded_loss=excluded_loss,
        excluded_training_loss=training,
        gini=embedding_gini(subject.components),
        held_out_answers=held_out,
    )


def training_pairs(network: Network) -> Tensor | None:
    """Indices a p + b of the pairs that a network was trained on; None if unknown, or if its
    numbers have other names.
    """
    run = network.run
    if run is None or not network.task.is_addition:
        return None
    return split(run.task, run.seed).training


def held_out_answers(logits: Tensor, training: Tensor) -> Tensor:
    """Share of the differences at which H of logits (a, b, outputs) is right, of those with a
    held-out pair; a tie is not.
    """
    p = len(logits)
    device = logits.device
    held_out = torch.ones(p * p).index_fill_(0, training.cpu(), 0.0).view(p, p)
    (held_out,) = upload([held_out], device, logits.dtype)
    group = cyclic_group(p)
    numbers = torch.arange(p, device=device)
    a = numbers[:, None]
    b = group.difference(a, numbers)  # (a, d)
    answers = group.difference((a + b)[..., None], numbers)  # (a, d, r)
    weights = held_out[a, b]  # (a, d)
    turned = logits[a[..., None], b[..., None], answers]  # (a, d, r)
    mean = (weights[..., None] * turned).sum(dim=0)
    right = mean[:, 0] > mean[:, 1:].amax(dim=1)
    defined = weights.sum(dim=0) > 0
    return (right & defined).sum() / defined.sum()
