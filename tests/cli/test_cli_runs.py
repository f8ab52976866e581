import csv
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pyarrow
import pytest
from commands import call
from commands import invoke as run
from shard_files import read_table, write_shard

from algophase.cli.output import CommandBar
from algophase.core.gallery import shipped_sweeps
from algophase.storage import load, runs_table
from algophase.storage.identity import identity
from algophase.storage.runs_table import read_runs, shard_paths
from algophase.storage.sweep_directory import SweepDirectory
from algophase.training.run import loop

SPACE = """
name = "mini"
title = "tiny networks"
runs = 6
[task]
modulus = 7
[network]
width = {log_uniform = [8, 12], integer = true}
attention_rate = {uniform = [0, 1]}
[training]
epochs = 30
"""


SNAPSHOT = ("--snapshot", 10)


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.stdout


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The two halves of a sweep, the first with a network kept."""
    root = tmp_path_factory.mktemp("parts")
    (root / "mini.toml").write_text(SPACE)
    for number, keep in ((1, "1"), (2, "none")):
        options = (
            "--part",
            f"{number}/2",
            "--out",
            root / str(number),
            "--device",
            "cpu",
            "--ensemble-size",
            1,
        )
        done("sweep", root / "mini.toml", *options, "--keep-weights", keep)
    return [root / "1", root / "2"]


@pytest.fixture
def sweep(parts: list[Path], tmp_path: Path) -> Path:
    done("merge", *parts, "--out", tmp_path / "sweep")
    return tmp_path / "sweep"


@pytest.mark.parametrize("command", ["runs", "merge", "retrain"])
def test_help_has_an_example(command: str) -> None:
    assert "Example:" in done(command, "--help")


def test_runs_say_what_a_sweep_holds(sweep: Path) -> None:
    head, *lines = done("runs", sweep).splitlines()
    assert head == "space mini (tiny networks), seed 0: 6 of the 6 runs"
    assert lines[0] == "not learned 6 (100.0%)"
    assert lines[1] == "by the paper's rules: not learned 6 (100.0%)"
    assert lines[2].startswith("full validation accuracy 0 (0.0%)")
    assert lines[3].startswith("made 20")
    assert lines[3].endswith(": 6 runs")
    assert lines[4] == ""
    assert lines[5].split() == [
        *("index", "run_id", "width", "attention_rate", "verdict"),
        *("validation_accuracy", "circularity", "gradient_symmetricity", "distance_irrelevance"),
    ]
    assert [line.split()[0] for line in lines[6:]] == list("012345")
    assert len({len(line) for line in lines[5:]}) == 1


def test_an_unfinished_sweep_is_no_fair_sample(sweep: Path) -> None:
    rows = read_table(sweep).to_pylist()
    for shard in shard_paths(sweep):
        shard.unlink()
    SweepDirectory(sweep).add([rows[0], rows[1], rows[5]], {})
    text = done("runs", sweep)
    assert "3 of the 6 runs" in text
    assert "ensembles train one shape after the other" in text
    assert "not a fair sample" in text


def test_part_of_a_sweep_is_a_fair_sample(parts: list[Path]) -> None:
    text = done("runs", parts[1])
    assert "3 of the 6 runs" in text
    assert "unfinished" not in text


def test_runs_are_selected_sorted_and_limited(sweep: Path) -> None:
    rates = {index: read_table(sweep)["attention_rate"].to_pylist()[index] for index in range(6)}
    middle = sorted(rates.values())[3]
    text = done(
        "runs",
        sweep,
        "--where",
        f"attention_rate<{middle!r}",
        "--where",
        "verdict=not learned",
        "--sort",
        "-attention_rate",
    )
    found = text.split("verdict=not learned\n")[1].splitlines()[1:]
    assert "3 of 6 runs meet attention_rate<" in text
    below = [index for index in rates if rates[index] < middle]
    assert [int(line.split()[0]) for line in found] == sorted(
        below, key=lambda index: -rates[index]
    )
    few = done("runs", sweep, "--limit", 2, "--columns", "run_id, seed,frequencies")
    assert few.splitlines()[-4].split() == ["run_id", "seed", "frequencies"]
    assert few.splitlines()[-1].startswith("and 4 more (--limit 0 shows all")
    assert "more" not in done("runs", sweep, "--limit", 0)
    assert done("runs", sweep, "--where", "index>99").endswith("0 of 6 runs meet index>99\n")


def test_exports_have_all_rows_and_columns_unless_told(sweep: Path, tmp_path: Path) -> None:
    everything = read_table(sweep).to_pylist()
    assert json.loads(done("runs", sweep, "--json")) == everything
    some = json.loads(
        done("runs", sweep, "--json", "--columns", "seed,verdict", "--sort", "-index", "--limit", 2)
    )
    assert some == [
        {"seed": everything[index]["seed"], "verdict": "not learned"} for index in (5, 4)
    ]
    rows = list(csv.DictReader(done("runs", sweep, "--csv", "-").splitlines()))
    assert [float(line["circularity"]) for line in rows] == [
        line["circularity"] for line in everything
    ]
    assert [json.loads(line["frequencies"]) for line in rows] == [
        line["frequencies"] for line in everything
    ]
    assert {line["diverged_at"] for line in rows} == {""}
    assert {line["equals_sign"] for line in rows} == {"false"}
    file = tmp_path / "deep" / "runs.csv"
    said = done("runs", sweep, "--csv", file, "--where", "index<2", "--columns", "index,width")
    assert said == f"wrote 2 runs with 2 columns to {file}\n"
    assert file.read_text().splitlines() == [
        "index,width",
        *(f"{index},{everything[index]['width']}" for index in (0, 1)),
    ]


def test_a_bare_parquet_file_will_do(sweep: Path, tmp_path: Path) -> None:
    (shard,) = shard_paths(sweep)
    file = tmp_path / "table.parquet"
    file.write_bytes(shard.read_bytes())
    text = done("runs", file)
    assert text.startswith(
        "6 runs\nnot learned 6 (100.0%)\nby the paper's rules: not learned 6 (100.0%)\n"
    )
    assert "made 20" in text
    assert "width" in text
    assert json.loads(done("runs", file, "--json")) == read_table(sweep).to_pylist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--where", "attention_rat<1"),
            "there is no column 'attention_rat'; did you mean attention_rate",
        ),
        (("--where", "attention_rate"), "condition is 'attention_rate'; write COLUMN"),
        (("--where", "attention_rate<low"), "column attention_rate holds numbers"),
        (("--columns", "index,color"), "there is no column 'color'"),
        (
            ("--columns", "", "--csv", "-"),
            "columns is ''; name at least one column, or omit the option",
        ),
        (("--columns", " ,"), "columns is ' ,'; name at least one column"),
        (("--sort", "-color"), "there is no column 'color'"),
        (("--sort", "frequencies"), "column frequencies holds list"),
        (("--csv", "-", "--json"), "choose one of --csv and --json"),
    ],
    ids=str,
)
def test_bad_questions_are_an_input_error(
    sweep: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run("runs", sweep, *arguments)
    assert result.exit_code == 1
    assert message in str(result.exception)
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments", [("runs", "gone"), ("merge", ".", "--out", "x"), ("retrain", ".", "0")], ids=str
)
def test_errors_are_one_line(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = call(*arguments)
    assert told.returncode == 1
    (line,) = told.stderr.strip().splitlines()
    assert line.startswith("algophase: error: ")
    assert list(tmp_path.iterdir()) == []


def test_moments_are_listed_each(tmp_path: Path) -> None:
    (tmp_path / "mini.toml").write_text(SPACE)
    options = ("--runs", 2, "--snapshot", 10, "--snapshot", 20, "--device", "cpu")
    done("sweep", tmp_path / "mini.toml", "--out", tmp_path / "sweep", *options)
    moments = tmp_path / "sweep" / "moments"
    head, *lines = done("runs", moments, "--where", "epoch>10").splitlines()
    assert head == "6 moments of 2 runs"
    assert "4 of 6 moments meet epoch>10" in lines
    assert [line.split()[:3:2] for line in lines[-5:]] == [
        ["index", "epoch"],
        *([index, epoch] for index in "01" for epoch in ("20", "30")),
    ]
    assert [
        row["epoch"] for row in json.loads(done("runs", moments, "--json", "--columns", "epoch"))
    ] == [10, 20, 30] * 2
    assert "wrote 6 moments with 1 columns" in done(
        "runs", moments, "--csv", tmp_path / "a.csv", "--columns", "verdict"
    )
    for command in (("retrain", moments, "1"), ("explore", moments), ("report", moments)):
        refused = run(*command)
        assert refused.exit_code == 1
        assert "holds runs along training" in str(refused.exception) + refused.output


def test_a_shard_without_index_is_named(sweep: Path) -> None:
    about = {"sweep": identity(SweepDirectory(sweep).description())}
    write_shard(sweep / "runs-x.parquet", [{"run_id": "000000000000"}], about)
    for arguments in (("runs", sweep), ("retrain", sweep, "1"), ("retrain", sweep, "99")):
        assert "runs-x.parquet has no column 'index'" in str(run(*arguments).exception)


def test_other_numbers_of_a_merge_are_explained(sweep: Path, tmp_path: Path) -> None:
    rows = [{**row, "circularity": 0.25} for row in read_table(sweep).to_pylist()[:2]]
    other = SweepDirectory(tmp_path / "other")
    with other.hold("a test"):
        other.describe(SweepDirectory(sweep).description()["space"], 0)
        other.add(rows, {})
    text = " ".join(done("merge", sweep, other.path, "--out", tmp_path / "out").split())
    assert "2 repeated copies were dropped, 2 of them with different numbers" in text
    assert (
        "different numbers come from another machine or ensemble: rounding differs, and training "
        "amplifies it" in text
    )


def test_merge_says_what_it_did(parts: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert done("merge", *parts, "--out", out).splitlines() == [
        f"6 runs in {out}, 6 of them new",
        "kept networks copied: 1",
    ]
    assert done("merge", *parts, "--out", out).splitlines() == [
        f"6 runs in {out}, 0 of them new",
        "6 repeated copies were dropped, 0 of them with different numbers",
    ]


def test_a_merged_sweep_is_complete_for_the_sweep(sweep: Path, parts: list[Path]) -> None:
    result = run(
        "sweep",
        parts[0].parent / "mini.toml",
        "--out",
        sweep,
        "--device",
        "cpu",
        "--ensemble-size",
        1,
    )
    assert result.exit_code == 0, result.output
    assert "6 of 6 runs, 0 of them new" in result.stdout


def test_retraining_gives_the_same_network(sweep: Path) -> None:
    kept = SweepDirectory(sweep).kept()
    row = next(row for row in read_table(sweep).to_pylist() if row["run_id"] not in kept)
    result = run("retrain", sweep, row["index"])
    assert result.exit_code == 0, result.output
    assert f"{row['run_id']}: not learned" in result.stdout
    assert "identical: all" in result.stdout
    assert "training 1 network with the grid engine on cpu in float32" in result.stderr
    file = sweep / "networks" / f"{row['run_id']}.safetensors"
    assert f"the network is in {file}" in result.stdout
    assert load(file).run is not None
    assert not (sweep / ".lock").exists()
    before = file.read_bytes()
    again = done("retrain", sweep, row["run_id"][:7])
    assert again == (
        f"run {row['index']}, {row['run_id']}: its network already exists, {file} (--force "
        "trains it again)\n"
    )
    file.write_bytes(b"")
    done("retrain", sweep, row["run_id"], "--force")
    assert file.read_bytes() == before


def test_a_kept_network_is_the_one_that_retraining_gives(sweep: Path, tmp_path: Path) -> None:
    (name,) = SweepDirectory(sweep).kept()
    assert "its network already exists" in done("retrain", sweep, name, "--out", tmp_path / "copy")
    assert (tmp_path / "copy" / f"{name}.safetensors").exists()
    with SweepDirectory(sweep).hold("a sweep"):  # writing elsewhere needs no lock
        done("retrain", sweep, name, "--out", tmp_path / "other", "--force")
    file = f"{name}.safetensors"
    kept = SweepDirectory(sweep).kept_files()[name]
    assert (tmp_path / "other" / file).read_bytes() == kept.read_bytes()


def test_a_sample_is_counted(sweep: Path) -> None:
    result = run("retrain", sweep, "--sample", 6, "--precision", "float64")
    head, *lines = result.stdout.splitlines()
    counts = re.fullmatch(
        r"6 runs drawn from 6: 0 the same to the bit, (\d) the same up to rounding, "
        r"(\d) another network",
        head,
    )
    assert counts is not None
    assert int(counts[1]) + int(counts[2]) == 6
    assert result.exit_code == (1 if int(counts[2]) else 0)
    assert lines[-1] == "and 1 more"
    same = run("retrain", sweep, "--sample", 6)
    # Two of them train together here, which trained alone in the sweep.
    assert ", 0 another network" in same.stdout.splitlines()[0]
    assert same.exit_code == 0
    for arguments, problem in (
        ((), "give either a RUN or --sample N"),
        ((3, "--sample", 2), "give either a RUN or --sample N, not both: RUN is '3'"),
        (("--sample", 2, "--force"), "--out and --force need a RUN"),
        (("--sample", 7), "sample is 7; "),
    ):
        assert problem in str(run("retrain", sweep, *arguments).exception)


def test_other_arithmetic_is_told(sweep: Path, tmp_path: Path) -> None:
    result = run(
        "retrain", sweep, 3, "--precision", "float64", "--out", tmp_path / "other", "--force"
    )
    another = (
        "another network than in the table, with the same verdict (not learned):" in result.stdout
    )
    assert another or "the same network up to rounding: " in result.stdout
    assert result.exit_code == another, result.output
    said = " ".join(result.stderr.split())
    assert (
        "trained with engine grid device cpu precision float32, this one with engine grid "
        "device cpu precision float64" in said
    )
    assert "  circularity: " in result.stdout


def test_a_network_that_is_not_the_tables_is_kept_aside(sweep: Path) -> None:
    before = SweepDirectory(sweep).kept()
    said = run("retrain", sweep, 3, "--precision", "float64", "--force").stdout
    assert SweepDirectory(sweep).kept() == before
    (file,) = (sweep / "retrained").glob("*.safetensors")
    assert f"the network is in {file}" in said
    assert f"its network already exists, {file}" in done("retrain", sweep, 3)
    assert SweepDirectory(sweep).kept() == before


def test_exact_asks_for_bits(sweep: Path) -> None:
    rows = read_table(sweep).to_pylist()
    for shard in shard_paths(sweep):
        shard.unlink()
    rows[0]["circularity"] *= 1 + 1e-9
    rows[1] |= {"circularity": 1.5 * rows[1]["circularity"], "weights_digest": "0" * 16}
    SweepDirectory(sweep).add(rows, {})
    assert run("retrain", sweep, 0, "--force").exit_code == 0
    rounded = run("retrain", sweep, 0, "--force", "--exact")
    assert rounded.exit_code == 1
    assert "the same network to the bit; of its analysis 1 of" in rounded.stdout
    assert "by at most 1e-09 of their size (circularity)" in rounded.stdout
    assert run("retrain", sweep, 2, "--force", "--exact").exit_code == 0
    other = run("retrain", sweep, 1, "--force")
    assert other.exit_code == 1
    assert (
        "another network than in the table, with the same verdict (not learned): 1 of"
        in other.stdout
    )
    sample = run("retrain", sweep, "--sample", 6)
    assert sample.exit_code == 1
    head, second, *_ = sample.stdout.splitlines()
    assert head.endswith(", 1 another network")
    assert second.startswith("run 1: another network")  # before those that differ by rounding


def test_what_cannot_be_retrained_is_named(sweep: Path) -> None:
    for arguments, message in (
        (("99",), "there is no run '99'"),
        (("0", "--engine", "warp", "--force"), "engine is 'warp'; choose one of"),
    ):
        result = run("retrain", sweep, *arguments)
        assert result.exit_code == 1
        assert message in str(result.exception)
    with SweepDirectory(sweep).hold("a sweep"):
        held = run("retrain", sweep, "3", "--force")
    assert "is in use by process" in str(held.exception)


def test_ctrl_c_saves_nothing(sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    before = SweepDirectory(sweep).kept()
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(CommandBar, "__call__", press)
    result = run("retrain", sweep, 1, "--force")
    assert result.exit_code == 130
    assert "interrupted: nothing was saved" in result.stderr
    assert SweepDirectory(sweep).kept() == before


def test_without_a_table_the_shipped_ones_are_listed() -> None:
    listed = done("runs")
    names = [line.split()[0] for line in listed.splitlines()[1:] if line.startswith("  ")]
    assert names == shipped_sweeps()
    verdicts = read_runs("fixed-width").verdict
    counts = [len(verdicts), *((verdicts == name).sum() for name in ("Pizza", "hybrid", "Clock"))]
    numbers = " +".join(f"{count:,}" for count in counts)
    about = "one layer, width 128, attention rate uniform"
    assert re.search(f"fixed-width +{numbers}  {about}", listed)
    refused = call("runs", "--where", "width=128")
    assert refused.returncode == 1
    assert "--where needs a table: name one of clock-training, cosets, data" in refused.stderr


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[Path]:
    """How often each Parquet file is read from disk."""
    counts = Counter[Path]()
    read = runs_table._arrow_buffer

    def counted(path: Path) -> pyarrow.Buffer:
        counts[path] += 1
        return read(path)

    monkeypatch.setattr(runs_table, "_arrow_buffer", counted)
    return counts


@pytest.mark.parametrize(
    "command",
    [
        ("runs", "SWEEP"),
        ("runs", "SWEEP", "--where", "attention_rate<0.5", "--sort", "width", "--csv", "-"),
        ("runs", "SWEEP/moments"),
        ("report", "SWEEP", "-o", "OUT.html"),
        ("sweep", "SPACE", "--out", "SWEEP", "--runs", 3, "--device", "cpu", *SNAPSHOT),
        ("sweep", "SPACE", "--out", "SWEEP", "--runs", 4, "--device", "cpu", *SNAPSHOT),
        ("merge", "SWEEP", "--out", "OUT"),
        ("merge", "SWEEP", "OTHER", "--out", "SWEEP"),
        ("retrain", "SWEEP", 1),
        ("retrain", "SWEEP", "--sample", 2),
    ],
    ids=lambda command: " ".join(map(str, command[:4])),
)
def test_a_command_reads_each_shard_once(
    tmp_path: Path, opened: Counter[Path], command: tuple[object, ...]
) -> None:
    space = tmp_path / "mini.toml"
    space.write_text(SPACE)
    options = ("--device", "cpu", "--ensemble-size", 1, *SNAPSHOT, "--keep-weights", "all")
    done("sweep", space, "--out", tmp_path / "sweep", "--runs", 3, *options)
    shutil.copytree(tmp_path / "sweep", tmp_path / "other")
    shards = len(shard_paths(tmp_path / "sweep"))
    opened.clear()
    names = {"SWEEP": "sweep", "OTHER": "other", "OUT": "out", "SPACE": "mini.toml"}
    arguments = []
    for argument in map(str, command):
        word, *rest = re.split(r"(?=[/.])", argument)
        arguments.append(f"{tmp_path / names[word]}{''.join(rest)}" if word in names else argument)
    done(*arguments)
    assert len(opened) >= shards
    assert set(opened.values()) == {1}
