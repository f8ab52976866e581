"""What MkDocs makes besides the pages in docs/: the command line's reference, a list of all
populations with a report on each, and links for pages named `docs/NAME.md`.

Reports take seconds and megabytes each: they are made of the tables that the environment variable
ALGOPHASE_REPORTS names, or of all with `all`, as `make docs` has it.
"""

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from mkdocs.structure.files import File, Files

from algophase.cli import app
from algophase.reports.population_map import card, key
from algophase.runs.populations import find_sweeps, read_population

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

PAGE_NAME = re.compile(r"(?<!\[)`docs/([a-z-]+\.md)`")
GALLERY = Path(__file__).parents[2] / "gallery"
CARDS = GALLERY.parent / "src" / "algophase" / "explore" / "assets" / "populations.css"
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: "MkDocsConfig") -> Files:
    files.append(File.generated(config, "cli.md", content=command_line_page()))
    files.append(File.generated(config, "populations.md", content=populations_page()))
    files.append(
        File.generated(config, "populations.css", content=CARDS.read_text(encoding="utf-8"))
    )
    return files


def on_post_build(config: "MkDocsConfig") -> None:
    from algophase.reports.make import report

    wanted = os.environ.get("ALGOPHASE_REPORTS", "").split(",")
    for table in find_sweeps(GALLERY):
        if table.name in wanted or "all" in wanted:
            out = Path(config.site_dir) / "reports" / f"{table.name}.html"
            out.parent.mkdir(exist_ok=True)
            report([table], out)


def populations_page() -> str:
    """Every table as a card of `algophase explore`: a picture, what it varies, how many runs it
    has, what they learned.
    """
    found = [read_population(table) for table in find_sweeps(GALLERY)]
    verdicts = dict.fromkeys(verdict for population in found for verdict in population.counts)
    cards = "".join(card(population, f"reports/{population.name}.html") for population in found)
    lines = [
        "# All populations",
        "The tables of `gallery/`, each with a report: phase diagrams, shares and comparisons. "
        "One point per run, by its two "
        "metrics; dotted: where the paper draws its lines. `algophase explore` opens the same "
        "map with the runs behind it.",
        key(verdicts),
        f'<ul class="populations">{cards}</ul>',
        "Labels are verdicts where a table has them, else the paper's, and the card says so "
        "([the difference](method.md)). "
        "This page is generated from the tables.",
    ]
    return "\n\n".join(lines) + "\n"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link pages named in the text; what stands in a fenced block stays as it is."""
    parts = FENCE.split(markdown)
    return "".join(
        part if part.startswith("```") else PAGE_NAME.sub(r"[`docs/\1`](\1)", part)
        for part in parts
    )


def command_line_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    command: Any = typer.main.get_command(app)
    lines = [
        "# The command line",
        "",
        command.help,
        "",
        "This page is generated from the command itself.",
        "",
    ]
    for name, subcommand in command.commands.items():
        lines += _command(name, subcommand)
    return "\n".join(lines)


def _command(name: str, command: Any) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join([f"algophase {name}", *command.collect_usage_pieces(context)])
    yield from (f"## algophase {name}", "", command.help, "", "```text", usage, "```", "")
    yield from ("| takes | |", "|---|---|")
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield f"| `{record[0]}` | {_prose(record[1])} |"
    yield ""
    if command.epilog:
        label, _, example = command.epilog.partition(":")
        yield from (f"{label}:", "", "```sh", example.strip(), "```", "")


def _prose(text: str) -> str:
    """A help text as Markdown: nothing in it is markup but its own backticks."""
    escaped = html.escape(text, quote=False)
    return escaped if "`" in text else re.sub(r"([*_\[\]|])", r"\\\1", escaped)
