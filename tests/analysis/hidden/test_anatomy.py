import math
from pathlib import Path

import pytest
import torch

from algophase.analysis.analyze import analyze
from algophase.analysis.circles.find import find_circles
from algophase.analysis.circles.principal import principal_components
from algophase.analysis.hidden.anatomy import anatomy, without_second_relu
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.core.fourier import circle
from algophase.core.settings import LinearSettings, RunSettings, TaskSettings
from algophase.networks import Linear, build, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load

GALLERY = Path(__file__).resolve().parents[3] / "gallery"


def tidy_pizza(
    model: str, p: int = 13, frequencies: tuple[int, ...] = (2, 3), units: int = 24
) -> Linear:
    """A linear Pizza as appendix L finds it: each pizza has units of its own at evenly spread
    angles, read out by cos 2t.

    relu(r cos(t - v)) summed with weights cos(2v + phi) over the angles v is proportional to cos(2t
    + phi).
    """
    settings = LinearSettings(
        model=model, width=2 * len(frequencies), hidden=units * len(frequencies)
    )
    network = build(TaskSettings(modulus=p), settings).double()
    assert isinstance(network, Linear)
    angles = torch.arange(units).double() * (2 * math.pi / units)
    reader = torch.stack([angles.cos(), angles.sin()], dim=1)
    writer = torch.stack([(2 * angles).cos(), (2 * angles).sin()])  # (2, units)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        sizes = [1.0 - 0.1 * i for i in range(len(frequencies))]
        network.embed.weight.copy_(
            torch.cat([s * circle(p, k) for s, k in zip(sizes, frequencies, strict=True)], dim=1)
        )
        network.l1.weight.copy_(torch.block_diag(*[reader] * len(frequencies)))
        network.l1.bias.fill_(0.0)
        answer = torch.cat(
            [s * circle(p, k) @ writer for s, k in zip(sizes, frequencies, strict=True)], dim=1
        )
        if model == "alpha":
            network.unembed.weight.copy_(answer)
        else:  # the second layer passes everything on, lifted so that its ReLU never acts
            network.l2.weight.copy_(torch.eye(settings.hidden))
            network.l2.bias.fill_(5.0)
            network.unembed.weight.copy_(answer)
    return network


@pytest.mark.parametrize("model", ["alpha", "beta", "gamma"])
def test_a_tidy_pizza_is_read_as_built(model: str) -> None:
    opened = anatomy(tidy_pizza(model))
    assert [pizza.frequency for pizza in opened.pizzas] == [2, 3]
    assert opened.unmatched == ()
    assert opened.exclusive_share == 1
    assert opened.same_pizza_share == 1
    for pizza in opened.pizzas:
        assert len(pizza.rows) == 24
        for readout in pizza.readouts:
            assert readout.variance_explained > 0.99
            assert readout.amplitude > 0
            fit = readout.amplitude * torch.cos(2 * readout.angles + readout.phase)
            assert (fit - readout.values).abs().max() < 0.1 * readout.amplitude


def test_accompanying_circles_are_no_pizzas_though_the_unembedding_has_their_frequency() -> None:
    opened = anatomy(
        handmade_pizza(60, (1, 7), accompanied=True)
    )  # its unembedding has every frequency
    assert [pizza.frequency for pizza in opened.pizzas] == [1, 7]
    assert opened.unmatched == (2, 14)
    assert min(readout.amplitude for pizza in opened.pizzas for readout in pizza.readouts) > 0.5


def linear_beta() -> Linear:
    network = load(GALLERY / "linear-beta" / "networks" / "69fc2f5c6a20.safetensors")
    assert isinstance(network, Linear)
    return network


def answer_frequencies(network: Linear) -> list[int]:
    return [
        found.frequency for found in find_circles(principal_components((network.unembed.weight,)))
    ]


def test_a_trained_pizza_opens_into_its_pizzas() -> None:
    """Circle 14 is a Pizza, and the double of 7, which is a Pizza itself."""
    network = linear_beta()
    assert answer_frequencies(network) == [14, 27, 12, 10, 7]
    for opened in (anatomy(network), analyze(network).anatomy):
        assert opened is not None
        assert [pizza.frequency for pizza in opened.pizzas] == [14, 27, 12, 10, 7]
        assert opened.unmatched == (28, 5, 24, 20)
        assert opened.exclusive_share == pytest.approx(0.943, abs=0.001)
        assert opened.same_pizza_share == 1
        assert min(pizza.readouts[0].amplitude for pizza in opened.pizzas) > 4


def test_a_trace_of_an_accompanying_circle_in_the_unembedding_leaves_the_domino_pattern() -> None:
    """Circle 5 accompanies 27. With its wave in the unembedding half as large again, 0.75% of the
    variance is enough for a
    circle there. It is read by the units of 27: the exclusive share would be 0.765 if it counted.
    """
    network = linear_beta()
    waves = circle(59, 5).to(network.unembed.weight.dtype) * (2 / 59) ** 0.5  # orthonormal
    with torch.no_grad():
        network.unembed.weight.add_(0.5 * waves @ (waves.T @ network.unembed.weight))
    assert answer_frequencies(network) == [14, 27, 12, 10, 7, 5]
    for opened in (anatomy(network), analyze(network).anatomy):
        assert opened is not None
        assert [pizza.frequency for pizza in opened.pizzas] == [14, 27, 12, 10, 7]
        assert opened.unmatched == (28, 5, 24, 20)
        assert opened.exclusive_share == pytest.approx(0.943, abs=0.001)


def test_a_mean_that_the_bias_cancels_can_be_put_back() -> None:
    network = tidy_pizza("alpha")
    with torch.no_grad():
        network.embed.weight.add_(1.0)
        network.l1.bias.sub_(2 * network.l1.weight.sum(dim=1))
    assert anatomy(network).pizzas[0].readouts[0].variance_explained < 0.9
    assert anatomy(network, with_mean=True).pizzas[0].readouts[0].variance_explained > 0.99


def test_an_idle_second_relu_changes_nothing() -> None:
    network = tidy_pizza("beta")
    torch.testing.assert_close(without_second_relu(network), grid_logits(network))
    relu = anatomy(network).second_relu
    assert relu is not None
    assert relu.accuracy == relu.accuracy_without
    assert relu.cross_entropy == pytest.approx(relu.cross_entropy_without)
    assert anatomy(tidy_pizza("alpha")).second_relu is None


def test_removing_a_working_relu_shows() -> None:
    network = tidy_pizza("beta")
    with torch.no_grad():
        network.l2.bias.fill_(-0.5)
    relu = anatomy(network).second_relu
    assert relu is not None
    assert abs(relu.cross_entropy - relu.cross_entropy_without) > 1e-6


@pytest.mark.parametrize("model", ["alpha", "beta", "gamma", "alpha-prime"])
def test_untrained_networks_open_without_pizzas(model: str) -> None:
    network = initialize(RunSettings(network=LinearSettings(model=model))).double()
    opened = anatomy(network)
    assert opened.pizzas == ()
    assert math.isnan(opened.exclusive_share)
    assert opened.aligned_w1.shape[0] == 256


def test_other_networks_have_no_such_anatomy() -> None:
    with pytest.raises(
        InputError,
        match=r"model delta\b.*alpha, alpha-prime, beta, gamma",
    ):
        anatomy(initialize(RunSettings(network=LinearSettings(model="delta"))))
    with pytest.raises(InputError, match="a clock has no"):
        anatomy(handmade_clock())


def test_units_that_read_no_pizza_do_not_count_as_writing_to_the_right_one() -> None:
    tidy = tidy_pizza("alpha")
    units = tidy.settings.hidden
    idle = build(tidy.task, LinearSettings("alpha", width=4, hidden=2 * units + 200)).double()
    assert isinstance(idle, Linear)
    with torch.no_grad():
        for parameter in idle.parameters():
            parameter.zero_()
        idle.embed.weight.copy_(tidy.embed.weight)
        idle.l1.weight[:units] = tidy.l1.weight
        idle.unembed.weight[:, :units] = tidy.unembed.weight
        idle.l1.weight[units : 2 * units] = 0.2 * tidy.l1.weight
        idle.unembed.weight[:, units : 2 * units] = 0.2 * tidy.unembed.weight.roll(
            24, 1
        )  # each writes to the other pizza
    assert anatomy(idle).same_pizza_share == 0.5


def test_a_circle_that_nobody_reads_is_no_pizza() -> None:
    network = tidy_pizza("alpha")
    with torch.no_grad():
        network.l1.weight[:, 2:] = 0
    opened = anatomy(network)
    assert [pizza.frequency for pizza in opened.pizzas] == [2]
    assert opened.unmatched == (3,)


def test_analyze_opens_a_network_with_the_resolution_its_weights_have() -> None:
    plain = tidy_pizza("alpha")
    turned = build(plain.task, LinearSettings("alpha", width=16, hidden=plain.settings.hidden))
    assert isinstance(turned, Linear)
    basis = torch.linalg.qr(
        torch.randn(16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ).Q[:4]
    with torch.no_grad():
        turned.embed.weight.copy_(plain.embed.weight @ basis)
        turned.l1.weight.copy_(plain.l1.weight @ basis)
        turned.l1.bias.zero_()
        turned.unembed.weight.copy_(plain.unembed.weight)
    opened = analyze(turned).anatomy
    assert opened is not None
    assert opened.aligned_w1.shape == anatomy(turned).aligned_w1.shape == (plain.settings.hidden, 4)
