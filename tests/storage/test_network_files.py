import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algophase.core.errors import InputError
from algophase.core.settings import (
    LINEAR_MODELS,
    ClockSettings,
    LinearSettings,
    NetworkSettings,
    RunSettings,
    TaskSettings,
    TransformerSettings,
)
from algophase.networks import Clock, initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import find_networks, load, save
from algophase.storage._tensors import read_safetensors
from algophase.storage.runs_table import read_runs

network_settings: st.SearchStrategy[NetworkSettings] = st.one_of(
    st.builds(
        TransformerSettings,
        width=st.integers(4, 20),
        layers=st.integers(1, 3),
        activation=st.sampled_from(["relu", "gelu"]),
        attention_rate=st.floats(0, 1),
    ),
    st.builds(
        LinearSettings,
        model=st.sampled_from(LINEAR_MODELS),
        width=st.integers(1, 8).map(lambda n: 2 * n),
        hidden=st.integers(1, 9),
    ),
)
tasks = st.builds(TaskSettings, modulus=st.integers(2, 9))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(tasks, network_settings, st.integers(0, 1000), st.booleans())
def test_round_trip(
    tmp_path: Path, task: TaskSettings, network: NetworkSettings, seed: int, double: bool
) -> None:
    run = RunSettings(task=task, network=network, seed=seed)
    original = initialize(run)
    if double:
        original = original.double()
    again = load(save(original, tmp_path / "network", overwrite=True))
    assert (again.id, again.run, again.task, again.settings) == (run.run_id, run, task, network)
    for name, value in original.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
        assert value.dtype == again.state_dict()[name].dtype


def test_handmade_networks_round_trip(tmp_path: Path) -> None:
    for network in (handmade_clock(13, (1, 3)), handmade_pizza(12, (1,), accompanied=True)):
        again = load(save(network, tmp_path / network.id))
        assert (again.id, again.settings, again.run) == (network.id, network.settings, None)
        assert torch.equal(again.operand_tables()[0], network.operand_tables()[0])


def test_names_with_dots_and_new_directories(tmp_path: Path) -> None:
    path = save(handmade_clock(5, (1,)), tmp_path / "new" / "rate-0.37")
    assert path == tmp_path / "new" / "rate-0.37.safetensors"
    assert load(path).id == "clock-p5-k1"


def test_nothing_is_overwritten_unasked_and_no_partial_file_is_left(tmp_path: Path) -> None:
    path = save(handmade_clock(5, (1,)), tmp_path / "a")
    with pytest.raises(InputError, match="exists already"):
        save(handmade_clock(5, (2,)), tmp_path / "a")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.json", "a.safetensors"]
    assert load(path).id == "clock-p5-k1"


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(handmade_clock(5, (1,)), tmp_path / "a")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*a\.safetensors: No space left on device"):
        save(handmade_clock(5, (2,)), path, overwrite=True)
    monkeypatch.undo()
    assert load(path).id == "clock-p5-k1"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.json", "a.safetensors"]


def test_nan_weights_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
    network = handmade_clock(5, (1,))
    with torch.no_grad():
        network.embed.weight[0, 0] = float("nan")
    with pytest.raises(InputError, match=r"embed\.weight .*1 values.*NaN"):
        save(network, tmp_path / "a")


def clock_with(change: Callable[[Clock], object]) -> Clock:
    network = handmade_clock(5, (1,))
    change(network)
    return network


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            clock_with(lambda one: one.register_buffer("scale", torch.ones(1))),
            "tensor scale does not belong to this kind",
        ),
        (clock_with(lambda one: delattr(one.embed, "weight")), r"tensor embed\.weight is missing"),
        (
            clock_with(lambda one: setattr(one, "settings", ClockSettings((1, 2)))),
            r"has shape \(5, 2\); .* for \(5, 4\)",
        ),
        (
            clock_with(lambda one: one.half()),
            r"tensor embed\.weight is torch\.float16; it must be float32 or float64",
        ),
        (clock_with(lambda one: setattr(one, "run", RunSettings())), "its run has another task"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(
    tmp_path: Path, network: Clock, message: str
) -> None:
    network.id = "mine"
    for parameter in network.parameters():
        parameter.data.fill_(1.0)
    with pytest.raises(InputError, match=f"network mine cannot be saved: .*{message}"):
        save(network, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(handmade_pizza(5, (1,)), tmp_path / "pizza")


def edit(path: Path, **changes: object) -> None:
    description = path.with_suffix(".json")
    data = json.loads(description.read_text())
    data.update(changes)
    description.write_text(json.dumps(data))


def test_missing_pieces(saved: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.safetensors does not exist"):
        load(saved.with_name("nowhere.safetensors"))
    with pytest.raises(InputError, match=r"pizza\.safetensors holds one network; state 'x' is not"):
        load(saved, state="x")
    saved.with_suffix(".json").unlink()
    with pytest.raises(InputError, match=r"pizza\.json is missing"):
        load(saved)


def test_tensors_come_in_the_order_of_their_names(saved: Path) -> None:
    """A message that lists them is the same in each process."""
    tensors, _ = read_safetensors(saved)
    assert list(tensors) == sorted(tensors)
    assert len(tensors) > 1


@pytest.mark.parametrize("keep", [0, 4, 100, -8])
def test_truncated_tensors(saved: Path, keep: int) -> None:
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(InputError, match="truncated or corrupt"):
        load(saved)


def test_a_flipped_bit_is_noticed(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[-1] ^= 1
    saved.write_bytes(content)
    with pytest.raises(InputError, match="does not match the checksum"):
        load(saved)


def test_tensors_are_checked_against_the_settings(saved: Path) -> None:
    description = json.loads(saved.with_suffix(".json").read_text())
    network = description["network"]
    edit(saved, network={**network, "hidden": 7})
    with pytest.raises(InputError, match=r"l1\.weight .*\(20, 2\).*\(7, 2\)"):
        load(saved)
    edit(saved, network={**network, "model": "beta"})
    with pytest.raises(InputError, match=r"l2\.bias, l2\.weight"):
        load(saved)
    edit(saved, network={"kind": "clock", "frequencies": [1]})
    with pytest.raises(InputError, match=r"l1\.bias, l1\.weight, unembed\.weight"):
        load(saved)
    edit(saved, network={**network, "hidden": 10**6})  # a lie about size costs no memory
    with pytest.raises(InputError, match="its settings call for"):
        load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format is 'other'; this program reads 'algophase-network'"),
        ({"version": 99}, "version is 99; this program reads version 1"),
        ({"id": 3}, "id is 3; it must be text"),
        ({"network": {"kind": "rnn"}}, "choose one of transformer, linear, clock"),
        (
            {"network": {"kind": "transformer", "attention_rate": 2}},
            r"attention_rate is 2; it must be a number in \[0, 1\]",
        ),
        ({"network": None}, "it must be a JSON object"),
        ({"task": {"modulus": "59"}}, "modulus is '59'"),
        ({"task": []}, "it must be a JSON object"),
        ({"task": {"modulus": 10**400}}, "modulus is 1000"),
        (
            {"network": {"kind": "transformer", "width": 2**40}},
            "width is 1099511627776; it must be an integer from 4 to",
        ),
        ({"network": {"kind": "transformer", "width": 10**30}}, "width is 1000"),
        (
            {"network": {"kind": "transformer", "layers": 20_000}},
            "layers is 20000, but the file holds 0 blocks",
        ),
        ({"run": "abc"}, "RunSettings is 'abc'; it must be a JSON object"),
        ({"run": {"task": None}}, "TaskSettings is None; it must be a JSON object"),
        ({"run": {"training": {"learning_rate": 10**400}}}, "learning_rate is 1000"),
        (
            {"task": {"modulus": 5}, "run": {"task": {"modulus": 5}}},
            "its run has another network than it says it is",
        ),
        (
            {"run": {"network": {"kind": "linear", "model": "alpha"}}},
            "its run has another task than it says it solves",
        ),
    ],
)
def test_bad_descriptions_are_named(saved: Path, changes: dict[str, object], message: str) -> None:
    edit(saved, **changes)
    with pytest.raises(InputError, match=message):
        load(saved)


@pytest.mark.parametrize(
    "error", [RuntimeError("too large\nat 0x7f"), TypeError("too large"), MemoryError()], ids=repr
)
def test_settings_that_torch_cannot_build_are_one_line(
    saved: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("algophase.storage._tensors.template", fail)
    with pytest.raises(
        InputError, match=r"no network of its settings can be built: (too large|MemoryError)$"
    ):
        load(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1]", b"[" * 100_000, b"1" * 5000])
def test_broken_descriptions(saved: Path, content: bytes) -> None:
    saved.with_suffix(".json").write_bytes(content)
    with pytest.raises(InputError, match=r"pizza\.json"):
        load(saved)


def test_ids_from_files_are_safe_names(saved: Path) -> None:
    edit(saved, id="../../etc/\x1b[31mpasswd<script>")
    with pytest.raises(
        InputError,
        match=r"checksum.*description_sha256",
    ):
        load(saved)
    edit(saved, description_sha256="")
    assert load(saved).id == "_.._etc__31mpasswd_script_".replace("__31m", "___31m")


def test_directories(saved: Path) -> None:
    assert load(saved.parent).id == "pizza-p5-k1"
    other = save(handmade_clock(5, (1,)), saved.with_name("clock"))
    assert find_networks(saved.parent) == [other, saved]
    with pytest.raises(InputError, match="2 networks"):
        load(saved.parent)
    empty = saved.parent / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"no network.*\.safetensors, \.pt, \.pth"):
        load(empty)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.npz").write_bytes(b"x")
    with pytest.raises(InputError, match=r"'\.npz'.*\.safetensors, \.pt, \.pth"):
        load(tmp_path / "weights.npz")


def test_what_is_no_path_or_no_network_is_named(tmp_path: Path) -> None:
    for read in (load, read_runs):
        with pytest.raises(InputError, match="the path is None"):
            read(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the path is 3"):
        save(handmade_clock(7, (1,)), 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'net' is not a network"):
        save("net", tmp_path / "net")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
