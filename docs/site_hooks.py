"""What MkDocs makes besides the pages in docs/: the command line's reference, and links for pages named `docs/NAME.md`."""

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from mkdocs.structure.files import File, Files

from algophase.cli import app

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

PAGE_NAME = re.compile(r"(?<!\[)`docs/([a-z-]+\.md)`")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: "MkDocsConfig") -> Files:
    files.append(File.generated(config, "cli.md", content=command_line_page()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link pages named in the text; what stands in a fenced block stays as it is."""
    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else PAGE_NAME.sub(r"[`docs/\1`](\1)", part) for part in parts)


def command_line_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    command: Any = typer.main.get_command(app)
    lines = ["# The command line", "", command.help, "", "This page is generated from the command itself.", ""]
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
