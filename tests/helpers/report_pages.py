"""What the tests of reports share: made-up runs, and a page taken apart."""

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
import pandas

from algophase.reports.page import Page
from algophase.storage.sweep_directory import SweepDirectory

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def made_runs(count: int, seed: int = 0, **more: Any) -> pandas.DataFrame:
    """Runs that look like fixed-width's: a third circular, Pizzas below a rate of about 0.5 and
    Clocks above.
    """
    draw = numpy.random.default_rng(seed)
    rate = draw.uniform(0, 1, count)
    late = rate + draw.normal(0, 0.05, count) > 0.5
    circular = draw.uniform(size=count) < 0.4
    verdict = numpy.where(~circular, "non-circular", numpy.where(late, "Clock", "Pizza"))
    runs = pandas.DataFrame(
        {
            "index": range(count),
            "run_id": [f"{seed:02d}{i:010d}" for i in range(count)],
            "kind": "transformer",
            "modulus": 59,
            "separate_vocabularies": False,
            "equals_sign": False,
            "activation": "relu",
            "layers": 1,
            "width": 128,
            "attention_rate": rate,
            "accuracy": 1.0,
            "validation_accuracy": 1.0,
            "gradient_symmetricity": numpy.where(late, 0.6, 0.985)
            + 0.01 * draw.uniform(size=count),
            "gradient_symmetricity_exact": numpy.where(late, 0.6, 0.985)
            + 0.01 * draw.uniform(size=count),
            "distance_irrelevance": numpy.where(late, 0.8, 0.2) + 0.02 * draw.normal(size=count),
            "distance_irrelevance_wrong_logit": numpy.where(late, 0.8, 0.3)
            + 0.02 * draw.normal(size=count),
            "circularity": numpy.where(circular, 0.998, 0.9),
            "parameter_norm": 24 + draw.normal(size=count),
            "verdict": verdict,
        }
    )
    return runs.assign(**more)


def made_sweep(
    path: Path, table: pandas.DataFrame, about: dict[str, Any] | None = None, **space: Any
) -> Path:
    directory = SweepDirectory(path)
    directory.describe({"name": "made-up", **space}, 0)
    directory.add(
        table.to_dict("records"),
        about or {"device": "none", "date": "2026-01-01", "runs": len(table)},
    )
    return path


class Parsed(HTMLParser):
    """A page's elements: texts by tag, attributes, and the pictures as data."""

    def __init__(self, page: str | Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.figures: dict[str, dict[str, Any]] = {}
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page.read_text(encoding="utf-8") if isinstance(page, Path) else page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append((tag, dict(attrs)))
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag  # everything that is opened is closed, in order

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        tag, attributes = self.open[-1]
        name = attributes.get("id") or ""
        if tag == "script" and attributes.get("type") == "application/json":
            self.figures[name.removesuffix("-data")] = json.loads(data)
        elif tag != "script":
            for outer in {tag for tag, _ in self.open}:
                self.texts[outer][-1] += data

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.tags)

    @property
    def words(self) -> str:
        return " ".join(self.texts["body"])


def parsed(page: Page) -> Parsed:
    return Parsed(page.render().decode())


def numbers(value: Any) -> numpy.ndarray:
    """An array as plotly writes it: a list, or bytes with their type."""
    if isinstance(value, list):
        return numpy.asarray(value)
    kind = {"f4": "<f4", "f8": "<f8", "i1": "i1", "i2": "<i2", "i4": "<i4", "i8": "<i8"}[
        value["dtype"]
    ]
    array = numpy.frombuffer(base64.b64decode(value["bdata"]), dtype=kind)
    shape = value.get("shape")
    return array if shape is None else array.reshape([int(size) for size in str(shape).split(",")])
