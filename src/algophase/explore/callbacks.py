"""Which control calls which method of the explorer, and where its answer goes. Outputs are
matched by name.
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
from algophase.explore.explorer import Explorer
from algophase.explore.layout import about_lines, column_options
from algophase.explore.map_figure import names, selections
from algophase.explore.state import PARTS, SIDES, Side

SEARCH = State("url", "search")
# The fields of a NetworkPanel, each with the part of a side's section that it fills. "hidden" comes
# first: it names the call.
PANEL = {
    "hidden": "panel.hidden",
    "title": "title.children",
    "said": "said.children",
    "verdict": "verdict.children",
    "metrics": "metrics.children",
    "job_text": "job-text.children",
    "job_hidden": "job.hidden",
    "train_hidden": "train.hidden",
    "stop_hidden": "stop.hidden",
    "progress_hidden": "progress.hidden",
    "inside_hidden": "inside.hidden",
    "options": "circles.options",
    "values": "circles.value",
    "most": "keep.max",
    "leading": "keep.value",
    "instances": "instances.options",
    "instances_on": "instances.value",
}


def outputs(**places: str) -> dict[str, Output]:
    """Outputs by name, each given as "component.property"."""
    split = {name: place.rpartition(".") for name, place in places.items()}
    return {name: Output(component, prop) for name, (component, _, prop) in split.items()}


def _part(name: str) -> Input:
    """Called when this part of the address changes."""
    return Input(f"{name}-part", "data")


def register(app: Dash, explorer: Explorer) -> None:
    _register_controls(app, explorer)
    _register_map(app, explorer)
    _register_runs(app, explorer)
    for side in SIDES:
        _register_network(app, explorer, side)
        _register_pictures(app, explorer, side)
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


def go(search: str | None) -> None:
    """Put a new address into the address bar, and remember that it was asked for here."""
    if search is not None:
        set_props("echo", {"data": search})
        set_props("url", {"search": search})


def _on_click(app: Dash, button: str, action: Callable[[str | None], str | None]) -> None:
    """A button that changes the address. action: gives the new address, or None where nothing
    changes.
    """

    @app.callback(Input(button, "n_clicks"), SEARCH, prevent_initial_call=True)
    def clicked(clicks: int | None, search: str | None) -> None:
        if clicks:
            go(action(search))


def _on_any_click(
    app: Dash, kind: str, key: str, action: Callable[[str | None, Any], str | None]
) -> None:
    """The same for a row of buttons of one kind. action: is also given the key of the button
    that was clicked.
    """

    @app.callback(Input({"type": kind, key: ALL}, "n_clicks"), SEARCH, prevent_initial_call=True)
    def clicked(_clicks: list[int], search: str | None) -> None:
        which = ctx.triggered_id
        if ctx.triggered[0]["value"] and isinstance(which, dict):  # not a button that has just come
            go(action(search, which.get(key)))


def _register_controls(app: Dash, explorer: Explorer) -> None:
    app.clientside_callback(
        ClientsideFunction("explore", "parts"),
        [Output(f"{name}-part", "data") for name in PARTS],
        Input("url", "search"),
        [State(f"{name}-part", "data") for name in PARTS],
    )

    @app.callback(
        Input("x", "value"),
        Input("y", "value"),
        Input("colour", "value"),
        Input("x-scale", "value"),
        Input("y-scale", "value"),
        SEARCH,
        prevent_initial_call=True,
    )
    def axes(
        x: str | None,
        y: str | None,
        colour: str | None,
        x_scale: list[str] | None,
        y_scale: list[str] | None,
        search: str | None,
    ) -> None:
        after = explorer.choose_axes(search, x, y, colour, _scale(x_scale), _scale(y_scale))
        if after is not None:
            # Another column brings its own scale, which no one has ticked.
            view = explorer.view(after)
            set_props("x-scale", {"value": _ticked(view.x_scale)})
            set_props("y-scale", {"value": _ticked(view.y_scale)})
        go(after)

    @app.callback(
        Input("add-filter", "n_clicks"),
        Input("filter-value", "n_submit"),
        State("filter-column", "value"),
        State("filter-operator", "value"),
        State("filter-value", "value"),
        SEARCH,
        output=outputs(problem="filter-problem.children", value="filter-value.value"),
        prevent_initial_call=True,
    )
    def add(
        _clicks: int, _enters: int, column: str, operator: str, value: str, search: str | None
    ) -> dict[str, Any]:
        try:
            go(explorer.add_filter(search, column, operator, value))
        except InputError as error:
            return {"problem": str(error), "value": no_update}
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
    def offer(column: str | None) -> dict[str, Any]:
        values = explorer.offered_values(column)
        return {"options": values, "chosen": None, "hidden": not values}

    @app.callback(Input("filter-choice", "value"), prevent_initial_call=True)
    def choose(value: str | None) -> None:
        if value is not None:
            set_props("filter-value", {"value": value})

    _on_any_click(app, "remove-filter", "place", explorer.remove_filter)
    _on_any_click(app, "open-run", "run", lambda search, run: explorer.open_run(search, str(run)))
    _on_click(app, "pin", explorer.pin)

    @app.callback(Input("map", "clickData"), SEARCH, prevent_initial_call=True)
    def click(click: Any, search: str | None) -> None:
        if click is not None:
            set_props("map", {"clickData": None})  # so that the same point can be clicked again
            go(explorer.click(search, click))

    app.clientside_callback(
        ClientsideFunction("explore", "region"),
        Output("region", "data"),
        Input("map", "selectedData"),
        prevent_initial_call=True,
    )

    @app.callback(Input("region", "data"), SEARCH, prevent_initial_call=True)
    def region(selected: Any, search: str | None) -> None:
        go(explorer.select_region(search, selected))

    def clear(search: str | None) -> str | None:
        set_props("region", {"data": None})
        return explorer.select_region(search, None)

    _on_click(app, "clear-region", clear)


def _register_map(app: Dash, explorer: Explorer) -> None:
    @app.callback(
        _part("marks"),
        Input("arrived", "data"),
        SEARCH,
        State("map-key", "data"),
        output=outputs(figure="map.figure", key="map-key.data", marks="marks.data"),
    )
    def draw(_part: str, _arrived: int, search: str | None, key: str | None) -> dict[str, Any]:
        figure, after = explorer.show_map(search, key)
        view = explorer.view(search)
        marks = {"annotations": names(explorer.table, view), "selections": selections(view)}
        drawn = (
            {"figure": no_update, "key": no_update}
            if figure is None
            else {"figure": figure, "key": after}
        )
        return {**drawn, "marks": marks}

    # A name beside a point needs no new map of ten thousand: the browser adds it to the one it has.
    app.clientside_callback(
        ClientsideFunction("explore", "mark"), Input("marks", "data"), prevent_initial_call=True
    )

    app.clientside_callback(ClientsideFunction("explore", "reveal"), Input("run-shown", "data"))

    @app.callback(
        _part("map"),
        Input("arrived", "data"),
        SEARCH,
        output=outputs(
            chips="filters.children", status="status.children", problems="problems.children"
        ),
    )
    def filters(_part: str, _arrived: int, search: str | None) -> dict[str, Any]:
        found = explorer.show_filters(search)
        return {
            **found._asdict(),
            "problems": [html.P(line, className="problem") for line in found.problems],
        }

    @app.callback(
        _part("axes"),
        Input("arrived", "data"),
        SEARCH,
        State("echo", "data"),
        output=outputs(
            x="x.value",
            y="y.value",
            colour="colour.value",
            x_scale="x-scale.value",
            y_scale="y-scale.value",
        ),
    )
    def controls(_part: str, _arrived: int, search: str | None, echo: str | None) -> dict[str, Any]:
        if echo is not None and search == echo and ctx.triggered_id != "arrived":
            raise PreventUpdate
        view = explorer.view(search)
        chosen = {"x": view.x, "y": view.y, "colour": view.colour}
        return {**chosen, "x_scale": _ticked(view.x_scale), "y_scale": _ticked(view.y_scale)}


def _register_runs(app: Dash, explorer: Explorer) -> None:
    # The table is not made again to say which of its runs are shown.
    buttons = {"type": "open-run", "run": ALL}
    app.clientside_callback(
        ClientsideFunction("explore", "pressed"),
        Output(buttons, "aria-pressed"),
        _part("run"),
        _part("pin"),
        State(buttons, "id"),
        prevent_initial_call=True,
    )

    @app.callback(
        _part("map"),
        Input("arrived", "data"),
        Input("earlier", "n_clicks"),
        Input("later", "n_clicks"),
        SEARCH,
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
    )
    def runs(
        _part: str,
        _arrived: int,
        _earlier: int,
        _later: int,
        search: str | None,
        page: int | None,
        before: str | None,
    ) -> dict[str, Any]:
        step = {"earlier": -1, "later": 1}.get(str(ctx.triggered_id), 0)
        key = explorer.runs_key(search)
        if key == before and not step:
            raise PreventUpdate
        found = explorer.show_runs(search, page, step)
        return {
            "statistics": no_update if step else found.statistics,
            "table": found.table,
            "page": found.page,
            "first": found.page == 0,
            "last": found.page == found.pages - 1,
            "no_region": not found.region,
            "download": found.download,
            "download_text": found.download_text,
            "key": key,
        }


def _register_network(app: Dash, explorer: Explorer, side: Side) -> None:
    _on_click(app, f"close-{side}", lambda search: explorer.close(search, side))
    _on_click(app, f"{side}-stop", lambda search: explorer.stop_training(search, side))

    @app.callback(Input(f"{side}-circles", "value"), SEARCH, prevent_initial_call=True)
    def circles(values: list[int], search: str | None) -> None:
        after = explorer.switch_circles(search, side, values)
        if after is not None:
            set_props(f"{side}-instances", {"value": explorer.instances_on(after, side)})
            go(after)

    @app.callback(Input(f"{side}-instances", "value"), SEARCH, prevent_initial_call=True)
    def instances(values: list[int], search: str | None) -> None:
        after = explorer.switch_instances(search, side, values)
        if after is not None:
            set_props(f"{side}-circles", {"value": explorer.show_network(after, side).values})
            go(after)

    @app.callback(Input(f"{side}-keep", "value"), SEARCH, prevent_initial_call=True)
    def keep(count: Any, search: str | None) -> None:
        after = explorer.keep_first(search, side, count)
        if after is not None:
            found = explorer.show_network(after, side)
            set_props(f"{side}-circles", {"value": found.values})
            set_props(f"{side}-instances", {"value": found.instances_on})
            go(after)

    @app.callback(
        _part(side),
        Input("version", "data"),
        SEARCH,
        State("echo", "data"),
        State(f"{side}-shown", "data"),
        output=outputs(
            **{name: f"{side}-{place}" for name, place in PANEL.items()}, shown=f"{side}-shown.data"
        ),
    )
    def panel(
        _part: str, version: int, search: str | None, echo: str | None, shown: Any
    ) -> dict[str, Any]:
        run, _ = explorer.view(search).network(side)
        after = [run, version]
        if shown == after and (search == echo or not run):
            if run:  # circles were switched: only the range follows, and only what leads
                set_props(f"{side}-keep", {"value": explorer.show_network(search, side).leading})
            raise PreventUpdate
        found = explorer.show_network(search, side)
        if explorer.networks.busy:
            set_props("poll", {"disabled": False})
        filled = {name: getattr(found, name) for name in PANEL}
        left_alone = {name: no_update for name in ("values", "leading") if filled[name] is None}
        return {**filled, **left_alone, "shown": after}

    @app.callback(Input(f"{side}-train", "n_clicks"), SEARCH, prevent_initial_call=True)
    def train(clicks: int | None, search: str | None) -> None:
        if clicks:
            try:
                explorer.start_training(search, side)
            except InputError as error:
                set_props(f"{side}-job-text", {"children": str(error)})
                return
            set_props(f"{side}-job-text", {"children": "Training starts."})
            set_props(f"{side}-train", {"hidden": True})
            set_props(f"{side}-stop", {"hidden": False})
            set_props("poll", {"disabled": False})


def _register_pictures(app: Dash, explorer: Explorer, side: Side) -> None:
    @app.callback(
        _part(side),
        Input("version", "data"),
        SEARCH,
        State(f"{side}-drawn", "data"),
        output=outputs(
            figure=f"{side}-logits.figure",
            accuracy=f"{side}-accuracy.children",
            order=f"{side}-order.children",
            kept=f"{side}-keep-label.children",
            drawn=f"{side}-drawn.data",
        ),
    )
    def logits(_part: str, version: int, search: str | None, drawn: str | None) -> dict[str, Any]:
        key = repr((explorer.view(search).network(side), version))
        found = None if key == drawn else explorer.show_logits(search, side)
        if found is None:
            raise PreventUpdate
        return {**found._asdict(), "drawn": key}

    # After the logits are on the screen, which are looked at first; a browser needs longer for
    # several pictures.
    app.clientside_callback(
        ClientsideFunction("explore", "settled"),
        Output(f"{side}-settled", "data"),
        Input(f"{side}-drawn", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Input(f"{side}-settled", "data"),
        SEARCH,
        State("version", "data"),
        State(f"{side}-pictured", "data"),
        output=outputs(pictures=f"{side}-pictures.children", key=f"{side}-pictured.data"),
        prevent_initial_call=True,
    )
    def pictures(_settled: str, search: str | None, version: int, pictured: Any) -> dict[str, Any]:
        key = [explorer.view(search).network(side)[0], version]
        if key == pictured:
            raise PreventUpdate
        return {"pictures": explorer.show_circles(search, side), "key": key}


def _register_work(app: Dash, explorer: Explorer) -> None:
    @app.callback(
        Input("poll", "n_intervals"),
        State("version", "data"),
        SEARCH,
        output=outputs(version="version.data", idle="poll.disabled"),
        prevent_initial_call=True,
    )
    def follow(_ticks: int, version: int, search: str | None) -> dict[str, Any]:
        busy, after = explorer.networks.busy, explorer.networks.version
        for side, work in explorer.follow(search).items():
            set_props(f"{side}-job-text", {"children": work.said})
            bar = {
                "hidden": not work.epochs,
                "max": str(work.epochs or 1),
                "value": str(work.epoch),
            }
            set_props(f"{side}-progress", bar)
        return {"version": no_update if after == version else after, "idle": not busy}


def _register_arrivals(app: Dash, explorer: Explorer) -> None:
    """Networks of a directory come one after the other: each changes the map and what the
    controls offer.
    """

    @app.callback(
        Input("arrivals-poll", "n_intervals"),
        State("arrived", "data"),
        output=outputs(
            arrived="arrived.data",
            said="arrivals-text.children",
            done="arrivals-progress.value",
            total="arrivals-progress.max",
            hidden="arrivals.hidden",
            about="about.children",
            x="x.options",
            y="y.options",
            colour="colour.options",
            filters="filter-column.options",
            ended="arrivals-poll.disabled",
        ),
        prevent_initial_call=True,
    )
    def arrive(_ticks: int, arrived: int | None) -> dict[str, Any]:
        panel, table = explorer.show_arrivals(), explorer.table
        progress = {
            "said": panel.said,
            "done": str(panel.done),
            "total": str(panel.total or 1),
            "hidden": not panel.under_way,
            "ended": not panel.under_way,
        }
        if panel.arrived == arrived:
            unchanged = ("arrived", "about", "x", "y", "colour", "filters")
            return {**progress, **dict.fromkeys(unchanged, no_update)}
        return {
            **progress,
            "arrived": panel.arrived,
            "about": about_lines(panel.about, panel.problems),
            "x": column_options(table.axes),
            "y": column_options(table.axes),
            "colour": column_options(table.colours),
            "filters": column_options(table.filterable),
        }
