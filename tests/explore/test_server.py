import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from commands import call, python

from algophase.core.errors import InputError
from algophase.explore.app import make_app
from algophase.explore.server import _listen
from algophase.storage.runs_table import write_shard


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
