"""One-hot MLPs in the layout of He et al., trained here: read as a plain NumPy evaluation has
them, or refused.
"""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.storage import load
from algophase.storage.formats.one_hot_activation import ActivationMissing

P, HIDDEN = 13, 96
ACTIVATIONS = {"relu": torch.relu, "square": torch.square, "gelu": F.gelu}
Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Trained:
    """content: the file of He et al., whose losses are those before the last step."""

    content: dict[str, Any]
    training: Pairs
    held_out: Pairs


def trained(activation: str, fraction: float, steps: int) -> Trained:
    torch.manual_seed(0)
    pairs = [(a, b) for a in range(P) for b in range(P)]
    random.Random(0).shuffle(pairs)
    cut = int(fraction * len(pairs))
    training, held_out = (pairs, pairs) if fraction == 1 else (pairs[:cut], pairs[cut:])
    into = (0.1 * torch.randn(HIDDEN, P)).requires_grad_()
    out = (0.1 * torch.randn(P, HIDDEN)).requires_grad_()
    optimizer = torch.optim.AdamW([into, out], lr=1e-2, weight_decay=0.5)

    def loss_of(numbers: Tensor) -> Tensor:
        hidden = ACTIVATIONS[activation](into.T[numbers[:, 0]] + into.T[numbers[:, 1]])
        return F.cross_entropy(hidden @ out.T, numbers.sum(1) % P)

    for _ in range(steps):
        loss, held_out_loss = (
            loss_of(torch.tensor(training)),
            loss_of(torch.tensor(held_out)).item(),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model = {"mlp.W_in": into.detach(), "mlp.W_out": out.detach(), "mlp.basis": torch.eye(P)}
    return Trained(
        {"model": model, "train_loss": loss.item(), "test_loss": held_out_loss, "epoch": steps},
        training,
        held_out,
    )


@pytest.fixture(scope="module", params=["relu", "square", "gelu"])
def activation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def whole(activation: str) -> Trained:
    """Trained on all pairs, and not to the end: the loss is still one that float32 resolves."""
    return trained(activation, 1, 150)


@pytest.fixture(scope="module")
def part(activation: str) -> Trained:
    """Trained on three quarters of the pairs, and memorized."""
    return trained(activation, 0.75, 400)


def written(path: Path, content: dict[str, Any]) -> Path:
    torch.save(content, path / "net.pth")
    return path / "net.pth"


def plain_logits(content: dict[str, Any], activation: str) -> np.ndarray[Any, Any]:
    """(p, p, p) by NumPy alone."""
    into, out = (content["model"][name].double().numpy() for name in ("mlp.W_in", "mlp.W_out"))
    numbers = np.eye(P)
    hidden = (numbers[:, None] + numbers[None]) @ into.T
    acts = {
        "relu": np.maximum(hidden, 0),
        "square": hidden**2,
        "gelu": F.gelu(torch.from_numpy(hidden)).numpy(),
    }
    return np.asarray(acts[activation] @ out.T)


def check_is(path: Path, content: dict[str, Any], activation: str) -> None:
    network = load(path)
    assert network.settings.to_dict()["activation"] == activation
    np.testing.assert_allclose(
        grid_logits(network.double()).numpy(),
        plain_logits(content, activation),
        rtol=1e-9,
        atol=1e-9,
    )


def check_is_or_asks(path: Path, content: dict[str, Any], activation: str) -> None:
    """GELU can be near ReLU: then the file is refused, and never read as another network."""
    try:
        load(path)
    except InputError:
        with pytest.raises(InputError, match="give --activation"):
            load(path)
    else:
        check_is(path, content, activation)


@pytest.mark.parametrize("off", [1, 1.08, 0.92, 1.3, 1 / 1.3])
def test_a_loss_that_is_off_by_a_step_of_training_still_names_the_activation(
    tmp_path: Path, whole: Trained, activation: str, off: float
) -> None:
    content = {
        **whole.content,
        "train_loss": off * whole.content["train_loss"],
        "test_loss": off * whole.content["test_loss"],
    }
    check_is_or_asks(written(tmp_path, content), content, activation)


def test_the_lowest_loss_is_not_the_nearest(tmp_path: Path) -> None:
    """The case of the two published files: a square answers a network of ReLU with a loss that
    is lower by orders.
    """
    relu = trained("relu", 1, 150)
    content = {
        **relu.content,
        "train_loss": 1.3 * relu.content["train_loss"],
        "test_loss": 1.3 * relu.content["test_loss"],
    }
    check_is(written(tmp_path, content), content, "relu")


def test_the_split_in_a_file_is_used(tmp_path: Path, part: Trained, activation: str) -> None:
    content = {
        **part.content,
        "train_data": part.training,
        "test_data": torch.tensor(part.held_out),
    }
    check_is(written(tmp_path, content), content, activation)
    with pytest.raises(InputError, match=r"13; numbers go up to 12"):
        load(written(tmp_path, {**content, "train_data": [(0, P)]}))


def test_a_training_fraction_gives_the_loss_over_all_pairs(
    tmp_path: Path, part: Trained, activation: str
) -> None:
    content = {**part.content, "config": {"data": {"p": P, "frac_train": 0.75}}}
    path = written(tmp_path, content)
    check_is_or_asks(path, content, activation)
    assert load(path, activation=activation).task.training_fraction == 0.75


def test_the_split_may_lie_beside_the_file(tmp_path: Path) -> None:
    relu = trained("relu", 0.75, 400)
    path = written(tmp_path, relu.content)
    torch.save(relu.training, tmp_path / "train_data.pth")
    torch.save(torch.tensor(relu.held_out), tmp_path / "test_data.pth")
    check_is(path, relu.content, "relu")
    assert any("for its own split" in note for note in load(path).notes)
    torch.save([(0, P)], tmp_path / "train_data.pth")  # another network's
    check_is_or_asks(path, relu.content, "relu")


@pytest.mark.parametrize("at_the_end", [False, True])
def test_losses_that_tell_nothing_leave_it_to_the_path(tmp_path: Path, at_the_end: bool) -> None:
    """At the start every activation has the same loss; at the end float32 resolves none."""
    relu = trained("relu", 1, 150 if at_the_end else 1).content
    content = relu
    if at_the_end:  # with larger logits
        model = {**relu["model"], "mlp.W_out": 100 * relu["model"]["mlp.W_out"]}
        content = {**relu, "model": model, "train_loss": 3e-8, "test_loss": 3e-8}
    with pytest.raises(ActivationMissing, match="agree with the loss") as missing:
        load(written(tmp_path, content))
    assert {"relu", "square"} <= set(missing.value.candidates)
    folder = tmp_path / "p_13_dmlp_96_ReLU_random_scale_0.1_decay_0_08151413"
    folder.mkdir()
    path = written(folder, content)
    check_is(path, content, "relu")
    assert any(note.startswith("activation relu, by its path") for note in load(path).notes)


def test_losses_come_before_the_path(tmp_path: Path) -> None:
    relu = trained("relu", 1, 150)
    folder = tmp_path / "Quad"
    folder.mkdir()
    path = written(folder, relu.content)
    check_is(path, relu.content, "relu")
    assert any("contradicts square in its path" in note for note in load(path).notes)


def test_without_a_split_the_answer_is_right_or_asked_for(
    tmp_path: Path, part: Trained, activation: str
) -> None:
    path = written(tmp_path, part.content)
    check_is_or_asks(path, part.content, activation)


@pytest.mark.parametrize("kept", [(), ("test_loss",), ("train_loss",)])
def test_without_losses_that_can_be_compared_it_is_asked_for(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    relu = trained("relu", 0.75, 400)
    content = {"model": relu.content["model"], **{name: relu.content[name] for name in kept}}
    path = written(tmp_path, content)
    with pytest.raises(
        InputError,
        match=r"net\.pth: .*--activation.*relu .* right",
    ):
        load(path)
    assert "activation relu, as given" in load(path, activation="relu").notes


def test_a_loss_that_no_activation_has_is_refused(tmp_path: Path, whole: Trained) -> None:
    content = {**whole.content, "train_loss": 50.0, "test_loss": 50.0}
    with pytest.raises(
        InputError,
        match="50 for all pairs; give --activation",
    ):
        load(written(tmp_path, content))


@pytest.mark.parametrize(
    "loss", [torch.zeros(3), torch.zeros(0), torch.tensor(1j), "low", [], None, float("nan"), -1.0]
)
def test_what_is_no_loss_counts_as_none(tmp_path: Path, loss: object) -> None:
    relu = trained("relu", 1, 150)
    with pytest.raises(InputError, match=r"records no loss .*--activation"):
        load(written(tmp_path, {**relu.content, "train_loss": loss, "test_loss": loss}))


def test_a_config_inside_the_file_is_read(tmp_path: Path) -> None:
    square = trained("square", 1, 150).content
    path = written(
        tmp_path,
        {"model": square["model"], "config": {"act_type": "Quad", "p": P, "d_mlp": HIDDEN}},
    )
    check_is(path, square, "square")
    with pytest.raises(InputError, match=r"act_type 'Quad', .* activation relu"):
        load(path, activation="relu")
    for config, message in [
        ({"p": 14}, "its config says p 14, which contradicts modulus 13"),
        ({"d_mlp": 12}, "its config says d_mlp 12, which contradicts hidden 96"),
        ({"use_ln": True}, "its config says use_ln True, which contradicts layer norm False"),
        ({"act_type": "Tanh"}, "its config says act_type 'Tanh'; it must be one of relu, "),
        ({"fn_name": "x2xyy2"}, "it was trained on 'x2xyy2', which is not equivalent to addition"),
        ({"fn_name": "subtract"}, "its config says subtract, but it adds a and b"),
        ({"p": P, "C": 59}, "its config contradicts itself: p is 13, C is 59"),
    ]:
        with pytest.raises(InputError, match=message):
            load(written(tmp_path, {**square, "config": config}))


@pytest.mark.parametrize("name", ["mlp.b_in", "mlp.b_out", "mlp2.W_in", "ln.w"])
def test_a_tensor_that_the_format_does_not_know_is_named(tmp_path: Path, name: str) -> None:
    content = trained("relu", 1, 150).content
    extra = {**content, "model": {**content["model"], name: torch.ones(3)}}
    with pytest.raises(
        InputError,
        match=rf"net\.pth: format one-hot-mlp .*tensor {name} \(3,\)",
    ):
        load(written(tmp_path, extra))


@pytest.mark.parametrize("turned", [(), ("mlp.W_in",), ("mlp.W_out",), ("mlp.W_in", "mlp.W_out")])
def test_square_matrices_are_turned_where_the_answers_say_so(
    tmp_path: Path, turned: tuple[str, ...]
) -> None:
    """With as many hidden units as numbers, no shape tells rows from columns.

    Unit j reads cos(3 w a + w j) + cos(3 w b + w j), with w = 2 pi / p, and writes its square times
    cos(3 w c + 2 w j). Over all units this is cos(3 w (a + b - c)) (1 + cos(3 w (a - b))).
    """
    unit, number = torch.arange(P)[:, None], torch.arange(P)
    angle = 2 * torch.pi / P
    into, out = torch.cos(angle * (3 * number + unit)), torch.cos(angle * (3 * number + 2 * unit)).T
    model = {"mlp.W_in": into, "mlp.W_out": out}
    content = {
        "model": {name: value.T if name in turned else value for name, value in model.items()}
    }
    network = load(written(tmp_path, content), activation="square")
    np.testing.assert_allclose(
        grid_logits(network.double()).numpy(), plain_logits({"model": model}, "square"), atol=1e-5
    )
    assert sum("is square and was turned over" in note for note in network.notes) == len(turned)


def test_nothing_is_tried_on_a_huge_modulus(tmp_path: Path) -> None:
    model = {"mlp.W_in": torch.ones(8, 3000), "mlp.W_out": torch.ones(3000, 8)}
    with pytest.raises(InputError, match="give --activation"):
        load(written(tmp_path, {"model": model, "train_loss": 1.0, "test_loss": 1.0}))
    assert load(tmp_path / "net.pth", activation="relu").task.modulus == 3000


def test_its_hidden_units_are_counted_and_its_split_is_unknown(tmp_path: Path) -> None:
    network = load(written(tmp_path, trained("relu", 1, 150).content))
    assert f"hidden {HIDDEN}" in repr(network)
    assert network.task.training_fraction is None
