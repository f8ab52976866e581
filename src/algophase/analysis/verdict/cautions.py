"""Cautions: what the paper's metrics cannot say about a network.

Gradient symmetricity compares gradients by the two operands' embeddings. Where the logits depend on
the sum of the two alone, both are the same vector, and it is 1 whatever the network computes. Where
they are concatenated, either embedding could be turned by itself, its weights with it, without
changing the network: the cosine of the two gradients is then a matter of basis. Circularity looks
at principal components, which are defined up to a turn among those of equal size.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from algophase.analysis.circles.principal import equal_components
from algophase.analysis.logits.metrics import CIRCULARITY_COMPONENTS
from algophase.analysis.subject import Subject
from algophase.core.fourier import Array

PAIRS = 8  # on which it is tried whether logits depend on the sum of the embeddings alone
SAME = 1e-9  # of the largest logit: no more than rounding

ADDED = (
    "gradient symmetricity is 1 by construction: the logits depend only on the sum of the two "
    "embeddings, so it cannot distinguish Clock and Pizza here"
)
CONCATENATED = (
    "gradient symmetricity depends on the basis: the two embeddings are concatenated, so either "
    "could be rotated without the other"
)

NORMALIZED = (
    "layer norm rescales isolated circles, so instance logits are compared up to one common factor"
)


@torch.no_grad()
def effects_of_moves(subject: Subject) -> dict[str, Tensor]:
    """How far the logits of a few pairs move with an embedding, as parts of the largest logit, on
    the device: with the first, and with both against each other. Empty where it is known.
    """
    network = subject.network
    if not network.may_read_sum_alone or network.concatenates or network.cut == "none":
        return {}
    tables = network.operand_tables()
    p = subject.modulus
    chosen = torch.arange(PAIRS, device=tables[0].device) % p
    a = tables[0][chosen]
    b = tables[1][(3 * chosen + 1) % p]
    direction = torch.linspace(-1, 1, a.shape[1], device=a.device, dtype=a.dtype)
    move = direction * (1 + a.abs().mean())
    first = torch.cat([a, a + move, a + move])
    second = torch.cat([b, b, b - move])
    own, moved, against = network.logits_from_embeddings(first, second).chunk(3)
    size = own.abs().max()
    return {
        "the first": (moved - own).abs().max() / size,
        "against each other": (against - own).abs().max() / size,
    }


def cautions_of(subject: Subject, effects: Mapping[str, Array]) -> tuple[str, ...]:
    """effects: those of `effects_of_moves`, on the CPU."""
    cautions = list(subject.seen.notes)
    if subject.network.concatenates:
        cautions.append(CONCATENATED)
    elif effects and effects["the first"] > SAME and effects["against each other"] <= SAME:
        cautions.append(ADDED)
    if subject.network.normalizes:
        cautions.append(NORMALIZED)
    equal = equal_components(subject.components, CIRCULARITY_COMPONENTS)
    if equal > 2 and len(subject.tables) == 1:
        cautions.append(
            f"circularity is not determined by the weights: {equal} principal components have "
            "equal size, so any rotation among them is valid; we choose one frequency for each"
        )
    return tuple(cautions)
