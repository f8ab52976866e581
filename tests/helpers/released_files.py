"""Networks written in the layout of the paper's authors."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algophase.core.settings import LinearSettings, TransformerSettings
from algophase.networks import Network, Transformer

MODEL_TYPES = {"alpha": "A", "beta": "B", "gamma": "C", "delta": "D", "alpha-prime": "X"}


def their_tensors(network: Network) -> dict[str, Tensor]:
    if not isinstance(network, Transformer):
        return dict(network.state_dict())
    theirs: dict[str, Tensor] = {}
    for name, value in network.state_dict().items():
        leaf = name.rsplit(".", 1)[-1]
        if leaf in ("W_E", "W_in", "W_out"):
            value = value.T
        elif leaf in ("W_Q", "W_K", "W_V"):
            value = value.transpose(1, 2)
        elif leaf == "W_O":
            value = value.flatten(0, 1).T
        theirs[name] = value.contiguous()
    for layer in range(network.settings.layers):
        theirs[f"blocks.{layer}.attn.mask"] = torch.tril(
            torch.ones(network.task.context, network.task.context)
        )
    return theirs


def their_config(network: Network) -> dict[str, Any]:
    task, settings = network.task, network.settings
    common = {
        "C": task.modulus,
        "epoch": 20000,
        "lr": 0.001,
        "weight_decay": 2.0,
        "frac": 0.8,
        "runid": "abc123",
        "func": None,
    }
    if isinstance(settings, LinearSettings):
        size = {"n_vocab": task.modulus, "d_model": settings.width, "d_hidden": settings.hidden}
        return {**common, **size, "model_type": MODEL_TYPES[settings.model]}
    assert isinstance(settings, TransformerSettings)
    rate = (
        int(settings.attention_rate)
        if settings.attention_rate in (0, 1)
        else settings.attention_rate
    )
    return {
        **common,
        "name": f"modadd_{task.modulus}",
        "n_heads": settings.heads,
        "d_model": settings.width,
        "n_layers": settings.layers,
        "attention_dir": "casual",
        "act_fn": {"relu": "ReLU", "gelu": "GeLU"}[settings.activation],
        "attn_coeff": rate,
        "diff_vocab": task.separate_vocabularies,
        "eqn_sign": int(task.equals_sign),
    }


def write_released(folder: Path, network: Network, run_id: str) -> Path:
    """model_<id>.pt and, beside it, the config whose path is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(their_tensors(network), folder / f"model_{run_id}.pt")
    config = folder / f"config_{run_id}.json"
    config.write_text(json.dumps({**their_config(network), "runid": run_id}))
    return config
