"""Activations and known features as files: what is written is read back, and damage is said."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from algophase import (
    InputError,
    export_features,
    handmade_clock,
    handmade_pizza,
    known_features,
    read_features,
)

PIZZA = known_features(handmade_pizza(7, (1, 2)), "reads")
CLOCK = known_features(handmade_clock(7, (3,)), "embedding")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder = export_features(iter([PIZZA, CLOCK]), tmp_path / "deep" / "features")
    for before, after in zip([PIZZA, CLOCK], read_features(folder), strict=True):
        assert (after.id, after.at, after.known_share) == (before.id, before.at, before.known_share)
        assert after.network == before.network
        for name in ("activations", "mean", "inputs", "answers"):
            assert torch.equal(getattr(after, name), getattr(before, name))
        assert np.array_equal(after.oracle, before.oracle)
        for one, other in zip(after.features, before.features, strict=True):
            assert np.array_equal(one.directions, other.directions)
            assert replace(one, directions=other.directions) == other


def test_any_safetensors_reader_has_the_oracle(tmp_path: Path) -> None:
    folder = export_features([PIZZA], tmp_path / "features")
    tensors = safetensors.torch.load_file(folder / f"{PIZZA.id}.safetensors")
    assert tensors["activations"].shape == (49, PIZZA.width)
    assert tensors["activations"].dtype == torch.float32
    assert tensors["feature"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert torch.equal(tensors["directions"], torch.from_numpy(PIZZA.oracle))


def test_networks_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    folder = export_features([PIZZA, PIZZA], tmp_path / "features")
    assert (folder / f"{PIZZA.id}-2.safetensors").exists()
    assert len(read_features(folder)) == 2


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path) -> None:
    folder = export_features([PIZZA], tmp_path / "features")
    with pytest.raises(InputError, match="exists already"):
        export_features([CLOCK], folder)
    with pytest.raises(InputError, match="no network"):
        export_features([], tmp_path / "empty")
    with pytest.raises(InputError, match="is not what known_features"):
        export_features([PIZZA, "a path"], tmp_path / "half")  # type: ignore[list-item]
    assert [path.name for path in tmp_path.iterdir()] == ["features"]


def test_damage_is_said(tmp_path: Path) -> None:
    folder = export_features([PIZZA], tmp_path / "features")
    path = folder / f"{PIZZA.id}.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"12345678")
    with pytest.raises(InputError, match="checksum"):
        read_features(folder)
    path.unlink()
    with pytest.raises(InputError, match="cannot read"):
        read_features(folder)
    path.write_bytes(content)
    description = json.loads((folder / "features.json").read_text())
    for change in ({"format": "other"}, {"version": 2}):
        (folder / "features.json").write_text(json.dumps({**description, **change}))
        with pytest.raises(InputError, match="is not algophase-features of version 1"):
            read_features(folder)
    without_names = {**description["networks"][0], "features": [{}]}
    damaged: list[Any] = [None, [{}], [3], [without_names]]
    for networks in damaged:
        (folder / "features.json").write_text(json.dumps({**description, "networks": networks}))
        with pytest.raises(InputError, match="damaged"):
            read_features(folder)
    with pytest.raises(InputError, match="missing"):
        read_features(tmp_path / "elsewhere")
