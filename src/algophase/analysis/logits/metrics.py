"""The paper's three metrics: gradient symmetricity, distance irrelevance (section 4.1) and
circularity (appendix B).

    gradient symmetricity   s_g = mean over (a, b, c) of cos(dQ_abc/dE_a, dQ_abc/dE_b), in [-1, 1]
                            Pizza: 1, Clock: low
    distance irrelevance    q = mean_d std_i(L[i, i + d]) / std(L), in [0, 1]
                            Pizza: low, Clock: high
    circularity             c = mean over the first four principal components of the largest share
                            that one frequency has of the component
"""

import functools
from typing import NamedTuple

import torch
from torch import Tensor

from algophase.analysis.checks import at_inference, check_network
from algophase.analysis.circles.principal import PrincipalComponents, frequency_shares
from algophase.analysis.hidden.units import recorded_pre_activations
from algophase.analysis.logits.all_pairs import (
    by_difference,
    correct_logits,
    largest_wrong_logits,
)
from algophase.core.memory import (
    FLOAT64,
    SIMILARITIES_SHARE,
    Block,
    chunk_elements,
    fits,
    joined,
    joined_blocks,
    slices,
    workers_that_fit,
)
from algophase.core.shuffle import first_of_shuffle
from algophase.core.threads import one_thread
from algophase.networks import Cache, Network
from algophase.networks.gradient_products import Products
from algophase.networks.jacobians import differentiable, differentiate
from algophase.networks.ordered import ordered
from algophase.networks.pair_logits import widest_layer

PAPER_TRIPLES = 100
# Numbers of one chunk of gradients on a CPU: each thread takes chunks of its own, which its cache
# mostly holds.
CACHED_ELEMENTS = 4_000_000
CIRCULARITY_COMPONENTS = 4


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # what is kept must be of use outside it, too
def paper_triples(modulus: int, count: int = PAPER_TRIPLES) -> Tensor:
    """The paper's set S: the first `count` of all (a, b, c), in lexicographic order, after
    random.Random(42).shuffle.

    It is kept: do not write into it.
    """
    chosen = torch.tensor(first_of_shuffle(modulus**3, count, seed=42))
    return torch.stack([chosen // modulus**2, chosen // modulus % modulus, chosen % modulus], dim=1)


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)
def paper_triples_on(modulus: int, device: torch.device) -> Tensor:
    """The same on a device."""
    return paper_triples(modulus).to(device)


def embedding_gradients(network: Network, triples: Tensor) -> tuple[Tensor, Tensor]:
    """dQ_abc/dE_a and dQ_abc/dE_b for each row (a, b, c), each (n, width).

    The two operands are separate inputs here, also where they share one table and a = b.
    """
    check_network(network)
    network = ordered(network)
    with at_inference(network):
        first, second = network.operand_tables()
        embeddings = first[triples[:, 0]], second[triples[:, 1]]
        with differentiable(network, *embeddings) as (network, a, b):
            labels = triples[:, 2:].clone()  # which autograd keeps: no tensor of inference mode
            chosen = network.logits_from_embeddings(a, b).gather(1, labels)
            return differentiate(chosen, (a, b), torch.ones_like(chosen))


def similarity(to_a: Tensor, to_b: Tensor) -> Tensor:
    """Cosine similarity along the last axis. Where both gradients vanish there is no direction to
    compare, and it is NaN; where one does, it is 0."""
    if to_a is to_b:  # where embeddings are added
        return torch.where(to_a.any(dim=-1), to_a.new_ones(()), torch.nan)
    of_a, of_b = (torch.linalg.vector_norm(gradient, dim=-1) for gradient in (to_a, to_b))
    one_vanishes = (of_a == 0) != (of_b == 0)
    return (
        torch.linalg.vecdot(to_a, to_b).div_(of_a).div_(of_b).masked_fill_(one_vanishes, 0.0)
    )  # 0 / 0 is NaN


def similarity_of_products(products: Products) -> Tensor:
    """The same from inner products of the gradients, (a, b, c)."""
    one_vanishes = (products.first == 0) != (products.second == 0)
    cosine = products.mixed / products.first.sqrt() / products.second.sqrt()
    return cosine.masked_fill_(one_vanishes, 0.0)


def gradient_symmetricity(network: Network, triples: Tensor | None = None) -> float:
    """s_g over the paper's 100 triples, or over the rows (a, b, c) given; NaN where no gradient
    is non-zero.
    """
    check_network(network)
    network = ordered(network)
    if triples is None:
        triples = paper_triples(network.task.modulus)
    return sampled_symmetricity(network, triples.to(network.operand_tables()[0].device)).item()


def sampled_symmetricity(network: Network, triples: Tensor) -> Tensor:
    return similarity(*embedding_gradients(network, triples)).nanmean()


def gradient_similarities(network: Network) -> Tensor:
    """cos(dQ_abc/dE_a, dQ_abc/dE_b) of all triples, (p, p, p), in chunks of bounded memory; NaN
    where both vanish.
    """
    check_network(network)
    network = ordered(network)
    with at_inference(network):
        return run_all(network, keep_units=False).similarities


class RunOfAll(NamedTuple):
    """What one pass gives: all logits (p, p, outputs), `gradient_similarities`, and
    pre-activations.

    similarities: (p, p, p); or, where all of them are too large to keep, the sum of each pair's
        over the labels and how many there are, (p * p, 2).
    pre_activations: of the first hidden layer at the last position, (p * p, m); None where the pass
        does not show them, or where they are not kept.
    """

    logits: Tensor
    similarities: Tensor
    pre_activations: Tensor | None

    @property
    def symmetricity(self) -> Tensor:
        """s_g over all triples, a scalar on the device."""
        if self.similarities.dim() == 3:
            return self.similarities.nanmean()
        total, count = self.similarities.sum(dim=0)
        return total / count


def similarities_fit(network: Network) -> bool:
    """Whether the similarities of all triples may be kept."""
    device = network.operand_tables()[0].device
    return fits(FLOAT64 * network.task.modulus**3, device, SIMILARITIES_SHARE)


def run_all(
    network: Network, *, keep_similarities: bool = True, keep_units: bool = True
) -> RunOfAll:
    """All pairs, and the gradients of all triples, of a network that adds, at inference.

    keep_similarities: of all triples, not their sums alone; keep_units: the pre-activations.
    """
    first, second = (table.detach() for table in network.operand_tables())
    p = network.task.modulus
    on_cpu = first.device.type == "cpu"
    products = network.gradient_products(first, second) if on_cpu else None
    if products is None:
        # A pair's p gradients at the widest layer, and the Jacobians of its attention.
        elements = p * (2 * widest_layer(network) + 5 * first.shape[1]) + 2 * first.shape[1] ** 2
    else:
        elements = products.elements
    most = CACHED_ELEMENTS if on_cpu else chunk_elements(first.device)
    threads = torch.get_num_threads() if on_cpu and network.concurrent else 1
    chunk_bytes = FLOAT64 * max(most, elements)
    workers = workers_that_fit(threads, chunk_bytes, 2 * FLOAT64 * p**3, first.device)
    at_once = max(1, most // elements)

    def of_pairs(chunk: slice) -> list[Tensor]:
        pairs = torch.arange(chunk.start, chunk.stop, device=first.device)
        cache: Cache = {}
        jacobians = network.jacobians(first[pairs // p], second[pairs % p], cache)
        similarities = similarity(jacobians.to_first, jacobians.to_second)
        return results(jacobians.logits, similarities, recorded_pre_activations(cache))

    def of_block(block: Block) -> list[Tensor]:
        assert products is not None
        of_pairs = products.of_block(*block)
        similarities = similarity_of_products(of_pairs)
        return results(of_pairs.logits, similarities, [of_pairs.pre_activations])

    def results(logits: Tensor, similarities: Tensor, pre: list[Tensor]) -> list[Tensor]:
        if not keep_similarities:
            count = (~similarities.isnan()).sum(dim=-1)
            similarities = torch.stack([similarities.nansum(dim=-1), count], dim=-1)
        return [logits, similarities, *(pre if keep_units else [])]

    with one_thread(threads > 1):
        what = f"network {network.id}: its logits and gradients"
        if products is None:
            parts = joined(of_pairs, slices(p * p, at_once), what, workers)
        else:
            every_row = slices(p, at_once)
            every_column = slices(p, max(1, at_once // p))
            blocks = [(rows, columns) for columns in every_column for rows in every_row]
            parts = joined_blocks(of_block, blocks, what, workers)
    logits, similarities, *pre = parts
    similarities = similarities.view(p, p, p) if keep_similarities else similarities.view(p * p, 2)
    return RunOfAll(logits.view(p, p, -1), similarities, pre[0].view(p * p, -1) if pre else None)


def gradient_symmetricity_exact(network: Network) -> float:
    """s_g over all p^3 triples: the quantity the paper estimates with 100."""
    check_network(network)
    network = ordered(network)
    with at_inference(network):
        results = run_all(network, keep_similarities=similarities_fit(network), keep_units=False)
    return results.symmetricity.item()


def symmetricity_without_equals_sign(network: Network) -> Tensor:
    """s_g over the paper's 100 triples, of a network with an equals sign that is not given one; NaN
    for any other network.

    This is what the column `gradient_sim` of the released table holds for such networks
    (docs/method.md).
    """
    device = network.operand_tables()[0].device
    bare = network.without_equals_sign()
    if bare is None:
        return torch.full((), torch.nan, dtype=torch.float64, device=device)
    with torch.enable_grad():
        triples = paper_triples_on(network.task.modulus, device)
        return sampled_symmetricity(bare, triples)


def irrelevance(matrix: Tensor, resolution: float) -> Tensor:
    """mean_d std_i(M[i, i + d]) / std(M), (...,) of matrices (..., p, p), population standard
    deviations.

    NaN where M is constant up to `resolution`.
    """
    overall = matrix.std(dim=(-2, -1), correction=0)
    constant = overall <= 64 * resolution * matrix.abs().amax(dim=(-2, -1))
    spread = by_difference(matrix).std(dim=-1, correction=0).mean(dim=-1)
    return (spread / overall).masked_fill_(constant, torch.nan)


def distance_irrelevance(
    logits: Tensor, resolution: float = torch.finfo(torch.float64).eps
) -> float:
    """q by the paper's definition, on the correct logits.

    resolution: relative rounding of the weights. A network whose correct logits are all equal (the
        ideal Clock) has no
    variance to attribute, and the answer is NaN rather than a ratio of rounding errors.
    """
    return irrelevance(correct_logits(logits).double(), resolution).item()


def distance_irrelevance_wrong_logit(
    logits: Tensor, resolution: float = torch.finfo(torch.float64).eps
) -> float:
    """The same ratio on the largest wrong logit: what the column `distance_irrelevance` of the
    released table holds.
    """
    return irrelevance(largest_wrong_logits(logits).double(), resolution).item()


def circularity(components: PrincipalComponents) -> float:
    """c over the first four principal components (fewer if the embedding has fewer); NaN if it
    has none.
    """
    concentration = frequency_shares(components)[:CIRCULARITY_COMPONENTS].amax(dim=1)
    return concentration.mean().item() if len(concentration) else float("nan")
