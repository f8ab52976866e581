"""Which call answers which part of the page: checked against Dash's own list, and by asking it
as a browser does.
"""

import itertools
import json
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from algophase.explore.app import make_app
from algophase.explore.callbacks import outputs
from algophase.explore.explorer import Explorer, NetworkPanel
from algophase.explore.network_callbacks import PANEL
from algophase.explore.view import SIDES, View


def ask(client: Any, call: dict[str, Any], **values: Any) -> Any:
    """Call the server as the page does. values: what the inputs and states hold, by
    component_property.
    """

    def held(parts: list[dict[str, str]]) -> list[dict[str, Any]]:
        return [
            {**part, "value": values.get(f"{part['id']}_{part['property']}".replace("-", "_"))}
            for part in parts
        ]

    # A call that only asks for another address has no output of its own, and a name in its place.
    names = [name.rsplit(".", 1) for name in call["output"].strip(".").split("...") if "." in name]
    body = {
        "output": call["output"],
        "outputs": [{"id": id, "property": what} for id, what in names],
        "inputs": held(call["inputs"]),
        "state": held(call["state"]),
        "changedPropIds": [f"{part['id']}.{part['property']}" for part in call["inputs"][:1]],
    }
    return client.post("/_dash-update-component", base_url="http://127.0.0.1", json=body)


def calls(client: Any) -> list[dict[str, Any]]:
    return json.loads(client.get("/_dash-dependencies", base_url="http://127.0.0.1").data)


def test_a_panels_fields_are_its_outputs() -> None:
    assert set(PANEL) - {"most"} <= {field.name for field in fields(NetworkPanel)}
    assert {
        name: str(output) for name, output in outputs(a="x.value", b="run-title.children").items()
    } == {
        "a": "x.value",
        "b": "run-title.children",
    }


def test_a_run_is_put_where_it_belongs(tiny: Path, tmp_path: Path) -> None:
    app, networks = make_app(tiny, tmp_path)
    client = app.server.test_client()
    (call,) = [call for call in calls(client) if call["output"].startswith("..run-panel.hidden")]
    run = next(iter(networks.data.runs.columns.rows_by_id))
    answer = ask(client, call, url_search=f"?run={run}", version_data=0)
    found = json.loads(answer.data)["response"]
    expected = Explorer(networks).show_network(View(run=run), "run")
    assert found["run-title"]["children"] == expected.title
    assert found["run-panel"]["hidden"] is False
    assert found["run-keep"]["max"] == expected.most
    assert found["run-shown"]["data"] == [run, 0]
    again = ask(client, call, url_search="", version_data=0, run_shown_data=["", 0])
    assert again.status_code == 204  # nothing to change


def test_map_runs_and_filters_answer_by_name(tiny: Path, tmp_path: Path) -> None:
    app, _ = make_app(tiny, tmp_path)
    client = app.server.test_client()
    found = dict[str, Any]()
    for call in calls(client):
        if call["output"].startswith(
            ("..map.figure", "..filters.children", "..statistics.children", "..x.value")
        ):
            found |= json.loads(ask(client, call, url_search="?where=index<2").data)["response"]
    assert found["status"]["children"] == "2 of 4 runs on the map"
    assert found["x"]["value"] == "attention_rate"
    assert found["earlier"]["disabled"] is found["later"]["disabled"] is True
    assert found["clear-region"]["hidden"] is True
    assert found["map"]["figure"]["layout"]["xaxis"]["title"]["text"] == "attention rate"


def test_each_side_has_calls_of_its_own(tiny: Path, tmp_path: Path) -> None:
    app, _ = make_app(tiny, tmp_path)
    made = [call["output"] for call in calls(app.server.test_client())]
    assert len(set(made)) == len(made)
    for side in SIDES:
        assert (
            sum(output.startswith(f"..{side}-") for output in made) == 3
        )  # its words, its logits, its circles


def test_an_address_is_decoded_once_per_event(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call of the page that asks for the address, with a run shown and one pinned."""
    decoded = list[str]()

    def parse(query: str, **options: Any) -> list[tuple[str, str]]:
        decoded.append(query)
        return parse_qsl(query, **options)

    monkeypatch.setattr("algophase.explore.view.parse_qsl", parse)
    app, networks = make_app(tiny, tmp_path)
    client = app.server.test_client()
    run, pin, *_ = networks.data.runs.columns.rows_by_id
    query = f"where=index<3&x=width&y=circularity&region=0,0,9,9&run={run}&pin={pin}"
    values = {"url_search": f"?{query}", "version_data": 0, "map_clickData": {"points": []}}
    for call in calls(client):
        needs_address = any(part["id"] == "url" for part in call["state"])
        if not call["clientside_function"] and needs_address:
            decoded.clear()
            assert ask(client, call, **values).status_code in (200, 204), call["output"]
            assert decoded == [query], call["output"]
    decoded.clear()
    client.get(f"/runs.csv?{query}", base_url="http://127.0.0.1")
    assert decoded == [query]
    networks.close()


NONSENSE: list[Any] = [
    10**400,
    -1e400,
    True,
    "x" * 5000,
    [None, {"a": [1]}],
    {"box": [1, 2, 3, 10**400], "lasso": 3},
    {"points": [{"customdata": -1e400}]},
]


def test_no_value_a_request_can_hold_is_a_server_error(
    tiny: Path, tmp_path: Path, said: list[str]
) -> None:
    """Every call of the page, with each input and state in turn holding nonsense."""
    app, networks = make_app(tiny, tmp_path)
    client, run = app.server.test_client(), next(iter(networks.data.runs.columns.rows_by_id))
    asked = 0
    for call in calls(client):
        if call["clientside_function"]:
            continue
        holders = [
            f"{part['id']}_{part['property']}".replace("-", "_")
            for part in (*call["inputs"], *call["state"])
        ]
        for number, (holder, value) in enumerate(itertools.product(holders, NONSENSE)):
            view = "?where=index<3" if number % 5 else f"?run={run}"  # its pictures take a while
            values = {"url_search": view, "version_data": 0, holder: value}
            assert ask(client, call, **values).status_code in (200, 204), (
                call["output"],
                holder,
                value,
            )
            asked += 1
    assert asked > 300
    assert said == []
    networks.close()


def test_what_is_no_call_of_the_page_is_refused_in_a_line(
    tiny: Path, tmp_path: Path, said: list[str]
) -> None:
    app, _ = make_app(tiny, tmp_path)
    client = app.server.test_client()
    bodies: list[Any] = [
        b"",
        b"{",
        b"[]",
        b"3",
        b"null",
        b'{"output": 3}',
        b'{"output": "x.value", "inputs": 3}',
        b"\xff",
    ]
    bodies += [
        json.dumps(
            {"output": "map.figure", "outputs": {}, "inputs": [], "changedPropIds": [3]}
        ).encode()
    ]
    for body in bodies:
        answer = client.post(
            "/_dash-update-component",
            base_url="http://127.0.0.1",
            data=body,
            content_type="application/json",
        )
        assert 400 <= answer.status_code < 500, (body, answer.status_code)
        assert b"Traceback" not in answer.data
    assert all(line.startswith("a request was refused: ") for line in said)
