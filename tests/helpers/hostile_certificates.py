"""Edits of a certificate that make it false or unreadable, by name. The editor also writes the digest
anew, so that the digest alone does not give them away.
"""

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

Entries = dict[str, Any]
Edit = Callable[[Entries], None]
COUNTS = ("pairs", "proved_right", "proved_wrong", "undecided")
ENCLOSURES = ("largest_difference", "share_explained")
NO_DIGEST = "0" * 64


def signed(entries: Entries) -> str:
    """The certificate as text with a digest that fits."""
    text = json.dumps({**entries, "digest": NO_DIGEST})
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text.replace(NO_DIGEST, digest, 1)


def edits() -> dict[str, Edit]:
    """All edits of parsed entries, by what they do."""
    chosen: dict[str, Edit] = {}
    counts: dict[str, Callable[[Any], Any]] = {
        "one more": lambda value: value + 1,
        "one less": lambda value: value - 1,
        "negative": lambda value: -value - 1,
        "a thousand more": lambda value: value + 1000,
        "a fraction": lambda value: value + 0.5,
        "text": str,
        "nothing": lambda value: None,
        "a list": lambda value: [value],
        "too large for a float": lambda value: 10**400,
    }
    for name in COUNTS:
        for words, change in counts.items():
            chosen[f"{name}: {words}"] = _changed(name, change)
        chosen[f"{name}: missing"] = _without(name)
    enclosures: dict[str, Callable[[Any], Any]] = {
        "below": lambda ends: [ends[0] - 2.0, ends[0] - 1.0],
        "above": lambda ends: [ends[1] + 1.0, ends[1] + 2.0],
        "too narrow": lambda ends: [sum(ends) / 2, sum(ends) / 2],
        "swapped": lambda ends: ends[::-1],
        "of one number": lambda ends: ends[:1],
        "NaN": lambda ends: [float("nan"), float("nan")],
        "text": lambda ends: [str(end) for end in ends],
        "nothing": lambda ends: None,
        "half open": lambda ends: [ends[0], None],
    }
    for name in ENCLOSURES:
        for words, change in enclosures.items():
            chosen[f"{name}: {words}"] = _changed(name, change)
        chosen[f"{name}: missing"] = _without(name)
    chosen |= _of_network() | _of_group() | _of_program() | _of_compact()
    for name in ("format", "version", "network", "group", "program", "compact"):
        chosen[f"{name}: missing"] = _without(name)
    chosen["format: another"] = _changed("format", lambda value: "other")
    chosen["version: 1"] = _changed("version", lambda value: 1)
    chosen["version: true"] = _changed("version", lambda value: True)
    return chosen


def _changed(name: str, change: Callable[[Any], Any]) -> Edit:
    def edit(entries: Entries) -> None:
        entries[name] = change(entries[name])

    return edit


def _without(name: str) -> Edit:
    def edit(entries: Entries) -> None:
        del entries[name]

    return edit


def _inside(path: str, change: Callable[[Any], Any]) -> Edit:
    """A change of what lies at names that dots join; a number is a place in a list."""

    def edit(entries: Entries) -> None:
        *names, last = [int(name) if name.isdigit() else name for name in path.split(".")]
        value: Any = entries
        for name in names:
            value = value[name]
        value[last] = change(value[last])

    return edit


def _of_network() -> dict[str, Edit]:
    changes: dict[str, Callable[[Any], Any]] = {
        "network.weights_sha256": lambda value: NO_DIGEST,
        "network.settings.attention_rate": lambda value: value / 2,
        "network.settings.activation": lambda value: "none",
        "network.settings.layers": lambda value: 2,
        "network.settings.heads": lambda value: value + 1,
        "network.settings.kind": lambda value: "linear",
        "network.settings": lambda value: {},
        "network.separate_vocabularies": lambda value: not value,
        "network.equals_sign": lambda value: not value,
    }
    return {f"{path} changed": _inside(path, change) for path, change in changes.items()}


def _of_group() -> dict[str, Edit]:
    def table(n: int, entry: Callable[[int, int], int]) -> list[list[int]]:
        return [[entry(x, y) for y in range(n)] for x in range(n)]

    def own_answers(entries: Entries) -> None:
        n = entries["group"]["order"]
        entries["group"]["table"] = table(n, lambda x, y: (x + y + 1) % n)

    def subtraction(entries: Entries) -> None:
        n = entries["group"]["order"]
        entries["group"]["table"] = table(n, lambda x, y: (x - y) % n)

    def constant(entries: Entries) -> None:
        n = entries["group"]["order"]
        entries["group"]["table"] = table(n, lambda x, y: 0)

    def renamed(entries: Entries) -> None:
        n = entries["group"]["order"]
        shifted = [(x + 1) % n for x in range(n)]
        entries["group"]["elements"] = [shifted, shifted, shifted]

    def repeated(entries: Entries) -> None:
        entries["group"]["elements"] = [[0] * entries["group"]["order"]] * 3

    return {
        "group.order: one more": _inside("group.order", lambda value: value + 1),
        "group.order: one less": _inside("group.order", lambda value: value - 1),
        "group.order: zero": _inside("group.order", lambda value: 0),
        "group.table: shifted": own_answers,
        "group.table: subtraction": subtraction,
        "group.table: constant": constant,
        "group.elements: shifted": renamed,
        "group.elements: repeated": repeated,
    }


def _of_program() -> dict[str, Edit]:
    return {
        "program: nothing": _changed("program", lambda value: None),
        "program: empty": _changed("program", lambda value: []),
        "program: another place": _inside("program.0.0", lambda value: "left"),
        "program: no place": _inside("program.0.0", lambda value: "behind"),
        "program: twice": _inside("program.0.1", lambda rows: [[2 * x for x in r] for r in rows]),
        "program: shorter": _inside("program.0.2", lambda value: value[:-1]),
        "program: NaN": _inside("program.0.1.0.0", lambda value: float("nan")),
        "program: text": _inside("program.0.2", lambda value: "wave"),
    }


def _of_compact() -> dict[str, Edit]:
    changes: dict[str, Callable[[Any], Any]] = {
        "proved_right": lambda value: value + 1,
        "operations": lambda value: value - 1,
        "brute_force_operations": lambda value: value + 1,
        "operations_share": lambda value: value / 2,
        "advice.scales": lambda value: [0.0] * len(value),
        "advice.center": lambda value: value[:-1],
        "advice.rank": lambda value: value + 10**9,
        "advice.basis": lambda value: [[row, column, float("nan")] for row, column, _ in value],
        "advice.writes": lambda value: value[1:],
        "advice.contested": lambda value: [*value, [0, 0, [1, 2, 3]]],
        "advice.reading": lambda value: None,
        "advice.reading.owners": lambda value: [len(value), *value[1:]],
        "advice.reading.factors": lambda value: value[:-1],
        "advice.reading.reads": lambda value: [*value, value[0]],
        "advice.reading.subspace": lambda value: value[:-1],
        "advice.reading.back": lambda value: [[0.0 for _ in row] for row in value],
        "advice.reading.groups": lambda value: [-1, *value[1:]],
    }
    chosen = {
        f"compact.{path} changed": _inside(f"compact.{path}", change)
        for path, change in changes.items()
    }
    chosen["compact.advice.scales: huge"] = _inside(
        "compact.advice.scales", lambda value: [1e250] * len(value)
    )
    chosen["compact.advice.scales: infinite"] = _inside(
        "compact.advice.scales", lambda value: [float("inf")] * len(value)
    )
    return chosen


def texts(text: str) -> dict[str, str]:
    """Edits of the text itself."""
    name = '"proved_right": '
    return {
        "empty": "",
        "cut in half": text[: len(text) // 2],
        "with more after it": text + "{}",
        "a list": "[]",
        "a number": "3481",
        "nested": "[" * 100_000,
        "a name twice": text.replace(name, f'"proved_right": 0, {name}', 1),
        "without a digest": text.replace('"digest"', '"digested"', 1),
        "another digest": text.replace('"digest": "', '"digest": "0', 1),
        "a space more": text.replace(": ", ":  ", 1),
        "not text": "\\x00\\x01",
    }


def edited(text: str, edit: Edit) -> str:
    entries = copy.deepcopy(json.loads(text))
    edit(entries)
    return signed(entries)
