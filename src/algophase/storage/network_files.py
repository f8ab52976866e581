"""Our network files: NAME.safetensors holds the tensors, NAME.json says what they are (config.json
in a directory for the Hub).

The JSON is written last and carries checksums of the tensors and of itself, so a pair torn by a
crash or a bad copy is noticed. `formats/ours.py` reads them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from algophase.analysis.checks import at_inference, check_network
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.neutral import neutral
from algophase.core.settings import (
    NetworkSettings,
    RunSettings,
    TaskSettings,
    WrappedSettings,
    network_to_dict,
    shown,
)
from algophase.networks import Network, Recorded, template
from algophase.networks.recorded import recorded
from algophase.record.codec import encode_value
from algophase.storage._tensors import check_tensors
from algophase.storage.certificates import SAYS
from algophase.storage.files import given_path, write_atomically

FORMAT = "algophase-network"
VERSION = 1
MODEL_FILE, CONFIG_FILE = "model.safetensors", "config.json"  # the names the Hub knows
TENSORS_DIGEST = "tensors_sha256"  # the entry with the checksum of the tensors
DESCRIPTION_DIGEST = "description_sha256"
# The entries that the checksum of a description is of
COVERED = ("format", "version", "id", "task", "network", "run", TENSORS_DIGEST, "notes", "analysis")


def save(
    network: Network,
    path: str | Path,
    *,
    analysis: Analysis | None = None,
    overwrite: bool = False,
) -> Path:
    """Save a network as NAME.safetensors and NAME.json.

    Arguments:
        network: the network.
        path: where to write, with or without .safetensors.
        analysis: needed for a network with its own code (a wrapped module, a class of yours). Code
            is never stored: the file has the tables, the logits and this analysis. Any other
            network can be analyzed again after loading.
        overwrite: replace files that are there.

    Returns:
        The path of NAME.safetensors.

    Raises:
        InputError: the file exists and `overwrite` is False, or the network cannot be saved.

    Example:
        >>> from algophase import handmade_clock, save
        >>> save(handmade_clock(7), directory / "clock").name
        'clock.safetensors'
    """
    tensor_path = _with_suffix(given_path(path), ".safetensors")
    if tensor_path.exists() and not overwrite:
        raise InputError(f"{tensor_path} exists already; choose another name or allow overwriting")
    content, description = encode(network, analysis)
    write_atomically(tensor_path, content)
    write_atomically(tensor_path.with_suffix(".json"), description)
    return tensor_path


def encode(network: Network, analysis: Analysis | None = None) -> tuple[bytes, bytes]:
    """A network as the content of its two files: the tensors, then what they are."""
    if not isinstance(network, Network):
        raise InputError(f"{shown(network)} is not a network; only a network can be saved")
    if analysis is not None and not isinstance(analysis, Analysis):
        raise InputError(f"analysis is {shown(analysis)}; give what analyze(network) returns")
    network.check_finite()
    kept = analysis
    if isinstance(network, Recorded):
        kept = _known_analysis(network) if analysis is None else analysis
    elif _has_own_code(network):
        network = _without_code(network, analysis)
    else:
        kept = None
    _check_loads(network)
    tensors = {
        name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()
    }
    content = safetensors.torch.save(tensors)
    description: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "id": network.id,
        "task": network.task.to_dict(),
        "network": network_to_dict(network.settings),
        "run": None if network.run is None else network.run.to_dict(),
    }
    # A certificate is of the file beside which it lies, not of a copy.
    notes = [note for note in network.notes if not note.startswith(SAYS)]
    if notes:
        description["notes"] = notes
    if kept is not None:
        description["analysis"] = encode_value(replace(kept, anatomy=None))
    description[TENSORS_DIGEST] = hashlib.sha256(content).hexdigest()
    description[DESCRIPTION_DIGEST] = description_digest(description)
    return content, (json.dumps(description, indent=2) + "\n").encode()


def _known_analysis(network: Recorded) -> Analysis | None:
    analysis = network.known_analysis
    return analysis if isinstance(analysis, Analysis) else None


def _has_own_code(network: Network) -> bool:
    """Whether the tensors and settings alone do not give the network back."""
    if isinstance(network.settings, WrappedSettings):
        return True
    return type(network) is not type(template(network.task, network.settings))


@neutral()
def _without_code(network: Network, analysis: Analysis | None) -> Recorded:
    """A network by its tables and logits. Where it has tables, only its code can be analyzed."""
    check_network(network)
    if analysis is None and network.cut != "none":
        raise InputError(
            f"network {network.id} has code of its own, which a file cannot keep: nobody could "
            "analyze it without. Save it with its analysis: save(network, path, "
            "analysis=analyze(network))"
        )
    with torch.no_grad(), at_inference(network):
        first, second = network.operand_tables()
        rows = [network.logits_from_embeddings(row.expand_as(second), second) for row in first]
        return recorded(network, torch.stack(rows).cpu())


def description_digest(description: Mapping[str, Any]) -> str:
    """Of the entries that are ours. Others may add entries of their own: the Hub's tools do."""
    own = {name: description.get(name) for name in COVERED}
    text = json.dumps(own, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_loads(network: Network) -> None:
    """That `load` would give this network back: a file that nobody can read is not written."""
    expected = template(network.task, network.settings)
    try:
        check_run(network.run, network.task, network.settings)
        check_tensors(dict(expected.named_parameters()), network.state_dict())
        if type(network) is not type(expected):
            raise InputError(
                f"it is a {type(network).__name__}, and would be loaded as a "
                f"{type(expected).__name__}"
            )
    except InputError as error:
        raise InputError(f"network {network.id} cannot be saved: {error}") from None


def check_run(run: RunSettings | None, task: TaskSettings, settings: NetworkSettings) -> None:
    """That a network's training settings are its own."""
    if run is not None and run.task != task:
        raise InputError("its run has another task than it says it solves")
    if run is not None and run.network != settings:
        raise InputError("its run has another network than it says it is")


def _with_suffix(path: Path, suffix: str) -> Path:
    return path if path.suffix == suffix else path.with_name(path.name + suffix)
