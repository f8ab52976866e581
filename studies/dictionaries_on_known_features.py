"""How well do dictionaries find the known features of trained networks? (docs/ground-truth.md)

    python studies/dictionaries_on_known_features.py features oracle
    python studies/dictionaries_on_known_features.py features random
    python studies/dictionaries_on_known_features.py features topk

`features` is what `algophase export --for sae` wrote. `components` are principal components,
`samples` random rows of the activations, and `numbers` the mean activations of each first and of
each second number. With --each, every network has a dictionary of its own and the means of their
scores are printed; else one dictionary is for all networks together.

A TopK autoencoder (Gao et al. 2024, arXiv:2406.04093):

    z = the k largest of ReLU(W_enc (x - b)), else 0        y = W_dec^T z + b

Rows of W_dec have length 1. The loss is the mean of |x - y|^2, with Adam. A latent that does not
fire for a while is started again, in the direction of a row that is reconstructed badly (Bricken et
al. 2023): without that, half of the latents were dead.
"""

import argparse
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from algophase import InputError, dictionary_score, read_features
from algophase.interop.dictionary_score import DictionaryScore
from algophase.interop.ground_truth import KnownFeatures

KINDS = ("oracle", "random", "samples", "components", "numbers", "topk")
PATIENCE = 200  # steps without firing until a latent is started again
NO_MORE = 0.8  # of the training, after which none is: what was started last must settle


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
    fired = torch.zeros(count, latents, dtype=torch.bool)
    for step in range(steps):
        chosen = data[:, torch.randint(rows, (min(batch, rows),), generator=generator)]
        codes = model.codes(chosen, active)
        error = chosen - model.decode(codes)
        fired |= (codes.detach() != 0).any(dim=1)
        loss = error.square().sum(dim=-1).mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            decoder.copy_(torch.nn.functional.normalize(decoder, dim=-1))
            if step % PATIENCE == PATIENCE - 1 and step < NO_MORE * steps:
                _start_again(model, optimizer, ~fired, error.detach())
                fired.zero_()
    return Autoencoder(*(tensor.detach() for tensor in model))


def _start_again(
    model: Autoencoder, optimizer: torch.optim.Optimizer, dead: Tensor, errors: Tensor
) -> None:
    """Point latents (count, latents) that are `dead` at the largest of the errors (count, rows,
    width), with a shorter encoder, and let the optimizer forget them.
    """
    for number in range(len(dead)):
        latents = dead[number].nonzero().flatten()
        order = errors[number].square().sum(dim=-1).argsort(descending=True)
        latents = latents[: len(order)]
        directions = torch.nn.functional.normalize(errors[number][order[: len(latents)]], dim=-1)
        model.decoder[number, latents] = directions
        model.encoder[number, latents] = 0.5 * directions
        for tensor in (model.encoder, model.decoder):
            for moment in ("exp_avg", "exp_avg_sq"):
                optimizer.state[tensor][moment][number, latents] = 0.0


def scaled(truth: KnownFeatures) -> Tensor:
    """Activations with a mean squared length of 1: networks weigh alike in one loss."""
    values = truth.activations
    return values / values.square().sum(dim=1).mean().sqrt()


def numbers_of(truth: KnownFeatures) -> Tensor:
    """The mean activation of each first number, then of each second one, (2 n, width)."""
    values = scaled(truth)
    means = []
    for operand in truth.inputs.T:
        means += [values[operand == number].mean(dim=0) for number in operand.unique()]
    return torch.stack(means)


def explained_by_numbers(truth: KnownFeatures) -> float:
    """The share of the variance that two latents explain: the first number's and the second's."""
    values = scaled(truth)
    first, second = numbers_of(truth).unflatten(0, (2, -1))
    sums = first[truth.inputs[:, 0]] + second[truth.inputs[:, 1]]
    return 1 - float((values - sums).square().sum() / values.square().sum())


def score_topk(
    groups: list[list[KnownFeatures]], latents: int, active: int, steps: int, batch: int
) -> list[DictionaryScore]:
    """One autoencoder for each group of networks."""
    data = torch.stack([torch.cat([scaled(truth) for truth in group]) for group in groups])
    model = trained(data, latents, active, steps, batch)
    codes = model.codes(data, active)
    left = (data - model.decode(codes)).square().sum() / data.square().sum()
    alive = (codes != 0).any(dim=1)
    print(f"explains {1 - left:.1%} of the variance with {active} active latents")
    print(f"{int(alive.sum()):,} of {alive.numel():,} latents fire")
    if len(groups[0]) == 1:
        cosines = []
        for decoder, group, own in zip(model.decoder, groups, alive, strict=True):
            units = torch.nn.functional.normalize(numbers_of(group[0]), dim=-1)
            cosines.append((decoder[own] @ units.T).amax(dim=-1))
        print(f"mean cosine with the nearest number's direction: {torch.cat(cosines).mean():.3f}")
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
    if kind == "numbers":
        return torch.cat([numbers_of(truth) for truth in group]).double().numpy()
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
    if options.kind == "numbers":
        explained = [explained_by_numbers(truth) for truth in networks]
        print(f"two latents at a time explain {np.mean(explained):.1%} of the variance")
    if options.each:
        print(f"means over {len(scores)} networks, each with a dictionary of its own:")
        for name in ("score", "recall", "precision", "graded_recall", "graded_precision"):
            values = [getattr(score, name) for score in scores]
            words = name.replace("_", " ")
            print(f"  {words:<18}{np.mean(values):.3f}  ({min(values):.3f} to {max(values):.3f})")
    else:
        print(f"{len(networks)} networks, one dictionary:", scores[0])


if __name__ == "__main__":
    main()
