"""Hostile text in every field that is shown: terminal, CSV, HTML and the explorer's answers show
it as text, or not at all.
"""

import csv
import io
import json
import random
import shutil
from pathlib import Path
from typing import Any

from mutants import command
from runs_made import row, sweep_of
from trial import Ended, in_child

from algophase.core.errors import InputError
from algophase.explore.app import make_app
from algophase.reports.make import report

MARK = "<img src=x onerror=alert(1)>"
ESCAPES = [
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\x9b31m",
    "\u202e",
    "\x00",
    "\r",
    "\n",
    "\t",
    "[red]",
    " " * 50,
    "x" * 3000,
]
CODE = [
    MARK,
    "</script>",
    "&lt;",
    "{{7*7}}",
    "${x}",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(1)",
    "'",
    '"',
    "`rm`",
    "../..",
    "%s%n",
]
PIECES = [*ESCAPES, *CODE, "\ud800", "\udcff", "\U0001d54f", "é"]
HARMFUL = {chr(number) for number in (*range(10), *range(11, 32), *range(127, 160), 0x202E)}
FIELDS = [
    "verdict",
    "paper_label",
    "engine",
    "device",
    "kind",
    "space",
    "activation",
    "note",
    "reasons",
    "shape",
]


def hostile_text(draw: random.Random) -> str:
    text = "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 4)))
    return text.encode("utf-8", "replace").decode()  # Parquet and JSON hold no halves of characters


def make_sweep(place: Path, draw: random.Random) -> None:
    shutil.rmtree(place, ignore_errors=True)
    rows = []
    for index in range(4):
        changed: dict[str, Any] = {name: hostile_text(draw) for name in draw.sample(FIELDS, 3)}
        if "reasons" in changed:
            changed["reasons"] = [changed["reasons"]]
        rows.append(
            row(index)
            | {"space": "tiny"}
            | changed
            | {f"column {hostile_text(draw)}": hostile_text(draw)}
        )
    directory = sweep_of(
        place, [{**each, "space": "tiny"} for each in rows], device=hostile_text(draw)
    )
    data = json.loads((directory.path / "sweep.json").read_text())
    data["space"]["title"] = hostile_text(draw)
    (directory.path / "sweep.json").write_text(json.dumps(data))


def check(place: Path, draw: random.Random, page: bool) -> None:
    """Raises where text gets out. page: also make the report and the explorer's page, which take
    seconds.
    """
    commands: list[tuple[object, ...]] = [
        ("runs", place),
        ("runs", place, "--columns", "index,verdict,note"),
    ]
    for words in (*commands, ("compare", place, place, "--bootstrap", 100)):
        try:
            said = command(*words)
        except InputError as error:
            said = str(error)
        assert not HARMFUL & set(said), f"{words}: {said!r}"
    for names, *cells in [
        list(csv.reader(io.StringIO(command("runs", place, "--csv", "-"), newline="")))
    ]:
        for cell in (*names, *(cell for line in cells for cell in line)):
            number = cell.lstrip("+-").replace(".", "").replace("e", "").replace("-", "").isdigit()
            assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (
                f"a formula: {cell!r}"
            )
    json.loads(command("runs", place, "--json"))
    if page:
        made = place.with_name("page.html")
        report([place], made, title=hostile_text(draw))
        assert MARK.encode() not in made.read_bytes(), "raw HTML in the report"
        app, _ = make_app(place, place.with_name("cache"))
        client = app.server.test_client()
        for path in ("/", "/_dash-layout", "/_dash-dependencies"):
            answer = client.get(path, base_url="http://127.0.0.1")
            assert answer.status_code == 200
            assert path != "/" or MARK.encode() not in answer.data, "raw HTML in the page"


def attack(place: Path, draw: random.Random, number: int) -> Ended:
    def work() -> None:
        make_sweep(place, draw)
        check(place, draw, page=number % 10 == 0)

    return in_child(work)
