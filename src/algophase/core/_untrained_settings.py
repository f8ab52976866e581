"""Settings of networks that are analyzed and not trained here: hand-made ones, other groups', and
those with code of their own.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from algophase.core._checked_settings import check_choice, check_flag, check_integer, shown
from algophase.core._network_settings import NetworkSettings
from algophase.core.errors import InputError

MLP_ACTIVATIONS = ("relu", "gelu", "square", "none")
LENS_ACTIVATIONS = ("relu", "gelu", "gelu_new", "silu")
JOINS = ("add", "concatenate", "multiply")
Cut = Literal["embedding", "first layer", "none"]


@dataclass(frozen=True)
class ClockSettings(NetworkSettings):
    """The hand-made Clock: one circle a frequency, multiplied as in equation (1)."""

    kind: ClassVar[str] = "clock"
    frequencies: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        if isinstance(self.frequencies, str) or not hasattr(self.frequencies, "__iter__"):
            raise InputError(
                f"frequencies is {shown(self.frequencies)}; it must be a list of integers of at "
                "least 1"
            )
        self._set("frequencies", tuple(self.frequencies))
        if not self.frequencies:
            raise InputError("frequencies is empty; give at least one integer of at least 1")
        for frequency in self.frequencies:
            check_integer("frequency", frequency, 1)


@dataclass(frozen=True)
class LensSettings(NetworkSettings):
    """Transformers in TransformerLens's parameters, with biases throughout: what
    `TransformerSettings` does not describe.

    hidden: units of the MLP, 0 for attention alone. causal: earlier positions do not see later
        ones; the last sees all.
    """

    kind: ClassVar[str] = "lens"
    reads_layouts: ClassVar[bool] = True
    bare: ClassVar[bool] = False
    attention_rate: ClassVar[float] = 1.0
    width: int = 128
    layers: int = 1
    heads: int = 4
    head_size: int = 32
    hidden: int = 512
    activation: str = "relu"
    layer_norm: bool = False
    causal: bool = True

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads", "head_size", "hidden"):
            check_integer(name, getattr(self, name), 0 if name == "hidden" else 1)
        check_choice("activation", self.activation, LENS_ACTIVATIONS)
        check_flag("layer_norm", self.layer_norm)
        check_flag("causal", self.causal)


@dataclass(frozen=True)
class MLPSettings(NetworkSettings):
    """Two-layer networks that others trained: W_U act(W join(x_a, x_b)), without biases.

    join: how the two embeddings meet. own_tables: each operand has a table of its own.
    width: of an embedding. hidden: units that the activation sees; 0 asks for a network without the
        layer W, whose hidden units are the joined embeddings themselves, and is replaced by their
        number. layer: whether there is a layer W.
    one_hot: no embedding but one-hot numbers, so the tables are the first layer itself.

    >>> MLPSettings(width=512, one_hot=True).hidden
    512
    """

    kind: ClassVar[str] = "mlp"
    width: int = 128
    hidden: int = 0
    join: str = "add"
    activation: str = "relu"
    own_tables: bool = False
    one_hot: bool = False
    layer: bool = True

    _written_if_changed: ClassVar[tuple[str, ...]] = ("layer",)

    def __post_init__(self) -> None:
        check_integer("width", self.width, 1)
        check_integer("hidden", self.hidden, 0)
        check_choice("join", self.join, JOINS)
        check_flag("layer", self.layer)
        if not self.hidden:
            self._set("layer", False)
            self._set("hidden", self.joined_width)
        if not self.layer and self.hidden != self.joined_width:
            raise InputError(
                f"hidden is {self.hidden}; without a layer it must be {self.joined_width}, as "
                "many as are joined"
            )
        check_choice("activation", self.activation, MLP_ACTIVATIONS)
        check_flag("own_tables", self.own_tables)
        check_flag("one_hot", self.one_hot)

    @property
    def joined_width(self) -> int:
        """Of both embeddings joined."""
        return 2 * self.width if self.join == "concatenate" else self.width


@dataclass(frozen=True)
class WrappedSettings(NetworkSettings):
    """A network with code of its own. architecture: the name of its class; cut: what its operand
    tables are.

    width, own_tables, outputs: of its tables and logits; 0 where they are not known. A function has
        width 0.
    """

    kind: ClassVar[str] = "wrapped"
    architecture: str = "function"
    cut: Cut = "none"
    width: int = 0
    own_tables: bool = False
    outputs: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.architecture, str):
            raise InputError(f"architecture is {shown(self.architecture)}; it must be text")
        check_choice("cut", self.cut, get_args(Cut))
        check_integer("width", self.width, 0)
        check_flag("own_tables", self.own_tables)
        check_integer("outputs", self.outputs, 0)

    @property
    def described(self) -> dict[str, Any]:
        """A size of 0 is one that is not known, or that a function does not have."""
        values = self.to_dict()
        for size in ("width", "outputs"):
            if values[size] == 0:
                del values[size]
        if not self.width:
            del values["own_tables"]
        return values
