"""Which control calls which method of the explorer, and where its answer goes."""

from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, html, no_update, set_props
from dash.exceptions import PreventUpdate

from algophase.errors import InputError
from algophase.explore.explorer import Explorer
from algophase.explore.map_figure import names, selections
from algophase.explore.state import PARTS, SIDES, Side

SEARCH = State("url", "search")


def _part(name: str) -> Input:
    """Called when this part of the address changes."""
    return Input(f"{name}-part", "data")


def register(app: Dash, explorer: Explorer) -> None:
    _register_controls(app, explorer)
    _register_map(app, explorer)
    for side in SIDES:
        _register_network(app, explorer, side)
    _register_work(app, explorer)


def go(search: str | None) -> None:
    """Put a new address into the address bar, and remember that it was asked for here."""
    if search is not None:
        set_props("echo", {"data": search})
        set_props("url", {"search": search})


def _register_controls(app: Dash, explorer: Explorer) -> None:
    app.clientside_callback(
        ClientsideFunction("explore", "parts"),
        [Output(f"{name}-part", "data") for name in PARTS],
        Input("url", "search"),
        [State(f"{name}-part", "data") for name in PARTS],
    )

    @app.callback(Input("x", "value"), Input("y", "value"), Input("colour", "value"), SEARCH, prevent_initial_call=True)
    def axes(x: str | None, y: str | None, colour: str | None, search: str | None) -> None:
        go(explorer.choose_axes(search, x, y, colour))

    @app.callback(
        Output("filter-problem", "children"),
        Output("filter-value", "value"),
        Input("add-filter", "n_clicks"),
        Input("filter-value", "n_submit"),
        State("filter-column", "value"),
        State("filter-operator", "value"),
        State("filter-value", "value"),
        SEARCH,
        prevent_initial_call=True,
    )
    def add(_clicks: int, _enters: int, column: str, operator: str, value: str, search: str | None) -> tuple[Any, Any]:
        try:
            go(explorer.add_filter(search, column, operator, value))
        except InputError as error:
            return str(error), no_update
        return "", ""

    @app.callback(Input({"type": "remove-filter", "place": ALL}, "n_clicks"), SEARCH, prevent_initial_call=True)
    def remove(_clicks: list[int], search: str | None) -> None:
        if ctx.triggered[0]["value"]:  # not a button that has just come
            go(explorer.remove_filter(search, ctx.triggered_id["place"]))

    @app.callback(Input({"type": "open-run", "run": ALL}, "n_clicks"), SEARCH, prevent_initial_call=True)
    def open_run(_clicks: list[int], search: str | None) -> None:
        if ctx.triggered[0]["value"]:
            go(explorer.open_run(search, str(ctx.triggered_id["run"])))

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

    @app.callback(Input("clear-region", "n_clicks"), SEARCH, prevent_initial_call=True)
    def clear(clicks: int | None, search: str | None) -> None:
        if clicks:
            set_props("region", {"data": None})
            go(explorer.select_region(search, None))

    @app.callback(Input("pin", "n_clicks"), SEARCH, prevent_initial_call=True)
    def pin(clicks: int | None, search: str | None) -> None:
        if clicks:
            go(explorer.pin(search))


def _register_map(app: Dash, explorer: Explorer) -> None:
    @app.callback(
        Output("map", "figure"),
        Output("map-key", "data"),
        Output("marks", "data"),
        _part("marks"),
        SEARCH,
        State("map-key", "data"),
    )
    def draw(_part: str, search: str | None, key: str | None) -> tuple[Any, ...]:
        figure, after = explorer.show_map(search, key)
        view = explorer.view(search)
        marks = {"annotations": names(explorer.table, view), "selections": selections(view)}
        return (no_update, no_update, marks) if figure is None else (figure, after, marks)

    # A name beside a point needs no new map of ten thousand: the browser adds it to the one it has.
    app.clientside_callback(ClientsideFunction("explore", "mark"), Input("marks", "data"), prevent_initial_call=True)

    app.clientside_callback(ClientsideFunction("explore", "reveal"), Input("run-shown", "data"))
    # Nor does the table need to be made anew to say which of its runs are shown.
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
        Output("filters", "children"),
        Output("status", "children"),
        Output("problems", "children"),
        _part("map"),
        SEARCH,
    )
    def filters(_part: str, search: str | None) -> tuple[Any, ...]:
        chips, status, problems = explorer.show_filters(search)
        return chips, status, [html.P(line, className="problem") for line in problems]

    @app.callback(
        Output("x", "value"),
        Output("y", "value"),
        Output("colour", "value"),
        _part("axes"),
        SEARCH,
        State("echo", "data"),
    )
    def controls(_part: str, search: str | None, echo: str | None) -> tuple[str, ...]:
        if echo is not None and search == echo:
            raise PreventUpdate
        view = explorer.view(search)
        return view.x, view.y, view.colour

    @app.callback(
        Output("statistics", "children"),
        Output("runs", "children"),
        Output("page", "data"),
        Output("earlier", "disabled"),
        Output("later", "disabled"),
        Output("clear-region", "hidden"),
        Output("runs-key", "data"),
        _part("map"),
        Input("earlier", "n_clicks"),
        Input("later", "n_clicks"),
        SEARCH,
        State("page", "data"),
        State("runs-key", "data"),
    )
    def runs(
        _part: str, _earlier: int, _later: int, search: str | None, page: int | None, before: str | None
    ) -> tuple[Any, ...]:
        step = {"earlier": -1, "later": 1}.get(str(ctx.triggered_id), 0)
        key = explorer.runs_key(search)
        if key == before and not step:
            raise PreventUpdate
        statistics, table, shown, pages, region = explorer.show_runs(search, (page or 0) + step)
        return no_update if step else statistics, table, shown, shown == 0, shown == pages - 1, not region, key


def _register_network(app: Dash, explorer: Explorer, side: Side) -> None:
    @app.callback(Input(f"close-{side}", "n_clicks"), SEARCH, prevent_initial_call=True)
    def close(clicks: int | None, search: str | None) -> None:
        if clicks:
            go(explorer.close(search, side))

    @app.callback(Input(f"{side}-circles", "value"), SEARCH, prevent_initial_call=True)
    def circles(values: list[int], search: str | None) -> None:
        go(explorer.switch_circles(search, side, values))

    @app.callback(Input(f"{side}-keep", "value"), SEARCH, prevent_initial_call=True)
    def keep(count: Any, search: str | None) -> None:
        after = explorer.keep_first(search, side, count)
        if after is not None:
            set_props(f"{side}-circles", {"value": explorer.show_network(after, side).values})
            go(after)

    @app.callback(
        [
            Output(f"{side}-panel", "hidden"),
            Output(f"{side}-title", "children"),
            Output(f"{side}-said", "children"),
            Output(f"{side}-verdict", "children"),
            Output(f"{side}-metrics", "children"),
            Output(f"{side}-job-text", "children"),
            Output(f"{side}-job", "hidden"),
            Output(f"{side}-train", "hidden"),
            Output(f"{side}-stop", "hidden"),
            Output(f"{side}-progress", "hidden"),
            Output(f"{side}-inside", "hidden"),
            Output(f"{side}-circles", "options"),
            Output(f"{side}-circles", "value"),
            Output(f"{side}-keep", "max"),
            Output(f"{side}-keep", "value"),
            Output(f"{side}-shown", "data"),
        ],
        _part(side),
        Input("version", "data"),
        SEARCH,
        State("echo", "data"),
        State(f"{side}-shown", "data"),
    )
    def panel(_part: str, version: int, search: str | None, echo: str | None, shown: Any) -> list[Any]:
        view = explorer.view(search)
        run, _ = view.network(side)
        after = [run, version]
        if shown == after and (search == echo or not run):
            if run:  # circles were switched: only the range follows, and only what leads
                set_props(f"{side}-keep", {"value": explorer.show_network(search, side).leading})
            raise PreventUpdate
        found = explorer.show_network(search, side)
        if explorer.networks.busy:
            set_props("poll", {"disabled": False})
        return [
            found.hidden,
            found.title,
            found.said,
            found.verdict,
            found.metrics,
            found.job_text,
            found.job_hidden,
            found.train_hidden,
            found.stop_hidden,
            found.progress is None,
            found.inside_hidden,
            list(found.options),
            no_update if found.values is None else list(found.values),
            max(1, found.circles),
            no_update if found.leading is None else found.leading,
            after,
        ]

    @app.callback(
        Output(f"{side}-logits", "figure"),
        Output(f"{side}-accuracy", "children"),
        Output(f"{side}-order", "children"),
        Output(f"{side}-keep-label", "children"),
        Output(f"{side}-drawn", "data"),
        _part(side),
        Input("version", "data"),
        SEARCH,
        State(f"{side}-drawn", "data"),
    )
    def logits(_part: str, version: int, search: str | None, drawn: str | None) -> tuple[Any, ...]:
        key = repr((explorer.view(search).network(side), version))
        found = None if key == drawn else explorer.show_logits(search, side)
        if found is None:
            raise PreventUpdate
        return *found, key

    # After the logits are on the screen, which are looked at first; a browser needs longer for several pictures.
    app.clientside_callback(
        ClientsideFunction("explore", "settled"),
        Output(f"{side}-settled", "data"),
        Input(f"{side}-drawn", "data"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(f"{side}-pictures", "children"),
        Output(f"{side}-pictured", "data"),
        Input(f"{side}-settled", "data"),
        SEARCH,
        State("version", "data"),
        State(f"{side}-pictured", "data"),
        prevent_initial_call=True,
    )
    def pictures(_settled: str, search: str | None, version: int, pictured: Any) -> tuple[Any, ...]:
        key = [explorer.view(search).network(side)[0], version]
        if key == pictured:
            raise PreventUpdate
        return explorer.show_circles(search, side), key

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

    @app.callback(Input(f"{side}-stop", "n_clicks"), SEARCH, prevent_initial_call=True)
    def stop(clicks: int | None, search: str | None) -> None:
        if clicks:
            explorer.stop_training(search, side)


def _register_work(app: Dash, explorer: Explorer) -> None:
    @app.callback(
        Output("version", "data"),
        Output("poll", "disabled"),
        Input("poll", "n_intervals"),
        State("version", "data"),
        SEARCH,
        prevent_initial_call=True,
    )
    def follow(_ticks: int, version: int, search: str | None) -> tuple[Any, bool]:
        busy, after = explorer.networks.busy, explorer.networks.version
        for side, (said, epoch, epochs) in explorer.follow(search).items():
            set_props(f"{side}-job-text", {"children": said})
            bar = {"hidden": not epochs, "max": str(epochs or 1), "value": str(epoch)}
            set_props(f"{side}-progress", bar)
        return (no_update if after == version else after), not busy
