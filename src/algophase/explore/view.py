"""What the page shows, as the query of its address: a view can be shared, reloaded, and gone back
to.

    ?where=attention_rate<0.5&x=width&x-scale=log&y=circularity&color=verdict
     &region=0.1,0.2,0.5,0.9&run=58ae40340899&off=17,0&pin=...

`decode` reads an address and `encode` writes it; nothing else knows how an address is spelled.
Decoding never fails: what cannot be used is left out, and the view's `problems` say so.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import parse_qsl, urlencode

from algophase.core.errors import InputError
from algophase.runs.selection import Condition, read_condition

Side = Literal["run", "pin"]
SIDES: tuple[Side, Side] = ("run", "pin")
Point = tuple[float, float]
SCALES = ("linear", "log")  # of an axis
# Among circles, which have frequencies from 1 on: what of the embedding belongs to no circle
REST = 0
# The address by what follows from it, as explore.js cuts it: a click on a run asks nothing about
# filters or another network.
PARTS = ("axes", "map", "marks", "run", "pin")
CHOICES = ("x", "x-scale", "y", "y-scale", "color")  # how the map is drawn
OFF_NAMES: dict[Side, str] = {"run": "off", "pin": "pin-off"}
MOST_FILTERS = 20
MOST_CORNERS = 60
MOST_CIRCLES = 200
LONGEST = 200  # characters of a value
DIGITS = 6  # of a region's corners
# A run of ours has 12 hexadecimal digits, a network of a survey its name (`clean_id`). It becomes
# the name of a file: no slash, and no dot at its start.
RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")
_FREQUENCY = re.compile(r"[0-9]{1,6}")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class View:
    """Everything an address says. Empty names and scales stand for the page's own choice.

    region: two opposite corners of a box, or the corners of a lasso.
    off, pin_off: frequencies of the circles switched off in the run and in the pinned run.
    problems: a message for each part of the address that cannot be used. They are no part of what
        a view is: two views that show the same are equal.
    """

    filters: tuple[Condition, ...] = ()
    x: str = ""
    y: str = ""
    color: str = ""
    region: tuple[Point, ...] = ()
    run: str = ""
    pin: str = ""
    off: tuple[int, ...] = ()
    pin_off: tuple[int, ...] = ()
    x_scale: str = ""
    y_scale: str = ""
    problems: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def run_on(self, side: Side) -> str:
        return self.run if side == "run" else self.pin

    def off_on(self, side: Side) -> tuple[int, ...]:
        """The circles switched off in a side's network."""
        return self.off if side == "run" else self.pin_off

    def with_network(self, side: Side, run: str, off: Iterable[int] = ()) -> "View":
        circles = tuple(sorted(set(off))) if run else ()
        if side == "run":
            return replace(self, run=run, off=circles)
        return replace(self, pin=run, pin_off=circles)

    def without_networks(self) -> "View":
        """The view of the table alone."""
        return replace(self, run="", off=(), pin="", pin_off=())

    def pinned(self) -> "View":
        """The run's side moved to the pinned one."""
        return replace(self, run="", off=(), pin=self.run, pin_off=self.off)


def encode(view: View) -> str:
    """The query of an address, "" for a view with nothing chosen."""
    pairs = [("where", condition_text(condition)) for condition in view.filters]
    for name in CHOICES:
        choice = getattr(view, name.replace("-", "_"))
        if choice:
            pairs.append((name, choice))
    if view.region:
        numbers = [f"{number:.{DIGITS}g}" for point in view.region for number in point]
        pairs.append(("region", ",".join(numbers)))
    for side in SIDES:
        run = view.run_on(side)
        if run:
            pairs.append((side, run))
        off = view.off_on(side)
        if run and off:
            pairs.append((OFF_NAMES[side], ",".join(map(str, off))))
    if not pairs:
        return ""
    query = urlencode(pairs, safe=",<>!")
    return f"?{query}"


def condition_text(condition: Condition) -> str:
    """A condition as `read_condition` reads it back, quoted where its value would not survive
    bare.
    """
    value = condition.value
    survives = value != "" and value == value.strip()
    survives = survives and value[0] not in "='\"" and value[-1] not in "'\""
    if not survives:
        value = f'"{value}"'
    return f"{condition.column}{condition.operator}{value}"


def decode(search: object) -> View:
    """The view of an address's query, with its problems. What is no text is no query."""
    query = search.removeprefix("?") if isinstance(search, str) else ""
    try:
        pairs = parse_qsl(query, max_num_fields=MOST_FILTERS + 20)
    except ValueError:
        problem = "the address holds too many settings: it is not one of this page's"
        return View(problems=(problem,))
    problems = list[str]()
    conditions = [value for name, value in pairs if name == "where"]
    values = dict(pairs)  # of a name that stands twice, the last value counts
    view = View(
        filters=_filters(conditions, problems),
        x=values.get("x", "")[:LONGEST],
        y=values.get("y", "")[:LONGEST],
        color=values.get("color", "")[:LONGEST],
        x_scale=_scale("x-scale", values, problems),
        y_scale=_scale("y-scale", values, problems),
        region=_region(values.get("region", ""), problems),
    )
    for side in SIDES:
        run = _run(values.get(side, ""), problems)
        if run:
            off = _frequencies(values.get(OFF_NAMES[side], ""), problems)
            view = view.with_network(side, run, off)
    return replace(view, problems=tuple(problems))


def checked_condition(text: str) -> Condition:
    """A condition of bounded length, without control characters."""
    if len(text) > LONGEST:
        raise InputError(f"condition has {len(text)} characters; write at most {LONGEST}")
    return read_condition(_CONTROL_CHARACTER.sub(" ", text))


def _filters(texts: Sequence[str], problems: list[str]) -> tuple[Condition, ...]:
    """The conditions that can be read, each once."""
    conditions = list[Condition]()
    for text in texts:
        try:
            conditions.append(checked_condition(text))
        except InputError as error:
            problems.append(str(error))
    if len(conditions) > MOST_FILTERS:
        count = len(conditions)
        problems.append(f"{count} filters are asked for; the first {MOST_FILTERS} are used")
    return tuple(dict.fromkeys(conditions[:MOST_FILTERS]))


def _scale(name: str, values: dict[str, str], problems: list[str]) -> str:
    scale = values.get(name, "")
    if scale and scale not in SCALES:
        problems.append(f"{name} is {scale[:LONGEST]!r}; choose one of {', '.join(SCALES)}")
        return ""
    return scale


def _region(text: str, problems: list[str]) -> tuple[Point, ...]:
    if not text:
        return ()
    # One corner more than may be: so many are refused below, and more need not be read.
    most_numbers = 2 * MOST_CORNERS + 2
    parts = text.split(",", most_numbers)[:most_numbers]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    corners = list(zip(numbers[::2], numbers[1::2], strict=False))
    in_pairs = len(numbers) % 2 == 0
    if in_pairs and 2 <= len(corners) <= MOST_CORNERS and all(map(math.isfinite, numbers)):
        return tuple(corners)
    problems.append("the region of the address is not 2 to 60 points x,y: it is left out")
    return ()


def _run(run: str, problems: list[str]) -> str:
    if run and not RUN_ID.fullmatch(run):
        problems.append(
            f"run is {run[:LONGEST]!r}; an id has letters, digits, dots, dashes and underscores"
        )
        return ""
    return run


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
        corners = _box(selected["box"]) if "box" in selected else _lasso(selected.get("lasso", ()))
    except (TypeError, ValueError, OverflowError):
        return ()
    finite = all(math.isfinite(x) and math.isfinite(y) for x, y in corners)
    return corners if finite else ()


def _box(numbers: Iterable[object]) -> tuple[Point, ...]:
    """The lower left and the upper right corner."""
    x0, y0, x1, y1 = (_rounded(number) for number in numbers)
    return (min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1))


def _lasso(points: Iterable[tuple[object, object]]) -> tuple[Point, ...]:
    """So many corners as an address holds; () for fewer than a polygon has."""
    corners = [(_rounded(x), _rounded(y)) for x, y in points]
    every = math.ceil(len(corners) / MOST_CORNERS) or 1
    corners = corners[::every]
    return tuple(corners) if len(corners) > 2 else ()


def _rounded(number: object) -> float:
    return float(f"{float(number):.{DIGITS}g}")  # type: ignore[arg-type]
