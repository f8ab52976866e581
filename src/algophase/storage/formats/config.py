"""What a file says of its network beside the tensors: a config inside it, by the names that
training scripts use.

What it says is used, and compared with the tensors. Where the two contradict each other, the file
is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import shown
from algophase.storage.formats.contents import Contents

CONFIGS = ("config", "cfg", "model_config", "hyperparameters", "hparams", "args")
# Our names, and what training scripts call them: those of Nanda et al., He et al., TransformerLens
# and the paper's authors.
NAMES = {
    "modulus": ("p", "C", "modulus", "prime"),
    "activation": ("act_type", "act_fn", "activation"),
    "layer_norm": ("use_ln", "normalization_type"),
    "causal": ("attention_dir",),
    "attention_rate": ("attn_coeff", "attention_rate"),
    "operation": ("fn_name", "operation"),
    "training_fraction": ("frac_train", "train_frac", "training_fraction", "frac"),
    "vocabulary": ("d_vocab",),
    "outputs": ("d_vocab_out",),
    "context": ("n_ctx",),
    "width": ("d_model",),
    "layers": ("num_layers", "n_layers"),
    "heads": ("num_heads", "n_heads"),
    "head_size": ("d_head",),
    "hidden": ("d_mlp",),
}
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_new",
    "silu": "silu",
    "quad": "square",
    "square": "square",
    "id": "none",
    "none": "none",
}
NORMS = {"LN": True, "LNPre": True}


@dataclass(frozen=True)
class Statement:
    """One setting as a file gives it: under which name, and its value."""

    name: str
    value: Any


class Config:
    """The settings that a file states, by our names."""

    def __init__(self, contents: Contents) -> None:
        self.path = contents.path
        self.statements: dict[str, Statement] = {}
        values = _stated_values(contents.beside)
        for ours, names in NAMES.items():
            for name in names:
                if values.get(name) is not None:  # null leaves it to the program
                    self._take(ours, Statement(name, plain_number(values[name])))

    def _take(self, ours: str, statement: Statement) -> None:
        earlier = self.statements.setdefault(ours, statement)
        if earlier.value != statement.value:
            raise InputError(
                f"{self.path}: its config contradicts itself: {earlier.name} is "
                f"{shown(earlier.value)}, "
                f"{statement.name} is {shown(statement.value)}"
            )

    def __contains__(self, ours: str) -> bool:
        return ours in self.statements

    def integer(self, ours: str) -> int | None:
        statement = self.statements.get(ours)
        if statement is None:
            return None
        value = statement.value
        if isinstance(value, bool) or not isinstance(value, int | float) or value != round(value):
            raise self._unusable(statement, "a whole number")
        return int(value)

    def share(self, ours: str) -> float | None:
        """A number from 0 to 1."""
        statement = self.statements.get(ours)
        if statement is None:
            return None
        value = statement.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._unusable(statement, "a number from 0 to 1")
        return float(value)

    @property
    def training_fraction(self) -> float | None:
        """None where it is not said. 0 would say that nothing was trained on: that is no split
        either.
        """
        return self.share("training_fraction") or None

    @property
    def activation(self) -> str | None:
        statement = self.statements.get("activation")
        if statement is None:
            return None
        ours = ACTIVATIONS.get(str(statement.value).lower())
        if ours is None:
            raise self._unusable(statement, f"one of {', '.join(ACTIVATIONS)}")
        return ours

    @property
    def operation(self) -> str | None:
        statement = self.statements.get("operation")
        if statement is None:
            return None
        if statement.value not in ("add", "subtract"):
            raise InputError(
                f"{self.path}: it was trained on {shown(statement.value)}, which is not "
                "equivalent to addition"
            )
        return str(statement.value)

    @property
    def layer_norm(self) -> bool | None:
        statement = self.statements.get("layer_norm")
        if statement is None:
            return None
        value = (
            NORMS.get(statement.value, statement.value)
            if isinstance(statement.value, str)
            else statement.value
        )
        if value not in (0, 1):
            raise self._unusable(statement, f"true, false, {' or '.join(NORMS)}")
        return bool(value)

    @property
    def folded_norm(self) -> bool:
        """TransformerLens folds a norm's weights into the next matrices and calls what is left
        LNPre.
        """
        return "layer_norm" in self and self.statements["layer_norm"].value == "LNPre"

    @property
    def causal(self) -> bool | None:
        statement = self.statements.get("causal")
        if statement is None:
            return None
        if statement.value not in ("causal", "bidirectional"):
            raise self._unusable(statement, "causal or bidirectional")
        return bool(statement.value == "causal")

    def check(self, **observed: int | bool | str | float | None) -> None:
        """That what the tensors or the user say is what the config says; None is not known."""
        for ours, value in observed.items():
            stated = self._read(ours)
            if stated is not None and value is not None and stated != value:
                name = self.statements[ours].name
                text = shown(self.statements[ours].value)
                raise InputError(
                    f"{self.path}: its config says {name} {text}, which contradicts "
                    f"{ours.replace('_', ' ')} {value}"
                )

    def _read(self, ours: str) -> Any:
        if ours in ("activation", "operation", "layer_norm", "training_fraction"):
            return getattr(self, ours)
        return self.share(ours) if ours == "attention_rate" else self.integer(ours)

    def _unusable(self, statement: Statement, allowed: str) -> InputError:
        return InputError(
            f"{self.path}: its config says {statement.name} {shown(statement.value)}; it must "
            f"be {allowed}"
        )


def _stated_values(beside: Mapping[str, Any]) -> dict[str, Any]:
    """All that may be a setting: values of the file itself, of its config, and of the
    config's sections.
    """
    mappings = [beside]
    for name in CONFIGS:
        config = beside.get(name)
        if isinstance(config, Mapping):
            mappings += [
                config,
                *(section for section in config.values() if isinstance(section, Mapping)),
            ]
    values: dict[str, Any] = {}
    for mapping in mappings:
        values |= {
            name: value
            for name, value in mapping.items()
            if isinstance(value, str | bool) or is_number(value)
        }
    return values


def is_number(value: object) -> bool:
    """Whether a value is one real number, a tensor without axes among them."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.is_complex() and not value.is_meta
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain_number(value: Any) -> Any:
    """A tensor without axes as the number that it holds; anything else as it is."""
    return value.item() if isinstance(value, Tensor) else value


def recorded_loss(beside: Mapping[str, Any], name: str) -> float | None:
    """The loss of that name, or the last of its list; None where there is none that is a loss."""
    value = beside.get(name)
    if value is None:
        history = beside.get({"train_loss": "train_losses", "test_loss": "test_losses"}[name])
        value = history[-1] if isinstance(history, list | tuple) and history else None
    if not is_number(value):
        return None
    loss = float(plain_number(value))
    return loss if math.isfinite(loss) and loss >= 0 else None
