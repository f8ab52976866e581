"""What the page's controls do to a view. Each function gives the view after the change: the same
one where nothing changes.

Values come from requests, which can hold anything. What is no value of its control changes nothing.
"""

from dataclasses import replace
from typing import Any

from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.explore.networks import frequencies, instance_members
from algophase.explore.panels import instances_on, leading
from algophase.explore.view import (
    MOST_FILTERS,
    REST,
    RUN_ID,
    Side,
    View,
    checked_condition,
    condition_text,
    region_of,
)
from algophase.explore.visible_runs import resolve
from algophase.runs.runs import Runs
from algophase.runs.selection import OPERATORS, Condition


def choose_axes(
    view: View,
    runs: Runs,
    x: object,
    y: object,
    color: object,
    x_scale: object = None,
    y_scale: object = None,
) -> View:
    """Columns and scales as the controls have them; None for a scale that is left alone."""
    drawn = resolve(runs, view)
    controls = {"x": x, "y": y, "color": color, "x_scale": x_scale, "y_scale": y_scale}
    chosen = dict[str, Any]()
    for name, value in controls.items():
        # What the page chose by itself need not stand in the address.
        if isinstance(value, str) and value != getattr(drawn, name):
            chosen[name] = value
    if not chosen:
        return view
    for axis in ("x", "y"):  # another column starts with its own scale
        if axis in chosen:
            chosen[f"{axis}_scale"] = ""
    if chosen.keys() != {"color"}:
        chosen["region"] = ()  # a region of other axes is no region
    return replace(view, **chosen)


def add_filter(view: View, runs: Runs, column: object, operator: object, value: object) -> View:
    """Raises an InputError for a condition that this table cannot be filtered by."""
    if not isinstance(column, str) or not column:
        raise InputError("choose a column and how to compare it")
    if not isinstance(operator, str) or operator not in OPERATORS:
        raise InputError("choose a column and how to compare it")
    text = "" if value is None else str(value).strip()
    if not text:
        raise InputError(f"give a value to compare {column} with, or null for runs that have none")
    condition = checked_condition(condition_text(Condition(column, operator, text)))
    problems = resolve(runs, View(filters=(condition,))).problems
    if problems:
        raise InputError(problems[0].removesuffix("; this filter is left out"))
    if len(view.filters) >= MOST_FILTERS:
        raise InputError(f"there are {MOST_FILTERS} filters already; remove one")
    filters = dict.fromkeys([*view.filters, condition])
    return replace(view, filters=tuple(filters))


def remove_filter(view: View, runs: Runs, number: object) -> View:
    """number: which of the filters in force, from 0."""
    in_force = resolve(runs, view).filters
    if not isinstance(number, int) or not 0 <= number < len(in_force):
        return view
    filters = [condition for condition in view.filters if condition != in_force[number]]
    return replace(view, filters=tuple(filters))


def select_region(view: View, selected: object) -> View:
    """selected: a region as the browser sends it; None for none."""
    return replace(view, region=region_of(selected))


def click(view: View, runs: Runs, click: object) -> View:
    """A click on the map: the point carries its run's id."""
    try:
        run_id = click["points"][0]["customdata"]  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        return view
    return open_run(view, runs, run_id)


def open_run(view: View, runs: Runs, run_id: object) -> View:
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
        return view
    if run_id not in runs.columns.rows_by_id or run_id == view.run:
        return view
    return view.with_network("run", run_id)


def pin(view: View) -> View:
    return view.pinned() if view.run else view


def close(view: View, side: Side) -> View:
    return view.with_network(side, "")


def switch_circles(view: View, side: Side, specimen: Specimen | None, values: object) -> View:
    """values: the circles that are on, as the checklist has them."""
    if specimen is None:
        return view
    on = _integers(values)
    off = [frequency for frequency in (*frequencies(specimen), REST) if frequency not in on]
    return _with_off(view, side, off)


def keep_first(view: View, side: Side, specimen: Specimen | None, count: object) -> View:
    """Switch all circles off but the first so many, in the order listed."""
    try:
        first = max(0, int(count))  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return view
    if specimen is None:
        return view
    circles = frequencies(specimen)
    off = view.off_on(side)
    if first == leading(circles, off):
        return view
    rest = [REST] if REST in off else []
    return _with_off(view, side, [*circles[first:], *rest])


def switch_instances(view: View, side: Side, specimen: Specimen | None, values: object) -> View:
    """values: the numbers of the instances that are on, as their checklist has them. Only what
    was changed changes.
    """
    if specimen is None:
        return view
    off = set(view.off_on(side))
    on_now = set(instances_on(specimen, off))
    on_then = _integers(values)
    for number, members in enumerate(instance_members(specimen)):
        if number in on_then - on_now:
            off -= set(members)
        elif number in on_now - on_then:
            off |= set(members)
    return _with_off(view, side, sorted(off))


def _with_off(view: View, side: Side, off: list[int]) -> View:
    return view.with_network(side, view.run_on(side), off)


def _integers(values: object) -> set[int]:
    """Of a checklist's values, or whatever a request holds in their place."""
    if not isinstance(values, list | tuple):
        return set()
    return {value for value in values if isinstance(value, int)}
