"""Activations and known features as files that other tools read.

A directory has one ID.safetensors per network, and features.json, which says what is in them:

    activations   (rows, width) float32, without their mean
    mean          (width,) float32
    inputs        (rows, 2) int64
    answers       (rows,) int64
    directions    (latents, width) float64, those of all features in their order
    feature       (latents,) int64, which feature each direction belongs to
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.interop.ground_truth import Feature, KnownFeatures
from algophase.storage.files import (
    clean_id,
    given_path,
    new_directory,
    read_bytes,
    read_json,
    write_inside,
)

FORMAT = "algophase-features"
VERSION = 1
DESCRIPTION = "features.json"


def export_features(truths: Iterable[KnownFeatures], directory: str | Path) -> Path:
    """Write the activations of networks and their known features as a directory of safetensors.

    Arguments:
        truths: what `known_features` gives of each network; a generator is written as it goes.
        directory: a new directory: ID.safetensors per network, and features.json.

    Returns:
        The directory's path.

    Raises:
        InputError: the directory exists, or there is nothing to write.

    Example:
        >>> from algophase import handmade_pizza, known_features
        >>> truth = known_features(handmade_pizza(23), "reads")
        >>> folder = export_features([truth], directory / "features")
        >>> sorted(file.name for file in folder.iterdir())
        ['features.json', 'pizza-p23-k1-5.safetensors']
    """
    directory = given_path(directory)
    if directory.exists():
        raise InputError(f"{directory} exists already; choose a new directory")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {directory}: {error.strerror or error}") from None
    entries: list[dict[str, Any]] = []
    with new_directory(directory) as partial:
        for truth in truths:
            if not isinstance(truth, KnownFeatures):
                raise InputError(f"{shown(truth)} is not what known_features(network) gives")
            name = _file_name(truth.id, [entry["file"] for entry in entries])
            content = safetensors.torch.save(_tensors(truth))
            write_inside(partial / name, content)
            entries.append(_entry(truth, name, hashlib.sha256(content).hexdigest()))
        if not entries:
            raise InputError("there is no network to write features of")
        description = {"format": FORMAT, "version": VERSION, "networks": entries}
        write_inside(partial / DESCRIPTION, (json.dumps(description, indent=2) + "\n").encode())
    return directory


def _file_name(network_id: str, taken: list[str]) -> str:
    """ID.safetensors; of a second network with this id, ID-2.safetensors."""
    stem = clean_id(network_id)
    name = f"{stem}.safetensors"
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}.safetensors"
    return name


def _tensors(truth: KnownFeatures) -> dict[str, Tensor]:
    numbers = [
        number
        for number, feature in enumerate(truth.features)
        for _ in range(len(feature.directions))
    ]
    return {
        "activations": truth.activations.contiguous(),
        "mean": truth.mean.contiguous(),
        "inputs": truth.inputs.contiguous(),
        "answers": truth.answers.contiguous(),
        "directions": torch.from_numpy(truth.oracle),
        "feature": torch.tensor(numbers, dtype=torch.int64),
    }


def _entry(truth: KnownFeatures, name: str, digest: str) -> dict[str, Any]:
    features = []
    for feature in truth.features:
        entry = {
            "role": feature.role,
            "name": feature.name,
            "dimension": len(feature.directions),
            "share": feature.share,
            "instance": feature.instance,
        }
        features.append(entry)
    return {
        "id": truth.id,
        "file": name,
        "sha256": digest,
        "at": truth.at,
        "rows": len(truth.activations),
        "width": truth.width,
        "known_share": truth.known_share,
        "network": truth.network,
        "features": features,
    }


def read_features(directory: str | Path) -> list[KnownFeatures]:
    """Read what `export_features` or `algophase export` wrote.

    Arguments:
        directory: the directory with features.json.

    Returns:
        One `KnownFeatures` per network, in the order written.

    Raises:
        InputError: a file is missing, damaged, or not ours.

    Example:
        >>> from algophase import export_features, handmade_clock, known_features
        >>> truth = known_features(handmade_clock(7), "embedding")
        >>> read_features(export_features([truth], directory / "features"))[0].id
        'clock-p7-k1'
    """
    directory = given_path(directory)
    description = read_json(directory / DESCRIPTION, "description")
    if description.get("format") != FORMAT or description.get("version") != VERSION:
        raise InputError(
            f"{directory / DESCRIPTION} is not {FORMAT} of version {VERSION}; algophase export "
            "writes it"
        )
    try:
        return [_read(directory, entry) for entry in description["networks"]]
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, IndexError) as error:
        raise InputError(
            f"{directory / DESCRIPTION} is damaged: {type(error).__name__} {error}"
        ) from None


def _read(directory: Path, entry: dict[str, Any]) -> KnownFeatures:
    name = entry["file"]
    path = directory / clean_id(name)  # a name alone, whatever the file says
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise InputError(f"{path} is damaged: its checksum is not that of {DESCRIPTION}")
    try:
        tensors = safetensors.torch.load(content)
    except SafetensorError as error:
        raise InputError(f"{path} is not a readable safetensors file: {error}") from None
    dimensions = [feature["dimension"] for feature in entry["features"]]
    parts = tensors["directions"].split(dimensions)
    features = []
    for about, directions in zip(entry["features"], parts, strict=True):
        feature = Feature(
            role=about["role"],
            name=about["name"],
            directions=directions.numpy(),
            share=about["share"],
            instance=about["instance"],
        )
        features.append(feature)
    return KnownFeatures(
        id=entry["id"],
        at=entry["at"],
        activations=tensors["activations"],
        mean=tensors["mean"],
        inputs=tensors["inputs"],
        answers=tensors["answers"],
        features=tuple(features),
        known_share=entry["known_share"],
        network=entry["network"],
    )
