"""A folder of networks becomes a table; a second call does what is new; files that cannot be used
are listed.
"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pandas
import pytest
import torch
from commands import invoke
from released_files import write_released

from algophase.cli.survey import _boundaries
from algophase.core.errors import InputError
from algophase.core.settings import TaskSettings, TransformerSettings
from algophase.explore.networks import Networks
from algophase.explore.visible_runs import open_sweep
from algophase.networks import build
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.runs.runs import Runs
from algophase.storage import save
from algophase.surveys.survey import Surveyed, make_survey, survey

FOREIGN = Path(__file__).parents[3] / "shared" / "foreign"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two networks in two folders, and files that are none."""
    save(handmade_clock(11), tmp_path / "all" / "clocks" / "one")
    save(handmade_pizza(11), tmp_path / "all" / "pizzas" / "two")
    (tmp_path / "all" / "README.md").write_text("text")
    (tmp_path / "all" / "picture.png").write_bytes(b"png")
    torch.save([1.0, 2.0], tmp_path / "all" / "losses.pt")
    (tmp_path / "all" / "broken.pt").write_bytes(b"PK\x03\x04 and no more")
    return tmp_path / "all"


def here(folder: Path, table: Path) -> Surveyed:
    return make_survey([folder], table, workers=1, progress=False)


def rows(table: Path) -> pandas.DataFrame:
    return pandas.read_parquet(table).set_index("id")


def test_a_folder_becomes_a_table_and_a_list(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    surveyed = here(folder, table)
    assert (surveyed.rows, surveyed.new) == (2, 2)
    assert surveyed.others == {".md": 1, ".png": 1}
    assert rows(table).verdict.to_dict() == {"clock-p11-k1-5": "Clock", "pizza-p11-k1-5": "Pizza"}
    with surveyed.list.open() as file:
        problems = {Path(row["path"]).name: row for row in csv.DictReader(file)}
    assert problems["broken.pt"]["what"] == "unreadable"
    assert "truncated or corrupt" in problems["broken.pt"]["reason"]
    assert problems["losses.pt"]["what"] == "not a network"


def test_a_second_call_analyzes_what_is_new_or_changed(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    here(folder, table)
    content = table.read_bytes()
    assert here(folder, table).new == 0
    assert table.read_bytes() == content
    save(handmade_clock(13), folder / "three")
    save(handmade_pizza(13), folder / "clocks" / "one", overwrite=True)
    surveyed = here(folder, table)
    assert (surveyed.rows, surveyed.new) == (3, 2)
    assert sorted(rows(table).modulus) == [11, 13, 13]
    other = tmp_path / "other.parquet"
    here(folder, other)
    pandas.testing.assert_frame_equal(rows(table), rows(other))


def test_a_row_does_not_depend_on_the_device(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "networks.parquet"
    first = make_survey([folder], table, workers=1, device="cpu", progress=False)
    assert first.new == first.rows
    assert make_survey([folder], table, workers=1, device="auto", progress=False).new == 0
    with pytest.raises(InputError, match="device is 'abacus'; choose one of auto, cpu, cuda"):
        make_survey([folder], table, device="abacus")


def test_a_file_that_is_moved_or_gone(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    here(folder, table)
    shutil.move(folder / "clocks", folder / "moved")
    surveyed = here(folder, table)
    assert surveyed.new == 0
    assert str(folder / "moved" / "one.safetensors") in set(rows(table).path)
    shutil.rmtree(folder / "pizzas")
    surveyed = here(folder, table)
    assert (surveyed.rows, surveyed.new, surveyed.gone) == (1, 0, 1)


def test_networks_with_the_same_id_have_names_of_their_own(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "clocks", folder / "copy")
    surveyed = here(folder, tmp_path / "table.parquet")
    assert (surveyed.rows, surveyed.new) == (3, 2)
    first, second, third = sorted(pandas.read_parquet(tmp_path / "table.parquet").run_id)
    assert re.fullmatch("clock-p11-k1-5-[0-9a-f]{6}", first)
    assert re.fullmatch("clock-p11-k1-5-[0-9a-f]{6}", second)
    assert first != second
    assert third == "pizza-p11-k1-5"


def test_rows_of_another_folder_are_not_lost(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    here(folder, table)
    with pytest.raises(InputError, match="in none of the folders given"):
        here(folder / "clocks", table)
    (tmp_path / "not.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        here(folder, tmp_path / "not.parquet")
    with pytest.raises(InputError, match=r"ends in \.parquet"):
        here(folder, tmp_path / "table.csv")


def test_a_missing_config_costs_the_rate_alone(tmp_path: Path) -> None:
    """Where attention writes nothing, the network is the same at every rate."""
    network = build(TaskSettings(7), TransformerSettings(width=16, attention_rate=0.5))
    with torch.no_grad():
        for name, value in network.named_parameters():
            torch.nn.init.normal_(value, generator=torch.Generator().manual_seed(len(name)))
            if name.endswith("W_O"):
                value.zero_()
    folder = tmp_path / "all"
    config = write_released(folder, network, "B_0.5")
    table = tmp_path / "table.parquet"
    here(folder, table)
    stated = rows(table).loc["B_0.5"]
    assert (stated.attention_rate, stated.rate_from) == (0.5, "file")
    assert (stated.weight_decay, stated.epochs) == (2.0, 20000)
    config.unlink()
    assert here(folder, table).new == 1
    unknown = rows(table).loc["B_0.5"]
    assert unknown.rate_from == "unknown"
    assert unknown.cautions[0].startswith("its config config_B_0.5.json is missing")
    assert "config_B_0.5.json is missing: activation relu, sizes by the tensors" in unknown.cautions
    assert "attention_rate" not in unknown or pandas.isna(unknown.attention_rate)
    assert unknown.verdict == stated.verdict
    assert unknown.accuracy == pytest.approx(stated.accuracy)
    runs = survey(folder, table, settings=["attention_rate=model_B_{}"], workers=1)
    by_path = runs.frame.iloc[0]
    assert (by_path.attention_rate, by_path.rate_from) == (0.5, "path")
    runs = survey(folder, table, attention_rate=0.25, workers=1)
    assert (runs.frame.attention_rate[0], runs.frame.rate_from[0]) == (0.25, "option")


def test_a_config_comes_before_a_path(tmp_path: Path) -> None:
    network = build(TaskSettings(7), TransformerSettings(width=16, attention_rate=0.5))
    with torch.no_grad():
        for value in network.parameters():
            torch.nn.init.normal_(value, generator=torch.Generator().manual_seed(0))
    write_released(tmp_path / "all", network, "B_0.9")
    table = tmp_path / "table.parquet"
    rules = ["attention_rate=model_B_{}", "depth=all/model_B_0.{}"]
    row = survey(tmp_path / "all", table, settings=rules, workers=1).frame.iloc[0]
    assert (row.attention_rate, row.rate_from, row.depth) == (0.5, "file", 9)
    assert any("its path says attention_rate 0.9" in caution for caution in row.cautions)


def test_a_network_that_diverged_has_a_row(folder: Path, tmp_path: Path) -> None:
    network = build(TaskSettings(7), TransformerSettings(width=16, attention_rate=0.5))
    with torch.no_grad():
        for value in network.parameters():
            value.fill_(torch.nan)
    write_released(folder, network, "B_0.5")
    table = tmp_path / "table.parquet"
    assert here(folder, table).rows == 3
    row = rows(table).loc["B_0.5"]
    assert (row.verdict, row.accuracy, row.epochs) == ("not learned", 0, 20000)
    assert "its training diverged" in row.cautions[0]
    assert "3 runs" in invoke("runs", table).output


def test_files_that_are_no_files(folder: Path, tmp_path: Path) -> None:
    """A named pipe is not waited for. Two empty files are of two kinds."""
    os.mkfifo(folder / "pipe.pt")
    (folder / "gone.pt").symlink_to(folder / "nothing.pt")
    (folder / "empty.pt").touch()
    (folder / "empty.safetensors").touch()
    (folder / "folder.pt").mkdir()
    surveyed = here(folder, tmp_path / "table.parquet")
    reasons = {Path(row["path"]).name: row["reason"] for row in surveyed.unreadable}
    assert "not a regular file" in reasons["pipe.pt"]
    assert "does not exist" in reasons["gone.pt"]
    assert "not a readable .pt file (truncated or corrupt): it is empty" in reasons["empty.pt"]
    assert "not a readable safetensors file" in reasons["empty.safetensors"]


def test_a_folder_without_a_row_gives_the_reason_of_most(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    with pytest.raises(InputError, match="none of 4 files could be read; 4 files: format is 'x'"):
        survey(folder, table, format="x", workers=1)
    shutil.rmtree(folder / "clocks")
    shutil.rmtree(folder / "pizzas")
    (folder / "losses.pt").unlink()
    with pytest.raises(InputError, match=r"^\S+broken\.pt: is not a readable"):
        survey(folder, table, workers=1)


def test_boundaries_of_many_widths() -> None:
    """Networks of one width are a population of their own among those of many."""
    generator = numpy.random.default_rng(0)
    rates = numpy.linspace(0, 1, 60)
    widths = [*[128] * 30, *range(40, 70)]
    generator.shuffle(widths)
    frame = pandas.DataFrame({"attention_rate": rates, "width": [float(width) for width in widths]})
    frame["run_id"] = [f"run{number}" for number in range(60)]
    frame["verdict"] = ["Pizza" if rate < 0.6 else "Clock" for rate in rates]
    frame["accuracy"], frame["kind"], frame["rate_from"] = 1.0, "transformer", "file"
    lines = _boundaries(Runs.of(frame, "made"))
    assert len(lines) == 2
    assert "(30 networks, width 128)" in lines[0]
    assert "(30 networks, other widths)" in lines[1]


def test_workers_give_the_same_table(folder: Path, tmp_path: Path) -> None:
    here(folder, tmp_path / "one.parquet")
    make_survey([folder], tmp_path / "two.parquet", workers=2, progress=False)
    pandas.testing.assert_frame_equal(
        rows(tmp_path / "one.parquet"), rows(tmp_path / "two.parquet")
    )


@pytest.mark.slow
def test_a_killed_survey_goes_on(folder: Path, tmp_path: Path) -> None:
    for number in range(12):
        save(handmade_clock(13 + 2 * number), folder / f"clock{number}")
    expected = tmp_path / "expected.parquet"
    here(folder, expected)
    table = tmp_path / "table.parquet"
    script = (
        "import sys, algophase.surveys.survey as s; s.BETWEEN_WRITES = 0; s.WRITING_SHARE = 1;"
        "s.survey(sys.argv[1], sys.argv[2], workers=2)"
    )
    for seconds in (0.0, 0.5, 1.0):
        process = subprocess.Popen([sys.executable, "-c", script, folder, table])
        deadline = time.monotonic() + 120
        while not table.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    here(folder, table)
    pandas.testing.assert_frame_equal(rows(table), rows(expected))


def test_the_command(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    result = invoke("survey", folder, "-o", table, "--workers", 1)
    assert result.exit_code == 0, result.output
    assert "2 networks (2 new): 1 Clock, 1 Pizza" in result.output
    assert "skipped, as they are no networks: 1 .md, 1 .png, 1 file with something" in result.output
    assert "not read: 1 file, with the reasons in" in result.output
    assert "broken.pt: is not a readable .pt file" in result.output
    assert "2 runs" in invoke("runs", table).output
    assert invoke("survey", folder / "nothing", "-o", table).exit_code == 1


def test_settings_of_configs_beside_other_files(tmp_path: Path) -> None:
    path = save(handmade_clock(11), tmp_path / "all" / "S5_MLP_seed1")
    beside = {"lr": 0.01, "seed": 4, "num_epochs": 250, "betas": [0.9, 0.98], "train_loss": 1}
    path.with_suffix(".cfg.json").write_text(json.dumps(beside))
    row = survey(tmp_path / "all", tmp_path / "table.parquet", workers=1).frame.iloc[0]
    assert (row.learning_rate, row.seed, row.epochs) == (0.01, 4, 250)
    assert "train_loss" not in row
    in_folder = save(handmade_clock(13), tmp_path / "all" / "S5_MLP_seed2" / "model")
    in_folder.with_name("cfg.json").write_text(json.dumps({**beside, "seed": 5}))
    frame = survey(tmp_path / "all", tmp_path / "table.parquet", workers=1).frame
    assert sorted(frame.seed) == [4, 5]


def test_an_unknown_activation_costs_what_depends_on_it(tmp_path: Path) -> None:
    """A checkpoint from the start of training, without and with its activation in the path; its
    folder has a config and a split, too.
    """
    torch.manual_seed(0)
    model = {"mlp.W_in": 0.1 * torch.randn(24, 11), "mlp.W_out": 0.1 * torch.randn(11, 24)}
    content = {"model": model, "train_loss": 2.4, "test_loss": 2.4}
    for name in ("unknown", "p_11_dmlp_24_Quad_random"):
        folder = tmp_path / "all" / name
        folder.mkdir(parents=True)
        torch.save({**content, "epoch": 200}, folder / "200.pth")
        torch.save([(0, 0), (0, 1)], folder / "train_data.pth")
    table = tmp_path / "table.parquet"
    surveyed = here(tmp_path / "all", table)
    assert (surveyed.rows, len(surveyed.problems), surveyed.unreadable) == (2, 2, [])
    assert set(rows(table).index) == {"unknown-200", "p_11_dmlp_24_Quad_random-200"}
    unknown = rows(table).loc["unknown-200"]
    assert (unknown.verdict, unknown.epochs) == ("not learned", 200)
    assert pandas.isna(unknown.activation)
    assert any("activation unknown" in caution for caution in unknown.cautions)
    assert rows(table).loc["p_11_dmlp_24_Quad_random-200"].activation == "square"
    assert "activation unknown: 1 network" in invoke("survey", tmp_path / "all", "-o", table).output
    shutil.move(tmp_path / "all" / "unknown", tmp_path / "all" / "relu")
    assert here(tmp_path / "all", table).new == 1


@pytest.mark.slow
@pytest.mark.skipif(not FOREIGN.is_dir(), reason="needs other groups' networks in shared/foreign")
def test_other_groups_networks(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    names = ("*B_0.69*", "S5_MLP_seed1.*", "S5_MLP_hidden_dim_48_seed1.*", "onehot_mlp_p23.pth")
    for name in names:
        for file in FOREIGN.rglob(name):
            shutil.copy(file, folder)
    (folder / "text.pth").write_text("no network")
    table = tmp_path / "table.parquet"
    surveyed = make_survey([folder], table, progress=False)
    assert surveyed.rows == len(names)
    assert [Path(problem["path"]).name for problem in surveyed.unreadable] == ["text.pth"]
    verdicts = rows(table).verdict
    assert verdicts["B_0.690000"] == "Pizza"
    assert verdicts["S5_MLP_seed1"] == "adding"
    assert rows(table).group["S5_MLP_seed1"] == "S5"
    assert verdicts["S5_MLP_hidden_dim_48_seed1"] == "not learned"


def test_the_explorer_opens_networks_from_their_files(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    here(folder, table)
    networks = Networks(open_sweep(table), table, tmp_path)
    specimen = networks.look("clock-p11-k1-5").specimen
    assert specimen is not None
    assert specimen.analysis.label == "Clock"
    shutil.rmtree(folder / "clocks")
    again = Networks(open_sweep(table), table, tmp_path)
    assert "does not exist" in again.look("clock-p11-k1-5").problems[0]
