"""Settings of the networks that can be trained, and of their training."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from algophase.core._checked_settings import (
    LARGEST_COUNT,
    Settings,
    check_choice,
    check_integer,
)
from algophase.core._task_settings import TaskSettings
from algophase.core.errors import InputError

ACTIVATIONS = ("relu", "gelu")
PLANTED_TRIOS = ("", "sum", "unrelated")
PLANTED_POWER = 1.0
LINEAR_MODELS = ("alpha", "beta", "gamma", "delta", "alpha-prime")
OPTIMIZERS = ("adamw", "muon", "sgd")
LOSSES = ("cross-entropy", "torch-cross-entropy", "stablemax")
LOSS_PRECISIONS = ("training", "float64")
SCHEDULES = ("constant", "cosine")
# Settings of a training that are not part of the published recipe
TRAINING_CHOICES = (
    "optimizer",
    "momentum",
    "loss",
    "loss_precision",
    "fixed_norm",
    "decay_from",
    "decay_until",
    "initial_scale",
    "schedule",
    "planted_trio",
    "planted_power",
)


@dataclass(frozen=True)
class TrainingSettings(Settings):
    """Full-batch training. The defaults are the published recipe: AdamW on the cross-entropy.

    Arguments:
        epochs: number of updates.
        learning_rate: the learning rate. It is multiplied by min(step / warmup_steps, 1), with
            steps from 0.
        weight_decay: the weight decay: decoupled in AdamW and Muon, part of the gradient in SGD.
        beta1, beta2, epsilon: AdamW constants.
        warmup_steps: updates until the learning rate is full.
        planted_trio: an intervention on the start: three strong frequencies in the initial
            embedding, drawn from the seed. "sum" for k, l and k + l, "unrelated" for the same k
            and l with a third in no short relation to them, "" for the start as it is drawn.
        planted_power: their power at the start, over the mean frequency's.
        optimizer: "adamw", "muon" (hidden matrices by Muon, all other parameters by AdamW) or
            "sgd".
        momentum: of Muon (Nesterov's) and of SGD.
        loss: "cross-entropy", "torch-cross-entropy" (as PyTorch rounds it) or "stablemax" (Prieto
            et al. 2025).
        loss_precision: "training" for the precision of the training, or "float64" for the loss and
            its slope at the logits.
        fixed_norm: after each update all parameters together are scaled to this norm; 0 leaves
            them alone.
        decay_from, decay_until: the first epoch with weight decay, and the first one without it
            again; until 0 is to the end.
        initial_scale: factor of all initial parameters.
        schedule: the learning rate after the warm-up: "constant", or "cosine" down to 0 at the
            last epoch.

    Raises:
        InputError: a setting is out of range.

    Example:
        >>> TrainingSettings(epochs=500).learning_rate
        0.001
        >>> TrainingSettings(optimizer="muon").is_published_update
        False
    """

    # They are in a run's settings and its row only where they differ from the published recipe:
    # files, digests and tables of earlier versions stay as they were.
    _written_if_changed: ClassVar[tuple[str, ...]] = TRAINING_CHOICES
    epochs: int = 20_000
    learning_rate: float = 1e-3
    weight_decay: float = 2.0
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    warmup_steps: int = 10
    planted_trio: str = ""
    planted_power: float = PLANTED_POWER
    optimizer: str = "adamw"
    momentum: float = 0.95
    loss: str = "cross-entropy"
    loss_precision: str = "training"
    fixed_norm: float = 0.0
    decay_from: int = 0
    decay_until: int = 0
    initial_scale: float = 1.0
    schedule: str = "constant"

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, 0, LARGEST_COUNT)
        check_integer("warmup_steps", self.warmup_steps, 0, LARGEST_COUNT)
        check_choice("planted_trio", self.planted_trio, PLANTED_TRIOS)
        for name in (
            "learning_rate",
            "weight_decay",
            "beta1",
            "beta2",
            "epsilon",
            "planted_power",
        ):
            self._set_in_range(name)
        if self.planted_power != PLANTED_POWER and not self.planted_trio:
            raise InputError(
                f"planted_power is {self.planted_power:g}, but no trio is planted: choose a "
                f"planted_trio, {' or '.join(filter(None, PLANTED_TRIOS))}"
            )
        for name in ("momentum", "fixed_norm", "initial_scale"):
            self._set_in_range(name)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("loss", self.loss, LOSSES)
        check_choice("loss_precision", self.loss_precision, LOSS_PRECISIONS)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_integer("decay_from", self.decay_from, 0, LARGEST_COUNT)
        check_integer("decay_until", self.decay_until, 0, LARGEST_COUNT)
        if 0 < self.decay_until <= self.decay_from:
            raise InputError(
                f"decay_until is {self.decay_until}; it must be above decay_from, "
                f"{self.decay_from}, or 0 for weight decay to the end"
            )

    @property
    def is_published_update(self) -> bool:
        """Whether an update is the published one, whatever its numbers are: AdamW with warm-up."""
        return (
            self.optimizer == "adamw"
            and self.schedule == "constant"
            and self.fixed_norm == 0
            and self.decay_from == 0
            and self.decay_until == 0
        )

    @property
    def is_published_loss(self) -> bool:
        """Whether the loss is the cross-entropy in the precision of the training."""
        return self.loss == "cross-entropy" and self.loss_precision == "training"

    @property
    def method(self) -> tuple[object, ...]:
        """What runs that train together have in common: all else may differ between them."""
        return (self.optimizer, self.is_published_update, self.loss, self.loss_precision)


class NetworkSettings(Settings):
    """What a network is. Each architecture is a subclass: a frozen dataclass.

    Attributes:
        kind: its name in files and tables.
        trained: whether runs of it can be trained.
        reads_layouts: whether it reads separate vocabularies and an equals sign (appendix I).

    Example:
        >>> from algophase import NetworkSettings, TransformerSettings
        >>> isinstance(TransformerSettings(width=64), NetworkSettings), TransformerSettings.kind
        (True, 'transformer')
    """

    kind: ClassVar[str]
    trained: ClassVar[bool] = False
    reads_layouts: ClassVar[bool] = False

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        return f"a {self.kind}"

    @property
    def described(self) -> dict[str, Any]:
        """Its settings by name, as a summary shows them."""
        return self.to_dict()

    def check_task(self, task: TaskSettings) -> None:
        """Refuse a task that such a network cannot learn.

        Arguments:
            task: the task.

        Raises:
            InputError: such a network cannot read the task's tokens, or cannot tell its operands
                apart.
        """
        if not self.reads_layouts and (task.separate_vocabularies or task.equals_sign):
            raise InputError(
                f"a {self.kind} network reads the tokens a b; separate_vocabularies and "
                "equals_sign need a transformer (model alpha-prime has an embedding per operand)"
            )

    def published_training(self) -> "TrainingSettings":
        """The published recipe for such a network."""
        return TrainingSettings()

    def stack_key(self) -> tuple[object, ...]:
        """What two networks must have in common to share a stack of parameters, the smaller in a
        corner of the larger.
        """
        return (self,)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "NetworkSettings":
        """The smallest network that has room for this one and for those stacked with it.

        Arguments:
            stacked: settings of the networks in the stack, all with the same `stack_key`.
            size: rounds each size up.

        Returns:
            The settings of that network.
        """
        return self

    def shapes(self) -> "NetworkSettings":
        """The settings without those that change no parameter's shape."""
        return self


@dataclass(frozen=True)
class TransformerSettings(NetworkSettings):
    """The attention-rate transformer of section 4.2 and appendix F.1.

    It has no attention biases, no layer norm and no mask.

    Arguments:
        width: dimensions of the residual stream. The MLP has 4 * width hidden units.
        layers: number of layers.
        heads: heads per layer, each with floor(width / heads) dimensions.
        activation: "relu" or "gelu".
        attention_rate: 0 for uniform attention, 1 for learned attention.

    Raises:
        InputError: a setting is out of range.

    Example:
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
        check_integer("layers", self.layers, 1)
        check_integer("heads", self.heads, 1)
        check_integer("width", self.width, self.heads)  # so that a head has at least one dimension
        check_choice("activation", self.activation, ACTIVATIONS)
        self._set_in_range("attention_rate")

    @property
    def head_size(self) -> int:
        """Dimensions of a head."""
        return self.width // self.heads

    @property
    def hidden(self) -> int:
        """Hidden units of the MLP."""
        return 4 * self.width

    def stack_key(self) -> tuple[object, ...]:
        return (self.kind, self.layers, self.heads, self.activation)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "TransformerSettings":
        width = max(settings.width for settings in (self, *stacked))
        return TransformerSettings(size(width), self.layers, self.heads, self.activation)

    def shapes(self) -> "TransformerSettings":
        return dataclasses.replace(self, attention_rate=1.0)


def _commutes(task: TaskSettings) -> bool:
    """Whether (a, b) and (b, a) have the same answer."""
    if task.group and not task.finite_group.commutes:
        return False
    renamed_apart = len(task.relabeling) > 1 and task.relabeling[0] != task.relabeling[1]
    return task.operation != "subtract" and not renamed_apart


@dataclass(frozen=True)
class LinearSettings(NetworkSettings):
    """The linear models of appendix E.

    Arguments:
        model: "alpha", "alpha-prime", "beta", "gamma" or "delta".
        width: what the first linear layer reads. Model delta concatenates two embeddings of width /
            2.
        hidden: hidden units of each layer.

    Raises:
        InputError: a setting is out of range.

    Example:
        >>> LinearSettings(model="delta").embedding_width
        128
    """

    kind: ClassVar[str] = "linear"
    trained: ClassVar[bool] = True
    model: str = "beta"
    width: int = 256
    hidden: int = 256

    def __post_init__(self) -> None:
        check_choice("model", self.model, LINEAR_MODELS)
        check_integer("width", self.width, 1)
        check_integer("hidden", self.hidden, 1)
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
        """Dimensions of an operand's embedding."""
        return self.width // 2 if self.model == "delta" else self.width

    def check_task(self, task: TaskSettings) -> None:
        super().check_task(task)
        if self.model in ("alpha", "beta", "gamma") and not _commutes(task):
            raise InputError(
                f"model {self.model} adds two embeddings of one table: it cannot tell a from b, "
                "as this task needs"
            )

    def published_training(self) -> "TrainingSettings":
        """AdamW's own defaults, without warm-up."""
        return TrainingSettings(beta2=0.999, warmup_steps=0)

    def stack_key(self) -> tuple[object, ...]:
        # Its first layer reads two halves, so a smaller network is no corner of it.
        if self.model == "delta":
            return (self,)
        return (self.kind, self.model)

    def padded(self, stacked: Sequence[Self], size: Callable[[int], int]) -> "LinearSettings":
        if self.model == "delta":
            return self
        width = max(settings.width for settings in (self, *stacked))
        hidden = max(settings.hidden for settings in (self, *stacked))
        return LinearSettings(self.model, size(width), size(hidden))
