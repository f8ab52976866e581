"""Files of other groups' layouts, made up with random weights: each is found by its tensors and is
the function it was.

The groups' own files, where they are at hand, give the answers that are known of them.
"""

import math
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor

from algophase.analysis.analyze import analyze
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.core.errors import InputError
from algophase.core.settings import LensSettings, NetworkSettings, TransformerSettings
from algophase.networks import MLP, Network, Transformer
from algophase.networks.handmade import handmade_clock
from algophase.storage import id_of, load, save
from algophase.storage.formats import find
from algophase.storage.formats.contents import Contents, Format, NetworkFile, Reading

P, D, H = 7, 8, 2
A, B = torch.arange(P).repeat_interleave(P), torch.arange(P).repeat(P)


def drawn(*shape: int) -> Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(math.prod(shape) + len(shape))
    )


def lens_tensors(
    outputs: int = P, hidden: int = 4 * D, layers: int = 1, biases: bool = False, norm: bool = False
) -> dict[str, Tensor]:
    def bias(*shape: int) -> Tensor:
        return drawn(*shape) if biases else torch.zeros(*shape)

    tensors = {
        "embed.W_E": drawn(P + 1, D),
        "pos_embed.W_pos": drawn(3, D),
        "unembed.W_U": drawn(D, outputs),
    }
    tensors |= {"unembed.b_U": bias(outputs), "x_embed": drawn(P + 1, D)}
    for layer in range(layers):
        attn, mlp = f"blocks.{layer}.attn", f"blocks.{layer}.mlp"
        tensors |= {
            f"{attn}.W_{name}": (1 + place) * drawn(H, D, D // H)
            for place, name in enumerate("QKV")
        }
        tensors |= {f"{attn}.b_{name}": bias(H, D // H) for name in "QKV"}
        tensors |= {f"{attn}.W_O": drawn(H, D // H, D), f"{attn}.b_O": bias(D)}
        tensors |= {
            f"{attn}.mask": torch.ones(3, 3).tril().bool(),
            f"{attn}.IGNORE": torch.tensor(1e5),
        }
        if hidden:
            tensors |= {f"{mlp}.W_in": drawn(D, hidden), f"{mlp}.b_in": drawn(hidden)}
            tensors |= {f"{mlp}.W_out": drawn(hidden, D), f"{mlp}.b_out": drawn(D)}
        if norm:
            for name in ("ln1", "ln2") if hidden else ("ln1",):
                tensors |= {
                    f"blocks.{layer}.{name}.w": drawn(D),
                    f"blocks.{layer}.{name}.b": drawn(D),
                }
    return tensors | ({"ln_final.w": drawn(D), "ln_final.b": drawn(D)} if norm else {})


def lens_logits(t: dict[str, Tensor]) -> Tensor:
    """A plain transformer with a causal mask, all positions, in float64."""
    t = {name: value.double() for name, value in t.items() if value.is_floating_point()}
    x = t["embed.W_E"][torch.stack([A, B, torch.full_like(A, P)], dim=1)] + t["pos_embed.W_pos"]

    def normed(name: str, x: Tensor) -> Tensor:
        return F.layer_norm(x, (D,), t[f"{name}.w"], t[f"{name}.b"]) if f"{name}.w" in t else x

    for layer in range(sum(name.endswith("attn.W_Q") for name in t)):
        b = f"blocks.{layer}"
        read = normed(f"{b}.ln1", x)
        q, k, v = (
            torch.einsum("nsd,hde->nhse", read, t[f"{b}.attn.W_{n}"])
            + t[f"{b}.attn.b_{n}"][:, None]
            for n in "QKV"
        )
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + torch.einsum("nhse,hed->nsd", z, t[f"{b}.attn.W_O"]) + t[f"{b}.attn.b_O"]
        if f"{b}.mlp.W_in" in t:
            pre = normed(f"{b}.ln2", x) @ t[f"{b}.mlp.W_in"] + t[f"{b}.mlp.b_in"]
            x = x + pre.relu() @ t[f"{b}.mlp.W_out"] + t[f"{b}.mlp.b_out"]
    return normed("ln_final", x)[:, -1] @ t["unembed.W_U"] + t["unembed.b_U"]


def check_logits(network: Network, expected: Tensor) -> None:
    torch.testing.assert_close(
        grid_logits(network.double()).flatten(0, 1), expected.double(), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, TransformerSettings),
        ({"outputs": P + 1}, TransformerSettings),
        ({"biases": True}, LensSettings),
        ({"hidden": 12}, LensSettings),
        ({"hidden": 0, "norm": True}, LensSettings),
        ({"layers": 2, "biases": True, "norm": True}, LensSettings),
    ],
)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_transformer_lens_state_dicts(
    tmp_path: Path, changes: dict[str, Any], kind: type[NetworkSettings], suffix: str
) -> None:
    tensors, path = lens_tensors(**changes), tmp_path / f"grokked{suffix}"
    if suffix == ".pt":
        torch.save(
            {
                "model_state_dict": {f"module.{name}": value for name, value in tensors.items()},
                "epoch": 3,
            },
            path,
        )
    else:
        safetensors.torch.save_file(tensors, path)
    network = load(path)
    assert type(network.settings) is kind
    assert network.id == "grokked"
    assert "format transformer-lens" in network.notes[0]
    check_logits(network, lens_logits(tensors))


def test_the_transposed_transformer(tmp_path: Path) -> None:
    tensors = lens_tensors(P + 1)
    theirs = {
        name: value for name, value in tensors.items() if ".b_" not in name or ".mlp." in name
    }
    for name, value in theirs.items():
        leaf = name.rsplit(".", 1)[-1]
        if leaf in ("W_E", "W_in", "W_out", "W_Q", "W_K", "W_V"):
            theirs[name] = value.transpose(-1, -2)
        elif leaf == "W_O":
            theirs[name] = value.flatten(0, 1).T
    theirs = {
        name: value
        for name, value in theirs.items()
        if name not in ("unembed.b_U", "x_embed") and "IGNORE" not in name
    }
    torch.save(
        {"model": theirs, "config": {"fn_name": "add", "p": P}, "train_loss": 0.1},
        tmp_path / "final.pth",
    )
    network = load(tmp_path / "final.pth")
    assert "format progress-measures" in network.notes[0]
    assert isinstance(network, Transformer)
    assert network.id == tmp_path.name  # all files of this kind are called final.pth
    check_logits(network, lens_logits(tensors))
    torch.save({"model": theirs, "config": {"fn_name": "subtract"}}, tmp_path / "minus.pth")
    assert load(tmp_path / "minus.pth").task.operation == "subtract"
    torch.save({"model": theirs, "config": {"fn_name": "x2xyy2"}}, tmp_path / "other.pth")
    with pytest.raises(InputError, match="trained on 'x2xyy2'"):
        load(tmp_path / "other.pth")


def test_concatenated_and_bilinear(tmp_path: Path) -> None:
    tensors = {
        "W_x": drawn(P, D),
        "W_y": 2 * drawn(P, D),
        "W": drawn(2 * D, 12),
        "W_U": drawn(12, P),
    }
    torch.save(tensors, tmp_path / "mlp.pt")
    x, y = tensors["W_x"][A].double(), tensors["W_y"][B].double()
    network = load(tmp_path / "mlp.pt")
    assert any(
        "the two embeddings are concatenated" in caution for caution in analyze(network).cautions
    )
    check_logits(
        network, (torch.cat([x, y], dim=1) @ tensors["W"].double()).relu() @ tensors["W_U"].double()
    )
    tensors = {"W_x": drawn(P, D), "W_y": 2 * drawn(P, D), "W_U": drawn(D, P)}
    torch.save(tensors, tmp_path / "bilinear.pt")
    check_logits(load(tmp_path / "bilinear.pt"), (x * y) @ tensors["W_U"].double())


def test_the_last_of_a_list_of_states(tmp_path: Path) -> None:
    tables = {name: torch.randn(5, 4) for name in ("W_x", "W_y")}
    states = [{**tables, "W_U": torch.full((4, 5), float(step))} for step in range(3)]
    path = tmp_path / "run.pth"
    torch.save({"state_dicts": states, "epochs": [0, 100, 200]}, path)
    network = load(path)
    assert "state state_dicts[2], the last of 3; --state gives another" in network.notes
    assert network.state_dict()["W_U"].unique().tolist() == [2.0]
    assert load(path, state="state_dicts[1]").state_dict()["W_U"].unique().tolist() == [1.0]
    with pytest.raises(InputError, match=r"no state 'state_dicts\[3\]'; it holds state_dicts\[0\]"):
        load(path, state="state_dicts[3]")


def test_square_tables_without_an_answer_are_a_caution(tmp_path: Path) -> None:
    torch.save(
        {"W_x": drawn(P, P), "W_y": 2 * drawn(P, P), "W_U": drawn(P, P)}, tmp_path / "bilinear.pt"
    )
    doubt = "nothing tells rows from columns in the square W_x, W_y, W_U"
    assert doubt in analyze(load(tmp_path / "bilinear.pt")).cautions


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "square": torch.square,
    "gelu": F.gelu,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("learned", [False, True])
def test_one_hot_and_its_activation(tmp_path: Path, activation: str, learned: bool) -> None:
    table = {"embed.W_E": drawn(D, P)} if learned else {}
    tensors = {"mlp.W_in": drawn(12, D if learned else P), "mlp.W_out": drawn(P, 12), **table}
    into = (
        tensors["mlp.W_in"].double() @ table["embed.W_E"].double()
        if learned
        else tensors["mlp.W_in"].double()
    )
    logits = ACTIVATIONS[activation](into.T[A] + into.T[B]) @ tensors["mlp.W_out"].double().T
    loss = F.cross_entropy(logits, (A + B) % P).item()
    # GELU is near ReLU: their scripts write which one it is into the name
    path = tmp_path / (f"{activation}.pth" if activation in ("relu", "gelu") else "net.pth")
    torch.save(
        {"model": {**tensors, "mlp.basis": torch.eye(P)}, "test_loss": loss, "train_loss": loss},
        path,
    )
    network = load(path)
    assert f"activation {activation}" in network.notes[1]
    check_logits(network, logits)
    assert network.cut == ("embedding" if learned else "first layer")
    other = load(path, activation="none")
    check_logits(other, (into.T[A] + into.T[B]) @ tensors["mlp.W_out"].double().T)
    with pytest.raises(
        InputError, match="activation is 'tanh'; choose one of relu, gelu, square, none"
    ):
        load(path, activation="tanh")


def test_a_foreign_network_is_saved_and_comes_back(tmp_path: Path) -> None:
    torch.save(
        {"W_x": drawn(P, D), "W_y": drawn(P, D), "W": drawn(2 * D, 12), "W_U": drawn(12, P)},
        tmp_path / "mlp.pt",
    )
    torch.save(lens_tensors(biases=True, norm=True), tmp_path / "lens.pt")
    for name in ("mlp", "lens"):
        network = load(tmp_path / f"{name}.pt")
        again = load(save(network, tmp_path / f"{name}-again"))
        assert again.settings == network.settings
        assert again.notes == network.notes
        torch.testing.assert_close(grid_logits(again), grid_logits(network))


@pytest.mark.parametrize("content", ['{"format": "pt"}', '{"d_model": 8}', "[]", "no JSON", ""])
def test_another_programs_json_beside_safetensors_is_ignored(tmp_path: Path, content: str) -> None:
    tensors = {"W_x": drawn(P, D), "W_y": drawn(P, D), "W_U": drawn(D, P)}
    safetensors.torch.save_file(tensors, tmp_path / "mlp.safetensors")
    (tmp_path / "mlp.json").write_text(content)
    assert "format concatenated-mlp" in load(tmp_path / "mlp.safetensors").notes[0]


@pytest.mark.parametrize("name", ["b", "b_U", "W2", "W_x2"])
def test_a_concatenated_mlp_with_a_tensor_that_is_not_known(tmp_path: Path, name: str) -> None:
    tensors = {
        "W_x": drawn(P, D),
        "W_y": drawn(P, D),
        "W": drawn(2 * D, 12),
        "W_U": drawn(12, P),
        name: drawn(12),
    }
    torch.save(tensors, tmp_path / "mlp.pt")
    with pytest.raises(InputError, match=rf"format concatenated-mlp .*tensor {name} \(12,\)"):
        load(tmp_path / "mlp.pt")


def test_published_networks_are_read_and_nothing_is_made_up(foreign: Path) -> None:
    for path in sorted((foreign / "groups").glob("*.pt")):
        assert load(path).task.training_fraction is None
    for path in sorted((foreign / "reproduction").glob("*.pt")):
        network = load(path)
        assert (network.task.training_fraction, network.notes) == (0.8, ())


def test_what_nobody_recognizes_is_listed(tmp_path: Path) -> None:
    torch.save({"conv.weight": drawn(3, 3)}, tmp_path / "image.pt")
    with pytest.raises(
        InputError,
        match=r"no format fits.* It has conv.weight \(3, 3\).* transformer-lens: embed.W_E",
    ):
        load(tmp_path / "image.pt")
    with pytest.raises(InputError, match="not of format one-hot-mlp"):
        load(tmp_path / "image.pt", format="one-hot-mlp")
    with pytest.raises(InputError, match="format is 'onnx'; choose one of algophase, "):
        load(tmp_path / "image.pt", format="onnx")
    assert id_of(NetworkFile(tmp_path / "image.pt")) == "image"


def _read_diagonal(contents: Contents, reading: Reading) -> Network:
    return handmade_clock(len(contents.tensors["diagonal"]))


THEIRS = Format(
    "diagonal",
    "a diagonal",
    "diagonal (p,)",
    lambda contents: "diagonal" in contents.tensors,
    _read_diagonal,
)


def test_other_packages_add_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({"diagonal": drawn(11)}, tmp_path / "theirs.pt")
    entry = EntryPoint("diagonal", f"{__name__}:THEIRS", find.GROUP)
    monkeypatch.setattr(find, "entry_points", lambda group: [entry] if group == find.GROUP else [])
    find.formats.cache_clear()
    try:
        assert load(tmp_path / "theirs.pt").notes[0] == "taken for a diagonal: format diagonal"
        monkeypatch.setattr(
            find, "entry_points", lambda group: [EntryPoint("broken", "nowhere:AT_ALL", group)]
        )
        find.formats.cache_clear()
        with pytest.raises(InputError, match="format broken of nowhere:AT_ALL cannot be loaded"):
            load(tmp_path / "theirs.pt")
    finally:
        find.formats.cache_clear()


@pytest.mark.parametrize(
    ("name", "kind", "numbers"),
    [
        (
            "onehot_mlp_p23.pth",
            MLP,
            {"accuracy": 1, "gradient_symmetricity": 1, "circularity": math.nan},
        ),
        pytest.param(
            "group_transformer_c113.pt",
            Transformer,
            {
                "accuracy": 1,
                "cross_entropy": 1.58516e-07,
                "distance_irrelevance": 0.82607,
                "gradient_symmetricity": 0.29241,
                "gradient_symmetricity_exact": 0.31683,
                "circularity": 0.97009,
            },
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "group_mlp_c113.pt",
            MLP,
            {
                "accuracy": 1,
                "cross_entropy": 2.05262e-05,
                "distance_irrelevance": 0.99247,
                "gradient_symmetricity": 0.00609,
                "gradient_symmetricity_exact": -0.00096,
                "circularity": math.nan,
            },
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "progress_measures_p113.pth",
            Transformer,
            {
                "accuracy": 1,
                "cross_entropy": 3.51974e-07,
                "distance_irrelevance": 0.74360,
                "gradient_symmetricity": 0.71018,
                "gradient_symmetricity_exact": 0.70358,
                "circularity": 0.95969,
            },
            marks=pytest.mark.slow,
        ),
    ],
)
def test_known_answers(
    foreign: Path, name: str, kind: type[Network], numbers: dict[str, float]
) -> None:
    network = load(foreign / name)
    assert type(network) is kind
    found = analyze(network).metrics
    for metric, value in numbers.items():
        assert (
            found[metric] == pytest.approx(value, rel=1e-5, abs=5e-6, nan_ok=True)
            if value
            else found[metric] == value
        )


def test_the_one_hot_network_is_its_formula(foreign: Path) -> None:
    weights = torch.load(foreign / "onehot_mlp_p23.pth", weights_only=True, map_location="cpu")[
        "model"
    ]
    into, out = (weights[name].double() for name in ("mlp.W_in", "mlp.W_out"))
    numbers = torch.eye(23, dtype=torch.float64)
    expected = ((numbers[:, None] + numbers[None]) @ into.T).relu() @ out.T
    torch.testing.assert_close(grid_logits(load(foreign / "onehot_mlp_p23.pth").double()), expected)
