"""Networks with weights set by hand: the two algorithms themselves, as known answers for every
metric.

The Pizza is a real Model alpha whose weights are the absolute-difference form of appendix A. With t
the angle of the midpoint of E_a and E_b, hidden units hold relu(+-u . (E_a + E_b)) for the
half-angle directions u of every label c, so

    Q_abc = |cos(w(a-b)/2)| (|cos(w(a+b-c)/2)| - |sin(w(a+b-c)/2)|),

whose correct logit is |cos(w(a-b)/2)| exactly: gradient symmetricity 1, distance irrelevance 0.
The Clock multiplies, which no ReLU network does exactly, so it is a module of its own: equation (1)
on each circle. Both are in float64, and their tables are exact under the circle's symmetries (see
`core.fourier`).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.fourier import circle, cos_turn, sin_turn
from algophase.core.settings import ClockSettings, LinearSettings, TaskSettings
from algophase.networks.jacobians import Jacobians
from algophase.networks.linear import Linear, Table
from algophase.networks.network import Cache, InitialValues, Network, record
from algophase.networks.pair_logits import PairLogits, Prepared, pair_elements
from algophase.networks.parts import HiddenReads


def _check_frequencies(modulus: int, frequencies: Sequence[int] | None) -> list[int]:
    """The frequencies, or where none are said those of 1, 5 and 17 that fit. The modulus they
    must fit is checked first.
    """
    TaskSettings(modulus=modulus)
    if frequencies is None:
        return [k for k in (1, 5, 17) if 2 * k < modulus] or [1]
    for frequency in frequencies:
        if (
            isinstance(frequency, bool)
            or not isinstance(frequency, int)
            or not 1 <= frequency < modulus
        ):
            raise InputError(
                f"frequency is {frequency!r}; at modulus {modulus} choose integers from 1 to "
                f"{modulus - 1}"
            )
    if not frequencies:
        raise InputError(
            f"no frequency given; at modulus {modulus} choose integers from 1 to {modulus - 1}"
        )
    return list(frequencies)


def _handmade_id(algorithm: str, modulus: int, frequencies: Sequence[int]) -> str:
    return f"{algorithm}-p{modulus}-k{'-'.join(map(str, frequencies))}"


class Clock(Network):
    """Q_abc = sum over circles of (E_ax E_bx - E_ay E_by) E_cx + (E_ax E_by + E_ay E_bx) E_cy
    (equation 1).
    """

    settings: ClockSettings
    is_pure = True
    may_read_sum_alone = False  # it multiplies

    def __init__(self, task: TaskSettings, settings: ClockSettings) -> None:
        super().__init__(task, settings)
        self.embed = Table(task.modulus, 2 * len(settings.frequencies))

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.embed.weight, self.embed.weight

    def logits_from_embeddings(
        self, first: Tensor, second: Tensor, cache: Cache | None = None
    ) -> Tensor:
        return self._product(first, second, cache) @ self.embed.weight.T

    @torch.no_grad()
    def jacobians(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Jacobians:
        """With E as complex numbers, Q_abc = Re(E_a E_b conj(E_c)): the gradient for E_a is
        conj(E_b) E_c, and the reverse.
        """
        labels = _as_complex(self.embed.weight)
        a = _as_complex(first)
        b = _as_complex(second)
        to_first = torch.view_as_real(b.conj()[:, None] * labels).flatten(-2)
        to_second = torch.view_as_real(a.conj()[:, None] * labels).flatten(-2)
        return Jacobians(self.logits_from_embeddings(first, second), to_first, to_second)

    def hidden_reads(self) -> HiddenReads:
        """The products themselves: nothing but them is read."""

        def logits(first: Tensor, second: Tensor, read: Tensor) -> Tensor:
            return read @ self.embed.weight.T

        return HiddenReads(self.embed.weight.shape[1], self._product, logits)

    @torch.no_grad()
    def pair_logits(self) -> Prepared:
        """As any network's, but it says that the products are what is read."""
        width = self.embed.weight.shape[1]

        def of_tables(first: Tensor, second: Tensor) -> PairLogits:
            def reads(embeddings: slice, rows: slice) -> Tensor:
                return _products(first[embeddings, rows, None], second[embeddings, None])

            return PairLogits(reads, lambda read: read @ self.embed.weight.T)

        return Prepared(of_tables, pair_elements(self), units=width)

    def _product(self, first: Tensor, second: Tensor, cache: Cache | None = None) -> Tensor:
        record(cache, "hook_embed", torch.stack([first, second], dim=1))
        return record(cache, "hook_product", _products(first, second))

    def initial_values(self) -> dict[str, InitialValues]:
        return {"embed.weight": InitialValues("normal", 1.0)}


def _as_complex(table: Tensor) -> Tensor:
    """(p, circles) of a table (p, width)."""
    return torch.view_as_complex(table.unflatten(-1, (-1, 2)))


def _products(first: Tensor, second: Tensor) -> Tensor:
    """Of embeddings (..., width) as complex numbers, one per circle."""
    a = first.unflatten(-1, (-1, 2))
    b = second.unflatten(-1, (-1, 2))  # (..., circles, 2)
    a_cos, a_sin = a.unbind(-1)
    b_cos, b_sin = b.unbind(-1)
    real = a_cos * b_cos - a_sin * b_sin
    imaginary = a_cos * b_sin + a_sin * b_cos
    return torch.stack([real, imaginary], dim=-1).flatten(-2)


@torch.no_grad()
def handmade_clock(modulus: int = 59, frequencies: Sequence[int] | None = None) -> Clock:
    """Make a Clock by hand, with one unit circle per frequency.

    Arguments:
        modulus: p.
        frequencies: one per circle; by default those of 1, 5 and 17 that fit the modulus.

    Returns:
        A network that computes equation 1 of the paper.

    Raises:
        InputError: a frequency does not fit the modulus.

    Example:
        >>> from algophase import analyze
        >>> analyze(handmade_clock(23)).verdict.label
        'Clock'
    """
    frequencies = _check_frequencies(modulus, frequencies)
    network = Clock(
        TaskSettings(modulus=modulus, training_fraction=None), ClockSettings(tuple(frequencies))
    ).double()
    network.embed.weight.copy_(torch.cat([circle(modulus, k) for k in frequencies], dim=1))
    network.id = _handmade_id("clock", modulus, frequencies)
    return network


@torch.no_grad()
def handmade_pizza(
    modulus: int = 59, frequencies: Sequence[int] | None = None, *, accompanied: bool = False
) -> Linear:
    """Make a Pizza by hand: a Model alpha with one unit circle per frequency.

    For an even modulus no set of pizzas answers the pairs (a, a + p/2): odd frequencies see them
    antipodal, even ones cannot distinguish their label c from c + p/2. Accompanying pizzas answer
    them.

    Arguments:
        modulus: p.
        frequencies: one per circle; by default those of 1, 5 and 17 that fit the modulus.
        accompanied: add to each pizza its accompanying pizza (appendix D) at half strength, a
            circle of twice the frequency.

    Returns:
        A linear network, Model alpha of appendix E.

    Raises:
        InputError: a frequency does not fit the modulus.

    Example:
        >>> from algophase import analyze
        >>> analyze(handmade_pizza(23)).verdict.label
        'Pizza'
    """
    frequencies = _check_frequencies(modulus, frequencies)
    labels = torch.arange(modulus)
    tables: list[Tensor] = []  # one circle (p, 2) each
    readers: list[Tensor] = []  # rows of W_1 that read the circle, (units, 2)
    writers: list[Tensor] = []  # their columns of W_U, (p, units)
    for k in frequencies:
        # Label c looks along half its angle: pi k c / p = 2 pi (k c) / (2 p).
        cosine = cos_turn(k * labels, 2 * modulus)
        sine = sin_turn(k * labels, 2 * modulus)
        along = torch.stack([cosine, sine], dim=1)
        across = torch.stack([-sine, cosine], dim=1)
        half = 0.5 * torch.eye(
            modulus, dtype=torch.float64
        )  # E_ab is the average, the network adds
        tables.append(circle(modulus, k))
        readers.append(torch.cat([along, -along, across, -across]))  # |x| = relu(x) + relu(-x)
        writers.append(torch.cat([half, half, -half, -half], dim=1))
        if accompanied:
            # A_c = -(cos w c, sin w c) . s, with s the midpoint on the circle of frequency 2 k; x =
            # relu(x) - relu(-x). At half strength the correct logit x - (2 x^2 - 1) / 2, x = |cos
            # w(a-b)/2|, is at least 1/2 everywhere; at full strength it would cancel the Pizza
            # where a = b.
            plane = torch.eye(2, dtype=torch.float64)
            tables.append(circle(modulus, 2 * k))
            readers.append(torch.cat([plane, -plane]))
            quarter = 0.25 * circle(modulus, k)
            writers.append(torch.cat([-quarter, quarter], dim=1))
    weight = torch.block_diag(*readers)
    settings = LinearSettings(model="alpha", width=weight.shape[1], hidden=weight.shape[0])
    network = Linear(TaskSettings(modulus=modulus, training_fraction=None), settings).double()
    network.embed.weight.copy_(torch.cat(tables, dim=1))
    network.l1.weight.copy_(weight)
    network.l1.bias.zero_()
    network.unembed.weight.copy_(torch.cat(writers, dim=1))
    network.id = _handmade_id("accompanied-pizza" if accompanied else "pizza", modulus, frequencies)
    return network
