import pytest
import torch

from algophase.analysis.logits.all_pairs import right_answers
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import labels
from algophase.training.engines._loss import Loss, loss_and_slope
from algophase.training.run.plan import plan

TRANSFORMER, LINEAR = TransformerSettings(width=8), LinearSettings("alpha", 6, 6)


def test_an_answer_is_strictly_the_largest_logit() -> None:
    nan, inf = torch.nan, torch.inf
    rows = torch.tensor(
        [
            [2, 1, 0],
            [1, 1, 0],
            [0, 1, 2],
            [0, 0, 0],
            [1, nan, 0],
            [nan, 1, 0],
            [nan] * 3,
            [inf, 1, 0],
            [inf, inf, 0],
        ]
    )
    losses, right = Loss().and_right(rows, torch.tensor(0))
    assert right.tolist() == [True, False, False, False, False, False, False, True, False]
    torch.testing.assert_close(
        losses, loss_and_slope(rows, torch.tensor(0))[0], rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("margin", [-150.0, -8.0, 0.0, 8.0, 17.0, 40.0])
def test_loss_and_slope_keep_their_digits_in_float32(margin: float) -> None:
    """Against log1p(s), s = sum over c != y of exp(l_c - l_y), in float64: losses from 150 down
    to 1e-17.
    """
    logits = 3 * torch.randn(200, 59, generator=torch.Generator().manual_seed(0))
    label = torch.arange(200)[:, None] % 59
    logits.scatter_add_(1, label, torch.full((200, 1), margin))
    exact = logits.double()
    wrong = torch.exp(exact - exact.gather(1, label)).scatter(1, label, 0.0)
    s = wrong.sum(1, keepdim=True)
    loss, slope = loss_and_slope(logits, label[:, 0])
    torch.testing.assert_close(loss.double(), torch.log1p(s)[:, 0], rtol=1e-5, atol=0)
    torch.testing.assert_close(
        slope.double(), (wrong / (1 + s)).scatter(1, label, -s / (1 + s)), rtol=1e-5, atol=0
    )


def stablemax(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """-log of the label's share, as Prieto et al. 2025 define it."""
    values = torch.where(logits >= 0, logits + 1, 1 / (1 - logits))
    shares = values / values.sum(-1, keepdim=True)
    return -shares.gather(-1, label).log()[..., 0]


@pytest.mark.parametrize("margin", [-8.0, 0.0, 8.0, 40.0])
@pytest.mark.parametrize("name", ["cross-entropy", "torch-cross-entropy", "stablemax"])
def test_every_loss_is_its_definition_with_its_derivative(name: str, margin: float) -> None:
    logits = 3 * torch.randn(50, 7, generator=torch.Generator().manual_seed(0))
    label = torch.arange(50)[:, None] % 7
    logits.scatter_add_(1, label, torch.full((50, 1), margin))
    exact = logits.double().requires_grad_()
    if name == "stablemax":
        expected = stablemax(exact, label)
    else:
        expected = torch.nn.functional.cross_entropy(exact, label[:, 0], reduction="none")
    (derivative,) = torch.autograd.grad(expected.sum(), exact)
    loss, slope = Loss(name, in_float64=True).and_slope(logits, label[:, 0])
    assert loss.dtype == slope.dtype == torch.float32
    torch.testing.assert_close(loss.double(), expected.detach(), rtol=1e-5, atol=1e-15)
    torch.testing.assert_close(slope.double(), derivative, rtol=1e-5, atol=1e-15)
    if name != "torch-cross-entropy":  # they keep their digits in float32 too
        loss, slope = Loss(name).and_slope(logits, label[:, 0])
        torch.testing.assert_close(loss.double(), expected.detach(), rtol=1e-5, atol=1e-15)
        torch.testing.assert_close(slope.double(), derivative, rtol=1e-5, atol=1e-15)


def test_the_loss_of_pytorch_stops_at_a_large_margin() -> None:
    logits = torch.tensor([[40.0, 0.0, 0.0]])
    rounded, ours = (
        Loss(name).and_slope(logits, torch.tensor([0]))
        for name in ("torch-cross-entropy", "cross-entropy")
    )
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0]), reduction="none")
    assert rounded[0].item() == expected.item() == 0
    assert rounded[1][0, 0].item() == 0
    assert ours[1][0, 0].item() < 0


def test_training_and_analysis_agree_on_what_is_right() -> None:
    logits = torch.randint(
        0, 4, (7, 7, 7), generator=torch.Generator().manual_seed(0)
    ).float()  # many ties
    right = right_answers(logits)
    assert 0 < right.double().mean() < 1
    assert torch.equal(Loss().and_right(logits, labels(7))[1], right)


@pytest.mark.parametrize("value", [0.0, torch.nan])
@pytest.mark.parametrize(
    ("engine", "network"),
    [
        ("plain", TRANSFORMER),
        ("stacked", TRANSFORMER),
        ("grid", TRANSFORMER),
        ("stacked", LINEAR),
        ("grid", LINEAR),
    ],
)
def test_a_network_that_says_nothing_is_never_right(
    engine: str, network: NetworkSettings, value: float
) -> None:
    (group,) = plan([RunSettings(TaskSettings(modulus=7), network)], engine, "cpu")
    trained = group.engine_class(list(group.runs), group.device, group.precision)
    trained.parameters.flat.fill_(value)
    assert not trained.all_pairs()[1].any()
