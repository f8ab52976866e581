"""How well do dictionaries find the known features of trained networks? (docs/ground-truth.md)

    python studies/dictionaries_on_known_features.py features oracle
    python studies/dictionaries_on_known_features.py features random
    python studies/dictionaries_on_known_features.py features topk

`features` is what `algophase export --for sae` wrote. `components` are principal components, and
`samples` random rows of the activations. With --each, every network has a dictionary of its own and
the means of their scores are printed; else one dictionary is for all networks together.

A TopK autoencoder (Gao et al. 2024, arXiv:2406.04093), without its loss for dead latents:

    z = the k largest of ReLU(W_enc (x - b)), else 0        y = W_dec^T z + b

Rows of W_dec have length 1. The loss is the mean of |x - y|^2, with Adam.
"""

import argparse
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algophase import InputError, dictionary_score, read_features
from algophase.interop.dictionary_score import DictionaryScore
from algophase.interop.ground_truth import KnownFeatures

KINDS = ("oracle", "random", "samples", "components", "topk")


class Autoencoder(NamedTuple):
    """Several side by side. encoder, decoder: (count, latents, width); bias: (count, width)."""

    encoder: Tensor
    decoder: Tensor
    bias: Tensor

    def codes(self, rows: Tensor, active: int) -> Tensor:
        """(count, rows, latents), at most `active` of them not zero in each row."""
        read = (rows - self.bias[:, None]) @ self.encoder.mT
        largest = read.relu().topk(active, dim=-1)
        return torch.zeros_like(read).scatter(-1, largest.indices, largest.values)

    def decode(self, codes: Tensor) -> Tensor:
        return codes @ self.decoder + self.bias[:, None]


def trained(
    data: Tensor, latents: int, active: int, steps: int, batch: int, seed: int = 0
) -> Autoencoder:
    """One autoencoder for each of the data sets, (count, rows, width)."""
    generator = torch.Generator().manual_seed(seed)
    count, rows, width = data.shape
    decoder = torch.randn(count, latents, width, generator=generator)
    decoder = torch.nn.functional.normalize(decoder, dim=-1)
    model = Autoencoder(decoder.clone(), decoder, data.mean(dim=1))
    for tensor in model:
        tensor.requires_grad_()
    optimizer = torch.optim.Adam(model, lr=1e-3)
    for _ in range(steps):
        chosen = data[:, torch.randint(rows, (min(batch, rows),), generator=generator)]
        error = chosen - model.decode(model.codes(chosen, active))
        loss = error.square().sum(dim=-1).mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            decoder.copy_(torch.nn.functional.normalize(decoder, dim=-1))
    return Autoencoder(*(tensor.detach() for tensor in model))


def scaled(truth: KnownFeatures) -> Tensor:
    """Activations with a mean squared length of 1: networks weigh alike in one loss."""
    values = truth.activations
    return values / values.square().sum(dim=1).mean().sqrt()


def score_topk(
    groups: list[list[KnownFeatures]], latents: int, active: int, steps: int, batch: int
) -> list[DictionaryScore]:
    """One autoencoder for each group of networks."""
    data = torch.stack([torch.cat([scaled(truth) for truth in group]) for group in groups])
    model = trained(data, latents, active, steps, batch)
    codes = model.codes(data, active)
    left = (data - model.decode(codes)).square().sum() / data.square().sum()
    print(f"explains {1 - left:.1%} of the variance with {active} active latents")
    return [
        dictionary_score(decoder, group, own)
        for decoder, group, own in zip(model.decoder, groups, codes, strict=True)
    ]


def dictionary(kind: str, group: list[KnownFeatures], latents: int) -> np.ndarray:
    """(latents, width), of networks that share it."""
    draw = np.random.default_rng(0)
    if kind == "oracle":
        return np.concatenate([truth.oracle for truth in group])
    if kind == "random":
        return draw.standard_normal((latents, group[0].width))
    rows = torch.cat([scaled(truth) for truth in group]).double().numpy()
    if kind == "samples":
        return rows[draw.permutation(len(rows))[:latents]]
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    shares = np.cumsum(sizes**2) / (sizes**2).sum()
    return directions[: int((shares < 0.99).sum()) + 1]  # those with 99% of the variance


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("features", help="what algophase export --for sae wrote")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--each", action="store_true", help="a dictionary for each network")
    parser.add_argument("--latents", type=int, default=1024)
    parser.add_argument("--active", type=int, default=8, help="latents that fire at once")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    networks = read_features(options.features)
    groups = [[truth] for truth in networks] if options.each else [networks]
    try:
        if options.kind == "topk":
            sizes = options.latents, options.active, options.steps, options.batch
            scores = score_topk(groups, *sizes)
        else:
            scores = []
            for group in groups:
                latents = dictionary(options.kind, group, options.latents)
                scores.append(dictionary_score(latents, group))
    except InputError as error:
        raise SystemExit(f"error: {error}") from None
    if options.each:
        print(f"means over {len(scores)} networks, each with a dictionary of its own:")
        for name in ("score", "recall", "precision", "capture", "purity"):
            values = [getattr(score, name) for score in scores]
            print(f"  {name:<10}{np.mean(values):.3f}  ({min(values):.3f} to {max(values):.3f})")
    else:
        print(f"{len(networks)} networks, one dictionary:", scores[0])


if __name__ == "__main__":
    main()
