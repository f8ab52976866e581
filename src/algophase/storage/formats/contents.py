"""A file that may hold a network, what is in it, and what a format is.

A file is opened, parsed and recognized once: `Contents` is what every format is asked about, and
what the one that fits builds its network from. No code in a file ever runs (`pickles`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.networks import Network
from algophase.storage._tensors import check_together, read_safetensors
from algophase.storage.files import JsonFile, clean_id
from algophase.storage.formats.pickles import read_pickled
from algophase.storage.network_files import CONFIG_FILE, MODEL_FILE

SUFFIXES = (".safetensors", ".pt", ".pth")
# Where training scripts put a state dict
STATES = ("model", "state_dict", "model_state_dict", "network", "net")
# Of networks saved in parallel, compiled, or as a part of a training module
PREFIXES = ("module.", "_orig_mod.", "model.", "network.", "net.")
LISTED = "states"  # what a list of state dicts is called that is the whole file
HALVES = (torch.float16, torch.bfloat16)  # whose numbers float32 has all
MOST_NAMED = 5  # tensors in a message
# File names that do not name a network: their folder does
GENERIC_NAMES = ("model", "final", "checkpoint", "pytorch_model")
STEP_NAMES = r"\d+|init"  # and those that say when it was saved: one of several in a folder
RELEASED_PREFIX = "model_"  # of the authors' files


class NotANetwork(InputError):
    """A file that can be read but holds no tensors by name: an optimizer's state, losses."""


class NetworkFile:
    """A file that may hold a network, by its path, and the one JSON file that may describe it."""

    def __init__(self, path: Path, beside: JsonFile | None = None) -> None:
        """beside: the JSON file, where it was read already."""
        self.path = path
        self.beside = JsonFile(*_described_by(path)) if beside is None else beside

    @property
    def name(self) -> str:
        """An id for want of any other: the name of the file, of its folder, or of both."""
        folder = self.path.parent.name
        stem = self.path.stem
        if folder and stem in GENERIC_NAMES:
            return clean_id(folder)
        if folder and re.fullmatch(STEP_NAMES, stem):
            return clean_id(f"{folder}-{stem}")
        return clean_id(stem)


def _described_by(path: Path) -> tuple[Path, str]:
    """The JSON file beside a network, and what to call it.

    Ours is NAME.json, or config.json beside the model.safetensors of a directory for the Hub. The
    authors' is config_<id>.json for model_<id>.pt, or NAME.json.
    """
    beside = path.with_suffix(".json")
    if path.suffix == ".safetensors":
        config = path.with_name(CONFIG_FILE)
        if path.name == MODEL_FILE and config.exists() and not beside.exists():
            beside = config
        return beside, "the description of this network,"
    if path.stem.startswith(RELEASED_PREFIX):
        config = path.with_name(f"config_{path.stem.removeprefix(RELEASED_PREFIX)}.json")
        if config.exists() or not beside.exists():
            return config, "the config of this network,"
    return beside, "the config of this network,"


class Contents:
    """What is in a file: its tensors by name, and whatever else it holds. All is read when it is
    first asked for, and once.
    """

    def __init__(self, file: NetworkFile | Path, state: str | None = None) -> None:
        """state: which of several states of the network to take, by its name in the file."""
        self.file = NetworkFile(file) if isinstance(file, Path) else file
        self.state = state
        self.notes: tuple[str, ...] = ()  # what is to be said of the choice of tensors

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def id(self) -> str:
        """The file's name as an id."""
        return self.file.name

    @cached_property
    def safetensors(self) -> tuple[dict[str, Tensor], bytes]:
        """Of a safetensors file: its tensors and its content."""
        return read_safetensors(self.path)

    @cached_property
    def _whole(self) -> Mapping[str, Any]:
        if self.path.suffix == ".safetensors":
            tensors, _ = self.safetensors
            return tensors
        values = read_pickled(self.path)
        if isinstance(values, list | tuple) and values and all(map(_is_state, values)):
            return {LISTED: values}
        if not isinstance(values, Mapping):
            raise NotANetwork(f"{self.path} does not hold a state dict of named tensors")
        return values

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        tensors = self._chosen_state()
        try:
            check_together(tensors)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        halves = [name for name, tensor in tensors.items() if tensor.dtype in HALVES]
        if halves:
            kind = str(tensors[halves[0]].dtype).removeprefix("torch.")
            self.notes = (*self.notes, f"its numbers are {kind}, read as float32")
        return {**tensors, **{name: tensors[name].float() for name in halves}}

    def _chosen_state(self) -> dict[str, Tensor]:
        """The file's state dict. Of several that differ, which one is meant must be said; of a list
        of them, over the course of training, the last one is.
        """
        states = {
            name: _without_prefix(value) for name, value in self._whole.items() if _is_state(value)
        }
        listed = self._listed_states()
        if self.state is not None:
            known = {**states, **listed}
            if self.state not in known:
                names = ", ".join(map(str, known)) or "none by a name"
                raise InputError(f"{self.path} holds no state {self.state!r}; it holds {names}")
            return known[self.state]
        if _is_state(self._whole):
            return _without_prefix(self._whole)
        named = [name for name in STATES if name in states]
        if not states and listed:
            last = list(listed)[-1]
            self.notes = (f"state {last}, the last of {len(listed)}; --state gives another",)
            return listed[last]
        if not named:
            hint = (
                f"; it holds {', '.join(map(str, states))}: choose one with --state"
                if states
                else ""
            )
            kind = InputError if states else NotANetwork
            raise kind(f"{self.path} does not hold a state dict of named tensors{hint}")
        chosen = states[named[0]]
        alternatives = [
            name
            for name, state in states.items()
            if name in STATES or state.keys() == chosen.keys()
        ]
        differing = [name for name in alternatives if not _same_tensors(states[name], chosen)]
        if differing:
            names = ", ".join([named[0], *map(str, differing)])
            raise InputError(
                f"{self.path} holds several states that differ, {names}: choose one with --state"
            )
        return chosen

    def _listed_states(self) -> dict[str, dict[str, Tensor]]:
        """State dicts in a list, as name[0], name[1], ...; none where there are several lists."""
        if _is_state(self._whole):
            return {}
        lists = [
            (name, value)
            for name, value in self._whole.items()
            if isinstance(value, list | tuple) and value and all(map(_is_state, value))
        ]
        if len(lists) != 1:
            return {}
        name, states = lists[0]
        return {f"{name}[{index}]": _without_prefix(one) for index, one in enumerate(states)}

    @property
    def is_bare(self) -> bool:
        """Whether a file is a state dict and nothing else."""
        return _is_state(self._whole)

    @property
    def beside(self) -> Mapping[str, Any]:
        """What the file holds beside a state dict: a config, losses."""
        if _is_state(self._whole):
            return {}
        return {name: value for name, value in self._whole.items() if name not in STATES}

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a tensor, or () where there is none."""
        return tuple(self.tensors[name].shape) if name in self.tensors else ()


@dataclass(frozen=True)
class Reading:
    """What the user says about a file where it does not say so itself. format: its name; state:
    see `Contents`; group: what `given_group` takes.
    """

    format: str | None = None
    activation: str | None = None
    attention_rate: float | None = None
    modulus: int | None = None
    state: str | None = None
    group: object = None


@dataclass(frozen=True)
class Format:
    """One format. name: for `--format`; description: what its networks are, in a few words;
    tensors: what it looks for.

    fits: whether a file is of this format; read: its network. Each is called once per file.
    id_beside: the network's id by the JSON file beside it, "" where that is of another format.
    used: names of the tensors that `read` uses, with `*` for the number of a layer; ignored: those
        of known buffers that are no part of the network. A file with any other tensor is refused.
        Without `used`, `read` itself must see to that.
    """

    name: str
    description: str
    tensors: str
    fits: Callable[[Contents], bool]
    read: Callable[[Contents, Reading], Network]
    id_beside: Callable[[NetworkFile], str] = lambda file: ""
    used: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def check_all_known(self, contents: Contents) -> None:
        """That no tensor of a file would be dropped without a word: a network without it is
        another network.
        """
        if not self.used:
            return
        pattern = "|".join(
            re.escape(name).replace(r"\*", r"\d+") for name in (*self.used, *self.ignored)
        )
        unknown = [name for name in contents.tensors if not re.fullmatch(pattern, name)]
        if unknown:
            shapes = [f"{name} {contents.shape(name)}" for name in unknown[:MOST_NAMED]]
            more = f" and {len(unknown) - MOST_NAMED} more" if len(unknown) > MOST_NAMED else ""
            raise InputError(
                f"{contents.path}: format {self.name} has no use for tensor "
                f"{', '.join(shapes)}{more}; without it the file "
                f"would be read as another network. It uses {', '.join(self.used)}"
            )


def _without_prefix(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    tensors = dict(state)
    for prefix in PREFIXES:
        if all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return tensors


def _same_tensors(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> bool:
    if first.keys() != second.keys():
        return False
    return first is second or all(torch.equal(first[name], second[name]) for name in first)


def _is_state(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(
            isinstance(name, str) and isinstance(inner, Tensor) for name, inner in value.items()
        )
    )
