"""The map of all populations, and the pages behind it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import call
from runs_made import row, sweep_of
from werkzeug.test import Client

from algophase.core.errors import InputError
from algophase.explore.server import _make
from algophase.explore.site import Site, groups_at


@pytest.fixture
def place(tmp_path: Path, tiny: Path) -> Path:
    """Two sweeps of the same name, one of them real, and one without runs."""
    shutil.copytree(tiny, tmp_path / "place" / "one" / "mine")
    sweep_of(tmp_path / "place" / "two" / "mine", [row(0)])
    sweep_of(tmp_path / "place" / "empty one")
    return tmp_path / "place"


def got(site: Site, address: str, host: str = "127.0.0.1:8050") -> Any:
    return Client(site).get(address, base_url=f"http://{host}", buffered=True)


def test_the_map_lists_every_sweep_and_leads_to_its_page(place: Path, tmp_path: Path) -> None:
    site = Site(place, tmp_path / "cache")
    page = got(site, "/")
    assert page.status_code == 200
    for expected in (
        '<a class="picture" href="/sweep/mine/"',
        'href="/sweep/mine/"',
        'href="/sweep/mine-2/"',
        'href="/sweep/empty-one/"',
        "3 populations, 5 runs",
    ):
        assert expected in page.text
    assert "no run is finished yet" in page.text
    opened = got(site, "/sweep/mine/")
    assert opened.status_code == 200
    assert "/sweep/mine/_dash-component-suites/plotly" in opened.text
    layout = got(site, "/sweep/mine/_dash-layout").text
    assert "All populations" in layout
    assert "Map of the runs" in layout
    assert got(site, "/sweep/mine").status_code == 200
    site.close()


def test_the_map_needs_no_script_and_nothing_from_elsewhere(place: Path, tmp_path: Path) -> None:
    site = Site(place, tmp_path / "cache")
    page = got(site, "/")
    assert "<script" not in page.text
    assert "http" not in page.text.replace('http-equiv="', "")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert got(site, "/assets/explore.css").status_code == 200
    for path in (
        "/assets/../site.py",
        "/assets/%2e%2e/site.py",
        "/place/one/mine/sweep.json",
        "/sweep/mine/../../site.py",
    ):
        assert b"def groups_at" not in got(site, path).data
        assert b"algophase-sweep" not in got(site, path).data


def test_strangers_are_refused_everywhere(place: Path, tmp_path: Path) -> None:
    site = Site(place, tmp_path / "cache")
    got(site, "/")
    for path in ("/", "/sweep/mine/", "/sweep/empty-one/", "/assets/explore.css"):
        assert got(site, path, "evil.example").status_code == 403, path
        assert got(site, path).status_code == 200, path


def test_a_sweep_that_cannot_be_shown_is_told_on_the_map(place: Path, tmp_path: Path) -> None:
    site = Site(place, tmp_path / "cache")
    got(site, "/")
    assert "empty one holds no runs" in got(site, "/sweep/empty-one/").text
    shutil.rmtree(place / "two")
    assert "mine does not exist" in got(site, "/sweep/mine-2/").text
    assert "there is no sweep &#x27;&lt;b&gt;&#x27; here" in got(site, "/sweep/<b>/").text
    shutil.rmtree(place)
    assert "0 populations" in got(site, "/").text


def test_new_runs_are_seen_without_a_restart(place: Path, tmp_path: Path) -> None:
    site = Site(place, tmp_path / "cache")
    directory = sweep_of(place / "later", [row(0)])
    assert "4 populations, 6 runs" in got(site, "/").text
    got(site, "/sweep/later/")
    with directory.hold("a test"):
        directory.add([row(1)], {})
    assert "4 populations, 7 runs" in got(site, "/").text
    assert (
        "seed 0: 1 of the" in got(site, "/sweep/later/_dash-layout").text
    )  # of the page that is open
    got(site, "/sweep/later/")
    assert "seed 0: 2 of the" in got(site, "/sweep/later/_dash-layout").text
    site.close()


def test_what_is_a_folder_of_sweeps(
    place: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert groups_at(tiny) == []  # a sweep itself
    assert groups_at(tmp_path / "nowhere") == []
    ((heading, paths),) = groups_at(place)
    assert heading == f"Sweeps in {place}"
    assert len(paths) == 3
    monkeypatch.chdir(place)
    own, ours = groups_at(None)
    assert (own[0], len(own[1])) == ("Your sweeps", 3)
    assert ours[0] == "Shipped with algophase"
    assert "fixed-width" in [path.name for path in ours[1]]


def test_without_any_sweep_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("algophase.explore.site.default_gallery", lambda: None)
    with pytest.raises(InputError, match="no sweep in this folder"):
        _make(None, None, (), None)
    told = call("explore", tmp_path / "nowhere", "--no-browser")
    assert told.returncode == 1
    assert "does not exist" in told.stderr
