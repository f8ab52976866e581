"""algophase's own files: NAME.safetensors with NAME.json beside it, as `network_files` writes them.

The settings give a template, and every tensor is checked against it, by name, before any of it is
used.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, network_from_dict, shown
from algophase.networks import Network, Recorded
from algophase.record.codec import decode_value
from algophase.storage._tensors import fill
from algophase.storage.files import JsonFile, clean_id
from algophase.storage.formats.contents import Contents, Format, NetworkFile, Reading
from algophase.storage.network_files import (
    DESCRIPTION_DIGEST,
    FORMAT,
    TENSORS_DIGEST,
    VERSION,
    check_run,
    description_digest,
)


def is_ours(file: NetworkFile) -> bool:
    """Whether our description lies beside the tensors, damaged perhaps. Another program's JSON file
    is none.

    Either entry alone is enough, so that a damaged description is called damaged.
    """
    beside = file.beside
    if file.path.suffix != ".safetensors" or not beside.exists:
        return False
    try:
        entries = beside.object
    except InputError:
        return FORMAT.encode() in beside.start or TENSORS_DIGEST.encode() in beside.start
    return entries.get("format") == FORMAT or TENSORS_DIGEST in entries


def read_description(beside: JsonFile) -> dict[str, Any]:
    """What a network is, checked to be ours and of a version this program reads."""
    entries = beside.object
    expected = {"format": (FORMAT, repr(FORMAT)), "version": (VERSION, f"version {VERSION}")}
    for name, (value, words) in expected.items():
        if entries.get(name) != value:
            raise InputError(
                f"{beside.path}: {name} is {shown(entries.get(name))}; this program reads {words}"
            )
    if not isinstance(entries.get("id"), str):
        raise InputError(f"{beside.path}: id is {shown(entries.get('id'))}; it must be text")
    return entries


def load_network(path: Path, beside: JsonFile | None = None) -> Network:
    """A network from our files. beside: its description, where it was read already."""
    return _read(Contents(NetworkFile(path, beside)), Reading())


def _read(contents: Contents, reading: Reading) -> Network:
    path = contents.path
    beside = contents.file.beside
    entries = read_description(beside)
    try:
        task = TaskSettings.from_dict(entries.get("task", {}))
        settings = network_from_dict(entries.get("network", {}))
        run = None if entries.get("run") is None else RunSettings.from_dict(entries["run"])
        check_run(run, task, settings)
    except (InputError, TypeError) as error:
        raise InputError(f"{beside.path}: {error}") from None
    tensors, content = contents.safetensors
    if hashlib.sha256(content).hexdigest() != entries.get(TENSORS_DIGEST):
        raise InputError(
            f"{path} does not match the checksum in {beside.path.name}: one of the two was "
            "changed or cut short"
        )
    network = fill(task, settings, tensors, path)
    _check_description(entries, beside.path)
    network.id, network.run = clean_id(entries["id"]), run
    network.notes = _notes(entries, beside.path)
    if isinstance(network, Recorded) and "analysis" in entries:
        network.known_analysis = _kept_analysis(entries["analysis"])
    return network


def _check_description(entries: Mapping[str, Any], path: Path) -> None:
    """That a description is as it was written. Who edits one by hand removes its checksum."""
    written = entries.get(DESCRIPTION_DIGEST, "")
    if written == "":
        return
    try:
        digest = description_digest(entries)
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be read") from None
    if written != digest:
        raise InputError(
            f"{path} does not match its own checksum: it was changed; if by you, remove "
            f"{DESCRIPTION_DIGEST}"
        )


def _notes(entries: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    notes = entries.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{path}: notes is {shown(notes)}; it must be a list of texts")
    return tuple(notes)


def _kept_analysis(value: object) -> Analysis:
    """An analysis as `encode` keeps it: all but a linear network's anatomy."""
    encoded = {**value, "anatomy": None} if isinstance(value, Mapping) else value
    try:
        analysis: Analysis = decode_value(Analysis, encoded)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
        raise InputError(f"the analysis kept with a network is not readable: {error}") from None
    return analysis


def _id_of(file: NetworkFile) -> str:
    return clean_id(read_description(file.beside)["id"]) if is_ours(file) else ""


OURS = Format(
    "algophase",
    "a network saved by algophase",
    "NAME.json beside NAME.safetensors",
    fits=lambda contents: is_ours(contents.file),
    read=_read,
    id_beside=_id_of,
)
