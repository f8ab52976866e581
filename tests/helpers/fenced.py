"""The fenced blocks of our Markdown pages, and how they are run.

On a page that is run, every `sh` and `python` block runs in order, each in a process of its own, in
one directory that holds the gallery. A comment right before a block says otherwise, or what to
expect:

    <!-- not run: it needs a GPU -->        before sh or python: left out, for this reason
    <!-- output -->                         before text: each of its lines is printed by the block above (`...` leaves some out)
    <!-- output like: a phrase | another --> before text: printed once; outcomes depend on rounding, these phrases do not
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from commands import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
RUN = (
    "tutorial.md",
    "howto-network.md",
    "elsewhere.md",
    "howto-train.md",
    "howto-sweep.md",
    "findings.md",
    "findings/what-was-learned.md",
    "findings/what-decides.md",
    "findings/training-choices.md",
    "findings/how-it-comes-about.md",
    "findings/which-frequencies.md",
    "findings/other-architectures.md",
    "findings/other-groups.md",
    "findings/one-algorithm-or-two.md",
    "findings/inside.md",
    "findings/learning-coefficient.md",
    "ground-truth.md",
    "index.md",
    "reference.md",
    "groups.md",
    "rivals.md",
)

FENCE = re.compile(r"^```(\S*)\s*$")
COMMENT = re.compile(r"^<!-- (.+) -->$")
NOT_RUN, OUTPUT, LIKE = "not run: ", "output", "output like: "


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line it starts on, its language, its text, and the comment
    right before it ("" if none).
    """

    page: Path
    line: int
    language: str
    text: str
    note: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language in ("sh", "python") and not self.note.startswith(NOT_RUN)

    @property
    def phrases(self) -> list[str]:
        return self.note.removeprefix(LIKE).split(" | ")


def blocks(page: Path) -> list[Block]:
    found: list[Block] = []
    start, language, note, inside = 0, "", "", list[str]()
    comment, opened = "", ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if start:
            if line == "```":
                found.append(Block(page, start, language, "\n".join(inside), note))
                start, comment = 0, ""
            else:
                inside.append(line)
        elif fence:
            start, language, note, inside = number, fence[1], comment, []
        elif line.strip():
            said = f"{opened} {line}" if opened else line  # a comment may go over several lines
            opened = said if said.startswith("<!-- ") and not said.endswith(" -->") else ""
            match = COMMENT.match(said)
            comment = match[1] if match else ""
    assert not start, f"{page.name}:{start}: the block is not closed"
    return found


def run_block(block: Block, directory: Path) -> str:
    """Run a block and return what it printed."""
    command = (
        ["bash", "-euo", "pipefail", "-c"] if block.language == "sh" else [sys.executable, "-c"]
    )
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MPLBACKEND": "agg",
    }
    done = subprocess.run(
        [*command, block.text],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, (
        f"{block.place} exits with {done.returncode}:\n{block.text}\n{done.stdout}{done.stderr}"
    )
    return done.stdout + done.stderr


def check_output(block: Block, printed: str) -> None:
    """Compare a text block with what the block above it printed."""
    if block.note == OUTPUT:
        lines = {line.rstrip() for line in printed.splitlines()}
        missing = [
            line
            for line in block.text.splitlines()
            if line.strip() not in ("", "...") and line.rstrip() not in lines
        ]
        assert not missing, f"{block.place} shows lines that are not printed: {missing}\n{printed}"
    else:
        for phrase in block.phrases:
            assert phrase in block.text, f"{block.place} promises {phrase!r} and does not show it"
            assert phrase in printed, (
                f"{block.place} promises {phrase!r}, which is not printed:\n{printed}"
            )
