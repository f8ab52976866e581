"""Which frequency each attention head follows, and how the heads of one frequency stand to each
other.

At the last position head h gives the weights M_a(a, b) and M_b(a, b) to the two operands. Of their
*lean*

    D_h(a, b) = (M_a - M_b) / 2 = mean + waves of a alone + waves of b alone + interactions

the head follows the frequency f that has the largest share of its variance, in waves of a alone and
of b alone. In trained Clocks that share is nearly all, and D_h = mean + r [cos(w a + phi) - cos(w b
+ phi)] with w = 2 pi f / p. Such a head writes (M_a + M_b) / 2 [V(a) + V(b)] + D_h [V(a) - V(b)].
Where its values V are the circle of f, the second part has terms

    [cos(w a + phi) - cos(w b + phi)] [cos w a - cos w b] = 2 sin^2(w (a - b) / 2) [cos phi - cos(w
    (a + b) + phi)],

and the same with sines: waves of the answer a + b, strongest where the Pizza's |cos(w (a - b) / 2)|
is zero.

A head alone writes sum and product of its values at once. Two heads with opposite waves write the
sum by V_1 + V_2 and the product by V_1 - V_2, so that a network can have one without the other.
*Balance* says how far the waves of all heads that follow a frequency cancel: |sum of r e^{i phi}| /
sum of r, 0 for opposite waves and 1 for a head alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algophase.analysis.hidden.units import on_grid
from algophase.analysis.subject import Subject, subject_on_cycle
from algophase.core.errors import InputError
from algophase.core.fourier import Array, wave_counts
from algophase.core.lines import reaches
from algophase.networks import Network
from algophase.record.codec import UNRECORDED
from algophase.record.layout import to_record

# A head whose lean has a smaller standard deviation than this is constant: those of trained Pizzas
# have 1e-7 or less, of Clocks 0.15 to 0.3.
CONSTANT = 0.01


@dataclass(frozen=True)
class AttentionHeads:
    """The heads of a transformer's first layer. A constant head follows nothing: its frequency is
    0, and its waves are NaN.

    Attributes:
        frequency: the frequency that each head follows, (heads,), from 1.
        share: share of that frequency in the variance of the head's lean, in waves of one operand,
            (heads,).
        amplitude_a, amplitude_b, phase_a, phase_b: of these waves, each (heads,), phases in
            radians.
        deviation: standard deviation of the lean, (heads,).
        shares: share of every frequency, (heads, floor(p / 2)).

    Example:
        >>> from algophase import RunSettings, TransformerSettings, attention_heads, initialize
        >>> uniform = RunSettings(network=TransformerSettings(attention_rate=0.0))
        >>> attention_heads(initialize(uniform)).constant.tolist()
        [True, True, True, True]
    """

    frequency: np.typing.NDArray[np.int64]
    share: Array
    amplitude_a: Array
    amplitude_b: Array
    phase_a: Array
    phase_b: Array
    deviation: Array
    shares: Array = field(metadata=UNRECORDED)

    @property
    def constant(self) -> np.typing.NDArray[np.bool_]:
        return self.frequency == 0

    def followers(self, frequency: int) -> list[int]:
        """The heads that follow a frequency."""
        return np.flatnonzero(self.frequency == frequency).tolist()

    def worth(self, frequency: int) -> float:
        """How many heads follow a frequency, counting those that follow several by their shares."""
        return float(np.nansum(self.shares[:, frequency - 1]))

    def balance(self, frequency: int) -> float:
        """How far the waves of those heads cancel: 0 if they do, 1 for a head alone. NaN where
        none follows it.
        """
        heads = self.followers(frequency)
        if not heads:
            return math.nan
        waves = self.amplitude_a[heads] * np.exp(1j * self.phase_a[heads])
        return float(abs(waves.sum()) / np.abs(waves).sum())

    def __repr__(self) -> str:
        return f"<AttentionHeads: {'; '.join(self.described())}>"

    def described(self) -> list[str]:
        """One phrase per frequency that is followed, the one of most heads first."""
        followed = {int(frequency) for frequency in self.frequency if frequency}
        most_heads_first = sorted(followed, key=lambda k: (-len(self.followers(k)), k))
        phrases = []
        for frequency in most_heads_first:
            heads = self.followers(frequency)
            names = ", ".join(map(str, heads))
            if len(heads) == 1:
                phrases.append(f"{names} follows {frequency}")
            else:
                balance = f"{self.balance(frequency):.2f}"
                phrases.append(f"{names} follow {frequency} (balance {balance})")
        idle = np.flatnonzero(self.constant).tolist()
        if idle:
            verb = "is" if len(idle) == 1 else "are"
            phrases.append(f"{', '.join(map(str, idle))} {verb} constant")
        return phrases

    def columns(self) -> Mapping[str, Array]:
        """One array per quantity, (heads,), as `pandas.DataFrame` takes them."""
        return {name: value for name, value in vars(self).items() if value.ndim == 1}

    def to_dict(self) -> dict[str, Any]:
        """JSON values, null for what is undefined."""
        record: dict[str, Any] = to_record(self)
        return record


def has_heads(network: Network) -> bool:
    return network.first_attention() is not None


def attention_heads(network: Network, device: torch.device | str = "cpu") -> AttentionHeads:
    """Find the frequency that each head of a transformer's first layer follows.

    Arguments:
        network: a transformer.
        device: where to compute.

    Returns:
        `AttentionHeads`: `frequency`, `share`, amplitudes and phases, each an array (heads,). A
        constant head has frequency 0.

    Raises:
        InputError: the network has no attention.

    Example:
        >>> from algophase import RunSettings, TaskSettings, TransformerSettings, initialize
        >>> settings = TransformerSettings(8, heads=2, attention_rate=0.0)
        >>> attention_heads(initialize(RunSettings(TaskSettings(7), settings)))
        <AttentionHeads: 0, 1 are constant>
    """
    subject = subject_on_cycle(network, device)
    if not has_heads(subject.network):
        raise InputError(
            f"network {network.id} has no attention heads to look at; the paper's transformers have"
        )
    return attention_heads_of(subject)


@torch.no_grad()
def attention_heads_of(subject: Subject) -> AttentionHeads:
    """`attention_heads` of a transformer under measurement."""
    lean = leans(subject.network).cpu().numpy()
    heads, p, _ = lean.shape
    centered = lean - lean.mean(axis=(1, 2), keepdims=True)
    variance = np.square(centered).mean(axis=(1, 2))
    by_operand = np.stack([centered.mean(axis=2), centered.mean(axis=1)])
    waves = np.fft.rfft(by_operand)[:, :, 1:] / p  # (operand, head, frequency)
    counts = wave_counts(p)
    varies = reaches(np.sqrt(variance), CONSTANT)
    power = np.square(np.abs(waves)).sum(axis=0)  # (head, frequency)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(varies[:, None], counts * power / variance[:, None], np.nan)
    strongest = np.where(varies, np.nan_to_num(shares).argmax(axis=1), 0)
    own = waves[:, np.arange(heads), strongest]  # (operand, head)
    amplitude = np.where(varies, counts[strongest] * np.abs(own), np.nan)
    phase = np.where(varies, np.angle(own), np.nan)
    return AttentionHeads(
        frequency=np.where(varies, strongest + 1, 0),
        share=shares[np.arange(heads), strongest],
        amplitude_a=amplitude[0],
        amplitude_b=amplitude[1],
        phase_a=phase[0],
        phase_b=phase[1],
        deviation=np.sqrt(variance),
        shares=shares,
    )


def leans(network: Network) -> Tensor:
    """D_h(a, b) of every head of the first layer, (heads, p, p)."""
    p = network.task.modulus
    attention = network.first_attention()
    assert attention is not None
    pattern = attention(*on_grid(network))  # (p * p, heads, positions)
    lean = (pattern[..., 0] - pattern[..., 1]) / 2
    return lean.T.reshape(-1, p, p)
