"""Where data comes from: roles, series, sweeps of the user's own, and what is said where
something is not there.
"""

from pathlib import Path

import pytest
from made_items import make_one, transformers, write_networks, write_sweep
from typer.testing import CliRunner

from algophase.cli import app
from algophase.core.errors import InputError
from algophase.networks.handmade import handmade_clock, handmade_pizza
from algophase.paper.sources import Exhibit, Missing, Sources, optional, source_of


def test_a_network_is_studied_once(tmp_path: Path) -> None:
    sources = write_networks(
        tmp_path, {"model-a": handmade_pizza(13, (1, 5)), "model-b": handmade_clock(13, (1, 5))}
    )
    a, b = sources.network("model-a"), sources.network("model-b")
    assert a is sources.network("model-a")
    assert a.analysis is sources.network("model-a").analysis
    assert a is not Sources(tmp_path).network("model-a")
    assert (a.name, a.published, a.source) == (
        "Model A",
        False,
        "our network model-a.safetensors (planted)",
    )
    assert source_of(a, b) == f"Model A: {a.source}; Model B: {b.source}"
    assert source_of(a) == a.source


def test_the_authors_network_is_the_papers_own(released: Path) -> None:
    one = Sources(released=released).network("model-a")
    assert (one.published, one.source) == (True, "the authors' released network p99zdpze5l")
    assert one.circularity == one.analysis.circularity


def test_circularity_of_two_tables_is_the_lower_one() -> None:
    one = Exhibit(handmade_pizza(13, (1, 5)), "separate-pizza", "made", published=False)
    assert one.circularity == min(one.analysis.operand_circularity)


def test_what_is_optional_is_none_only_where_it_is_missing(tmp_path: Path) -> None:
    (tmp_path / "exhibits.toml").write_text('[model-a]\nwhat = "x"\n')
    sources = Sources(tmp_path)
    assert optional(sources.network, "model-b") is None
    assert optional(sources.runs, "gelu") is None
    with pytest.raises(InputError, match="model-a has no path"):
        optional(sources.network, "model-a")


def test_runs_are_read_once_and_name_what_they_lack(tmp_path: Path) -> None:
    write_sweep(tmp_path, "gelu", transformers(5))
    sources = Sources(tmp_path)
    runs = sources.runs("gelu", "circularity")
    assert (len(runs), runs.source) == (5, "5 runs of gelu (gelu)")
    assert runs.frame is sources.runs("gelu").frame
    with pytest.raises(
        InputError, match="the sweep of gelu has no column shape: make it again with this version"
    ):
        sources.runs("gelu", "shape")
    assert sources.released_runs is None


def test_a_role_without_a_network_is_named(tmp_path: Path) -> None:
    (tmp_path / "exhibits.toml").write_text("")
    with pytest.raises(
        Missing, match=r"the gallery has no line-like yet \(a non-circular network whose first"
    ):
        Sources(tmp_path).network("line-like")
    with pytest.raises(InputError, match="nowhere is not a directory"):
        Sources(tmp_path / "nowhere")
    (tmp_path / "exhibits.toml").write_text("[")
    with pytest.raises(InputError, match=r"exhibits\.toml is not readable"):
        Sources(tmp_path).network("line-like")


def test_without_a_gallery_the_user_is_told_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("algophase.paper.sources.default_gallery", lambda: None)
    made = make_one("noncirc", Sources(), tmp_path)
    assert made.problem is not None
    assert (
        "there is no gallery here: it comes with a clone of the project, and is given with "
        "--gallery DIR" in made.problem
    )
    assert Sources().lacking(("sweep:gelu",)) == [
        "there is no sweep of gelu; make one with: algophase sweep gelu, and give it with "
        "--from DIR, "
        "or take the project's own with --gallery DIR"
    ]


def test_a_sweep_that_no_item_asks_for_is_named(tmp_path: Path) -> None:
    own = write_sweep(tmp_path / "own", "gelu", transformers(5))
    result = CliRunner().invoke(
        app, ["paper", "approx", "--from", str(own), "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    assert f"{own} was not used: it holds space gelu" in result.stderr
