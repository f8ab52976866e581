"""The authors' format, on files we write in it: every kind of network comes back as the function
it was.
"""

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from released_files import MODEL_TYPES, their_config, their_tensors
from torch import Tensor

from algophase.core.errors import InputError
from algophase.core.settings import (
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import Network, initialize
from algophase.storage import load
from algophase.storage.formats.without_config import RateMissing


def write(directory: Path, tensors: Any, config: dict[str, Any] | None) -> Path:
    path = directory / "model_abc123.pt"
    torch.save(tensors, path)
    if config is not None:
        (directory / "config_abc123.json").write_text(json.dumps(config))
    return path


CASES: list[tuple[TaskSettings, NetworkSettings]] = [
    (TaskSettings(modulus=7), TransformerSettings(width=18, layers=3, attention_rate=0.25)),
    (TaskSettings(modulus=7), TransformerSettings(width=35, activation="gelu", attention_rate=1)),
    (
        TaskSettings(modulus=6, separate_vocabularies=True),
        TransformerSettings(width=16, attention_rate=0),
    ),
    (TaskSettings(modulus=7, equals_sign=True), TransformerSettings(width=16)),
    (
        TaskSettings(modulus=7, separate_vocabularies=True, equals_sign=True),
        TransformerSettings(width=17, layers=2),
    ),
    *[
        (TaskSettings(modulus=7), LinearSettings(model=model, width=8, hidden=6))
        for model in MODEL_TYPES
    ],
]


@pytest.mark.parametrize(("task", "settings"), CASES)
def test_every_kind_comes_back_the_same(
    tmp_path: Path, task: TaskSettings, settings: NetworkSettings
) -> None:
    network = initialize(RunSettings(task=task, network=settings))
    again = load(write(tmp_path, their_tensors(network), their_config(network)))
    assert (again.id, again.task, again.settings) == ("abc123", task, settings)
    torch.testing.assert_close(again.run_with_cache()[0], network.run_with_cache()[0])


@pytest.mark.parametrize(
    "names",
    [
        ("n_layers", "n_heads", "d_model"),
        ("diff_vocab", "eqn_sign"),
        ("C",),
        ("act_fn", "frac", "func", "name", "lr"),
    ],
)
@pytest.mark.parametrize(("task", "settings"), [CASES[0], CASES[2], CASES[4]])
def test_what_a_config_does_not_say_the_tensors_do(
    tmp_path: Path, task: TaskSettings, settings: NetworkSettings, names: tuple[str, ...]
) -> None:
    network = initialize(RunSettings(task=task, network=settings))
    config = their_config(network)
    fewer = {name: None if name == "func" else config[name] for name in config.keys() - set(names)}
    again = load(write(tmp_path, their_tensors(network), fewer))
    assert again.settings == settings
    torch.testing.assert_close(again.run_with_cache()[0], network.run_with_cache()[0])


def test_a_config_without_the_rate_costs_the_rate_alone(tmp_path: Path) -> None:
    task, settings = CASES[0]
    network = initialize(RunSettings(task=task, network=settings))
    config = {**their_config(network), "attn_coeff": None}
    path = write(tmp_path, their_tensors(network), config)
    with pytest.raises(RateMissing, match=r"config_abc123\.json does not say the attention rate"):
        load(path)
    again = load(path, attention_rate=0.25)
    assert (again.task, again.settings) == (task, settings)


def example(
    task: TaskSettings = TaskSettings(modulus=5),
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    network = initialize(RunSettings(task=task, network=TransformerSettings(width=8)))
    return their_tensors(network), their_config(network)


def test_missing_config(tmp_path: Path) -> None:
    tensors, _ = example()
    with pytest.raises(InputError, match=r"config_abc123\.json is missing"):
        load(write(tmp_path, tensors, None))


def test_what_the_user_says_must_be_what_the_config_says(tmp_path: Path) -> None:
    path = write(tmp_path, *example())
    assert load(path, activation="relu", attention_rate=1, modulus=5).id == "abc123"
    for said in ({"activation": "gelu"}, {"attention_rate": 0.5}, {"modulus": 6}):
        with pytest.raises(InputError, match=r"model_abc123\.pt: its .* is .* --"):
            load(path, **said)


def test_any_other_name_takes_the_json_beside_it(tmp_path: Path) -> None:
    tensors, config = example()
    torch.save(tensors, tmp_path / "mine.pt")
    (tmp_path / "mine.json").write_text(json.dumps({**config, "runid": None}))
    assert load(tmp_path / "mine.pt").id == "mine"


def test_the_share_of_pairs_is_the_configs_or_unknown(tmp_path: Path) -> None:
    tensors, config = example()
    assert load(write(tmp_path, tensors, {**config, "frac": 0.3})).task.training_fraction == 0.3
    del config["frac"]
    assert load(write(tmp_path, tensors, config)).task.training_fraction is None


@pytest.mark.parametrize(
    "content", ['{"lr": 0.001, "group": "S5"}', '{"C": 5}', "[1, 2]", "no JSON", ""]
)
def test_another_programs_json_beside_a_file_is_ignored(tmp_path: Path, content: str) -> None:
    torch.save(
        {"W_x": torch.ones(5, 4), "W_y": torch.ones(5, 4), "W_U": torch.ones(4, 5)},
        tmp_path / "mlp.pt",
    )
    (tmp_path / "mlp.json").write_text(content)
    network = load(tmp_path / "mlp.pt")
    assert "format concatenated-mlp" in network.notes[0]
    assert network.task.training_fraction is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attn_coeff": 1.5},
            r"config_abc123\.json: attention_rate is 1.5; it must be a number in \[0, 1\]",
        ),
        ({"attn_coeff": None}, "does not say the attention rate, attn_coeff"),
        (
            {"model_type": "Z"},
            r"model_type is 'Z'; choose one of A \(alpha\), B \(beta\), C \(gamma\), D "
            r"\(delta\), X \(alpha-prime\)",
        ),
        ({"act_fn": "Swish"}, "act_fn is 'Swish'; choose one of ReLU, GeLU"),
        ({"diff_vocab": 2}, "diff_vocab is 2"),
        ({"C": 1}, "modulus is 1"),
        ({"n_layers": 0}, "layers is 0"),
        ({"d_model": "128"}, "width is '128'"),
        ({"d_model": 1e400}, "width is inf"),
        ({"C": 10**400}, "modulus is 1000"),
        ({"n_layers": 20_000}, "layers is 20000, but the file holds 1 block"),
        ({"model_type": ["A"]}, r"model_type is \['A'\]; choose one of A"),
        ({"act_fn": ["ReLU"]}, r"act_fn is \['ReLU'\]; choose one of ReLU"),
    ],
)
def test_bad_configs_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    tensors, config = example()
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, tensors, {**config, **changes}))


def change(name: str, value: Tensor | None) -> Callable[[dict[str, Tensor]], None]:
    def apply(tensors: dict[str, Tensor]) -> None:
        if value is None:
            del tensors[name]
        else:
            tensors[name] = value

    return apply


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            change("embed.W_E", torch.zeros(8, 6)),
            r"tensor embed\.W_E has shape \(6, 8\); its settings call for \(5, 8\)",
        ),
        (change("embed.W_E", torch.zeros(8)), r"tensor embed\.W_E has shape \(8,\)"),
        (
            change("blocks.0.attn.W_O", torch.zeros(8, 9)),
            r"tensor blocks\.0\.attn\.W_O has shape \(8, 9\); .* \(8, 8\)",
        ),
        (
            change("blocks.0.attn.W_Q", torch.zeros(4, 8)),
            r"tensor blocks\.0\.attn\.W_Q has shape \(4, 8\)",
        ),
        (change("unembed.W_U", None), r"tensor unembed\.W_U is missing"),
        (change("surprise", torch.zeros(1)), r"tensor surprise does not belong"),
        (
            change("embed.W_E", torch.zeros(8, 5, dtype=torch.int64)),
            r"tensor embed\.W_E is torch\.int64",
        ),
        (
            change("embed.W_E", torch.zeros(8, 5, device="meta")),
            r"\.pt: tensor embed\.W_E is on device meta: .* no numbers",
        ),
        (
            change("embed.W_E", torch.zeros(8, 5).to_sparse()),
            r"\.pt: tensor embed\.W_E is sparse_coo; it must be .* dense",
        ),
        (
            change("blocks.0.attn.W_O", torch.zeros(8, 8).to_sparse()),
            r"tensor blocks\.0\.attn\.W_O is sparse_coo",
        ),
        (
            change("embed.W_E", torch.full((8, 5), float("nan"))),
            r"parameter embed\.W_E holds 40 values that are NaN",
        ),
    ],
)
def test_bad_tensors_are_named(
    tmp_path: Path, edit: Callable[[dict[str, Tensor]], None], message: str
) -> None:
    tensors, config = example()
    edit(tensors)
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, tensors, config))


class Payload:
    """Unpickled by an unwary program, this creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.marker),))


@pytest.mark.parametrize("raw", [False, True])
def test_a_pickle_with_a_payload_is_refused_and_nothing_runs(tmp_path: Path, raw: bool) -> None:
    tensors, config = example()
    marker = tmp_path / "was-run"
    crafted = {**tensors, "payload": Payload(marker)}
    path = write(tmp_path, tensors, config)
    if raw:
        path.write_bytes(pickle.dumps(crafted))
    else:
        torch.save(crafted, path)
    with pytest.raises(InputError, match="refused, nothing in it was run"):
        load(path)
    assert not marker.exists()


@pytest.mark.parametrize("keep", [0, 3, 200, -40])
def test_truncated_files(tmp_path: Path, keep: int) -> None:
    tensors, config = example()
    path = write(tmp_path, tensors, config)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"not a readable \.pt file"):
        load(path)


@pytest.mark.parametrize("content", [[1, 2], {"a": 1}, {1: torch.zeros(1)}, torch.zeros(3)])
def test_files_that_hold_something_else(tmp_path: Path, content: Any) -> None:
    _, config = example()
    with pytest.raises(InputError, match="does not hold a state dict"):
        load(write(tmp_path, content, config))


@pytest.mark.parametrize(
    "tensor", [torch.zeros(7, 8, device="meta"), torch.zeros(7, 8).to_sparse()]
)
def test_tensors_without_numbers_in_a_linear_network(tmp_path: Path, tensor: Tensor) -> None:
    network = initialize(
        RunSettings(
            task=TaskSettings(modulus=7), network=LinearSettings(model="alpha", width=8, hidden=6)
        )
    )
    tensors = their_tensors(network)
    name = next(iter(tensors))
    assert tensors[name].shape == tensor.shape
    with pytest.raises(InputError, match=r"tensor .* (is on device meta|is sparse_coo)"):
        load(write(tmp_path, {**tensors, name: tensor}, their_config(network)))


def test_tensors_that_torch_cannot_copy_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError(
            "Error(s) in loading state_dict:\n\tWhile copying the parameter: no data!"
        )

    monkeypatch.setattr(Network, "load_state_dict", refuse)
    with pytest.raises(
        InputError,
        match=r"model_abc123\.pt: .*no data!$",
    ):
        load(write(tmp_path, *example()))
