"""A directory of networks without a sweep is explored as a sweep is."""

import threading
from pathlib import Path

import pandas
import pytest
from explored_tables import text_of

pytest.importorskip("dash")

from algophase import Analysis, Network, analyze, handmade_clock, handmade_pizza, save, wrap
from algophase.analysis.logits.all_pairs import grid_logits
from algophase.analysis.verdict.thresholds import Thresholds
from algophase.core.errors import InputError
from algophase.core.progress import Progress
from algophase.explore.app import make_app
from algophase.explore.explorer import Explorer
from algophase.explore.layout import make_layout
from algophase.explore.own import OwnNetworks, are_networks
from algophase.explore.view import View
from algophase.storage.formats.contents import Reading
from algophase.storage.kept_analyses import KeptAnalyses


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mine")
    save(handmade_clock(11, (1, 3)), place / "clock")
    save(handmade_pizza(11, (1, 3)), place / "pizza")
    logits = grid_logits(handmade_clock(11, (2, 4)))
    save(wrap(lambda a, b: logits[a, b], 11), place / "function")
    (place / "broken.pt").write_bytes(b"nothing")
    return place


AXES = View(x="cross_entropy", y="program.norm")  # which all three have


class Heard:
    """What a progress bar is told."""

    def __init__(self) -> None:
        self.lines = list[str]()
        self.go_on = threading.Event()
        self.go_on.set()

    def starting(self, progress: Progress) -> None:
        self.lines.append(f"{progress.doing} is {progress.state}")
        assert self.go_on.wait(60)

    def failed(self, problem: InputError) -> None:
        self.lines.append(str(problem))

    def finished(self, summary: str) -> None:
        self.lines.append(summary)


def all_come(directory: Path, cache: Path, watcher: Heard | None = None) -> OwnNetworks:
    networks = OwnNetworks(directory, KeptAnalyses(cache), watcher)
    networks.begin()
    assert networks.wait(120)
    networks.close()
    return networks


def test_each_network_is_a_point_that_can_be_opened(directory: Path, tmp_path: Path) -> None:
    assert are_networks(directory)
    networks = all_come(directory, tmp_path)
    opened = networks.data
    run_ids = opened.runs["run_id"].tolist()
    files = opened.runs["network"].tolist()
    assert sorted(files) == ["clock.safetensors", "function.safetensors", "pizza.safetensors"]
    assert len(opened.problems) == 1
    assert "broken.pt" in opened.problems[0]
    explorer = Explorer(networks)
    drawn = explorer.show_map(AXES, None).figure
    assert drawn is not None
    assert sorted(name for trace in drawn.data for name in trace.text) == sorted(files)
    listed = text_of(explorer.show_runs(AXES, 0).table)
    for run_id, name in zip(run_ids, files, strict=True):
        assert name in listed
        panel = explorer.show_network(View(run=run_id), "run")
        assert panel.title.startswith(f"{name}: ")
        assert name in str(panel.job_text)
        assert ("saved without its code" in str(panel.job_text)) == (name == "function.safetensors")
    with pytest.raises(InputError, match="not trained again"):
        networks.train(run_ids[0])
    assert "no network" in networks.look("0" * 12).problems[0]


def test_the_page_is_there_before_the_networks_which_come_one_by_one(
    directory: Path, tmp_path: Path
) -> None:
    heard = Heard()
    heard.go_on.clear()
    networks = OwnNetworks(directory, KeptAnalyses(tmp_path), heard)
    explorer = Explorer(networks)
    key = explorer.show_map(AXES, None).key
    assert explorer.show_filters(View()).status == "0 of 0 networks on the map"
    assert "Map of the networks" in text_of(make_layout(networks.data, growing=True))
    before = explorer.show_arrivals()
    assert (before.under_way, before.done, before.total) == (True, 0, 4)
    networks.begin()
    heard.go_on.set()
    assert networks.wait(120)
    networks.close()
    after = explorer.show_arrivals()
    assert (after.under_way, after.done, after.text) == (False, 3, "")
    assert after.arrived != before.arrived
    assert explorer.show_map(AXES, key).figure is not None
    assert explorer.show_filters(AXES).status == "3 of 3 networks on the map"
    assert heard.lines[0] == "broken.pt is 1 of 4"
    assert "broken.pt" in heard.lines[1]
    assert heard.lines[-1] == "3 networks analyzed; 1 file could not be read"


def test_the_next_start_analyzes_nothing(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = all_come(directory, tmp_path)
    analyzed = list[str]()

    def analyze_and_note(network: Network, thresholds: Thresholds) -> Analysis:
        analyzed.append(network.id)
        return analyze(network, thresholds)

    monkeypatch.setattr("algophase.storage.analyses.analyze", analyze_and_note)
    heard = Heard()
    again = all_come(directory, tmp_path, heard)
    assert heard.lines[-1] == "3 networks analyzed (2 of them before); 1 file could not be read"
    assert analyzed == ["function"]  # its file has its analysis
    pandas.testing.assert_frame_equal(again.data.runs.frame, first.data.runs.frame)


def test_what_is_said_about_the_files_reaches_their_reader(directory: Path, tmp_path: Path) -> None:
    networks = OwnNetworks(directory, KeptAnalyses(tmp_path), reading=Reading(format="no such"))
    networks.begin()
    assert networks.wait(60)
    assert not len(networks.data.runs)
    assert "format is 'no such'" in networks.data.problems[0]


def test_the_page_starts(directory: Path, tmp_path: Path) -> None:
    app, networks = make_app(directory, tmp_path)
    networks.close()
    assert "mine" in app.title
    assert not are_networks(tmp_path / "nowhere")


def test_a_directory_of_unreadable_files_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "broken.pt").write_bytes(b"nothing")
    problems = all_come(folder, tmp_path).data.problems
    assert "broken.pt" in problems[0]
    assert problems[1] == f"{folder} holds no network that can be read"
