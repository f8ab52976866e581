"""Every command on the pages a newcomer follows is run; on the others, commands, imports and
spaces are checked.
"""

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from fenced import LIKE, NOT_RUN, OUTPUT, ROOT, RUN, Block, blocks, check_output, run_block

import algophase
from algophase.cli import app
from algophase.sweeps.spaces import load_space

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "gallery/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "findings").glob("*.md")),
    *sorted((ROOT / "docs" / "notes").glob("*.md")),
]
EVERY = [block for page in PAGES for block in blocks(page)]


def places(chosen: list[Block]) -> list[Any]:
    return [pytest.param(block, id=block.place) for block in chosen]


def commands(block: Block) -> list[list[str]]:
    """The words of every algophase command in a block of shell, without comments and prompts."""
    text = re.sub(r"\\\n\s*", " ", block.text)
    text = re.sub(r"<<'END'\n.*?^END$", "", text, flags=re.MULTILINE | re.DOTALL)
    words = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for line in text.splitlines()
        if "algophase " in line
    ]
    return [line[1:] for line in words if line and line[0] in ("algophase", ".venv/bin/algophase")]


def check_command(words: list[str]) -> None:
    """The subcommand and each option exist, and what the option takes is read as its value.
    Files need not exist.
    """
    group: Any = typer.main.get_command(app)
    if words[0].startswith("-"):
        assert words[0] in ("--help", "--version")
        return
    assert words[0] in group.commands, (
        f"there is no command {words[0]}; there are {', '.join(group.commands)}"
    )
    command = group.commands[words[0]]
    context = command.make_context(
        words[0], [], resilient_parsing=True
    )  # nothing is run, nothing required
    context.resilient_parsing = False  # but what does not parse is an error
    command.make_parser(context).parse_args([word for word in words[1:] if word != "..."])


def run_blocks(chosen: list[Block], directory: Path) -> None:
    (directory / "gallery").symlink_to(ROOT / "gallery")
    printed = ""
    for block in chosen:
        if block.runs:
            printed = run_block(block, directory)
        elif block.language == "text" and not block.note.startswith(NOT_RUN):
            check_output(block, printed)


def test_the_first_blocks_run(tmp_path: Path) -> None:
    """Up to the first output, which is that of networks made by hand."""
    page = blocks(ROOT / "docs" / RUN[0])
    outputs = [place for place, block in enumerate(page) if block.language == "text"]
    run_blocks(page[: outputs[0] + 1], tmp_path)
    assert list(tmp_path.rglob("*.safetensors"))


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_every_block_runs(page: str, tmp_path: Path) -> None:
    run_blocks(blocks(ROOT / "docs" / page), tmp_path)
    if page == "tutorial.md":  # what its text says about the outcome, whatever the rounding
        runs = algophase.read_runs(tmp_path / "tutorial" / "tiny")
        learned = runs[runs.validation_accuracy == 1]
        assert len(learned) >= 12
        assert learned[learned.attention_rate < 0.4].gradient_symmetricity.median() > 0.97
        assert learned[learned.attention_rate > 0.6].gradient_symmetricity.median() < 0.9


@pytest.mark.parametrize("page", RUN)
def test_blocks_are_of_a_known_kind(page: str) -> None:
    for block in blocks(ROOT / "docs" / page):
        if block.language == "text":
            assert block.note == OUTPUT or block.note.startswith((LIKE, NOT_RUN)), (
                f"{block.place}: say whose output it is"
            )
        else:
            assert block.language in ("sh", "python"), (
                f"{block.place}: {block.language!r} is neither run nor an output"
            )
            assert not block.note or len(block.note) > len(NOT_RUN) + 10, (
                f"{block.place}: say why it is not run"
            )


def test_the_blocks_can_fail(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    expected = (
        "<!-- output -->\n```text\none\n...\n```\n<!-- output like: two | three "
        "-->\n\n```text\ntwo\n```\n"
    )
    page.write_text(f"```sh\nexit 3\n```\n\n{expected}")
    failing, exact, like = blocks(page)
    with pytest.raises(AssertionError, match="exits with 3"):
        run_block(failing, tmp_path)
    check_output(exact, "zero\none\n")
    with pytest.raises(AssertionError, match="not printed"):
        check_output(exact, "ones\n")
    with pytest.raises(AssertionError, match="promises 'three'"):
        check_output(like, "two three")


@pytest.mark.parametrize(
    "block",
    places([block for block in EVERY if block.language == "sh" or "$ algophase" in block.text]),
)
def test_commands_exist(block: Block) -> None:
    for words in commands(block):
        check_command(words)


@pytest.mark.parametrize(
    "words", [["analyse", "x"], ["analyze", "x", "--colour"], ["sweep", "x", "--runs"]]
)
def test_commands_that_do_not_exist_are_noticed(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"no command|[Nn]o such option|requires an argument"):
        check_command(words)


@pytest.mark.parametrize("block", places([block for block in EVERY if block.language == "python"]))
def test_python_imports_what_exists(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = __import__(node.module, fromlist=["*"])
            for name in node.names:
                assert hasattr(module, name.name), (
                    f"{block.place}: {node.module} has no {name.name}"
                )
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "algophase"
        ):
            assert hasattr(algophase, node.attr), f"{block.place}: algophase has no {node.attr}"


@pytest.mark.parametrize("block", places([block for block in EVERY if block.language == "toml"]))
def test_spaces_load(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(block.text, encoding="utf-8")
    assert load_space(path).runs > 0
