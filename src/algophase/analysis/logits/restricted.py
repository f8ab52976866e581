"""Logits restricted to a network's key frequencies, and without them, as in progress measures
(Nanda et al., arXiv 2301.05217).

Over the pairs (a, b), each logit has a part x_k cos w_k (a + b) + y_k sin w_k (a + b) at each
frequency k. *Restricted* logits keep these parts at the key frequencies of the program, and the
mean; *excluded* ones have all but these parts. All of it is queued where the logits are, and waits
for nothing.
"""

import functools

import torch
from torch import Tensor

from algophase.analysis.logits.all_pairs import LOSS_COPIES, by_rows, losses_of_rows
from algophase.analysis.logits.sums import indices_of, make_indices
from algophase.analysis.program.read import least_key_share
from algophase.core.fourier import circle, padded_basis
from algophase.core.group import cyclic_group
from algophase.core.lines import reaches
from algophase.core.memory import FLOAT64, mean_over_rows, slabs
from algophase.core.task import labels

# Arrays as large as the logits that reordering them has at once: as they are, centered, reordered,
# and the places of two orders with what these are made from.
GATHER_COPIES = 8


def key_frequencies_there(logits: Tensor) -> Tensor:
    """Which frequencies 1 to floor(p / 2) are key frequencies of logits (p, p, outputs),
    booleans where the logits are.
    """
    p = len(logits)
    parts = _row_slabs(logits)

    def centered(rows: slice) -> Tensor:
        values = logits[rows, :, :p].double()
        return values - values.mean(dim=-1, keepdim=True)

    def by_answer(rows: slice) -> Tensor:
        # Those of several slabs are not kept: they are as large as the slabs.
        of_rows = indices_of if len(parts) == 1 else make_indices
        order = of_rows(p, rows.start, rows.stop, logits.device).by_answer
        return centered(rows).flatten()[order].view(-1, p, p)

    answer = mean_over_rows(by_answer, parts)  # (d, r)
    if p % 2 == 0:  # without the offset (-1)^c, which follows the answer as well
        signs = circle(p, p // 2)[:, 0].to(logits.device)
        offset = mean_over_rows(lambda rows: centered(rows).mean(dim=1), parts)
        answer = answer - (offset @ signs / p) * torch.outer(signs, signs)
    amplitudes = answer @ padded_basis(p, logits.device)[1:].T
    by_frequency = amplitudes.square().sum(dim=0).view(-1, 2).sum(dim=1) * p
    total = mean_over_rows(lambda rows: centered(rows).square().sum(dim=(1, 2)), parts) * p
    shares = by_frequency / total.clamp_min(torch.finfo(torch.float64).tiny)
    return reaches(shares, least_key_share(p // 2))


def _row_slabs(logits: Tensor) -> list[slice]:
    return slabs(len(logits), GATHER_COPIES * FLOAT64 * logits[0].numel(), logits.device)


@functools.lru_cache(maxsize=4)
@torch.inference_mode(False)
def _by_sum(p: int, start: int, stop: int, device: torch.device) -> Tensor:
    """Places among the pairs (a, b) of some rows a of those with each sum: (a, s)."""
    a = torch.arange(start, stop, device=device)[:, None]
    s = torch.arange(p, device=device)
    return (a - start) * p + cyclic_group(p).difference(s, a)


def parts_by_sum(logits: Tensor) -> tuple[Tensor, Tensor]:
    """What restricted logits are, and what excluded ones lack, at each sum s = a + b: each (s,
    outputs).

    logits: (p, p, outputs), in float64.
    """
    p = len(logits)
    waves = padded_basis(len(logits), logits.device)
    keys = key_frequencies_there(logits)

    def by_sum(rows: slice) -> Tensor:
        return logits[rows].flatten(0, 1)[_by_sum(p, rows.start, rows.stop, logits.device)]

    of_sum = mean_over_rows(by_sum, _row_slabs(logits))  # (s, outputs)
    is_kept = keys[:, None].expand(-1, 2).flatten()  # each frequency has two waves
    kept = waves[1:] * is_kept[:, None]
    key_part = kept.T @ (kept @ of_sum)
    return key_part + of_sum.mean(dim=0), key_part


@torch.no_grad()
def losses_by_keys(logits: Tensor) -> Tensor:
    """Cross-entropy of every pair of the logits, of restricted and of excluded ones, (3, p, p)."""
    logits = logits.double()
    restricted, left_out = parts_by_sum(logits)
    sums = labels(len(logits), logits.device)

    def losses(logits: Tensor, rows: slice) -> Tensor:
        kinds = torch.stack([logits, restricted[sums[rows]], logits - left_out[sums[rows]]])
        return losses_of_rows(kinds, rows)

    return by_rows(losses, logits, copies=3 * (LOSS_COPIES + 2))
