"""Networks of the user's own: seen as at inference, and refused in a clear line where they
cannot be analyzed.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from algophase.analysis.analyze import analyze, analyze_many
from algophase.analysis.circles.find import (
    find_circles,
    isolate_circles,
    isolate_components,
    isolate_frequencies,
)
from algophase.analysis.circles.principal import network_components
from algophase.analysis.device import in_float64
from algophase.analysis.hidden.anatomy import anatomy
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.logits.metrics import (
    embedding_gradients,
    gradient_symmetricity,
    gradient_symmetricity_exact,
    paper_triples,
)
from algophase.analysis.moments import moment_details
from algophase.analysis.result import Analysis
from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, TaskSettings
from algophase.networks import Network
from algophase.networks.handmade import handmade_clock

P = 13
Logits = Callable[[Tensor, Tensor], Any]


class Own(Network):
    """A network of two circles, or of the table given, whose logits are any function of the two
    embeddings.
    """

    def __init__(
        self, logits: Logits, table: Tensor | None = None, second: Tensor | None = None
    ) -> None:
        super().__init__(TaskSettings(modulus=P), LinearSettings(width=4))
        self.id = "own"
        self.logits = logits
        self.table = nn.Parameter(
            torch.cat([circle(P, 1), circle(P, 5)], dim=1) if table is None else table
        )
        self.second = self.table if second is None else nn.Parameter(second)

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.table, self.second

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: object = None) -> Any:
        return self.logits(first, second)


LABELS = torch.cat([circle(P, 1), circle(P, 5)], dim=1)


def clock_logits(first: Tensor, second: Tensor) -> Tensor:
    return handmade_clock(P, (1, 5)).logits_from_embeddings(first, second)


def table_lookup(first: Tensor, second: Tensor) -> Tensor:
    a, b = (torch.cdist(one, LABELS).argmin(1) for one in (first, second))
    return one_hot((a + b) % P, P).double()


class Dropping(Own):
    """The Clock with dropout and a batch normalization: in training mode, another network every
    time.
    """

    def __init__(self) -> None:
        super().__init__(clock_logits)
        self.dropout, self.norm = nn.Dropout(0.4), nn.BatchNorm1d(P, dtype=torch.float64)

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        if not self.dropout.training:
            return super().operand_tables()
        table = self.dropout(self.table)
        return table, table

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: object = None) -> Tensor:
        return self.norm(clock_logits(self.dropout(first), second))


LOOKS: dict[str, Callable[[Network], Any]] = {
    "analyze": lambda network: str(analyze(network)),
    "analyze_many": lambda network: [str(result) for result in analyze_many([network, network])],
    "moments": lambda network: moment_details(network, analyze(network)).to_dict(),
    "grid_logits": grid_logits,
    "network_components": lambda network: network_components(network).coordinates,
    "isolate_circles": lambda network: (
        isolate_circles(network, find_circles(network_components(network))).logits
    ),
    "isolate_components": lambda network: isolate_components(network, [1, 2]).logits,
    "isolate_frequencies": lambda network: isolate_frequencies(network, [5]).logits,
    "gradient_symmetricity": gradient_symmetricity,
    "gradient_symmetricity_exact": gradient_symmetricity_exact,
    "embedding_gradients": lambda network: torch.cat(
        embedding_gradients(network, torch.tensor([[1, 2, 3], [4, 5, 6]]))
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_network_in_training_mode_is_seen_as_at_inference(name: str) -> None:
    network = Dropping()
    network.norm.eval()  # one part in a mode of its own
    modes = {name: module.training for name, module in network.named_modules()}
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = LOOKS[name](network)
    assert {name: module.training for name, module in network.named_modules()} == modes
    network.train()
    again = LOOKS[name](network)
    assert network.norm.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    expected = LOOKS[name](network.eval())
    assert not any(module.training for module in network.modules())
    for one in (found, again):
        assert torch.equal(one, expected) if isinstance(expected, Tensor) else one == expected
    if name == "analyze":
        assert expected.startswith("own: two Clocks")


def test_the_mode_is_restored_where_the_network_fails() -> None:
    network = Own(lambda first, second: first.nothing)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        grid_logits(network)
    assert network.training


def test_a_network_that_ignores_an_operand_has_the_symmetricity_of_its_definition() -> None:
    first_alone = Own(lambda first, second: first @ LABELS.T)
    assert analyze(first_alone).gradient_symmetricity_exact == 0
    assert gradient_symmetricity(first_alone) == 0
    to_first, to_second = embedding_gradients(first_alone, torch.tensor([[1, 2, 3]]))
    assert torch.equal(to_first, LABELS[3:4])
    assert torch.equal(to_second, torch.zeros(1, 4))


def test_a_lookup_table_has_no_gradients_and_is_no_clock() -> None:
    analysis = analyze(Own(table_lookup))
    assert analysis.accuracy == 1
    assert math.isnan(analysis.gradient_symmetricity_exact)
    assert math.isnan(analysis.gradient_symmetricity)
    assert math.isnan(gradient_symmetricity(Own(table_lookup)))
    assert (analysis.paper_label, analysis.paper.metrics_agree) == ("hybrid", None)
    assert any(
        reason.startswith("gradient symmetricity is undefined") for reason in analysis.paper.reasons
    )


@pytest.mark.parametrize("switched_off", [torch.no_grad, torch.inference_mode])
def test_gradients_are_there_where_the_caller_has_switched_them_off(switched_off: Any) -> None:
    network = Own(clock_logits)
    expected = analyze(network)
    paper_triples.cache_clear()
    with switched_off():
        assert analyze(network).to_dict() == expected.to_dict()
        assert gradient_symmetricity(network) == expected.gradient_symmetricity
        assert (
            gradient_symmetricity(network, paper_triples(P) + 0) == expected.gradient_symmetricity
        )
    assert gradient_symmetricity(network) == expected.gradient_symmetricity
    with torch.inference_mode():
        made_there = Own(clock_logits)
        assert gradient_symmetricity(made_there) == expected.gradient_symmetricity
        assert gradient_symmetricity(in_float64(network)) == pytest.approx(
            expected.gradient_symmetricity, abs=1e-6
        )
    assert gradient_symmetricity(made_there) == expected.gradient_symmetricity
    assert not math.isnan(expected.gradient_symmetricity)


class Bare(Network):
    """A Network that says nothing about itself."""

    def __init__(self) -> None:
        super().__init__(TaskSettings(modulus=P), LinearSettings(width=4))
        self.weight = nn.Parameter(torch.zeros(2))
        self.id = "bare"


class Unregistered(Bare):
    def __init__(self) -> None:
        super().__init__()
        del self.weight
        self.table = torch.zeros(P, 4)

    def operand_tables(self) -> tuple[Tensor, Tensor]:
        return self.table, self.table

    def logits_from_embeddings(self, first: Tensor, second: Tensor, cache: object = None) -> Tensor:
        return first


class NoPair(Own):
    def operand_tables(self) -> Any:
        return self.table


NAN = torch.full((P, 4), math.nan)

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "path": (
        lambda: "n.safetensors",
        r"'n.safetensors' is a path, not a network; load\(path\) reads the network",
    ),
    "Path": (lambda: Path("n.safetensors"), r"'n.safetensors' is a path"),
    "nothing": (lambda: None, "None is not a network"),
    "module": (
        lambda: nn.Linear(2, 3),
        "class Linear is not a network; .*modulus=59.*howto-network.md",
    ),
    "no methods": (
        Bare,
        "network bare: its class Bare has no method operand_tables of its own .*howto-network.md",
    ),
    "no parameters": (Unregistered, "network bare: it has no parameters"),
    "one table": (
        lambda: NoPair(clock_logits),
        "network own: operand_tables must give two tensors",
    ),
    "a row too many": (
        lambda: Own(clock_logits, torch.zeros(P + 1, 4)),
        r"network own: operand_tables gives tables of shape \(14, 4\) and \(14, 4\); both must "
        r"be \(13, width\)",
    ),
    "no width": (lambda: Own(clock_logits, torch.zeros(P)), r"tables of shape \(13,\)"),
    "two widths": (
        lambda: Own(clock_logits, None, torch.zeros(P, 5)),
        r"\(13, 4\) and \(13, 5\); .* of one width",
    ),
}
WRONG_LOGITS: dict[str, tuple[Callable[[], Any], str]] = {
    "too narrow": (lambda: Own(torch.mul), r"gives the shape \(169, 4\); it must give \(169, 13\)"),
    "three axes": (
        lambda: Own(lambda a, b: clock_logits(a, b)[:, None]),
        r"gives the shape \(169, 1, 13\)",
    ),
    "no tensor": (lambda: Own(lambda a, b: (clock_logits(a, b),)), "gives no tensor but tuple"),
    "integers": (
        lambda: Own(lambda a, b: clock_logits(a, b).long()),
        "gives torch.int64; logits must be floats",
    ),
}
NOT_FINITE: dict[str, tuple[Callable[[], Any], str]] = {
    "NaN": (
        lambda: Own(lambda a, b: clock_logits(a, b) * math.nan),
        "of 169 pairs, 169 hold a NaN; its weights are finite",
    ),
    "some infinite": (
        lambda: Own(lambda a, b: clock_logits(a, b).index_fill(0, torch.tensor([0, 9]), -math.inf)),
        "of 169 pairs, 2 hold an infinity; its weights are finite, the largest is 1",
    ),
    "huge": (
        lambda: Own(lambda a, b: 1e160 * clock_logits(a, b)),
        r"largest number of its logits is 2e\+160, so large",
    ),
    "tiny": (
        lambda: Own(lambda a, b: 1e-160 * clock_logits(a, b)),
        "largest number of its logits is 2e-160, so small",
    ),
    "tiny embedding": (
        lambda: Own(lambda a, b: clock_logits(a * 1e160, b * 1e160), 1e-160 * LABELS),
        "largest number of its embedding is 1e-160, so small",
    ),
}


@pytest.mark.parametrize("scale", [1e-119, 1e-60, 1e60, 1e119])
def test_the_size_of_logits_does_not_matter_to_a_verdict(scale: float) -> None:
    expected, scaled = (
        analyze(Own(clock_logits)),
        analyze(Own(lambda a, b: scale * clock_logits(a, b))),
    )
    assert scaled.sentence == expected.sentence
    assert scaled.additivity == pytest.approx(expected.additivity)
    assert scaled.program.explained == pytest.approx(expected.program.explained)


@pytest.mark.parametrize("name", [*WRONG, *WRONG_LOGITS, *NOT_FINITE])
def test_what_cannot_be_analyzed_is_refused_in_a_line_and_does_not_lose_the_rest(name: str) -> None:
    make, message = {**WRONG, **WRONG_LOGITS, **NOT_FINITE}[name]
    with pytest.raises(InputError, match=message) as refused:
        analyze(make())
    assert "\n" not in str(refused.value)
    good = handmade_clock(7, (1,))
    before, wrong, after = analyze_many([good, make(), good])
    assert isinstance(before, Analysis)
    assert isinstance(after, Analysis)
    assert isinstance(wrong, InputError)


@pytest.mark.parametrize("name", [*WRONG, *WRONG_LOGITS])
def test_every_look_at_a_network_refuses_what_is_none(name: str) -> None:
    make, message = {**WRONG, **WRONG_LOGITS}[name]
    looks: list[Callable[[Any], object]] = [
        grid_logits,
        lambda network: isolate_components(network, []),
    ]
    if name in WRONG:
        looks += [
            network_components,
            anatomy,
            gradient_symmetricity,
            lambda network: isolate_frequencies(network, [1]),
        ]
    for look in looks:
        with pytest.raises(InputError, match=message):
            look(make())


def test_an_embedding_that_is_no_parameter_is_checked_too() -> None:
    class Buffered(Own):
        buffer: Tensor

        def operand_tables(self) -> tuple[Tensor, Tensor]:
            return self.buffer, self.buffer

    network = Buffered(clock_logits)
    network.register_buffer("buffer", NAN)
    with pytest.raises(
        InputError, match="network own: its embedding holds 52 values that are NaN or infinite"
    ):
        analyze(network)


def test_a_parameter_may_be_a_single_number() -> None:
    network = Own(clock_logits)
    network.temperature = nn.Parameter(torch.tensor(1.0))
    assert analyze(network).verdict.label == "Clock"


def test_more_outputs_than_labels_are_wrong_answers() -> None:
    wide = Own(lambda a, b: torch.cat([clock_logits(a, b), torch.full((len(a), 1), 9.0)], dim=1))
    assert analyze(wide).accuracy == 0


def test_arguments_that_are_no_list_or_no_thresholds_are_refused() -> None:
    for given in ("networks", Path("networks"), handmade_clock(7, (1,))):
        with pytest.raises(InputError, match="give a list of networks"):
            analyze_many(given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"thresholds is 0\.5; it must be Thresholds"):
        analyze(handmade_clock(7, (1,)), 0.5)  # type: ignore[arg-type]
