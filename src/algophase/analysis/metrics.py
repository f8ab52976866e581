"""The paper's three metrics: gradient symmetricity, distance irrelevance (section 4.1) and circularity (appendix B).

gradient symmetricity   s_g = mean over (a, b, c) of cos(dQ_abc/dE_a, dQ_abc/dE_b), in [-1, 1]; Pizza 1, Clock low
distance irrelevance    q = mean_d std_i(L[i, i + d]) / std(L), in [0, 1]; Pizza low, Clock high
circularity             c = mean over the first four principal components of the largest share one frequency has of it
"""

import functools
import random

import torch
from torch import Tensor

from algophase.analysis.grid import by_difference, correct_logits, largest_wrong_logits, rows_per_chunk
from algophase.analysis.principal import PrincipalComponents, frequency_shares
from algophase.networks import Network

PAPER_TRIPLES = 100
CIRCULARITY_COMPONENTS = 4


@functools.lru_cache(maxsize=8)
def paper_triples(modulus: int, count: int = PAPER_TRIPLES) -> Tensor:
    """The paper's set S: the first `count` of all (a, b, c), in lexicographic order, after random.Random(42).shuffle."""
    numbers = list(range(modulus**3))
    random.Random(42).shuffle(numbers)
    chosen = torch.tensor(numbers[:count])
    return torch.stack([chosen // modulus**2, chosen // modulus % modulus, chosen % modulus], dim=1)


def embedding_gradients(network: Network, triples: Tensor) -> tuple[Tensor, Tensor]:
    """dQ_abc/dE_a and dQ_abc/dE_b for each row (a, b, c), each (n, width).

    The two operands are separate inputs here, also where they share one table and a = b.
    """
    first, second = network.operand_tables()
    a = first[triples[:, 0]].detach().requires_grad_()
    b = second[triples[:, 1]].detach().requires_grad_()
    chosen = network.logits_from_embeddings(a, b).gather(1, triples[:, 2:])
    to_a, to_b = torch.autograd.grad(chosen.sum(), (a, b))
    return to_a, to_b


def _sum_of_similarities(to_a: Tensor, to_b: Tensor) -> tuple[float, int]:
    """Sum of cosine similarities and how many there are. Where both gradients vanish there is no direction to compare,
    and the triple is left out; where one does, the similarity is 0."""
    defined = (to_a != 0).any(-1) | (to_b != 0).any(-1)
    similarity = torch.cosine_similarity(to_a, to_b, dim=-1, eps=torch.finfo(to_a.dtype).tiny)
    return similarity[defined].double().sum().item(), int(defined.sum())


def gradient_symmetricity(network: Network, triples: Tensor | None = None) -> float:
    """s_g over the paper's 100 triples, or over the rows (a, b, c) given; NaN where no gradient is non-zero."""
    if triples is None:
        triples = paper_triples(network.task.modulus)
    total, count = _sum_of_similarities(*embedding_gradients(network, triples))
    return total / count if count else float("nan")


def gradient_symmetricity_exact(network: Network) -> float:
    """s_g over all p^3 triples: the quantity the paper estimates with 100.

    All p logits of a batch of pairs go through one batched backward pass, in chunks of bounded memory. It starts at the
    last features: the logits are linear in them, so what flows back to them, a row of the readout, is the same for every pair.
    """
    p = network.task.modulus
    first, second = (table.detach() for table in network.operand_tables())
    rows = [readout.detach()[:, :p].T for readout in network.readouts()]  # each (c, size)
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))
    total, count = 0.0, 0
    for chunk in pairs.split(rows_per_chunk(network, p)):
        a, b = first[chunk[:, 0]].requires_grad_(), second[chunk[:, 1]].requires_grad_()
        features = network.features_from_embeddings(a, b)
        flowing_back = [row[:, None].expand(p, len(chunk), -1) for row in rows]
        to_a, to_b = torch.autograd.grad(features, (a, b), flowing_back, is_grads_batched=True)  # (c, pairs, width)
        chunk_total, chunk_count = _sum_of_similarities(to_a, to_b)
        total, count = total + chunk_total, count + chunk_count
    return total / count if count else float("nan")


def _irrelevance(matrix: Tensor, resolution: float) -> float:
    """mean_d std_i(M[i, i + d]) / std(M), population standard deviations; NaN where M is constant up to `resolution`."""
    overall = matrix.std(correction=0)
    if overall <= 64 * resolution * matrix.abs().max():
        return float("nan")
    return (by_difference(matrix).std(dim=1, correction=0).mean() / overall).item()


def distance_irrelevance(logits: Tensor, resolution: float = torch.finfo(torch.float64).eps) -> float:
    """q by the paper's definition, on the correct logits.

    resolution: relative rounding of the weights. A network whose correct logits are all equal (the ideal Clock) has no
    variance to attribute, and the answer is NaN rather than a ratio of rounding errors.
    """
    return _irrelevance(correct_logits(logits).double(), resolution)


def distance_irrelevance_wrong_logit(logits: Tensor, resolution: float = torch.finfo(torch.float64).eps) -> float:
    """The same ratio on the largest wrong logit: what the column `distance_irrelevance` of the released table holds."""
    return _irrelevance(largest_wrong_logits(logits).double(), resolution)


def circularity(components: PrincipalComponents) -> float:
    """c over the first four principal components (fewer if the embedding has fewer); NaN if it has none."""
    concentration = frequency_shares(components)[:CIRCULARITY_COMPONENTS].amax(dim=1)
    return concentration.mean().item() if len(concentration) else float("nan")
