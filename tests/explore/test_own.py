"""A directory of networks without a sweep is explored as a sweep is."""

from pathlib import Path

import pytest

pytest.importorskip("dash")

from algophase import handmade_clock, handmade_pizza, save, wrap
from algophase.analysis.grid import grid_logits
from algophase.errors import InputError
from algophase.explore.app import make_app
from algophase.explore.explorer import Explorer
from algophase.explore.own import are_networks, read_networks
from algophase.explore.state import View, encode


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mine")
    save(handmade_clock(11, (1, 3)), place / "clock")
    save(handmade_pizza(11, (1, 3)), place / "pizza")
    logits = grid_logits(handmade_clock(11, (2, 4)))
    save(wrap(lambda a, b: logits[a, b], 11), place / "function")
    (place / "broken.pt").write_bytes(b"nothing")
    return place


def test_each_network_is_a_point_that_can_be_opened(directory: Path) -> None:
    assert are_networks(directory)
    table, networks = read_networks(directory)
    assert table.count == 3
    assert sorted(map(str, table.columns["network"].tolist())) == ["clock-p11-k1-3", "function", "pizza-p11-k1-3"]
    assert len(table.problems) == 1
    assert "broken.pt" in table.problems[0]
    explorer = Explorer(table, networks)
    drawn, _ = explorer.show_map("", None)
    assert drawn is not None
    for run_id, name in zip(table.columns["run_id"].tolist(), table.columns["network"].tolist(), strict=True):
        panel = explorer.show_network(encode(View().with_network("run", run_id, ())), "run")
        assert not panel.hidden
        told = str(panel.job_text)
        assert name in told
        assert ("saved without its code" in told) == (name == "function")
    with pytest.raises(InputError, match="not trained again"):
        networks.train(table.columns["run_id"].tolist()[0])
    assert "no network" in networks.look("0" * 12).problems[0]


def test_the_page_starts(directory: Path, tmp_path: Path) -> None:
    app, networks = make_app(directory)
    networks.close()
    assert "mine" in app.title
    (tmp_path / "broken.pt").write_bytes(b"nothing")
    with pytest.raises(InputError, match="holds no network that can be read"):
        make_app(tmp_path)
    assert not are_networks(tmp_path / "nowhere")
