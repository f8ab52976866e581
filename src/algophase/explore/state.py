"""What the page shows, as the query of its address: a view can be shared, reloaded, and gone back
to.

    ?where=attention_rate<0.5&x=width&x-scale=log&y=circularity&colour=verdict&region=0.1,0.2,0.5,0.9&run=58ae40340899&off=17,0&pin=...

Reading never fails: what cannot be used is left out, and a message says so.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from algophase.core.errors import InputError
from algophase.runs.selection import Condition, read_condition

Side = Literal["run", "pin"]
SIDES: tuple[Side, Side] = ("run", "pin")
Point = tuple[float, float]
SCALES = ("linear", "log")  # of an axis
REST = (
    0  # among circles, which have frequencies from 1 on: what of the embedding belongs to no circle
)
MOST_FILTERS = 20
# The address by what follows from it, as explore.js cuts it: a click on a run asks nothing about
# filters or another network.
PARTS = ("axes", "map", "marks", "run", "pin")
CHOICES = (
    "x",
    "x-scale",
    "y",
    "y-scale",
    "colour",
)  # how the map is drawn, as the address names it
MOST_CORNERS = 60
MOST_CIRCLES = 200
LONGEST = 200  # characters of a value
DIGITS = 6  # of a region's corners
RUN_ID = re.compile(r"[0-9a-f]{12}")
_FREQUENCY = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True)
class View:
    """Empty names and scales stand for the page's own choice.

    region: two opposite corners of a box, or the corners of a lasso; off, pin_off: frequencies of
        the circles switched off.
    """

    filters: tuple[Condition, ...] = ()
    x: str = ""
    y: str = ""
    colour: str = ""
    region: tuple[Point, ...] = ()
    run: str = ""
    pin: str = ""
    off: tuple[int, ...] = ()
    pin_off: tuple[int, ...] = ()
    x_scale: str = ""
    y_scale: str = ""

    def network(self, side: Side) -> tuple[str, tuple[int, ...]]:
        """A side's run and the circles switched off in it."""
        return (self.run, self.off) if side == "run" else (self.pin, self.pin_off)

    def with_network(self, side: Side, run: str, off: Iterable[int] = ()) -> "View":
        circles = tuple(sorted(set(off))) if run else ()
        return (
            replace(self, run=run, off=circles)
            if side == "run"
            else replace(self, pin=run, pin_off=circles)
        )

    def pinned(self) -> "View":
        """The run's side moved to the pinned one."""
        return replace(self, run="", off=(), pin=self.run, pin_off=self.off)


def encode(view: View) -> str:
    """The query of an address, "" for a view with nothing chosen."""
    pairs = [("where", condition_text(condition)) for condition in view.filters]
    pairs += [(name, value) for name in CHOICES if (value := getattr(view, name.replace("-", "_")))]
    if view.region:
        pairs.append(
            (
                "region",
                ",".join(f"{number:.{DIGITS}g}" for point in view.region for number in point),
            )
        )
    for side in SIDES:
        run, off = view.network(side)
        if run:
            pairs.append((side, run))
            if off:
                pairs.append(("off" if side == "run" else "pin-off", ",".join(map(str, off))))
    return f"?{urlencode(pairs, safe=',<>!')}" if pairs else ""


def condition_text(condition: Condition) -> str:
    """A condition as `read_condition` reads it back, quoted where its value would not survive
    bare.
    """
    value = condition.value
    bare = (
        bool(value) and value == value.strip() and value[0] not in "='\"" and value[-1] not in "'\""
    )
    return (
        f"{condition.column}{condition.operator}{value}"
        if bare
        else f'{condition.column}{condition.operator}"{value}"'
    )


def decode(search: object) -> tuple[View, list[str]]:
    """The view of an address's query, and a message for each part of it that cannot be used.
    What is no text is no query.
    """
    problems: list[str] = []
    texts: dict[str, str] = {}
    filters: list[Condition] = []
    try:
        query = search.removeprefix("?") if isinstance(search, str) else ""
        pairs = parse_qsl(query, max_num_fields=MOST_FILTERS + 20)
    except ValueError:
        return View(), ["the address holds too many settings: it is not one of this page's"]
    for name, value in pairs:
        if name == "where":
            try:
                filters.append(checked_condition(value))
            except InputError as error:
                problems.append(str(error))
        elif name in (*CHOICES, "region", "run", "pin", "off", "pin-off"):
            texts[name] = value
    if len(filters) > MOST_FILTERS:
        problems.append(f"{len(filters)} filters are asked for; the first {MOST_FILTERS} are used")
    x, y, colour = (texts.get(name, "")[:LONGEST] for name in ("x", "y", "colour"))
    x_scale, y_scale = (
        _scale(texts.get(name, ""), name, problems) for name in ("x-scale", "y-scale")
    )
    kept = tuple(dict.fromkeys(filters[:MOST_FILTERS]))
    region = _region(texts.get("region", ""), problems)
    view = View(kept, x, y, colour, region, x_scale=x_scale, y_scale=y_scale)
    for side, key in (("run", "off"), ("pin", "pin-off")):
        run = texts.get(side, "")
        if run and not RUN_ID.fullmatch(run):
            problems.append(f"run is {run[:LONGEST]!r}; a run's id has 12 hexadecimal digits")
        elif run:
            view = view.with_network(side, run, _frequencies(texts.get(key, ""), problems))  # type: ignore[arg-type]
    return view, problems


def checked_condition(text: str) -> Condition:
    """A condition of bounded length, without control characters."""
    if len(text) > LONGEST:
        raise InputError(f"condition has {len(text)} characters; write at most {LONGEST}")
    return read_condition(re.sub(r"[\x00-\x1f\x7f]", " ", text))


def _scale(text: str, name: str, problems: list[str]) -> str:
    if text and text not in SCALES:
        problems.append(f"{name} is {text[:LONGEST]!r}; choose one of {', '.join(SCALES)}")
        return ""
    return text


def _region(text: str, problems: list[str]) -> tuple[Point, ...]:
    if not text:
        return ()
    try:
        numbers = [
            float(part) for part in text.split(",", 2 * MOST_CORNERS + 2)[: 2 * MOST_CORNERS + 2]
        ]
    except ValueError:
        numbers = []
    points = list(zip(numbers[::2], numbers[1::2], strict=False))
    if (
        len(numbers) % 2
        or not 2 <= len(points) <= MOST_CORNERS
        or not all(map(math.isfinite, numbers))
    ):
        problems.append("the region of the address is not 2 to 60 points x,y: it is left out")
        return ()
    return tuple(points)


def _frequencies(text: str, problems: list[str]) -> tuple[int, ...]:
    parts = [part for part in text.split(",")[:MOST_CIRCLES] if part]
    if not all(_FREQUENCY.fullmatch(part) for part in parts):
        problems.append("the circles switched off in the address are not frequencies: all are on")
        return ()
    return tuple(sorted({int(part) for part in parts}))


def region_of(selected: object) -> tuple[Point, ...]:
    """The region of what the browser sends: {"box": [x0, y0, x1, y1]} or {"lasso": [[x, y],
    ...]}; () where it is neither.
    """
    if not isinstance(selected, dict):
        return ()
    try:
        if "box" in selected:
            x0, y0, x1, y1 = (_rounded(number) for number in selected["box"])
            points: Sequence[Point] = ((min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1)))
        else:
            corners = [(_rounded(x), _rounded(y)) for x, y in selected.get("lasso", ())]
            every = math.ceil(len(corners) / MOST_CORNERS) or 1
            points = corners[::every]
    except (TypeError, ValueError, OverflowError):
        return ()
    finite = all(math.isfinite(number) for point in points for number in point)
    box = "box" in selected
    return tuple(points) if finite and (box or len(points) > 2) else ()


def _rounded(number: object) -> float:
    return float(f"{float(number):.{DIGITS}g}")  # type: ignore[arg-type]
