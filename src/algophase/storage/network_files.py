"""Our network files: NAME.safetensors holds the tensors, NAME.json says what they are (config.json
in a directory for the Hub).

The JSON is written last and carries checksums of the tensors and of itself, so a pair torn by a
crash or a bad copy is noticed. On loading, the settings give a template, and every tensor is
checked against it, by name, before any of it is used.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.checks import at_inference, check_network
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.neutral import neutral
from algophase.core.settings import (
    NetworkSettings,
    RunSettings,
    TaskSettings,
    WrappedSettings,
    network_from_dict,
    network_to_dict,
    shown,
)
from algophase.core.wording import counted
from algophase.networks import Network, Recorded, build, template
from algophase.networks.recorded import recorded
from algophase.record.codec import from_plain, to_plain
from algophase.storage.files import given_path, read_bytes, write_atomically
from algophase.storage.tensors import check_plain, read_safetensors

FORMAT = "algophase-network"
VERSION = 1
MODEL_FILE, CONFIG_FILE = "model.safetensors", "config.json"  # the names the Hub knows
TENSORS_DIGEST = "tensors_sha256"  # the entry with the checksum of the tensors
LARGEST_JSON = 1 << 24  # bytes: values take up to 24 times as much memory
MOST_NAMED = 12  # tensors in a message
FLOATS = (torch.float32, torch.float64)
CORE = (
    "format",
    "version",
    "id",
    "task",
    "network",
    "run",
    "tensors_sha256",
)  # says which network this is
COVERED = (*CORE, "notes", "analysis")  # entries of a description that its checksum is of


def save(network: Network, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write NAME.safetensors and NAME.json and return the first. `path` may end in .safetensors or
    not.

    Of a wrapped network, or one of a class of your own, its tables, logits and analysis are kept:
    code is never stored.

    >>> from algophase import handmade_clock, save
    >>> save(handmade_clock(7), directory / "clock").name
    'clock.safetensors'
    """
    tensor_path = _with_suffix(given_path(path), ".safetensors")
    if tensor_path.exists() and not overwrite:
        raise InputError(f"{tensor_path} exists already; choose another name or allow overwriting")
    content, description = encode(network)
    write_atomically(tensor_path, content)
    write_atomically(tensor_path.with_suffix(".json"), description)
    return tensor_path


def encode(network: Network) -> tuple[bytes, bytes]:
    """A network as the content of its two files: the tensors, then what they are."""
    if not isinstance(network, Network):
        raise InputError(f"{shown(network)} is not a network; only a network can be saved")
    network.check_finite()
    network, analysis = _without_code(network)
    _check_loads(network)
    tensors = {
        name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()
    }
    content = safetensors.torch.save(tensors)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "id": network.id,
        "task": network.task.to_dict(),
        "network": network_to_dict(network.settings),
        "run": None if network.run is None else network.run.to_dict(),
        **({"notes": list(network.notes)} if network.notes else {}),
        **({} if analysis is None else {"analysis": to_plain(replace(analysis, anatomy=None))}),
        TENSORS_DIGEST: hashlib.sha256(content).hexdigest(),
    }
    description["description_sha256"] = _digest(description, COVERED)
    return content, (json.dumps(description, indent=2) + "\n").encode()


@neutral()
def _without_code(network: Network) -> tuple[Network, Analysis | None]:
    """A network of a class of its own as its tables and logits, with its analysis: a file keeps
    no code. Others as they are.
    """
    if isinstance(network, Recorded):
        return network, network.known_analysis if isinstance(
            network.known_analysis, Analysis
        ) else None
    if not isinstance(network.settings, WrappedSettings) and type(network) is type(
        template(network.task, network.settings)
    ):
        return network, None
    check_network(network)
    with torch.no_grad(), at_inference(network):
        first, second = network.operand_tables()
        rows = [network.logits_from_embeddings(row.expand_as(second), second) for row in first]
        kept = recorded(network, torch.stack(rows).cpu())
    return kept, analyze(network)


def _known(value: object) -> Analysis:
    """An analysis as `encode` keeps it: all but a linear network's anatomy."""
    try:
        found: Analysis = from_plain(
            Analysis, {**value, "anatomy": None} if isinstance(value, Mapping) else value
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
        raise InputError(f"the analysis kept with a network is not readable: {error}") from None
    return found


def _digest(description: Mapping[str, Any], covered: Sequence[str]) -> str:
    """Of the entries named by `covered`. Others may add entries of their own: the Hub's tools
    do.
    """
    own = {name: description.get(name) for name in covered}
    text = json.dumps(own, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_description(description: Mapping[str, Any], path: Path) -> None:
    """That a description is as it was written. One without a checksum is an older version's."""
    written = description.get("description_sha256", "")
    if written == "":
        return
    try:
        # Before notes and kept analyses were covered, the checksum was of the core alone.
        valid = (_digest(description, COVERED), _digest(description, CORE))
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be read") from None
    if written not in valid:
        raise InputError(
            f"{path} does not match its own checksum: it was changed; if by you, remove "
            "description_sha256"
        )


def _check_loads(network: Network) -> None:
    """That `load` would give this network back: a file that nobody can read is not written."""
    like = template(network.task, network.settings)
    try:
        _check_run(network.run, network.task, network.settings)
        _check_tensors(dict(like.named_parameters()), network.state_dict())
        if type(network) is not type(like):
            raise InputError(
                f"it is a {type(network).__name__}, and would be loaded as a {type(like).__name__}"
            )
    except InputError as error:
        raise InputError(f"network {network.id} cannot be saved: {error}") from None


def _with_suffix(path: Path, suffix: str) -> Path:
    return path if path.suffix == suffix else path.with_name(path.name + suffix)


def clean_id(text: str) -> str:
    """An id becomes a file name and is printed: letters, digits, dots, dashes and underscores,
    no leading dot.
    """
    return re.sub(r"[^A-Za-z0-9._-]", "_", text).lstrip(".")[:100] or "unnamed"


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object from a file, or one clear line."""
    if not path.exists():
        raise InputError(f"{what} {path} is missing")
    content = read_bytes(path, LARGEST_JSON)
    try:
        data = json.loads(content)
    except (
        ValueError,
        RecursionError,
    ) as error:  # not JSON, not UTF-8, or a number of too many digits
        raise InputError(f"{what} {path} is not valid JSON: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{what} {path} holds {type(data).__name__}, not a JSON object")
    return data


def _description_path(path: Path) -> Path:
    """NAME.json, or config.json beside the model.safetensors of a directory for the Hub."""
    beside, config = path.with_suffix(".json"), path.with_name(CONFIG_FILE)
    return config if path.name == MODEL_FILE and config.exists() and not beside.exists() else beside


def described_beside(path: Path) -> bool:
    """Whether our description lies beside the tensors, damaged perhaps. Another program's JSON file
    is none.

    Either entry alone is enough, so that a damaged description is called damaged.
    """
    beside = _description_path(path)
    if not beside.exists():
        return False
    try:
        data = read_json(beside, "the description of this network,")
    except InputError:
        content = read_bytes(beside)
        return FORMAT.encode() in content or TENSORS_DIGEST.encode() in content
    return data.get("format") == FORMAT or TENSORS_DIGEST in data


def read_description(description_path: Path) -> dict[str, Any]:
    """What a network is, checked to be ours and of a version this program reads."""
    data = read_json(description_path, "the description of this network,")
    if data.get("format") != FORMAT:
        raise InputError(
            f"{description_path}: format is {shown(data.get('format'))}; this program reads "
            f"{FORMAT!r}"
        )
    if data.get("version") != VERSION:
        raise InputError(
            f"{description_path}: version is {shown(data.get('version'))}; this program reads "
            f"version {VERSION}"
        )
    if not isinstance(data.get("id"), str):
        raise InputError(f"{description_path}: id is {shown(data.get('id'))}; it must be text")
    return data


def stored_id(path: Path) -> str:
    """The id of a network in NAME.safetensors, without its tensors being read."""
    return clean_id(read_description(_description_path(path))["id"])


def load_network(path: Path) -> Network:
    """A network from NAME.safetensors, with NAME.json beside it."""
    description_path = _description_path(path)
    data = read_description(description_path)
    try:
        task = TaskSettings.from_dict(data.get("task", {}))
        settings = network_from_dict(data.get("network", {}))
        run = None if data.get("run") is None else RunSettings.from_dict(data["run"])
        _check_run(run, task, settings)
    except (InputError, TypeError) as error:
        raise InputError(f"{description_path}: {error}") from None
    tensors, content = read_safetensors(path)
    if hashlib.sha256(content).hexdigest() != data.get(TENSORS_DIGEST):
        raise InputError(
            f"{path} does not match the checksum in {description_path.name}: one of the two was "
            "changed or cut short"
        )
    network = fill(task, settings, tensors, path)
    _check_description(data, description_path)
    network.id, network.run = clean_id(data["id"]), run
    network.notes = _notes(data, description_path)
    if isinstance(network, Recorded) and "analysis" in data:
        network.known_analysis = _known(data["analysis"])
    return network


def _notes(data: Mapping[str, Any], where: Path) -> tuple[str, ...]:
    notes = data.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{where}: notes is {shown(notes)}; it must be a list of texts")
    return tuple(notes)


def _check_run(run: RunSettings | None, task: TaskSettings, settings: NetworkSettings) -> None:
    """That a network's training settings are its own."""
    if run is not None and run.task != task:
        raise InputError("its run has another task than it says it solves")
    if run is not None and run.network != settings:
        raise InputError("its run has another network than it says it is")


def _listed(names: Collection[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(sorted(names)[:MOST_NAMED]) + more


def _check_tensors(expected: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """That tensors are those of a template, by name, shape and type, and hold numbers."""
    missing, extra = expected.keys() - tensors.keys(), tensors.keys() - expected.keys()
    if missing:
        raise InputError(f"tensor {_listed(missing)} is missing")
    if extra:
        raise InputError(f"tensor {_listed(extra)} does not belong to this kind of network")
    for name, parameter in expected.items():
        check_plain(name, tensors[name])
        if tensors[name].shape != parameter.shape:
            raise InputError(
                f"tensor {name} has shape {tuple(tensors[name].shape)}; its settings call for "
                f"{tuple(parameter.shape)}"
            )
        if tensors[name].dtype not in FLOATS:
            raise InputError(
                f"tensor {name} is {tensors[name].dtype}; it must be float32 or float64"
            )


def fill(
    task: TaskSettings,
    settings: NetworkSettings,
    tensors: Mapping[str, Tensor],
    path: Path,
    absent: Mapping[str, float] = MappingProxyType({}),
) -> Network:
    """A network from named tensors, each checked against the template of its settings before
    anything is allocated.

    absent: what fills tensors that a file may leave out, by the last part of their names, such as
        b_Q.
    """
    layers = getattr(settings, "layers", 0)
    blocks = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
    if layers > blocks:  # before a template of as many layers is built
        raise InputError(
            f"{path}: layers is {layers}, but the file holds {counted(blocks, 'block')}"
        )
    try:
        expected = dict(template(task, settings).named_parameters())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (
        RuntimeError,
        TypeError,
        OverflowError,
        MemoryError,
    ) as error:  # sizes that torch cannot hold
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: no network of its settings can be built: {reason}") from None
    fills = {name: absent.get(name.rsplit(".", 1)[-1]) for name in expected.keys() - tensors.keys()}
    left_out = {name: value for name, value in fills.items() if value is not None}
    try:
        _check_tensors(
            {name: value for name, value in expected.items() if name not in left_out}, tensors
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    # Only now: next to weights that are as they should be, what a file may leave out is small.
    made = {name: torch.full(expected[name].shape, value) for name, value in left_out.items()}
    tensors = {**tensors, **made}
    network = build(task, settings).to(next(iter(tensors.values())).dtype)
    try:
        network.load_state_dict(dict(tensors))
    except RuntimeError as error:
        raise InputError(
            f"{path}: its tensors cannot be used: {str(error).splitlines()[-1].strip()}"
        ) from None
    network.id = clean_id(path.stem)
    try:
        network.check_finite()
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return network
