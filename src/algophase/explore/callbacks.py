"""Events of the page: a callback is called with the view of the address, and a control puts another
view into it.

Which control of the map and of the table of runs changes the view, and where what the view shows
goes. Outputs are matched by name. `network_callbacks` does the same for a network's side.
"""

from collections.abc import Callable
from typing import Any

from dash import (
    ALL,
    ClientsideFunction,
    Dash,
    Input,
    Output,
    State,
    ctx,
    html,
    no_update,
    set_props,
)
from dash.exceptions import PreventUpdate

from algophase.core.errors import InputError
from algophase.explore import changes
from algophase.explore.explorer import Explorer
from algophase.explore.layout import about_lines, column_options
from algophase.explore.view import PARTS, View, decode, encode
from algophase.explore.visible_runs import axes, colors, filterable

SEARCH = State("url", "search")
Callback = Callable[..., Any]


def outputs(**components: str) -> dict[str, Output]:
    """Outputs by name, each given as "component.property"."""
    by_name = {}
    for name, target in components.items():
        component, _, component_property = target.rpartition(".")
        by_name[name] = Output(component, component_property)
    return by_name


def part(name: str) -> Input:
    """Called when this part of the address changes."""
    return Input(f"{name}-part", "data")


def on(
    app: Dash,
    *inputs: Input | State,
    output: dict[str, Output] | None = None,
    at_start: bool = False,
) -> Callable[[Callback], Callback]:
    """Have a function called with the view of the address, then with the values of these inputs
    and states. An address is decoded here and nowhere else: once per event.

    at_start: also when the page is opened.
    """
    options: dict[str, Any] = {} if output is None else {"output": output}

    def register(function: Callback) -> Callback:
        @app.callback(SEARCH, *inputs, **options, prevent_initial_call=not at_start)
        def called(search: str | None, *values: Any) -> Any:
            return function(decode(search), *values)

        return function

    return register


def go(view: View, after: View) -> None:
    """Put another view into the address bar, and remember that it was asked for here."""
    if after != view:
        search = encode(after)
        set_props("echo", {"data": search})
        set_props("url", {"search": search})


def on_click(app: Dash, button: str, change: Callable[[View], View]) -> None:
    """A button that changes the view."""

    @on(app, Input(button, "n_clicks"))
    def clicked(view: View, clicks: int | None) -> None:
        if clicks:
            go(view, change(view))


def on_any_click(app: Dash, kind: str, key: str, change: Callable[[View, Any], View]) -> None:
    """The same for a row of buttons of one kind. change: is also given the key of the button
    that was clicked.
    """

    @on(app, Input({"type": kind, key: ALL}, "n_clicks"))
    def clicked(view: View, _clicks: list[int]) -> None:
        button = ctx.triggered_id
        has_just_come = not ctx.triggered[0]["value"]
        if isinstance(button, dict) and not has_just_come:
            go(view, change(view, button.get(key)))


def register(app: Dash, explorer: Explorer) -> None:
    app.clientside_callback(
        ClientsideFunction("explore", "parts"),
        [Output(f"{name}-part", "data") for name in PARTS],
        Input("url", "search"),
        [State(f"{name}-part", "data") for name in PARTS],
    )
    _register_axes(app, explorer)
    _register_filters(app, explorer)
    _register_map(app, explorer)
    _register_runs(app, explorer)
    _register_work(app, explorer)
    _register_arrivals(app, explorer)


def _ticked(scale: str) -> list[str]:
    """What the box "log scale" shows."""
    return ["log"] if scale == "log" else []


def _scale(ticked: object) -> str | None:
    """The scale that the box asks for; None for a value that is not a box's."""
    if not isinstance(ticked, list):
        return None
    return "log" if "log" in ticked else "linear"


def _register_axes(app: Dash, explorer: Explorer) -> None:
    @on(
        app,
        Input("x", "value"),
        Input("y", "value"),
        Input("color", "value"),
        Input("x-scale", "value"),
        Input("y-scale", "value"),
    )
    def choose_axes(
        view: View,
        x: str | None,
        y: str | None,
        color: str | None,
        x_ticked: list[str] | None,
        y_ticked: list[str] | None,
    ) -> None:
        scales = _scale(x_ticked), _scale(y_ticked)
        after = changes.choose_axes(view, explorer.runs, x, y, color, *scales)
        if after != view:
            # Another column brings its own scale, which no one has ticked.
            resolved = explorer.visible(after).view
            set_props("x-scale", {"value": _ticked(resolved.x_scale)})
            set_props("y-scale", {"value": _ticked(resolved.y_scale)})
        go(view, after)

    @on(
        app,
        part("axes"),
        Input("arrived", "data"),
        State("echo", "data"),
        output=outputs(
            x="x.value",
            y="y.value",
            color="color.value",
            x_scale="x-scale.value",
            y_scale="y-scale.value",
        ),
        at_start=True,
    )
    def show_axes(view: View, _part: str, _arrived: int, echo: str | None) -> dict[str, Any]:
        if echo == encode(view) and ctx.triggered_id != "arrived":
            raise PreventUpdate
        resolved = explorer.visible(view).view
        return {
            "x": resolved.x,
            "y": resolved.y,
            "color": resolved.color,
            "x_scale": _ticked(resolved.x_scale),
            "y_scale": _ticked(resolved.y_scale),
        }


def _register_filters(app: Dash, explorer: Explorer) -> None:
    @on(
        app,
        Input("add-filter", "n_clicks"),
        Input("filter-value", "n_submit"),
        State("filter-column", "value"),
        State("filter-operator", "value"),
        State("filter-value", "value"),
        output=outputs(problem="filter-problem.children", value="filter-value.value"),
    )
    def add_filter(
        view: View, _clicks: int, _enters: int, column: str, operator: str, value: str
    ) -> dict[str, Any]:
        try:
            after = changes.add_filter(view, explorer.runs, column, operator, value)
        except InputError as error:
            return {"problem": str(error), "value": no_update}
        go(view, after)
        set_props("filter-choice", {"value": None})  # so that the same value can be chosen again
        return {"problem": "", "value": ""}

    @app.callback(
        Input("filter-column", "value"),
        output=outputs(
            options="filter-choice.options",
            chosen="filter-choice.value",
            hidden="filter-values.hidden",
        ),
    )
    def offer_values(column: str | None) -> dict[str, Any]:
        values = explorer.offered_values(column)
        return {"options": values, "chosen": None, "hidden": not values}

    @app.callback(Input("filter-choice", "value"), prevent_initial_call=True)
    def choose_value(value: str | None) -> None:
        if value is not None:
            set_props("filter-value", {"value": value})

    def remove_filter(view: View, number: object) -> View:
        return changes.remove_filter(view, explorer.runs, number)

    on_any_click(app, "remove-filter", "number", remove_filter)

    @on(
        app,
        part("map"),
        Input("arrived", "data"),
        output=outputs(
            chips="filters.children", status="status.children", problems="problems.children"
        ),
        at_start=True,
    )
    def show_filters(view: View, _part: str, _arrived: int) -> dict[str, Any]:
        filters = explorer.show_filters(view)
        problems = [html.P(line, className="problem") for line in filters.problems]
        return {"chips": filters.chips, "status": filters.status, "problems": problems}


def _register_map(app: Dash, explorer: Explorer) -> None:
    @on(app, Input("map", "clickData"))
    def click(view: View, click: Any) -> None:
        if click is not None:
            set_props("map", {"clickData": None})  # so that the same point can be clicked again
            go(view, changes.click(view, explorer.runs, click))

    app.clientside_callback(
        ClientsideFunction("explore", "region"),
        Output("region", "data"),
        Input("map", "selectedData"),
        prevent_initial_call=True,
    )

    @on(app, Input("region", "data"))
    def select_region(view: View, selected: Any) -> None:
        go(view, changes.select_region(view, selected))

    def clear_region(view: View) -> View:
        set_props("region", {"data": None})
        return changes.select_region(view, None)

    on_click(app, "clear-region", clear_region)

    @on(
        app,
        part("marks"),
        Input("arrived", "data"),
        State("map-key", "data"),
        output=outputs(figure="map.figure", key="map-key.data", marks="marks.data"),
        at_start=True,
    )
    def draw(view: View, _part: str, _arrived: int, key: str | None) -> dict[str, Any]:
        drawn = explorer.show_map(view, key)
        if drawn.figure is None:
            return {"figure": no_update, "key": no_update, "marks": drawn.marks}
        return drawn._asdict()

    # A name beside a point needs no new map of ten thousand: the browser adds it to the one it has.
    app.clientside_callback(
        ClientsideFunction("explore", "mark"), Input("marks", "data"), prevent_initial_call=True
    )


def _register_runs(app: Dash, explorer: Explorer) -> None:
    def open_run(view: View, run_id: object) -> View:
        return changes.open_run(view, explorer.runs, run_id)

    on_any_click(app, "open-run", "run", open_run)

    # The table is not made again to say which of its runs are shown.
    buttons = {"type": "open-run", "run": ALL}
    app.clientside_callback(
        ClientsideFunction("explore", "pressed"),
        Output(buttons, "aria-pressed"),
        part("run"),
        part("pin"),
        State(buttons, "id"),
        prevent_initial_call=True,
    )

    @on(
        app,
        part("map"),
        Input("arrived", "data"),
        Input("earlier", "n_clicks"),
        Input("later", "n_clicks"),
        State("page", "data"),
        State("runs-key", "data"),
        output=outputs(
            statistics="statistics.children",
            table="runs.children",
            page="page.data",
            first="earlier.disabled",
            last="later.disabled",
            no_region="clear-region.hidden",
            download="download.href",
            download_text="download.children",
            key="runs-key.data",
        ),
        at_start=True,
    )
    def show_runs(
        view: View,
        _part: str,
        _arrived: int,
        _earlier: int,
        _later: int,
        page: int | None,
        key: str | None,
    ) -> dict[str, Any]:
        step = {"earlier": -1, "later": 1}.get(str(ctx.triggered_id), 0)
        key_now = explorer.runs_key(view)
        if key_now == key and not step:
            raise PreventUpdate
        filled = explorer.show_runs(view, page, step)._asdict()
        if step:  # another page of the same runs
            filled["statistics"] = no_update
        return {**filled, "key": key_now}


def _register_work(app: Dash, explorer: Explorer) -> None:
    @on(
        app,
        Input("poll", "n_intervals"),
        State("version", "data"),
        output=outputs(version="version.data", idle="poll.disabled"),
    )
    def follow(view: View, _ticks: int, version: int) -> dict[str, Any]:
        # Before the work is looked at: what ends in between is asked for again.
        busy, version_now = explorer.networks.busy, explorer.networks.version
        for side, work in explorer.follow(view).items():
            set_props(f"{side}-job-text", {"children": work.text})
            bar = {
                "hidden": not work.epochs,
                "max": str(work.epochs or 1),
                "value": str(work.epoch),
            }
            set_props(f"{side}-progress", bar)
        return {"version": no_update if version_now == version else version_now, "idle": not busy}


def _register_arrivals(app: Dash, explorer: Explorer) -> None:
    """Networks of a directory come one after the other: each changes the map and what the
    controls offer.
    """

    @app.callback(
        Input("arrivals-poll", "n_intervals"),
        State("arrived", "data"),
        output=outputs(
            arrived="arrived.data",
            text="arrivals-text.children",
            done="arrivals-progress.value",
            total="arrivals-progress.max",
            hidden="arrivals.hidden",
            about="about.children",
            x="x.options",
            y="y.options",
            color="color.options",
            filters="filter-column.options",
            ended="arrivals-poll.disabled",
        ),
        prevent_initial_call=True,
    )
    def arrive(_ticks: int, arrived: int | None) -> dict[str, Any]:
        panel = explorer.show_arrivals()
        runs = explorer.runs
        filled: dict[str, Any] = {
            "text": panel.text,
            "done": str(panel.done),
            "total": str(panel.total or 1),
            "hidden": not panel.under_way,
            "ended": not panel.under_way,
        }
        if panel.arrived == arrived:
            unchanged = ("arrived", "about", "x", "y", "color", "filters")
            return filled | dict.fromkeys(unchanged, no_update)
        filled["arrived"] = panel.arrived
        filled["about"] = about_lines(panel.about, panel.problems)
        filled["x"] = column_options(axes(runs))
        filled["y"] = column_options(axes(runs))
        filled["color"] = column_options(colors(runs))
        filled["filters"] = column_options(filterable(runs))
        return filled
