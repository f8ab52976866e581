import json
from pathlib import Path

import pytest
import torch
from commands import call, invoke
from typer.testing import Result

from algophase.cli.output import CommandBar
from algophase.core.progress import Progress
from algophase.core.settings import RunSettings
from algophase.storage import load
from algophase.training.run import loop

SMALL = ("--modulus", 7, "--width", 8, "--device", "cpu")


def run(*arguments: object) -> Result:
    return invoke("train", *arguments)


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_help_has_an_example() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "Example:" in result.output


def test_a_few_networks_are_trained_saved_and_shown_in_full(tmp_path: Path) -> None:
    result = run(
        *SMALL,
        "--attention-rate",
        0,
        "--attention-rate",
        1,
        "--epochs",
        12,
        "--snapshot",
        4,
        "--out",
        tmp_path,
    )
    assert result.exit_code == 0, result.output
    histories = sorted(tmp_path.glob("*.history.json"))
    ids = [history.name.split(".")[0] for history in histories]
    assert len(ids) == 2
    endings = [
        "dynamics.json",
        "epoch4.json",
        "epoch4.safetensors",
        "history.json",
        "json",
        "safetensors",
    ]
    assert names(tmp_path) == sorted(f"{name}.{ending}" for name in ids for ending in endings)
    assert "attention rate 0, width 8, seed 0, after 12 epochs" in result.stdout
    assert "attention rate 1, width 8, seed 0, after 12 epochs" in result.stdout
    assert "along training:" in result.stdout
    assert result.stdout.rstrip().endswith("verdicts: 2 not learned")
    assert "training 2 networks with the grid engine on cpu in float32" in result.stderr
    assert f"networks and histories are in {tmp_path}" in result.stderr.replace("\n", "")
    for name, path in zip(ids, histories, strict=True):
        record = json.loads(path.read_text())
        assert (record["id"], record["epochs_trained"], record["diverged_at"]) == (name, 12, None)
        assert record["history"]["epochs"] == [0, 4, 12]
        assert RunSettings.from_dict(record["run"]).run_id == name
        assert load(tmp_path / f"{name}.safetensors").id == name
        assert load(tmp_path / f"{name}.epoch4.safetensors").id == f"{name}.epoch4"
        (moment,) = json.loads((tmp_path / f"{name}.dynamics.json").read_text())
        assert moment["epoch"] == 4


def test_a_stricter_early_stop_is_not_taken_for_done(tmp_path: Path) -> None:
    def epochs(rule: float) -> int:
        fraction, every = ("--training-fraction", 1), ("--history-stride", 5)
        result = run(
            *SMALL,
            *fraction,
            *every,
            "--no-analysis",
            "--epochs",
            2000,
            "--early-stop",
            rule,
            "--out",
            tmp_path,
        )
        assert result.exit_code == 0, result.output
        (path,) = tmp_path.glob("*.history.json")
        return int(json.loads(path.read_text())["epochs_trained"])

    lax = epochs(1.0)
    assert lax < epochs(0.5) < 2000
    assert epochs(1.0) > lax  # what is there goes further than that


def test_many_networks_are_a_table(tmp_path: Path) -> None:
    result = run(
        "--model",
        "alpha",
        "-p",
        5,
        "--width",
        4,
        "--hidden",
        4,
        "--seeds",
        5,
        "--first-seed",
        3,
        "--epochs",
        2,
        "--out",
        tmp_path,
    )
    assert result.exit_code == 0, result.output
    head, *rows, last = result.stdout.strip().splitlines()
    assert head.split() == [
        "id",
        "rate",
        "or",
        "model",
        "seed",
        "accuracy",
        "symmetricity",
        "irrelevance",
        "circularity",
        "verdict",
    ]
    assert [row.split()[1:3] for row in rows] == [["alpha", str(seed)] for seed in range(3, 8)]
    assert last == "verdicts: 5 not learned"


def test_the_same_command_again_trains_nothing_and_shows_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(*SMALL, "--epochs", 3, "--seeds", 2, "--out", tmp_path)

    def work(*_: object) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr(loop.Ensemble, "start", work)
    second = run(*SMALL, "--epochs", 3, "--seeds", 2, "--out", tmp_path)
    assert second.exit_code == 0, second.output
    assert second.stdout == first.stdout
    assert f"2 of 2 networks are in {tmp_path} already" in second.stderr.replace("\n", "")
    more = run(*SMALL, "--epochs", 3, "--seeds", 3, "--out", tmp_path)
    assert isinstance(more.exception, AssertionError)  # the third is new
    snapshot = run(*SMALL, "--epochs", 3, "--seeds", 2, "--snapshot", 1, "--out", tmp_path)
    assert isinstance(snapshot.exception, AssertionError)  # the snapshot is not there


def test_a_network_that_diverged_is_reported_and_the_exit_code_is_1(tmp_path: Path) -> None:
    for _ in range(2):  # trained, and found in the directory
        result = run(*SMALL, "--learning-rate", 1e30, "--epochs", 4, "--out", tmp_path)
        assert result.exit_code == 1
        assert "diverged at epoch 2: not analyzed" in result.stderr
        assert result.stdout == "verdicts: 1 not analyzed\n"
    assert (
        run(
            *SMALL, "--learning-rate", 1e30, "--epochs", 4, "--no-analysis", "--out", tmp_path
        ).exit_code
        == 1
    )


def test_one_broken_file_does_not_lose_the_others(tmp_path: Path) -> None:
    run(*SMALL, "--epochs", 1, "--seeds", 5, "--no-analysis", "--out", tmp_path)
    sorted(tmp_path.glob("*.safetensors"))[2].write_bytes(b"not tensors")
    result = run(*SMALL, "--epochs", 1, "--seeds", 5, "--out", tmp_path)
    assert result.exit_code == 1
    assert "is not a readable safetensors file" in result.stderr
    assert result.stdout.rstrip().endswith("verdicts: 4 not learned, 1 not analyzed")


def test_figures(tmp_path: Path) -> None:
    result = run(
        *SMALL, "--epochs", 1, "--figures", tmp_path / "figures", "--out", tmp_path / "runs"
    )
    assert result.exit_code == 0, result.output
    (folder,) = (tmp_path / "figures").iterdir()
    assert len(list(folder.glob("*.png"))) > 0


def test_ctrl_c_saves_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = (*SMALL, "--epochs", 60, "--seeds", 3, "--ensemble-size", 2, "--no-analysis", "--out")

    def press(_: CommandBar, progress: Progress) -> None:
        if progress.ensemble == 2 and progress.epoch >= 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(
            loop, "CHUNK_SECONDS", 0.0
        )  # an epoch a chunk, so that it is epoch 7 on any machine
        patch.setattr(CommandBar, "__call__", press)
        stopped = run(*options, tmp_path / "stopped")
    assert stopped.exit_code == 130, stopped.output
    assert "interrupted at epoch 7" in stopped.stderr
    assert "The same command goes on from there." in stopped.stderr.replace("\n", " ")
    assert (
        len(list((tmp_path / "stopped").glob("*.history.json"))) == 2
    )  # the first ensemble is done and saved
    resumed = run(*options, tmp_path / "stopped")
    assert resumed.exit_code == 0, resumed.output
    assert "2 of 3 networks are in" in resumed.stderr
    assert "continuing 1 network at epoch 7 of 60" in resumed.stderr
    run(*options, tmp_path / "straight")
    assert names(tmp_path / "stopped") == names(tmp_path / "straight")
    for file in (tmp_path / "straight").glob("*.safetensors"):
        assert file.read_bytes() == (tmp_path / "stopped" / file.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--model", "omega"),
            "model is 'omega'; choose one of transformer, alpha, beta, gamma, delta, alpha-prime",
        ),
        (
            ("--model", "beta", "--layers", 2),
            "--layers goes with --model transformer; model beta has none",
        ),
        (("--hidden", 9), "hidden is 9, which goes with a linear model; choose --model alpha, "),
        (("--attention-rate", 2), "attention_rate is 2.0; it must be a number in [0, 1]"),
        (("--seeds", 0), "seeds is 0; it must be an integer of at least 1"),
        (("--engine", "warp"), "engine is 'warp'; choose one of auto, plain, stacked, grid, fused"),
        (
            ("--device", "cpu", "--precision", "tf32"),
            "precision is 'tf32'; on cpu choose one of float32, float64",
        ),
        (
            ("--snapshot", 30_000),
            "a snapshot is asked for at epoch 30000; choose epochs from 0 to 20000",
        ),
        (("--early-stop", 0), "the training loss of an early stop is 0.0"),
        (("--figures", "f", "--no-analysis"), "leave out --no-analysis"),
        (("--model", "alpha", "--equals-sign"), "a linear network reads the tokens a b"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_bad_options_are_an_input_error_before_any_work(
    tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    result = run(*arguments, "--out", tmp_path / "runs")
    assert result.exit_code == 1
    assert message in str(result.exception)
    assert not (tmp_path / "runs").exists()


def test_errors_are_one_line(tmp_path: Path) -> None:
    result = call("train", "--engine", "warp", "--out", tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    (line,) = result.stderr.strip().splitlines()
    assert (
        line
        == "algophase: error: engine is 'warp'; choose one of auto, plain, stacked, grid, fused"
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_missing_is_a_line_or_on_request_an_error(tmp_path: Path) -> None:
    options = (
        "--modulus",
        7,
        "--width",
        8,
        "--epochs",
        1,
        "--no-analysis",
        "--device",
        "cuda",
        "--out",
        tmp_path / "runs",
    )
    strict = run(*options, "--strict-device")
    assert strict.exit_code == 1
    assert str(strict.exception) == "device is 'cuda'; this machine has no GPU: choose auto or cpu"
    assert not (tmp_path / "runs").exists()
    lenient = run(*options)
    assert lenient.exit_code == 0
    assert "no GPU was found for device cuda: using the CPU instead\n" in lenient.stderr
    check = invoke(
        "check-gradients", "--device", "cuda"
    )  # a check of the CPU would say nothing about it
    assert str(check.exception) == str(strict.exception)


def test_an_output_that_cannot_be_written_is_named_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(*SMALL, "--epochs", 2, "--out", tmp_path / "file" / "networks")
    assert result.exit_code == 1
    assert str(result.exception) == f"{tmp_path / 'file'} is a file; give a directory"
    assert "training 1 network" not in result.output


def test_pictures_that_cannot_be_drawn_leave_the_table_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(
        *SMALL, "--epochs", 2, "--out", tmp_path / "networks", "--figures", tmp_path / "file"
    )
    assert result.exit_code == 1
    assert result.stdout.rstrip().endswith("verdicts: 1 not learned")
