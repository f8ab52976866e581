"""For the reference: our docstrings as Markdown.

They explain parameters as `name: what it is`, a line each, which Markdown would run together, and
end with examples (`>>>`), which it would take for quotations.
"""

import re
from typing import Any

from griffe import Extension, Object

EXPLAINED = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (?=\S)")


def as_list(docstring: str) -> str:
    """The docstring with lines that explain parameters, and what continues them, as a list."""
    lines: list[str] = []
    inside = False
    for line in docstring.splitlines():
        match = EXPLAINED.match(line)
        if match:
            if not inside:
                lines.append("")
            lines.append(
                "- " + re.sub(r"[a-z_]+", r"`\g<0>`", match[1]) + ": " + line[match.end() :]
            )
            inside = True
        elif inside and line.strip():
            lines.append("  " + line.strip())
        else:
            lines.append(line)
            inside = False
    return "\n".join(lines)


def with_fences(docstring: str) -> str:
    """The docstring with its examples, from a `>>>` to the next blank line, as blocks of code."""
    paragraphs = docstring.split("\n\n")
    return "\n\n".join(
        f"```pycon\n{each}\n```" if each.startswith(">>>") else each for each in paragraphs
    )


class Lists(Extension):
    """Applied to each function, class and attribute as it is read."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_fences(as_list(obj.docstring.value))
