"""Text from files, wherever a command shows it: no escape reaches the terminal, no cell of an
export is a formula.
"""

import csv
import io
import json
from pathlib import Path

import pytest
from commands import call
from runs_made import row, sweep_of
from shard_files import write_shard

from algophase.cli.output import CommandBar
from algophase.core.progress import Progress
from algophase.core.wording import printable

ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\x00\r"
HARMFUL = {chr(number) for number in (*range(10), *range(11, 32), *range(127, 160), 0x202E)}


def harmless(text: str) -> bool:
    return not HARMFUL & set(text)


def test_what_could_move_the_cursor_is_a_question_mark() -> None:
    assert printable("a\x1b[2Jb\r\nc\td\u202ee\udcff") == "a?[2Jb?\nc?d?e?"
    assert printable("Größe: 3·10⁴,\u00a0naïve ✓\n") == "Größe: 3·10⁴,\u00a0naïve ✓\n".replace(
        "\u00a0", " "
    )


def test_no_command_prints_an_escape(tmp_path: Path) -> None:
    sweep_of(
        tmp_path / "sweep",
        [row(0, verdict=ESCAPE) | {f"column{ESCAPE}": ESCAPE}, row(1)],
        device=ESCAPE,
    )
    description = tmp_path / "sweep" / "sweep.json"
    data = json.loads(description.read_text())
    data["space"]["title"] = ESCAPE
    description.write_text(json.dumps(data))
    (tmp_path / f"bad{ESCAPE[:-2]}.safetensors").write_text("")
    write_shard(tmp_path / "bad.parquet", [{"index": 0, "run_id": [ESCAPE]}], {})
    commands = [
        ("runs", tmp_path / "sweep"),
        ("runs", tmp_path / "sweep", "--columns", f"column{ESCAPE}"),
        ("runs", tmp_path / "sweep", "--where", f"none{ESCAPE}=1"),
        ("runs", tmp_path / "sweep", "--json"),
        ("runs", tmp_path / "bad.parquet"),
        ("analyze", tmp_path),
        ("retrain", tmp_path / "sweep", ESCAPE.strip("\x00")),
        ("merge", tmp_path / "sweep", "--out", tmp_path / f"out{ESCAPE[:-2]}"),
    ]
    for command in commands:
        done = call(*command)
        assert harmless(done.stdout + done.stderr), command


def test_a_bar_shows_no_escape(capsys: pytest.CaptureFixture[str]) -> None:
    with CommandBar() as bar:
        bar.say(f"said {ESCAPE}")
        bar(Progress(ESCAPE, ESCAPE))
        bar.complain(ESCAPE)
    assert harmless(capsys.readouterr().err)


def test_a_complaint_quotes_no_more_than_a_few_lines_of_a_file(tmp_path: Path) -> None:
    sweep_of(tmp_path, [row(0)])
    description = tmp_path / "sweep.json"
    description.write_text(description.read_text().replace("algophase-sweep", "x" * 5000))
    assert len(call("runs", tmp_path).stderr) < 400


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_compute_is_exported_as_text(
    tmp_path: Path, start: str
) -> None:
    formula = f"{start}HYPERLINK(1)"
    sweep_of(
        tmp_path / "sweep",
        [row(0, verdict=formula, paper_label=formula, note=formula) | {formula: -0.5}],
    )
    done = call("runs", tmp_path / "sweep", "--csv", "-")
    (names, cells) = csv.reader(io.StringIO(done.stdout, newline=""))
    held, quoted = dict(zip(names, cells, strict=True)), f"'{formula}".replace("\r", "\n")
    assert held["verdict"] == held["note"] == quoted
    assert held[quoted] == "-0.5"  # a number stays one


def test_an_export_is_exact_so_that_no_formula_appears_where_a_color_was(tmp_path: Path) -> None:
    """Found by the campaign: printed by click, a pipe would get the cell without its color
    code.
    """
    sweep_of(tmp_path / "sweep", [row(0, note="\x1b[2J=HYPERLINK(1)")])
    (_, cells) = csv.reader(
        io.StringIO(call("runs", tmp_path / "sweep", "--columns", "note", "--csv", "-").stdout)
    )
    assert cells == ["\x1b[2J=HYPERLINK(1)"]
