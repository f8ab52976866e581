"""Networks of other groups, wrapped as networks of this package (the files are not part of this project)."""

import math
from pathlib import Path

import torch
from torch import Tensor, nn

from algophase.networks import Cache, Network
from algophase.settings import LinearSettings, TaskSettings


class Grokked(Network):
    """A one-layer transformer on a, b, "=" with biases, read at the last position; weights in TransformerLens shapes."""

    def __init__(self, p: int, weights: dict[str, Tensor]) -> None:
        super().__init__(TaskSettings(modulus=p), LinearSettings("alpha", 2, 2))
        self.w = nn.ParameterDict({name.replace(".", "_"): nn.Parameter(value.double()) for name, value in weights.items()})
        self.tokens = nn.Parameter(self.w["W_E"][:p].detach().clone())

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.tokens, self.tokens

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Tensor:
        w = self.w
        x = torch.stack([first, second, w["W_E"][-1].expand_as(first)], dim=1) + w["W_pos"][:3]
        q = torch.einsum("nd,hde->nhe", x[:, -1], w["W_Q"]) + w["b_Q"]
        k = torch.einsum("nsd,hde->nshe", x, w["W_K"]) + w["b_K"]
        v = torch.einsum("nsd,hde->nshe", x, w["W_V"]) + w["b_V"]
        pattern = torch.softmax(torch.einsum("nhe,nshe->nhs", q, k) / math.sqrt(q.shape[-1]), dim=-1)
        z = torch.einsum("nhs,nshe->nhe", pattern, v)
        residual = x[:, -1] + torch.einsum("nhe,hed->nd", z, w["W_O"]) + w["b_O"]
        residual = residual + torch.relu(residual @ w["W_in"] + w["b_in"]) @ w["W_out"] + w["b_out"]
        return residual @ w["W_U"] + w["b_U"]


class Concatenated(Network):
    """ReLU([W_x[a], W_y[b]] W) W_U."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        super().__init__(TaskSettings(modulus=len(weights["W_x"])), LinearSettings("alpha", 2, 2))
        self.w = nn.ParameterDict({name: nn.Parameter(value.double()) for name, value in weights.items()})

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.w["W_x"], self.w["W_y"]

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Tensor:
        return torch.relu(torch.cat([first, second], dim=1) @ self.w["W"]) @ self.w["W_U"]


class OneHot(Network):
    """W_out act(W_in (onehot(a) + onehot(b)))."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        p = weights["mlp.W_in"].shape[1]
        super().__init__(TaskSettings(modulus=p), LinearSettings("alpha", 2, 2))
        self.W_in = nn.Parameter(weights["mlp.W_in"].double())
        self.W_out = nn.Parameter(weights["mlp.W_out"].double())
        self.one_hot = nn.Parameter(torch.eye(p, dtype=torch.float64))

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.one_hot, self.one_hot

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Tensor:
        return torch.relu((first + second) @ self.W_in.T) @ self.W_out.T


def load_foreign(folder: Path, name: str) -> Network:
    """One of the four files, by its name without its ending."""
    if name == "onehot_mlp_p23":
        return OneHot(torch.load(folder / f"{name}.pth", weights_only=True, map_location="cpu")["model"])
    if name == "group_mlp_c113":
        return Concatenated(torch.load(folder / f"{name}.pt", weights_only=True, map_location="cpu"))
    if name == "group_transformer_c113":
        raw = torch.load(folder / f"{name}.pt", weights_only=True, map_location="cpu")
        weights = {key.split(".")[-1]: value for key, value in raw.items() if "embed." in key or "blocks.0." in key}
        return Grokked(113, {key: value for key, value in weights.items() if key[:2] in ("W_", "b_")})
    raw = torch.load(folder / f"{name}.pth", weights_only=True, map_location="cpu")["model"]
    weights = {key.split(".")[-1]: value for key, value in raw.items() if key.split(".")[-1][:2] in ("W_", "b_")}
    heads, size, width = weights["W_Q"].shape
    turned = {key: weights[key].transpose(-1, -2) for key in ("W_E", "W_Q", "W_K", "W_V", "W_in", "W_out")}
    turned["W_O"] = weights["W_O"].T.reshape(heads, size, width)
    none = {"b_Q": torch.zeros(heads, size), "b_K": torch.zeros(heads, size), "b_V": torch.zeros(heads, size)}
    flat = {"b_O": torch.zeros(width), "b_U": torch.zeros(weights["W_U"].shape[1])}
    return Grokked(113, {**none, **flat, **weights, **turned})
