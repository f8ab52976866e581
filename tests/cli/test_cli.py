import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pandas
import pytest
import torch
import typer
from commands import PATIENCE, call, python
from commands import invoke as run

import algophase
from algophase.analysis.result import Analysis
from algophase.cli import app, main
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.core.wording import floored
from algophase.interop._model_card import model_card
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import load, save


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    save(handmade_clock(11, (1, 3)), tmp_path / "in" / "clock")
    save(handmade_pizza(11, (1, 3)), tmp_path / "in" / "pizza")
    return tmp_path / "in"


def test_help_shows_every_command_with_an_example() -> None:
    overview = run("--help")
    assert overview.exit_code == 0
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        assert name in overview.output
        page = run(name, "--help").output
        example = page[page.index("Example:  ") :].strip()
        assert example.startswith(f"Example:  algophase {name}")
        assert "\n" not in example  # can be copied from a terminal of 80 columns
        assert all("\n" not in paragraph for paragraph in command.help.split("\n\n")), (
            name
        )  # the terminal wraps it


def test_summary_is_readable(networks: Path) -> None:
    result = run("analyze", networks)
    assert result.exit_code == 0
    assert "clock-p11-k1-3: two Clocks\n" in result.stdout
    assert "pizza-p11-k1-3: two Pizzas\n" in result.stdout
    for words in (
        "accuracy without",
        "key frequencies",
        "Certainty: clear (closest call: ",
        "by the paper's rules: Pizza",
        "by construction",
    ):
        assert words in result.stdout
    assert "FVE" not in result.stdout  # numbers that decide nothing


def test_json_is_a_list_in_the_order_given(networks: Path) -> None:
    result = run(
        "analyze", networks / "pizza.safetensors", networks / "clock.safetensors", "--json"
    )
    assert result.exit_code == 0
    records = json.loads(result.stdout)
    assert [record["verdict"] for record in records] == ["Pizza", "Clock"]
    assert records[0]["gradient_symmetricity_exact"] == pytest.approx(1)


def test_json_has_the_settings(tmp_path: Path) -> None:
    settings = algophase.TransformerSettings(width=8, attention_rate=0.25)
    run_settings = algophase.RunSettings(algophase.TaskSettings(7), settings, seed=3)
    network = algophase.initialize(run_settings)
    save(network, tmp_path / "trained")
    network.run = None
    path = save(network, tmp_path / "built")
    built, trained = json.loads(run("analyze", tmp_path, "--json").stdout)
    for record in (built, trained):
        assert (record["modulus"], record["kind"], record["width"]) == (7, "transformer", 8)
        assert record["attention_rate"] == 0.25
    assert built["path"] == str(path)
    assert (trained["seed"], trained["learning_rate"]) == (3, 0.001)
    assert "seed" not in built  # nobody knows how it was trained


def test_json_lines_are_one_object_each(networks: Path) -> None:
    result = run("analyze", networks, "--json-lines")
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert records == json.loads(run("analyze", networks, "--json").stdout)
    both = call("analyze", networks, "--json", "--json-lines")
    assert both.returncode == 1
    assert "choose one of --json and --json-lines" in both.stderr


def test_several_networks_end_with_a_table(networks: Path) -> None:
    lines = run("analyze", networks).stdout.splitlines()
    assert lines[-5:-2] == [
        "2 networks",
        "==========",
        "  network         verdict  accuracy  gradient symmetricity (all triples)  "
        "distance irrelevance  circularity",
    ]
    assert [line.split()[:3] for line in lines[-2:]] == [
        ["clock-p11-k1-3", "Clock", "100.00%"],
        ["pizza-p11-k1-3", "Pizza", "100.00%"],
    ]
    assert "1 network\n" not in run("analyze", networks / "clock.safetensors").stdout


def test_a_table_of_networks_is_a_table_of_runs(networks: Path, tmp_path: Path) -> None:
    module = torch.nn.Sequential(
        torch.nn.Embedding(11, 4), torch.nn.Flatten(), torch.nn.Linear(8, 11)
    )
    wrapped = algophase.wrap(module, modulus=11)  # with settings of another kind
    save(wrapped, networks / "wrapped", analysis=algophase.analyze(wrapped))
    modular = algophase.TaskSettings(
        11, outputs="modulus"
    )  # a word, where a wrapped module has a number
    words = algophase.RunSettings(modular, algophase.TransformerSettings(8))
    save(algophase.initialize(words), networks / "words")
    (networks / "broken.safetensors").write_bytes(b"not tensors")
    parquet, text = tmp_path / "deep" / "table.parquet", tmp_path / "table.csv"
    result = run("analyze", networks, "--table", parquet, "--json")
    assert result.exit_code == 1
    records = json.loads(result.stdout)
    rows = algophase.read_runs(parquet)
    assert rows.verdict.tolist() == [record["verdict"] for record in records]
    assert rows.path.tolist() == [record["path"] for record in records]
    assert rows.gradient_symmetricity.tolist()[:2] == [
        record["gradient_symmetricity"] for record in records[:2]
    ]
    listed = run("runs", parquet, "--where", "verdict=Clock").stdout
    assert "1 of 4 runs meet verdict=Clock" in listed
    assert "clock-p11-k1-3" in listed
    assert run("analyze", networks, "--table", text).exit_code == 1
    assert pandas.read_csv(text).run_id.tolist() == rows.run_id.tolist()


def test_a_table_of_another_format_is_refused_before_any_work(networks: Path) -> None:
    done = call("analyze", networks, "--table", "table.xlsx")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the table is table.xlsx" in done.stderr
    assert ".parquet or .csv" in done.stderr


def test_figures_go_to_a_folder_a_network(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    save(handmade_clock(11, (1, 3)), networks / "copy")  # of the same id
    result = run("analyze", networks, "--figures", out, "--figure-format", "svg")
    assert result.exit_code == 0
    assert sorted(entry.name for entry in out.iterdir()) == [
        "clock-p11-k1-3",
        "clock-p11-k1-3-2",
        "pizza-p11-k1-3",
    ]
    assert (out / "pizza-p11-k1-3" / "isolated_logits.svg").exists()


def test_one_bad_file_does_not_lose_the_others(networks: Path) -> None:
    (networks / "broken.safetensors").write_bytes(b"not tensors")
    result = run("analyze", networks, networks / "absent.pt", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)) == 2
    complaints = result.stderr.strip().splitlines()
    assert len(complaints) == 2
    assert all(line.startswith("algophase: error: ") for line in complaints)
    assert "broken.safetensors is text, not a network" in complaints[0]
    assert "absent.pt does not exist" in complaints[1]


def test_networks_of_one_id_are_told_apart_by_their_files(networks: Path) -> None:
    copy = save(handmade_clock(11, (1, 3)), networks / "more" / "clock")
    torch.save({}, networks / "model_x.pt")  # its id cannot be read, and it is only complained of
    result = run("analyze", networks, copy)
    for path in (networks / "clock.safetensors", copy):
        assert f"clock-p11-k1-3 ({path}): two Clocks\n" in result.stdout
    assert "pizza-p11-k1-3: two Pizzas\n" in result.stdout
    records = json.loads(run("analyze", networks, copy, "--json").stdout)
    assert [record["path"] for record in records] == [
        str(path) for path in (*sorted(networks.glob("*.safetensors")), copy)
    ]
    assert list(records[0])[:3] == ["id", "path", "modulus"]


def test_a_file_given_twice_is_analyzed_once(
    networks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (networks / "link.safetensors").symlink_to("clock.safetensors")
    monkeypatch.chdir(networks.parent)
    result = run(
        "analyze",
        "in",
        networks,
        "in/../in/pizza.safetensors",
        "in/absent.pt",
        networks / "absent.pt",
        "--json",
    )
    paths = [record["path"] for record in json.loads(result.stdout)]
    assert paths == ["in/clock.safetensors", "in/pizza.safetensors"]
    assert result.stderr.count("absent.pt does not exist") == 1


def test_one_accuracy_is_one_number(tmp_path: Path) -> None:
    path = save(handmade_pizza(14, (1, 3)), tmp_path / "even")
    network = load(path)
    shown = {
        line.split()[-1]
        for line in run("analyze", path).stdout.splitlines()
        if "accuracy (all pairs)" in line
    }
    told = algophase.analyze(network)
    assert told.verdict.label == "not learned"
    assert (
        round(1e4 * told.accuracy) > 1e4 * told.accuracy
    )  # rounded to the nearest it would be another number
    number = told.verdict.reasons[0].split()[1]
    assert shown == {number}
    assert f"| accuracy (all pairs) | {number} |" in model_card(network, told)
    assert run("report", path, "-o", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert number in page
    assert f"{told.accuracy:.2%}" not in page
    assert [floored(share) for share in (1.0, 0.99999, 0.0, math.nan)] == [
        "100.00%",
        "99.99%",
        "0.00%",
        "-",
    ]
    assert floored(0.9999, 1) == "99.9%"
    assert [floored(share) for share in (0.57, 0.29, 0.58)] == [
        "57.00%",
        "29.00%",
        "58.00%",
    ]  # 100 * 0.57 is below 57


def test_min_accuracy(tmp_path: Path) -> None:
    path = save(handmade_pizza(12, (1, 5)), tmp_path / "even")
    assert ": not learned" in run("analyze", path).stdout
    assert ": Pizza" in run("analyze", path, "--min-accuracy", "0.9").stdout


def test_handmade_writes_networks_that_load(tmp_path: Path) -> None:
    result = run("handmade", "clock", "-p", 12, "--out", tmp_path)
    assert result.exit_code == 0
    assert load(tmp_path / "clock-p12-k1-5.safetensors").id == "clock-p12-k1-5"
    result = run(
        "handmade", "pizza", "-p", 14, "-k", 1, "-k", 3, "--accompanied", "--out", tmp_path
    )
    assert result.exit_code == 0
    path = tmp_path / "accompanied-pizza-p14-k1-3.safetensors"
    assert str(path) in result.stdout.replace("\n", "")
    assert load(path).task.modulus == 14


def test_handmade_writes_networks_on_groups(tmp_path: Path) -> None:
    for algorithm in ("adding", "multiplying"):
        made = run("handmade", algorithm, "--group", "S3", "--out", tmp_path)
        path = tmp_path / f"{algorithm}-S3-standard.safetensors"
        assert made.stdout == f"wrote {path}\n"
        assert f"S3 by {algorithm}" in run("analyze", path).stdout
    listed = run("analyze", tmp_path).stdout
    assert "largest instance" in listed
    assert "undefined" not in listed
    assert "are for adding and multiplying" in str(
        run("handmade", "pizza", "--group", "S3").exception
    )
    assert "are for clock and pizza" in str(run("handmade", "adding", "-k", 1).exception)


def test_errors_are_one_line_and_a_non_zero_exit(tmp_path: Path) -> None:
    crafted = tmp_path / "model_x.pt"
    torch.save({"a": main}, crafted)  # a reference to code
    (tmp_path / "config_x.json").write_text(
        '{"C": 5, "model_type": "A", "d_model": 4, "d_hidden": 4}'
    )
    for arguments, message in [
        (("analyze", crafted), "refused, nothing in it was run"),
        (
            ("handmade", "clock", "-p", 7, "-k", 9, "--out", tmp_path),
            "at modulus 7 choose integers from 1 to 6",
        ),
        (
            ("handmade", "clock", "-p", 0, "-k", 1, "--out", tmp_path),
            "modulus is 0; it must be an integer of at least 2",
        ),
        (
            ("handmade", "pizza", "-p", 10**6, "--out", tmp_path),
            "does not fit into memory; choose a smaller network",
        ),
    ]:
        result = call(*arguments)
        assert result.returncode == 1
        assert result.stdout == ""
        (line,) = result.stderr.strip().splitlines()
        assert line.startswith("algophase: error: ")
        assert message in line


@pytest.mark.parametrize(
    ("as_json", "name"),
    [((), "analyze"), (("--json",), "analyze"), (("-o", "page.html"), "report")],
)
def test_ctrl_c_is_a_line_and_keeps_what_is_finished(
    networks: Path, monkeypatch: pytest.MonkeyPatch, as_json: tuple[str, ...], name: str
) -> None:
    analyses = iter([algophase.analyze(load(networks / "clock.safetensors"))])

    def pressed(*_: object) -> Analysis:
        for analysis in analyses:
            return analysis
        raise KeyboardInterrupt

    monkeypatch.chdir(networks)
    monkeypatch.setattr("algophase.storage.analyses.analyze", pressed)
    result = run(name, networks, *as_json)
    assert result.exit_code == 130
    assert result.stderr.strip() == "algophase: error: interrupted"
    if as_json == ("--json",):
        assert [record["id"] for record in json.loads(result.stdout)] == ["clock-p11-k1-3"]
    else:
        assert result.stdout.startswith("clock-p11-k1-3: two Clocks\n" if name == "analyze" else "")
    assert not (networks / "page.html").exists()


def test_ctrl_c_in_the_command_itself() -> None:
    pressed = (
        "import os, signal; import algophase.paper.make as m; m.make = lambda *_: "
        "os.kill(os.getpid(), signal.SIGINT)"
    )
    result = python("-c", f"{pressed}; from algophase.cli import main; main()", "paper", "all")
    assert (result.returncode, result.stdout, result.stderr) == (
        130,
        "",
        "algophase: error: interrupted\n",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        ((), 2, "Usage:", ""),
        (("--help",), 0, "Usage:", ""),
        (("--version",), 0, "algophase ", ""),
        (("nope",), 2, "", "No such command 'nope'"),
        (("analyze", "--nope", "x"), 2, "", "No such option: --nope"),
        (("analyze",), 2, "", "Missing argument 'PATH...'"),
        (("analyze", "absent.pt"), 1, "", "algophase: error: absent.pt does not exist; give"),
        (("analyze", "gelu"), 1, "", "gelu is a shipped sweep, and here goes a network"),
        (("runs", "fixed-wdth"), 1, "", "does not exist (did you mean fixed-width?)"),
        (("sweep", "fixed-wdth"), 1, "", "space is 'fixed-wdth'; did you mean fixed-width?"),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int, out: str, err: str) -> None:
    result = call(*arguments)
    assert result.returncode == code
    for text, stream in ((out, result.stdout), (err, result.stderr)):
        assert text in stream
        assert bool(text) == bool(stream.strip())


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("anlyze",), "No such command 'anlyze'. Did you mean 'analyze'?; see algophase --help"),
        (("runs", "--limit", "-1"), "greater than or equal to 0, not '-1'; see algophase runs"),
        (("runs", "--limit", "x"), "'x'"),
        (("export", "clock", "--for", "y"), "'y' is not one of 'sae'; see algophase export --help"),
    ],
)
def test_a_wrong_option_is_one_line_with_the_value(arguments: tuple[str, ...], line: str) -> None:
    result = call(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("algophase: error: ")
    assert line in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "clock", "--figures", "FILE/figures"),
        ("analyze", "clock", "--table", "FILE/table.csv"),
        ("certify", "clock", "-o", "FILE/certificate.json"),
        ("compare", "moduli", "heads", "--figure", "FILE/figure.png"),
        ("distill", "clock", "-o", "FILE/program.py"),
        ("export", "clock", "--for", "sae", "-o", "FILE/features"),
        ("handmade", "clock", "--out", "FILE"),
        ("llc", "clock", "--figure", "FILE/chains.png"),
        ("paper", "all", "--out", "FILE"),
        ("report", "clock", "-o", "FILE/report.html"),
        ("rivals", "clock", "-o", "FILE/rivals.json"),
    ],
)
def test_an_output_that_cannot_be_written_is_said_before_any_work(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    result = call(*(word.replace("FILE", str(file)) for word in arguments))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"algophase: error: {file} is a file; give a directory\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full disk to try")
@pytest.mark.parametrize(
    "arguments", [("analyze", "."), ("analyze", ".", "--json"), ("--help",), ("--version",)]
)
def test_a_full_disk_is_one_line(networks: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "algophase", *arguments],
            cwd=networks,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert result.returncode == 1
    assert (
        result.stderr.strip()
        == "algophase: error: reading or writing failed: No space left on device"
    )


def test_a_closed_pipe_is_silent(networks: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run(
        [sys.executable, "-m", "algophase", "analyze", str(networks)],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    os.close(write)
    assert (result.returncode, result.stderr.strip()) == (1, "")


def test_files_of_other_groups_are_taken_as_they_are(tmp_path: Path) -> None:
    draw = torch.Generator().manual_seed(0)
    into, out = torch.randn(12, 7, generator=draw), torch.randn(7, 12, generator=draw)
    torch.save({"model": {"mlp.W_in": into, "mlp.W_out": out}}, tmp_path / "net.pth")
    result = run("analyze", tmp_path / "net.pth", "--activation", "square")
    assert result.exit_code == 0
    assert "taken for an MLP on the sum of two one-hot numbers" in result.stdout
    assert "activation square, as given" in result.stdout
    result = run("analyze", tmp_path / "net.pth", "--format", "transformer-lens")
    assert result.exit_code == 1
    assert "is not of format transformer-lens" in result.stderr
    assert run("distill", tmp_path / "net.pth", "--activation", "relu").exit_code == 0


def test_what_a_file_does_not_say_is_asked_for_and_given(tmp_path: Path) -> None:
    """As others save a network of ours: by TransformerLens's names, with no word on its
    attention rate, and twice.
    """
    untrained = initialize(
        RunSettings(TaskSettings(7), TransformerSettings(width=16, attention_rate=0.5))
    )
    tensors = {**untrained.state_dict(), "unembed.b_U": torch.zeros(7)}
    twice = {name: 2 * value for name, value in tensors.items()}
    torch.save({"model": tensors, "averaged": twice}, tmp_path / "net.pth")
    result = run("analyze", tmp_path / "net.pth")
    assert result.exit_code == 1
    assert (
        "holds several states that differ, model, averaged: choose one with --state"
        in result.stderr
    )
    for command in (
        ("analyze", "--json"),
        ("report", "--out", tmp_path / "page.html"),
        ("distill",),
    ):
        name, *options = command
        said = (
            "--state",
            "model",
            "--attention-rate",
            "0.5",
            "--modulus",
            "7",
            "--activation",
            "relu",
        )
        result = run(name, tmp_path / "net.pth", *options, *said)
        assert result.exit_code == 0, result.stderr
        if name == "analyze":
            (record,) = json.loads(result.stdout)
            assert (record["attention_rate"], record["training_fraction"]) == (0.5, None)
    result = run("analyze", tmp_path / "net.pth", "--state", "model")
    assert (
        "note: attention rate 1, which the file does not say; --attention-rate gives another"
        in result.stdout
    )
