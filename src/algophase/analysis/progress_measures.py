"""Progress measures: how much of an algorithm is there before the accuracy shows it (Nanda et al., arXiv 2301.05217).

Restricted loss: with nothing but the waves of a + b at the key frequencies. It falls when the algorithm is there.
Excluded loss: with all but these waves. It rises when a network no longer gets by on what it has memorised.
Gini: of the norms of the embedding at each frequency; 0 if all are equal, near 1 if few frequencies hold it all.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from algophase.analysis.principal import PrincipalComponents
from algophase.analysis.restricted import key_frequencies_there
from algophase.analysis.subject import Subject
from algophase.networks import Network
from algophase.task import split


@dataclass(frozen=True)
class ProgressMeasures:
    """Losses are mean cross-entropies over all pairs, but for excluded_training_loss: over the training pairs, NaN if unknown.

    frequencies: the key frequencies of the program. gini: of the embedding.

    >>> from algophase import handmade_clock, progress_measures
    >>> progress_measures(handmade_clock(7, (1, 2)))
    <ProgressMeasures: loss 0.529, restricted 0.529, excluded 1.946; Gini 0.3333 at key frequencies 1, 2>
    """

    frequencies: tuple[int, ...]
    loss: float
    restricted_loss: float
    excluded_loss: float
    excluded_training_loss: float
    gini: float

    def __repr__(self) -> str:
        losses = f"loss {self.loss:.4g}, restricted {self.restricted_loss:.4g}, excluded {self.excluded_loss:.4g}"
        return f"<ProgressMeasures: {losses}; Gini {self.gini:.4f} at key frequencies {', '.join(map(str, self.frequencies))}>"


def embedding_gini(components: PrincipalComponents) -> float:
    """Gini coefficient of the norms of the embedding at each frequency; NaN if it is constant."""
    if components.count == 0:
        return math.nan
    norms = np.sort(np.sqrt(components.variance_by_frequency.numpy()))
    count = len(norms)
    return float((2 * np.arange(1, count + 1) - count - 1) @ norms / (count * norms.sum()))


@torch.no_grad()
def progress_measures(network: Network, device: torch.device | str = "cpu") -> ProgressMeasures:
    """Restricted and excluded loss of a network, and the Gini coefficient of its embedding.

    >>> from algophase import handmade_pizza
    >>> progress_measures(handmade_pizza(23)).frequencies
    (1, 5)
    """
    subject = Subject(network, device)
    excluded = subject.losses[2]
    loss, restricted_loss, excluded_loss = subject.mean_losses.tolist()
    training, run = math.nan, network.run
    if run is not None and network.task.is_addition:
        pairs = split(run.task, run.seed).training.to(excluded.device)
        training = excluded.flatten()[pairs].mean().item()
    keys = key_frequencies_there(subject.logits).nonzero().flatten() + 1
    return ProgressMeasures(
        tuple(keys.tolist()),
        loss,
        restricted_loss,
        excluded_loss,
        training,
        embedding_gini(subject.components),
    )
