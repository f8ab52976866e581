"""For the reference: our docstrings explain parameters as `name: what it is`, a line each, run together by Markdown."""

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
            lines.append("- " + re.sub(r"[a-z_]+", r"`\g<0>`", match[1]) + ": " + line[match.end() :])
            inside = True
        elif inside and line.strip():
            lines.append("  " + line.strip())
        else:
            lines.append(line)
            inside = False
    return "\n".join(lines)


class Lists(Extension):
    """Applied to each function, class and attribute as it is read."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)
