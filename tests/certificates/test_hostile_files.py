"""Files that say less, more, or something else than a certificate claims of them."""

import contextlib
import copy
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from hostile_certificates import signed
from test_certify import checker, drawn

from algophase.certificates.certify import certify
from algophase.core.settings import (
    LinearSettings,
    MLPSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.core.task import all_pairs, answers, tokens
from algophase.networks import Network
from algophase.networks.handmade import handmade_pizza
from algophase.storage import save

__all__ = ["checker"]  # a fixture
P = 7


@pytest.fixture
def network() -> Network:
    return drawn(TaskSettings(P), TransformerSettings(8, heads=2, attention_rate=0.5))


def state_of(network: Network) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def entries_of(network: Network) -> dict[str, Any]:
    """Its certificate without a program and a compact proof, so that settings can be edited."""
    entries: dict[str, Any] = json.loads(certify(network).text)
    nothing = dict.fromkeys(("program", "compact", "largest_difference", "share_explained"))
    return entries | nothing


def counted(network: Network, order: int, entries: dict[str, Any]) -> dict[str, Any]:
    """The same for the first numbers alone, under addition modulo that many: its counts are
    true.
    """
    pairs = torch.cartesian_prod(torch.arange(order), torch.arange(order))
    logits = copy.deepcopy(network).double()(pairs).detach()
    right = int((logits.argmax(dim=-1) == pairs.sum(dim=-1) % order).sum())
    counts = {"pairs": order**2, "proved_right": right, "proved_wrong": order**2 - right}
    group = {"order": order, "table": None, "elements": None}
    return entries | counts | {"undecided": 0, "group": group}


def verdict(checker: ModuleType, file: Path, entries: dict[str, Any]) -> int:
    certificate = file.with_name("certificate.json")
    certificate.write_text(signed(entries))
    result: int = checker.main(file, certificate)
    return result


def test_a_file_of_others_is_proved_on_the_certificates_word(
    network: Network, checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "network.pt"
    torch.save({**state_of(network), "blocks.0.attn.mask": torch.ones(2, 2).tril()}, file)
    assert verdict(checker, file, entries_of(network)) == 0
    assert "on its word: the settings, the group" in capsys.readouterr().out


ADDED: dict[str, dict[str, Any]] = {
    "a second layer": {"blocks.1.mlp.W_in": torch.ones(8, 32)},
    "a layer norm": {"ln_final.w": torch.ones(8)},
    "a bias": {"unembed.b_U": torch.ones(P)},
    "a bias of NaN": {"unembed.b_U": torch.full((P,), torch.nan)},
    "a mask that hides": {"blocks.0.attn.mask": torch.eye(2)},
    "another number": {"embed.W_E": torch.ones(P + 1, 8)},
    "a position more": {"pos_embed.W_pos": torch.ones(3, 8)},
    "complex numbers": {"blocks.0.mlp.b_in": torch.ones(32, dtype=torch.complex64)},
    "whole numbers": {"blocks.0.mlp.b_in": torch.ones(32, dtype=torch.int64)},
    "no tensor": {"blocks.0.mlp.b_in": [1.0] * 32},
}


@pytest.mark.parametrize("name", ADDED)
def test_a_file_with_more_than_its_settings_say_is_not_proved(
    name: str, network: Network, checker: ModuleType, tmp_path: Path
) -> None:
    """Whoever makes the certificate writes the digest of the tensors that the file has."""
    file = tmp_path / "network.pt"
    torch.save({**state_of(network), **ADDED[name]}, file)
    entries = entries_of(network)
    with contextlib.suppress(ValueError, AttributeError):  # of files that cannot be read
        entries["network"]["weights_sha256"] = checker.weights_digest(checker.read_tensors(file))
    assert verdict(checker, file, entries) == 1


@pytest.mark.parametrize("order", [1, 2, 5])
def test_fewer_numbers_than_the_network_has_are_not_all_pairs(
    order: int, network: Network, checker: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "network.pt"
    torch.save(state_of(network), file)
    entries = entries_of(network)
    assert verdict(checker, file, counted(network, P, entries)) == 0
    assert verdict(checker, file, counted(network, order, entries)) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 4},
        {"heads": 4},
        {"heads": 2.0},
        {"kind": "mlp"},
        {"kind": "mixer"},
        {"layers": 2},
        {"layer_norm": True},
        {"attention_rate": True},
        {"attention_rate": "0.5"},
        {"attention_rate": 1.5},
        {"attention_rate": -1e-300},
        {"attention_rate": None},
        {"activation": "tanh"},
        {"activation": ["relu"]},
    ],
)
def test_settings_that_a_file_of_others_cannot_have(
    settings: dict[str, Any], network: Network, checker: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "network.pt"
    torch.save(state_of(network), file)
    entries = entries_of(network)
    entries["network"]["settings"] |= settings
    assert verdict(checker, file, entries) == 1


@pytest.mark.parametrize("model", ["beta", "gamma", "alpha-prime", "delta", "omega"])
def test_another_linear_model_is_not_proved(
    model: str, checker: ModuleType, tmp_path: Path
) -> None:
    network = drawn(TaskSettings(P), LinearSettings("alpha", 4, 6))
    file = tmp_path / "network.pt"
    torch.save(state_of(network), file)
    entries = entries_of(network)
    assert verdict(checker, file, entries) == 0
    entries["network"]["settings"]["model"] = model
    assert verdict(checker, file, entries) == 1


def test_two_tensors_of_one_name_are_not_proved(checker: ModuleType, tmp_path: Path) -> None:
    network = drawn(TaskSettings(P), MLPSettings(4, 9, "concatenate", own_tables=True))
    state, file = state_of(network), tmp_path / "network.pt"
    theirs = {"first": "W_x", "second": "W_y"}
    torch.save({theirs.get(name, name): tensor for name, tensor in state.items()}, file)
    assert verdict(checker, file, entries_of(network)) == 0
    torch.save({"W_x": torch.zeros(P, 4), "W_y": state["second"], **state}, file)
    assert verdict(checker, file, entries_of(network)) == 1


class Opens:
    """Writes a file when a pickle with it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_no_code_of_a_file_runs(network: Network, checker: ModuleType, tmp_path: Path) -> None:
    file, touched = tmp_path / "network.pt", tmp_path / "touched"
    torch.save({**state_of(network), "more": Opens(touched)}, file)
    assert verdict(checker, file, entries_of(network)) == 1
    assert not touched.exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04.", b"{}", b"\xff" * 100])
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_file_that_is_no_network_is_not_proved(
    suffix: str, content: bytes, network: Network, checker: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / f"network{suffix}"
    file.write_bytes(content)
    assert verdict(checker, file, entries_of(network)) == 1


def test_a_description_must_fit(network: Network, checker: ModuleType, tmp_path: Path) -> None:
    file = save(network, tmp_path / "network")
    entries, description = entries_of(network), file.with_suffix(".json")
    text = description.read_text()
    assert verdict(checker, file, entries) == 0
    for changed in (
        text.replace('"attention_rate": 0.5', '"attention_rate": 0.25'),
        text.replace('"modulus": 7', '"modulus": 8'),
        text.replace('"modulus": 7', '"modulus": 7, "operation": "subtract"'),
        text.replace('"modulus": 7', '"modulus": 7, "group": "Z7"'),
        text.replace('"tensors_sha256": "', '"tensors_sha256": "0'),
        "{}",
        "[]",
        "",
    ):
        assert changed != text
        description.write_text(changed)
        assert verdict(checker, file, entries) == 1, changed
    description.unlink()
    assert verdict(checker, file, entries) == 1


@pytest.mark.parametrize(
    "task",
    [
        TaskSettings(P, operation="subtract"),
        TaskSettings(6, operation="multiply"),
        TaskSettings(3, relabeling=((0, 2, 1), (1, 0, 2))),
        TaskSettings(3, relabeling=((0, 2, 1), (1, 0, 2), (2, 1, 0))),
        TaskSettings(group="S3"),
    ],
)
def test_the_answers_must_be_those_of_the_description(
    task: TaskSettings, checker: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a certificate of addition counts what is true of addition."""
    network = drawn(task, TransformerSettings(8, heads=2, attention_rate=0.5))
    file = save(network, tmp_path / "network")
    entries = entries_of(network)
    assert verdict(checker, file, entries) == 0
    on_its_word = "; on its word: the group's table" if task.group else "wrong\n"
    assert capsys.readouterr().out.endswith(f"{on_its_word.strip()}\n")
    as_addition = counted(network, task.modulus, entries)
    assert verdict(checker, file, as_addition) == 1
    as_addition["group"]["elements"] = [list(range(task.modulus))] * 3
    assert verdict(checker, file, as_addition) == 1


@pytest.mark.parametrize("precision", [torch.float16, torch.float64])
def test_other_precisions_are_proved(
    precision: torch.dtype, checker: ModuleType, tmp_path: Path
) -> None:
    network = handmade_pizza(P, (1, 2)).to(precision)
    file = tmp_path / "network.pt"
    torch.save(state_of(network), file)
    assert verdict(checker, file, json.loads(certify(network).text)) == 0


def test_all_pairs_are_counted_right(network: Network) -> None:
    """The helper of this file, against the truth."""
    entries = counted(network, P, {})
    logits = copy.deepcopy(network).double()(tokens(network.task, all_pairs(P)))
    right = logits.argmax(dim=-1) == answers(network.task).ravel()
    assert entries["proved_right"] == int(right.sum())
