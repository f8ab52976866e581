"""Logits restricted to a network's key frequencies, and without them, as in progress measures (Nanda et al., arXiv 2301.05217).

Over the pairs (a, b), each logit has a part x_k cos w_k (a + b) + y_k sin w_k (a + b) at each frequency k. *Restricted* logits
keep these parts at the key frequencies of the program, and the mean; *excluded* ones have all but these parts.
All of it is queued where the logits are, and waits for nothing.
"""

import functools

import torch
from torch import Tensor

from algophase.analysis.grid import pair_losses
from algophase.analysis.lines import reaches
from algophase.analysis.logit_sums import places
from algophase.analysis.program import least_key_share
from algophase.core.fourier import circle, padded_basis
from algophase.task import labels


def key_frequencies_there(logits: Tensor) -> Tensor:
    """Which frequencies 1 to floor(p / 2) are key frequencies of logits (p, p, outputs), booleans where the logits are."""
    p, logits = len(logits), logits.double()
    centred = logits[..., :p] - logits[..., :p].mean(dim=-1, keepdim=True)
    answer = centred.flatten()[places(p, 0, p, logits.device).by_answer].view(p, p, p).mean(dim=0)  # (d, r)
    if p % 2 == 0:  # without the offset (-1)^c, which follows the answer as well
        signs = circle(p, p // 2)[:, 0].to(logits.device)
        answer = answer - (centred.mean(dim=(0, 1)) @ signs / p) * torch.outer(signs, signs)
    held = (answer @ padded_basis(p, logits.device)[1:].T).square().sum(dim=0).view(-1, 2).sum(dim=1) * p
    total = centred.square().sum().clamp_min(torch.finfo(torch.float64).tiny)
    return reaches(held / total, least_key_share(p // 2))


@functools.lru_cache(maxsize=4)
@torch.inference_mode(False)
def _by_sum(p: int, device: torch.device) -> Tensor:
    """Places among pairs (a, b) of those with each sum: (a, s)."""
    a, s = torch.arange(p, device=device)[:, None], torch.arange(p, device=device)
    return a * p + (s - a) % p


def restricted_and_excluded(logits: Tensor, keys: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Both kinds of logits, each (p, p, outputs), of logits in float64. keys: which frequencies, by default the key ones."""
    p, waves = len(logits), padded_basis(len(logits), logits.device)
    keys = key_frequencies_there(logits) if keys is None else keys
    of_sum = logits.flatten(0, 1)[_by_sum(p, logits.device)].mean(dim=0)  # (s, outputs)
    kept = waves[1:] * keys[:, None].expand(-1, 2).flatten()[:, None]
    key_part = kept.T @ (kept @ of_sum)
    grid = labels(p, logits.device)
    return (key_part + of_sum.mean(dim=0))[grid], logits - key_part[grid]


@torch.no_grad()
def losses_by_keys(logits: Tensor) -> Tensor:
    """Cross-entropy of every pair of the logits, of restricted and of excluded ones, (3, p, p)."""
    logits = logits.double()
    return pair_losses(torch.stack([logits, *restricted_and_excluded(logits)]))
