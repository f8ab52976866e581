from pathlib import Path

import pytest
import torch
from commands import call, invoke
from typer.testing import Result

from algophase.cli.output import CommandBar
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.runs.runs import Runs
from algophase.storage import load
from algophase.storage.sweep_directory import SweepDirectory
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
    runs = Runs.read(tmp_path)
    ids = runs["run_id"].tolist()
    assert len(ids) == 2
    (shard,) = tmp_path.glob("runs-*")
    endings = ["epoch4.json", "epoch4.safetensors", "json", "safetensors"]
    kept = sorted(f"{name}.{ending}" for name in ids for ending in endings)
    assert names(shard / "networks") == kept
    assert names(shard) == ["moments.parquet", "networks", "runs.parquet"]
    assert "attention rate 0, width 8, seed 0, after 12 epochs" in result.stdout
    assert "attention rate 1, width 8, seed 0, after 12 epochs" in result.stdout
    assert "along training:" in result.stdout
    assert result.stdout.rstrip().endswith("verdicts: 2 not learned")
    assert "training 2 networks with the grid engine on cpu in float32" in result.stderr
    assert f"networks and histories are in {tmp_path}" in result.stderr.replace("\n", "")
    for row in runs.frame.to_dict("records"):
        name = row["run_id"]
        assert (row["epochs_trained"], list(row["history.epochs"])) == (12, [0, 4, 12])
        assert load(shard / "networks" / f"{name}.safetensors").id == name
        assert load(shard / "networks" / f"{name}.epoch4.safetensors").id == f"{name}.epoch4"


def test_a_network_is_trained_on_a_group(tmp_path: Path) -> None:
    small = ("--width", 8, "--device", "cpu", "--epochs", 12, "--out", tmp_path)
    for group, order in (("D4", 8), ("(1 2 3); (1 2)", 6)):
        result = run("--group", group, *small)
        assert result.exit_code == 0, result.output
        runs = Runs.read(tmp_path)
        assert runs["modulus"].tolist()[-1] == order
        assert group in runs["group"].tolist()
    assert "--group S5" in run("--help").output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--group", "E8"), "give a name such as Z59, D59, S5, A5, Dic15"),
        (("--group", "S5", "--modulus", 59), "modulus is 59; group S5 has 120 elements"),
        (("--group", "Z60", "--modulus", 59), "modulus is 59; group Z60 has 60 elements"),
        (("--group", "S3", "--operation", "subtract"), "a group goes with 'add'"),
        (("--group", "S3", "--model", "beta"), "it cannot tell a from b"),
    ],
)
def test_what_is_wrong_with_a_group_is_said(
    arguments: tuple[object, ...], said: str, tmp_path: Path
) -> None:
    assert said in str(run(*arguments, "--out", tmp_path).exception)


def test_a_stricter_early_stop_is_not_taken_for_done(tmp_path: Path) -> None:
    options = (*SMALL, "--training-fraction", 1, "--history-stride", 5, "--no-analysis")

    def stop_at(loss: float) -> Result:
        return run(*options, "--epochs", 2000, "--early-stop", loss, "--out", tmp_path)

    assert stop_at(1.0).exit_code == 0
    assert SweepDirectory(tmp_path).runs()["epochs_trained"].item() < 2000
    assert stop_at(1.0).exit_code == 0
    assert "stopped early at epoch" in str(stop_at(0.5).exception)


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
    assert f"2 of 2 runs are in {tmp_path} already" in second.stderr.replace("\n", "")
    more = run(*SMALL, "--epochs", 3, "--seeds", 3, "--out", tmp_path)
    assert isinstance(more.exception, AssertionError)  # the third is new
    snapshot = run(*SMALL, "--epochs", 3, "--seeds", 2, "--snapshot", 1, "--out", tmp_path)
    assert "was trained without a snapshot at epoch 1" in str(snapshot.exception)


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
    sorted(tmp_path.glob("runs-*/networks/*.safetensors"))[2].write_bytes(b"not tensors")
    result = run(*SMALL, "--epochs", 1, "--seeds", 5, "--out", tmp_path)
    assert result.exit_code == 1
    assert "is text, not a network" in result.stderr
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
        if progress.done == 2 and progress.epoch >= 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(
            loop, "CHUNK_SECONDS", 0.0
        )  # an epoch a chunk, so that it is epoch 7 on any machine
        patch.setattr(CommandBar, "__call__", press)
        stopped = run(*options, tmp_path / "stopped")
    assert stopped.exit_code == 130, stopped.output
    assert "interrupted at epoch 7" in stopped.stderr
    assert "Run the same command to continue." in stopped.stderr.replace("\n", " ")
    assert len(Runs.read(tmp_path / "stopped")) == 2  # the first ensemble is done and saved
    resumed = run(*options, tmp_path / "stopped")
    assert resumed.exit_code == 0, resumed.output
    assert "2 of 3 runs are in" in resumed.stderr
    assert "continuing 1 network at epoch 7 of 60" in resumed.stderr
    run(*options, tmp_path / "straight")
    straight, resumed_table = (
        SweepDirectory(tmp_path / name).runs() for name in ("straight", "stopped")
    )
    assert straight["weights_digest"].tolist() == resumed_table["weights_digest"].tolist()
    assert names(tmp_path / "stopped") == names(tmp_path / "straight")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--model", "omega"),
            "model is 'omega'; choose one of transformer, alpha, beta, gamma, delta, alpha-prime",
        ),
        (
            ("--model", "beta", "--layers", 2),
            "--layers needs --model transformer; model beta has none",
        ),
        (("--hidden", 9), "hidden is 9, which needs a linear model; choose --model alpha, "),
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
        (("--figures", "f", "--no-analysis"), "omit --no-analysis"),
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


def test_pictures_that_cannot_be_drawn_leave_the_table_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise InputError("cannot write: No space left on device")

    monkeypatch.setattr("algophase.reports.figures.draw_all", full)
    result = run(
        *SMALL, "--epochs", 2, "--out", tmp_path / "networks", "--figures", tmp_path / "figures"
    )
    assert result.exit_code == 1
    assert result.stdout.rstrip().endswith("verdicts: 1 not learned")
