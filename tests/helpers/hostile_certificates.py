"""Edits of a certificate that make it false or unreadable, by name. The editor also writes the digest
anew, so that the digest alone does not give them away.
"""

import copy
import hashlib
import json
import re
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
    chosen |= _of_network() | _of_group() | _of_program() | _of_compact() | _more_entries()
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


def _more_entries() -> dict[str, Edit]:
    """A claim that nobody checks: an entry with a name of its own."""
    paths = ("", "network", "network.settings", "group", "compact", "compact.advice")

    def one_more(value: Any) -> Any:
        return {**value, "accuracy": 1.0}

    def at_the_top(entries: Entries) -> None:
        entries["accuracy"] = 1.0

    chosen = {f"{path}: one more": _inside(path, one_more) for path in paths if path}
    return chosen | {"an entry more": at_the_top}


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

    def swapped(entries: Entries) -> None:
        names = [1, 0, *range(2, entries["group"]["order"])]
        entries["group"]["elements"] = [names, names, sorted(names)]

    def fractions(entries: Entries) -> None:
        names = [float(x) for x in range(entries["group"]["order"])]
        entries["group"]["elements"] = [names] * 3

    def repeated(entries: Entries) -> None:
        entries["group"]["elements"] = [[0] * entries["group"]["order"]] * 3

    return {
        "group.order: one more": _inside("group.order", lambda value: value + 1),
        "group.order: one less": _inside("group.order", lambda value: value - 1),
        "group.order: zero": _inside("group.order", lambda value: 0),
        "group.order: a fraction": _inside("group.order", float),
        "group.order: text": _inside("group.order", str),
        "group.order: true": _inside("group.order", lambda value: True),
        "group.order: huge": _inside("group.order", lambda value: 10**12),
        "group.table: empty": _inside("group.table", lambda value: []),
        "group.elements: empty": _inside("group.elements", lambda value: []),
        "group.elements: two swapped": swapped,
        "group.elements: fractions": fractions,
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
        "program: false": _changed("program", lambda value: False),
        "program: texts": _inside("program.0.1.0.0", str),
        "program: whole numbers": _inside("program.0.1.0.0", lambda value: 2**60 + 1),
        "program: ragged": _inside("program.0.1.0", lambda row: [*row, 0.0]),
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
    chosen |= {
        f"compact.{path}: {words}": _inside(f"compact.{path}", change)
        for path, words, change in (
            ("advice", "empty", lambda value: {}),
            ("advice.rank", "zero", lambda value: 0),
            ("advice.rank", "true", lambda value: True),
            ("advice.center", "texts", lambda value: [str(x) for x in value]),
            ("advice.center", "whole numbers", lambda value: [round(x) for x in value]),
            ("advice.scales", "negative", lambda value: [-x for x in value]),
            ("advice.scales", "balls", lambda value: ["[1 +/- 0.5]" for _ in value]),
            ("advice.basis", "true", lambda value: [[True, True, x] for _, _, x in value]),
            ("advice.basis", "fractions", lambda value: [[float(i), j, x] for i, j, x in value]),
            ("advice.basis", "negative places", lambda value: [[-1, j, x] for _, j, x in value]),
            ("advice.basis", "far places", lambda value: [[10**9, j, x] for _, j, x in value]),
            ("advice.writes", "huge", lambda value: [[i, j, 10**400] for i, j, _ in value]),
            ("advice.reading", "empty", lambda value: {}),
            ("advice.reading.owners", "huge", lambda value: [10**9 for _ in value]),
            ("advice.reading.owners", "true", lambda value: [True for _ in value]),
            ("advice.reading.owners", "fractions", lambda value: [float(x) for x in value]),
            ("advice.reading.owners", "none", lambda value: []),
            ("advice.reading.groups", "with a gap", lambda value: [x + 1 for x in value]),
            ("advice.reading.groups", "fractions", lambda value: [float(x) for x in value]),
            ("advice.reading.back", "ragged", lambda value: [value[0][:-1], *value[1:]]),
            ("advice.reading.subspace", "texts", lambda value: [["1"] * len(x) for x in value]),
            ("advice.reading.subspace", "huge", lambda value: [[0.5] * 100_000 for _ in value]),
            ("advice.reading.subspace", "nested", lambda value: [value]),
        )
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
        "a bound of 1e999": re.sub(r'("largest_difference": )\[.*?\]', r"\1[0.0, 1e999]", text),
        "a lone surrogate": text.replace('"format": "', '"format": "\\ud800', 1),
    }


def edited(text: str, edit: Edit) -> str:
    entries = copy.deepcopy(json.loads(text))
    edit(entries)
    return signed(entries)
