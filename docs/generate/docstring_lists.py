"""For the reference: our docstrings as Markdown.

A docstring is prose, then sections: `Arguments:`, `Attributes:` and `Raises:` are lists of
`name: what it is`, `Returns:` is prose, `Example:` is a doctest. Markdown would run the lists
together and take the examples for quotations.
"""

import re
import textwrap
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(
    r"^(Arguments|Attributes|Returns|Raises|Example):\n((?:[ ]{4}.*\n?|\n)+)", re.MULTILINE
)
ITEM = re.compile(r"^(\w+(?:, \w+)*): ", re.MULTILINE)


def as_markdown(docstring: str) -> str:
    """The docstring with its sections as Markdown: bold heads, lists, blocks of code."""
    return SECTION.sub(_section, docstring)


def _section(match: re.Match[str]) -> str:
    name = match[1]
    body = textwrap.dedent(match[2]).strip()
    if name == "Example":
        body = f"```pycon\n{body}\n```"
    elif name != "Returns":
        body = ITEM.sub(_item, body)
    return f"**{name}**\n\n{body}\n\n"


def _item(match: re.Match[str]) -> str:
    names = re.sub(r"\w+", r"`\g<0>`", match[1])
    return f"- {names}: "


class Lists(Extension):
    """Applied to each function, class and attribute as it is read."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
