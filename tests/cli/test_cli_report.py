import re
import shutil
import sys
from pathlib import Path

import pytest
from commands import call, invoke
from report_pages import Parsed, made_runs, made_sweep
from shard_files import write_shard
from typer.testing import Result

from algophase.core.errors import InputError
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.storage import save
from algophase.sweeps.given_runs import train_into
from algophase.sweeps.options import Options


def run(*arguments: object) -> Result:
    return invoke("report", *arguments)


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    for network in (handmade_clock(13, (1, 5)), handmade_pizza(13, (2,))):
        save(network, tmp_path / "networks" / network.id)
    return tmp_path / "networks"


def test_networks_become_one_page(networks: Path, tmp_path: Path) -> None:
    out = tmp_path / "pages" / "report.html"
    result = run(networks, "-o", out)
    assert result.exit_code == 0, result.output
    assert re.search(rf"report: {re.escape(str(out))} \(2 networks, \d\.\d MB\)", result.output)
    found = Parsed(out)
    assert found.texts["h1"] == ["algophase report: clock-p13-k1-5, pizza-p13-k2"]
    assert (
        found.texts["h2"] == ["Networks", "clock-p13-k1-5: Clock", "pizza-p13-k2: not learned"]
        or len(found.texts["h2"]) == 3
    )
    assert any(
        "No population of runs like these" in line for line in found.texts["p"]
    )  # the gallery's are of modulus 59
    again = tmp_path / "again.html"
    run(networks, "-o", again)
    assert again.read_bytes() == out.read_bytes()


def test_a_population_can_be_named_and_the_title_chosen(networks: Path, tmp_path: Path) -> None:
    population = made_sweep(tmp_path / "made", made_runs(120))
    out = tmp_path / "report.html"
    result = run(
        networks / "clock-p13-k1-5.safetensors",
        "--population",
        population,
        "--title",
        "<My> page",
        "-o",
        out,
    )
    assert result.exit_code == 0, result.output
    found = Parsed(out)
    assert found.texts["h1"] == ["<My> page"]
    assert any("modulus 13 (there 59)" in line for line in found.texts["p"])
    assert any("circular accurate runs of made" in line for line in found.texts["p"])


def test_a_network_of_the_published_kind_is_set_in_the_gallery(tmp_path: Path) -> None:
    save(
        initialize(RunSettings(network=TransformerSettings(attention_rate=0.5))), tmp_path / "start"
    )
    result = run(tmp_path / "start.safetensors", "-o", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    found = Parsed(tmp_path / "report.html")
    assert "Among the runs of fixed-width" in found.texts["h2"]
    assert "Attention" in found.texts["h3"]


def test_snapshots_of_a_network_in_a_directory_are_left_out(tmp_path: Path) -> None:
    network = handmade_clock(7, (1,))
    for name in ("a", "a.epoch5", "b.epoch5"):
        save(network, tmp_path / "runs" / f"{name}.safetensors")
    result = run(tmp_path / "runs", "-o", tmp_path / "report.html")
    assert "2 networks" in result.output
    assert "Its training curves" not in Parsed(tmp_path / "report.html").words
    assert (
        "1 network,"
        in run(tmp_path / "runs" / "a.epoch5.safetensors", "-o", tmp_path / "report.html").output
    )


def test_what_train_made_is_shown_network_by_network(tmp_path: Path) -> None:
    run_settings = RunSettings(
        TaskSettings(7), TransformerSettings(8), TrainingSettings(epochs=4), seed=1
    )
    options = Options(device="cpu", snapshot_epochs=(2,), histories=True)
    train_into(tmp_path / "trained", [run_settings], options)
    out = tmp_path / "report.html"
    assert "1 network," in run(tmp_path / "trained", "-o", out).output
    assert "Training" in Parsed(out).texts["h3"]
    (file,) = tmp_path.glob("trained/runs-*/runs.parquet")
    broken = {"index": 0, "run_id": run_settings.run_id, "history.epochs": ["x"]}
    write_shard(file, [broken], {})
    (networks,) = tmp_path.glob("trained/runs-*/networks")
    run(networks, "-o", out)
    assert "Its training curves cannot be shown" in Parsed(out).words


def test_networks_of_one_id_are_told_apart_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        save(handmade_clock(7, (1,)), tmp_path / f"{name}.safetensors")
    save(handmade_clock(7, (2,)), tmp_path / "c.safetensors")
    monkeypatch.chdir(tmp_path)
    result = run(".", "b.safetensors", tmp_path / "c.safetensors", "-o", "page.html")
    assert "(3 networks" in result.stdout  # each file once
    found = Parsed(tmp_path / "page.html")
    assert found.texts["h1"] == [
        "algophase report: clock-p7-k1 (a.safetensors), clock-p7-k1 (b.safetensors), clock-p7-k2"
    ]
    assert found.texts["h2"][1].startswith("1. clock-p7-k1 (a.safetensors): ")
    assert found.texts["h2"][3].startswith("3. clock-p7-k2: ")
    assert {"clock-p7-k1 (a.safetensors)", "clock-p7-k1 (b.safetensors)", "clock-p7-k2"} <= set(
        found.texts["a"]
    )


def test_an_unusable_file_prints_one_line_and_the_rest_is_written(
    networks: Path, tmp_path: Path
) -> None:
    (networks / "torn.safetensors").write_bytes(b"torn")
    broken = tmp_path / "broken"
    made_sweep(broken, made_runs(20))
    next(broken.rglob("runs.parquet")).write_bytes(b"PAR1 not a table")
    result = run(networks, broken, tmp_path / "nowhere", "-o", tmp_path / "report.html")
    assert result.exit_code == 1
    lines = [line for line in result.output.splitlines() if line.startswith("algophase: error:")]
    assert len(lines) == 3
    assert "does not match its checksum" in result.output
    assert "2 networks" in result.output
    assert len(Parsed(tmp_path / "report.html").texts["h2"]) == 3


def test_a_sweep_needs_no_weights_and_crafted_descriptions_are_refused(tmp_path: Path) -> None:
    path = made_sweep(tmp_path / "made", made_runs(60))
    assert run(path, "-o", tmp_path / "report.html").exit_code == 0
    shutil.copytree(path, tmp_path / "crafted")
    (tmp_path / "crafted" / "sweep.json").write_text(
        '{"format": "../../etc", "version": "<script>"}'
    )
    result = run(tmp_path / "crafted", "-o", tmp_path / "crafted.html")
    assert isinstance(result.exception, InputError)
    assert "this program reads 'algophase-sweep' 1" in result.output
    assert not (tmp_path / "crafted.html").exists()


@pytest.mark.slow
def test_ten_thousand_runs_fit(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    made_runs(10_000).to_parquet(path)
    result = run(path, "-o", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").stat().st_size < 12e6
    found = Parsed(tmp_path / "report.html")
    kinds = {trace["type"] for figure in found.figures.values() for trace in figure["data"]}
    assert "scattergl" in kinds
    points = sum(len(trace["text"]) for trace in found.figures["figure-3"]["data"])
    assert points == 10_000


def test_released_runs_are_compared(released: Path, tmp_path: Path) -> None:
    gallery = Path(__file__).parents[2] / "gallery" / "fixed-width"
    result = run(
        gallery, "--released", released / "1l_fixedwidth.csv", "-o", tmp_path / "report.html"
    )
    assert result.exit_code == 0, result.output
    found = Parsed(tmp_path / "report.html")
    assert any(
        "fixed-width and released are indistinguishable" in line for line in found.texts["strong"]
    )
    assert any("released 0.516 [0.505, 0.528]" in caption for caption in found.texts["figcaption"])
    assert "Kolmogorov-Smirnov" in found.texts["pre"][0]


def test_released_runs_unlike_the_sweep_are_explained(tmp_path: Path) -> None:
    made_runs(60, modulus=7).to_parquet(tmp_path / "runs.parquet")
    header = "C,act_fn,attn_coeff,d_model,diff_vocab,eqn_sign,n_layers,gradient_sim,circularity,distance_irrelevance"
    (tmp_path / "table.csv").write_text(
        f"{header},validation_accuracy\n59,ReLU,0.5,128,0,0,1,0.9,0.9,0.9,1.0\n"
    )
    result = run(
        tmp_path / "runs.parquet",
        "--released",
        tmp_path / "table.csv",
        "-o",
        tmp_path / "report.html",
    )
    assert result.exit_code == 0, result.output
    assert (
        "The released runs cannot be compared: no runs to compare: modulus is"
        in Parsed(tmp_path / "report.html").words
    )


def test_mistakes_are_named(networks: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([networks, "-o", tmp_path / "report.txt"], "give a name that ends in .html"),
        (
            [networks, "--released", tmp_path / "no.csv"],
            "is not a file; give the authors' released table",
        ),
        (
            [networks, "--population", tmp_path / "no"],
            "does not exist; give a sweep's directory or a Parquet file",
        ),
        ([tmp_path / "no.safetensors"], "nothing to report on"),
    ):
        told = call("report", *arguments)
        assert told.returncode == 1
        assert message in told.stderr


def test_without_plotly_the_command_names_the_extra(
    networks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    result = run(networks)
    assert isinstance(result.exception, InputError)
    assert 'pip install "algophase[explore]"' in str(result.exception)


def test_a_network_that_has_not_learned_is_still_shown(tmp_path: Path) -> None:
    run_settings = RunSettings(
        task=TaskSettings(modulus=11, equals_sign=True), network=TransformerSettings(width=32)
    )
    save(initialize(run_settings), tmp_path / "start")
    result = run(tmp_path / "start.safetensors", "-o", tmp_path / "report.html")
    assert result.exit_code == 0, result.output
    assert "not learned" in Parsed(tmp_path / "report.html").texts["h2"][0]
