"""Settings of a task, a network, its training and a run: frozen, self-validating, JSON in and out.

A run *is* its settings. `RunSettings.run_id` is a hash of the values that differ from the published
defaults, so a field added later, with the old behaviour as its default, leaves every existing id
unchanged. Defaults are therefore never changed.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast, get_args

import numpy as np

from algophase.core.errors import InputError
from algophase.core.group import (
    CyclicGroup,
    Elements,
    cyclic_group,
    discrete_logarithms,
    is_prime,
)

ACTIVATIONS = ("relu", "gelu")
MLP_ACTIVATIONS = ("relu", "gelu", "square", "none")
LENS_ACTIVATIONS = ("relu", "gelu", "gelu_new", "silu")
JOINS = ("add", "concatenate", "multiply")
OUTPUTS = ("vocabulary", "modulus")
Cut = Literal["embedding", "first layer", "none"]
OPERATIONS = ("add", "subtract", "multiply")
LINEAR_MODELS = ("alpha", "beta", "gamma", "delta", "alpha-prime")


LARGEST_SIZE = (
    2**20
    # Of one axis: beyond it no network fits anywhere, and products of sizes no longer fit into 64 bits
)
LARGEST_COUNT = 2**53  # of epochs and steps, which are counted in float64
LARGEST_SEED = 2**64 - 1


class Range(NamedTuple):
    """The numbers that a setting may be. An open end is not among them."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False


# Settings that are not counts: read by the checks below, and by pictures that choose an axis.
RANGES: dict[str, Range] = {
    "training_fraction": Range(0, 1, open_low=True),
    "attention_rate": Range(0, 1),
    "learning_rate": Range(0, open_low=True),
    "weight_decay": Range(0),
    "beta1": Range(0, 1, open_high=True),  # not 1: updates are divided by 1 - beta^t
    "beta2": Range(0, 1, open_high=True),
    "epsilon": Range(0, open_low=True),
}


def shown(value: object) -> str:
    """A value as an error quotes it: what stands in a file may be long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _check_integer(name: str, value: object, minimum: int, maximum: int = LARGEST_SIZE) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise InputError(f"{name} is {shown(value)}; it must be an integer of at least {minimum}")
    if value > maximum:
        raise InputError(
            f"{name} is {shown(value)}; it must be an integer from {minimum} to {maximum:,}"
        )


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    open_high = open_high or math.isinf(high)
    allowed = f"a number in {'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    try:
        number = (
            math.nan
            if isinstance(value, bool) or not isinstance(value, int | float)
            else float(value)
        )
    except OverflowError:  # an integer beyond the largest float
        number = math.nan
    if not (
        (low < number if open_low else low <= number)
        and (number < high if open_high else number <= high)
    ):
        raise InputError(f"{name} is {shown(value)}; it must be {allowed}")
    return number


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} is {shown(value)}; choose one of {', '.join(choices)}")


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}; it must be true or false")


class _Settings:
    """JSON round trip and ranges shared by all settings. Unknown names stop the load."""

    _later: ClassVar[
        tuple[str, ...]
    ] = ()  # settings that came after the first files: written where they are not the default

    def to_dict(self) -> dict[str, Any]:
        defaults = {field.name: field.default for field in dataclasses.fields(cast(Any, self))}
        values = dataclasses.asdict(cast(Any, self))
        return {
            name: value
            for name, value in values.items()
            if name not in self._later or value != defaults[name]
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        if not isinstance(data, Mapping):
            raise InputError(f"{cls.__name__} is {shown(data)}; it must be a JSON object")
        names = [field.name for field in dataclasses.fields(cast(Any, cls))]
        unknown = [str(key) for key in data if key not in names]
        if unknown:
            raise InputError(
                f"{cls.__name__} has no setting {', '.join(unknown)}; choose from "
                f"{', '.join(names)}"
            )
        return cls(**data)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _set_in_range(self, name: str) -> None:
        """Check a number against its range and keep it as a float."""
        allowed = RANGES[name]
        number = check_number(
            name,
            getattr(self, name),
            allowed.low,
            allowed.high,
            open_low=allowed.open_low,
            open_high=allowed.open_high,
        )
        self._set(name, number)


def _checked_relabelling(relabelling: object, modulus: int) -> tuple[tuple[int, ...], ...]:
    allowed = f"relabelling must be two or three permutations of 0 to {modulus - 1}"
    if not isinstance(relabelling, tuple | list) or len(relabelling) not in (0, 2, 3):
        raise InputError(f"{allowed}; it is {shown(relabelling)}")
    permutations = []
    for entry in relabelling:
        names = tuple(entry) if isinstance(entry, tuple | list) else (entry,)
        numbers = sorted(name for name in names if isinstance(name, int))
        if len(names) != modulus or numbers != list(range(modulus)):
            raise InputError(f"{allowed}; one of them is {shown(names)}")
        permutations.append(names)
    return tuple(permutations)


@dataclass(frozen=True)
class TaskSettings(_Settings):
    """Addition modulo `modulus`, how it is written as tokens, and how the pairs are split.

    separate_vocabularies: the second operand is token b + p, so the two operands have embeddings of
        their own.
    equals_sign: a third position holds the last token of the vocabulary, and the answer is read
        there.
    training_fraction: int(training_fraction * p * p) pairs are trained on, the others validate;
        None where nobody knows, as of a network from elsewhere.
    outputs: a transformer's logits: one for each token of the vocabulary, or with "modulus" one for
        each number.
    operation: "add", "subtract", or "multiply": token t stands for t + 1, a non-zero number modulo
        the prime `modulus` + 1. That is addition of exponents modulo `modulus`;
        `TaskSettings.multiplication(59)` says it in terms of the prime.
    relabelling: addition of numbers under other names, as two or three permutations of 0 .. p - 1:
        the answer to (a, b) is the c with third[c] = first[a] + second[b] modulo p. Without a
        third, answers keep their names.

    >>> task = TaskSettings(modulus=23, equals_sign=True)
    >>> task.vocabulary, task.context
    (24, 3)
    >>> TaskSettings.multiplication(59).modulus
    58
    """

    modulus: int = 59
    separate_vocabularies: bool = False
    equals_sign: bool = False
    training_fraction: float | None = 0.8
    outputs: str = "vocabulary"
    operation: str = "add"
    relabelling: tuple[tuple[int, ...], ...] = ()

    _later: ClassVar[tuple[str, ...]] = ("outputs", "operation", "relabelling")

    def __post_init__(self) -> None:
        _check_integer("modulus", self.modulus, 2)
        _check_choice("outputs", self.outputs, OUTPUTS)
        _check_choice("operation", self.operation, OPERATIONS)
        if self.operation == "multiply" and not is_prime(self.modulus + 1):
            raise InputError(
                f"modulus is {self.modulus}; numbers multiply modulo {self.modulus + 1}, which "
                "is not a prime"
            )
        self._set("relabelling", _checked_relabelling(self.relabelling, self.modulus))
        if self.relabelling and self.operation != "add":
            raise InputError(f"operation is {self.operation!r}; a relabelling goes with 'add'")
        _check_flag("separate_vocabularies", self.separate_vocabularies)
        _check_flag("equals_sign", self.equals_sign)
        if self.training_fraction is not None:
            self._set_in_range("training_fraction")
            if self.training_pairs < 1:
                fraction = self.training_fraction
                raise InputError(
                    f"training_fraction {fraction} leaves no training pair at modulus "
                    f"{self.modulus}"
                )

    @classmethod
    def multiplication(cls, prime: int, **settings: Any) -> Self:
        """Multiplication of the non-zero numbers modulo a prime."""
        return cls(modulus=prime - 1, operation="multiply", **settings)

    @property
    def described(self) -> str:
        """In words: addition modulo 59."""
        if self.operation == "multiply":
            return f"multiplication modulo {self.modulus + 1}"
        name = {
            "add": "relabelled addition" if self.relabelling else "addition",
            "subtract": "subtraction",
        }[self.operation]
        return f"{name} modulo {self.modulus}"

    @property
    def is_addition(self) -> bool:
        """Whether numbers add as they are."""
        return self.operation == "add" and not self.relabelling

    @property
    def group(self) -> CyclicGroup:
        """The group that the task adds in, whatever its numbers are called."""
        return cyclic_group(self.modulus)

    @property
    def elements(self) -> Elements:
        """Which element of the group each number stands for, so that operands add to the answer."""
        own = self.group.elements
        if self.operation == "subtract":  # a - b adds -b
            return Elements(own, self.group.inverses, own)
        if self.operation == "multiply":  # powers of one number add their exponents
            exponents = discrete_logarithms(self.modulus + 1)
            return Elements(exponents, exponents, exponents)
        if self.relabelling:
            first, second, *third = (np.array(names) for names in self.relabelling)
            return Elements(first, second, third[0] if third else own)
        return Elements(own, own, own)

    @property
    def vocabulary(self) -> int:
        """Tokens: p or 2p, and one more for the equals sign."""
        return self.modulus * (2 if self.separate_vocabularies else 1) + int(self.equals_sign)

    @property
    def logits(self) -> int:
        """How many logits a transformer gives."""
        return self.modulus if self.outputs == "modulus" else self.vocabulary

    @property
    def training_pairs(self) -> int:
        """How many pairs are trained on."""
        if self.training_fraction is None:
            raise InputError(
                "training_fraction is not known; give the share of pairs to train on, a number "
                "in (0, 1]"
            )
        return int(self.training_fraction * self.modulus**2)

    @property
    def context(self) -> int:
        """Positions in the input: two operands, and the equals sign."""
        return 3 if self.equals_sign else 2


class NetworkSettings(_Settings):
    """What a network is. An architecture is a subclass, a frozen dataclass that answers these
    questions for itself.

    kind: its name in files and tables. trained: whether runs of it can be trained.
    reads_layouts: whether it reads separate vocabularies and an equals sign (appendix I).

    >>> from algophase import NetworkSettings, TransformerSettings
    >>> isinstance(TransformerSettings(width=64), NetworkSettings), TransformerSettings.kind
    (True, 'transformer')
    """

    kind: ClassVar[str]
    trained: ClassVar[bool] = False
    reads_layouts: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """What it is, in a sentence."""
        return f"a {self.kind}"

    @property
    def described(self) -> dict[str, Any]:
        """What is known of it, by name, as people read it."""
        return self.to_dict()

    def check_task(self, task: TaskSettings) -> None:
        """Stop at a task that such a network cannot be given."""
        if not self.reads_layouts and (task.separate_vocabularies or task.equals_sign):
            raise InputError(
                f"a {self.kind} network takes the plain token layout; separate_vocabularies and "
                "equals_sign "
                "need a transformer (model alpha-prime has separate embeddings of its own)"
            )

    def published_training(self) -> "TrainingSettings":
        """The published recipe for such a network."""
        return TrainingSettings()

    def stack_key(self) -> tuple[object, ...]:
        """What must be equal for two networks to share a stack of parameters, the smaller in the
        larger's corner.
        """
        return (self,)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "NetworkSettings":
        """The smallest network that holds itself and those stacked with it, of the same `stack_key`. size:
        rounds each size up.
        """
        return self

    def shapes(self) -> "NetworkSettings":
        """The same settings but for those that do not change the shape of any parameter."""
        return self


@dataclass(frozen=True)
class TransformerSettings(NetworkSettings):
    """The attention-rate transformer of section 4.2 and appendix F.1.

    A head has floor(width / heads) dimensions, the MLP 4 * width hidden units.
    bare: no attention biases, no layer norm, no mask.

    >>> TransformerSettings(width=64, attention_rate=0.5).head_size
    16
    """

    kind: ClassVar[str] = "transformer"
    trained: ClassVar[bool] = True
    reads_layouts: ClassVar[bool] = True
    bare: ClassVar[bool] = True
    layer_norm: ClassVar[bool] = False
    causal: ClassVar[bool] = False
    width: int = 128
    layers: int = 1
    heads: int = 4
    activation: str = "relu"
    attention_rate: float = 1.0

    def __post_init__(self) -> None:
        _check_integer("layers", self.layers, 1)
        _check_integer("heads", self.heads, 1)
        _check_integer("width", self.width, self.heads)  # so that a head has at least one dimension
        _check_choice("activation", self.activation, ACTIVATIONS)
        self._set_in_range("attention_rate")

    @property
    def head_size(self) -> int:
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        return 4 * self.width

    def stack_key(self) -> tuple[object, ...]:
        return (self.kind, self.layers, self.heads, self.activation)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "TransformerSettings":
        width = max(settings.width for settings in (self, *stacked))
        return TransformerSettings(size(width), self.layers, self.heads, self.activation)

    def shapes(self) -> "TransformerSettings":
        return dataclasses.replace(self, attention_rate=1.0)


@dataclass(frozen=True)
class LinearSettings(NetworkSettings):
    """The linear models of appendix E.

    width: what the first linear layer reads; model delta concatenates two embeddings of width / 2.

    >>> LinearSettings(model="delta").embedding_width
    128
    """

    kind: ClassVar[str] = "linear"
    trained: ClassVar[bool] = True
    model: str = "beta"
    width: int = 256
    hidden: int = 256

    def __post_init__(self) -> None:
        _check_choice("model", self.model, LINEAR_MODELS)
        _check_integer("width", self.width, 1)
        _check_integer("hidden", self.hidden, 1)
        if self.model == "delta" and self.width % 2:
            raise InputError(
                f"width is {self.width}; model delta concatenates two embeddings, so it must be "
                "even"
            )

    @property
    def title(self) -> str:
        return f"model {self.model}"

    @property
    def embedding_width(self) -> int:
        return self.width // 2 if self.model == "delta" else self.width

    def check_task(self, task: TaskSettings) -> None:
        super().check_task(task)
        renamed_apart = len(task.relabelling) > 1 and task.relabelling[0] != task.relabelling[1]
        if self.model in ("alpha", "beta", "gamma") and (
            task.operation == "subtract" or renamed_apart
        ):
            raise InputError(
                f"model {self.model} adds two embeddings of one table: it cannot tell a from b, "
                "as this task needs"
            )

    def published_training(self) -> "TrainingSettings":
        """AdamW's own defaults, without warm-up."""
        return TrainingSettings(beta2=0.999, warmup_steps=0)

    def stack_key(self) -> tuple[object, ...]:
        if (
            self.model == "delta"
        ):  # its first layer reads two halves, so a smaller network is no corner of it
            return (self,)
        return (self.kind, self.model)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "LinearSettings":
        if self.model == "delta":
            return self
        width = max(settings.width for settings in (self, *stacked))
        hidden = max(settings.hidden for settings in (self, *stacked))
        return LinearSettings(self.model, size(width), size(hidden))


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
            _check_integer("frequency", frequency, 1)


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
            _check_integer(name, getattr(self, name), 0 if name == "hidden" else 1)
        _check_choice("activation", self.activation, LENS_ACTIVATIONS)
        _check_flag("layer_norm", self.layer_norm)
        _check_flag("causal", self.causal)


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

    _later: ClassVar[tuple[str, ...]] = ("layer",)

    def __post_init__(self) -> None:
        _check_integer("width", self.width, 1)
        _check_integer("hidden", self.hidden, 0)
        _check_choice("join", self.join, JOINS)
        _check_flag("layer", self.layer)
        if not self.hidden:
            self._set("layer", False)
            self._set("hidden", self.joined_width)
        if not self.layer and self.hidden != self.joined_width:
            raise InputError(
                f"hidden is {self.hidden}; without a layer it must be {self.joined_width}, as "
                "many as are joined"
            )
        _check_choice("activation", self.activation, MLP_ACTIVATIONS)
        _check_flag("own_tables", self.own_tables)
        _check_flag("one_hot", self.one_hot)

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
        _check_choice("cut", self.cut, get_args(Cut))
        _check_integer("width", self.width, 0)
        _check_flag("own_tables", self.own_tables)
        _check_integer("outputs", self.outputs, 0)

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


# Every architecture by its kind; `networks.add_architecture` adds one.
NETWORK_KINDS: dict[str, type[NetworkSettings]] = {
    settings.kind: settings
    for settings in (
        TransformerSettings,
        LinearSettings,
        ClockSettings,
        LensSettings,
        MLPSettings,
        WrappedSettings,
    )
}
SECTIONS = ("task", "network", "training")  # of a run's settings


def trained_kinds() -> list[str]:
    """Architectures that can be trained; a Clock's weights are set by hand."""
    return [kind for kind, settings in NETWORK_KINDS.items() if settings.trained]


def network_to_dict(network: NetworkSettings) -> dict[str, Any]:
    return {"kind": network.kind, **network.to_dict()}


def network_from_dict(data: Mapping[str, Any]) -> NetworkSettings:
    if not isinstance(data, Mapping):
        raise InputError(f"network is {shown(data)}; it must be a JSON object with a kind")
    _check_choice("network kind", data.get("kind"), tuple(NETWORK_KINDS))
    return NETWORK_KINDS[data["kind"]].from_dict(
        {key: value for key, value in data.items() if key != "kind"}
    )


@dataclass(frozen=True)
class TrainingSettings(_Settings):
    """Full-batch AdamW. The learning rate is multiplied by min(step / warmup_steps, 1), step
    counted from 0.

    >>> TrainingSettings(epochs=500).learning_rate
    0.001
    """

    epochs: int = 20_000
    learning_rate: float = 1e-3
    weight_decay: float = 2.0
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    warmup_steps: int = 10

    def __post_init__(self) -> None:
        _check_integer("epochs", self.epochs, 0, LARGEST_COUNT)
        _check_integer("warmup_steps", self.warmup_steps, 0, LARGEST_COUNT)
        for name in ("learning_rate", "weight_decay", "beta1", "beta2", "epsilon"):
            self._set_in_range(name)


def _check_part(name: str, value: object, *kinds: type[_Settings]) -> None:
    if not isinstance(value, kinds):
        raise InputError(
            f"{name} is {shown(value)}; it must be {' or '.join(kind.__name__ for kind in kinds)}"
        )


def _changes(settings: _Settings, default: _Settings) -> dict[str, Any]:
    return {
        name: value for name, value in settings.to_dict().items() if value != getattr(default, name)
    }


@dataclass(frozen=True)
class RunSettings(_Settings):
    """One training run. Initial weights and split come from `seed` alone. `training=None` takes the
    published recipe.

    >>> run = RunSettings(network=TransformerSettings(attention_rate=0), seed=1)
    >>> run.training.epochs
    20000
    >>> RunSettings.from_dict(run.to_dict()).run_id == run.run_id
    True
    """

    task: TaskSettings = TaskSettings()
    network: NetworkSettings = TransformerSettings()
    training: TrainingSettings = cast(TrainingSettings, None)
    seed: int = 0

    def __post_init__(self) -> None:
        _check_part("task", self.task, TaskSettings)
        _ = self.task.training_pairs  # a run knows what it trains on
        _check_part("network", self.network, *NETWORK_KINDS.values())
        self.network.check_task(self.task)
        if self.training is None:
            self._set("training", self.network.published_training())
        _check_part("training", self.training, TrainingSettings)
        _check_integer("seed", self.seed, 0, LARGEST_SEED)

    @cached_property
    def run_id(self) -> str:
        """Twelve hexadecimal digits that are the same for the same settings on every machine and
        in every version.
        """
        identity = {
            "kind": self.network.kind,
            "task": _changes(self.task, TaskSettings()),
            "network": _changes(self.network, type(self.network)()),
            "training": _changes(self.training, self.network.published_training()),
            "seed": self.seed,
        }
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        return {
            "task": self.task.to_dict(),
            "network": network_to_dict(self.network),
            "training": self.training.to_dict(),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        if not isinstance(data, Mapping):
            raise InputError(f"{cls.__name__} is {shown(data)}; it must be a JSON object")
        parts = dict(data)
        for name, read in (
            ("task", TaskSettings.from_dict),
            ("network", network_from_dict),
            ("training", TrainingSettings.from_dict),
        ):
            if name in parts and (
                name != "training" or parts[name] is not None
            ):  # no training is the published recipe
                parts[name] = read(parts[name])
        return super().from_dict(parts)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            data = json.loads(text)
        except (
            ValueError,
            RecursionError,
        ) as error:  # a JSONDecodeError, or a number of too many digits
            raise InputError(f"run settings are not valid JSON: {error}") from None
        return cls.from_dict(data)
