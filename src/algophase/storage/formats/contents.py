"""What is in a file, and what a format is. No code in a file ever runs (`pickles`)."""

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
from algophase.storage.formats.pickles import read_pickled
from algophase.storage.network_files import clean_id
from algophase.storage.tensors import check_together, read_safetensors

SUFFIXES = (".safetensors", ".pt", ".pth")
STATES = (
    "model",
    "state_dict",
    "model_state_dict",
    "network",
    "net",
)  # where training scripts put a state dict
PREFIXES = ("module.", "_orig_mod.")  # of networks saved in parallel, or compiled
MOST_NAMED = 5  # tensors in a message
PLAIN_NAMES = (
    "model",
    "final",
    "checkpoint",
    "pytorch_model",
)  # file names that do not name a network: their folder does


class Contents:
    """A file: its tensors by name, and whatever else it holds. They are read when they are first
    asked for.
    """

    def __init__(self, path: Path, state: str | None = None) -> None:
        """state: which of several states of the network to take, by its name in the file."""
        self.path = path
        self.state = state

    @cached_property
    def _whole(self) -> Mapping[str, Any]:
        if self.path.suffix == ".safetensors":
            tensors, _ = read_safetensors(self.path)
            return tensors
        values = read_pickled(self.path)
        if not isinstance(values, Mapping):
            raise InputError(f"{self.path} does not hold a state dict of named tensors")
        return values

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        tensors = self._chosen_state()
        try:
            check_together(tensors)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None
        return tensors

    def _chosen_state(self) -> dict[str, Tensor]:
        """The file's state dict. Of several that differ, which one is meant must be said."""
        states = {
            name: _without_prefix(value) for name, value in self._whole.items() if _is_state(value)
        }
        if self.state is not None:
            if self.state not in states:
                names = ", ".join(map(str, states)) or "none by a name"
                raise InputError(f"{self.path} holds no state {self.state!r}; it holds {names}")
            return states[self.state]
        if _is_state(self._whole):
            return _without_prefix(self._whole)
        named = [name for name in STATES if name in states]
        if not named:
            hint = (
                f"; it holds {', '.join(map(str, states))}: choose one with --state"
                if states
                else ""
            )
            raise InputError(f"{self.path} does not hold a state dict of named tensors{hint}")
        chosen = states[named[0]]
        others = [
            name
            for name, state in states.items()
            if name in STATES or state.keys() == chosen.keys()
        ]
        differing = [name for name in others if not _same_tensors(states[name], chosen)]
        if differing:
            names = ", ".join([named[0], *map(str, differing)])
            raise InputError(
                f"{self.path} holds several states that differ, {names}: choose one with --state"
            )
        return chosen

    @property
    def beside(self) -> Mapping[str, Any]:
        """What the file holds beside a state dict: a config, losses."""
        return (
            {}
            if _is_state(self._whole)
            else {name: value for name, value in self._whole.items() if name not in STATES}
        )

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a tensor, or () where there is none."""
        return tuple(self.tensors[name].shape) if name in self.tensors else ()

    @property
    def id(self) -> str:
        return clean_id(
            self.path.parent.name
            if self.path.stem in PLAIN_NAMES and self.path.parent.name
            else self.path.stem
        )


@dataclass(frozen=True)
class Reading:
    """What the user says about a file where it does not say so itself. format: its name; state:
    see `Contents`.
    """

    format: str | None = None
    activation: str | None = None
    attention_rate: float | None = None
    modulus: int | None = None
    state: str | None = None


@dataclass(frozen=True)
class Format:
    """One format. name: for `--format`; description: what its networks are, in a few words;
    tensors: what it looks for.

    fits: whether a file is of this format; read: its network; id_of: the network's id without its
        tensors, "" if not known.
    used: names of the tensors that `read` uses, with `*` for the number of a layer; ignored: those
        of known buffers that are no part of the network. A file with any other tensor is refused.
        Without `used`, `read` itself must see to that.
    """

    name: str
    description: str
    tensors: str
    fits: Callable[[Contents], bool]
    read: Callable[[Contents, Reading], Network]
    id_of: Callable[[Path], str] = lambda path: Contents(path).id
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
        and all(isinstance(name, str) and isinstance(each, Tensor) for name, each in value.items())
    )
