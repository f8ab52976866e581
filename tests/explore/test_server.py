import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from commands import call, python
from runs_made import row, sweep_of
from shard_files import write_shard
from werkzeug.test import Client

from algophase.core.errors import InputError
from algophase.explore.app import make_app
from algophase.explore.server import Site, _listen, _make, groups_at


def client(sweep: Path, tmp_path: Path, **options: Any) -> Any:
    app, _ = make_app(sweep, tmp_path / "cache", **options)
    return app.server.test_client()


def test_the_page_loads_nothing_from_elsewhere(tiny: Path, tmp_path: Path) -> None:
    page = client(tiny, tmp_path).get("/", base_url="http://127.0.0.1:8050")
    assert page.status_code == 200
    text = page.get_data(as_text=True)
    assert "http://" not in text
    assert "https://" not in text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_strangers_are_refused(tiny: Path, tmp_path: Path) -> None:
    page = client(tiny, tmp_path)
    for name in ("127.0.0.1:8050", "localhost:9", "[::1]:8050", "localhost"):
        assert page.get("/_dash-layout", base_url=f"http://{name}").status_code == 200, name
    for name in ("evil.example", "127.0.0.1.evil.example:8050", "evil.example:127"):
        assert page.get("/_dash-layout", base_url=f"http://{name}").status_code == 403, name
    theirs = page.post(
        "/_dash-update-component",
        base_url="http://127.0.0.1:8050",
        headers={"Origin": "http://evil.example"},
        json={},
    )
    assert theirs.status_code == 403
    anyone = client(tiny, tmp_path, hosts=())
    assert anyone.get("/_dash-layout", base_url="http://my-machine:8050").status_code == 200


def test_no_file_outside_the_assets_is_served(tiny: Path, tmp_path: Path) -> None:
    page = client(tiny, tmp_path)
    for path in (
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
        "/assets//etc/passwd",
        "/networks/",
        "/sweep.json",
    ):
        got = page.get(path, base_url="http://127.0.0.1")
        assert b"make_app" not in got.data
        assert b"root:" not in got.data
        assert b"algophase-sweep" not in got.data


def test_runs_are_downloaded_as_csv_that_no_spreadsheet_computes(tmp_path: Path) -> None:
    rows = [
        {"index": place, "run_id": f"{place:012x}", "width": place, "note": note}
        for place, note in enumerate("=-x")
    ]
    write_shard(tmp_path / "runs.parquet", rows, {})
    page = client(tmp_path, tmp_path)
    answer = page.get("/runs.csv?where=width<2", base_url="http://127.0.0.1")
    assert answer.status_code == 200
    assert answer.mimetype == "text/csv"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    lines = answer.get_data(as_text=True).splitlines()
    assert lines[0] == "index,run_id,width,note,verdict"
    assert lines[1:] == ["0,000000000000,0,'=,not analyzed", "1,000000000001,1,'-,not analyzed"]
    assert page.get("/runs.csv", base_url="http://evil.example").status_code == 403
    assert (
        page.get("/runs.csv?where=%ff%3D1&region=x", base_url="http://127.0.0.1").status_code == 200
    )


EVIL = "</script><script>alert(1)</script>"


def test_a_crafted_directory_shows_text_and_runs_nothing(tmp_path: Path) -> None:
    sweep = tmp_path / "<img src=x onerror=alert(1)>"
    rows = [
        {
            "index": 0,
            "run_id": EVIL,
            "verdict": EVIL,
            "reasons": [EVIL],
            "width": 8,
            EVIL: 1.0,
            "kind": EVIL,
        },
        {
            "index": 1,
            "run_id": "../../../etc/passwd",
            "verdict": "Clock",
            "reasons": None,
            "width": 9,
            EVIL: 2.0,
            "kind": None,
        },
    ]
    write_shard(sweep / "a.parquet", rows, {})
    (sweep / "b.parquet").write_bytes(b"no")
    space = {"name": EVIL, "title": EVIL, "runs": 2}
    (sweep / "sweep.json").write_text(
        json.dumps({"format": "algophase-sweep", "version": 1, "space": space, "seed": 0})
    )
    page = client(sweep, tmp_path)
    text = page.get("/", base_url="http://127.0.0.1").get_data(as_text=True)
    assert "<img" not in text
    assert "alert(1)</script>" not in text
    layout = page.get("/_dash-layout", base_url="http://127.0.0.1")
    assert layout.content_type == "application/json"
    assert "b.parquet is not a readable Parquet file" in layout.get_data(as_text=True)


def test_a_directory_with_nothing_readable_says_so_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no")
    layout = (
        client(tmp_path, tmp_path)
        .get("/_dash-layout", base_url="http://127.0.0.1")
        .get_data(as_text=True)
    )
    assert "There are no runs to draw." in layout
    assert "is not a readable Parquet file" in layout


def test_a_port_in_use_is_told_or_another_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"cannot listen on 127.0.0.1 port {port}: .*choose another --port"
        ):
            _listen("127.0.0.1", port)
    with pytest.raises(InputError, match=r"cannot listen on 203\.0\.113\.1"):
        _listen("203.0.113.1", None)
    with _listen("127.0.0.1", None) as free:
        assert free.getsockname()[1] > 0


def test_without_the_extra_the_command_names_it(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "dash.py").write_text("raise ImportError('not here')")
    told = python(
        "-m",
        "algophase",
        "explore",
        tiny,
        "--no-browser",
        PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
    )
    assert told.returncode == 1
    assert told.stderr == (
        "algophase: error: the explorer needs dash and plotly; install them with: pip install "
        '"algophase[explore]"\n'
    )


def test_a_path_without_runs_is_one_line(tmp_path: Path) -> None:
    told = call("explore", tmp_path, "--no-browser")
    assert told.returncode == 1
    assert (
        told.stderr
        == f"algophase: error: {tmp_path} holds no runs: there is no Parquet file in it\n"
    )


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
    monkeypatch.setattr("algophase.explore.server.default_gallery", lambda: None)
    with pytest.raises(InputError, match="no sweep in this folder"):
        _make(None, None, (), None)
    told = call("explore", tmp_path / "nowhere", "--no-browser")
    assert told.returncode == 1
    assert "does not exist" in told.stderr
