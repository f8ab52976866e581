"""The callbacks of a network's side of the page: the run shown, or the pinned one."""

from collections.abc import Sequence
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, no_update, set_props
from dash.exceptions import PreventUpdate

from algophase.core.errors import InputError
from algophase.explore import changes
from algophase.explore.callbacks import go, on, on_click, outputs, part
from algophase.explore.explorer import Explorer
from algophase.explore.view import Side, View, encode

# The fields of a NetworkPanel, each with the part of a side's section that it fills. "hidden" comes
# first: it names the call.
PANEL = {
    "hidden": "panel.hidden",
    "title": "title.children",
    "settings": "settings.children",
    "verdict": "verdict.children",
    "metrics": "metrics.children",
    "job_text": "job-text.children",
    "job_hidden": "job.hidden",
    "train_hidden": "train.hidden",
    "stop_hidden": "stop.hidden",
    "progress_hidden": "progress.hidden",
    "inside_hidden": "inside.hidden",
    "circles_title": "circles-title.children",
    "pictures_title": "pictures-title.children",
    "options": "circles.options",
    "values": "circles.value",
    "most": "keep.max",
    "leading": "keep.value",
    "instances": "instances.options",
    "instances_on": "instances.value",
}


def register_network(app: Dash, explorer: Explorer, side: Side) -> None:
    _register_panel(app, explorer, side)
    _register_switches(app, explorer, side)
    _register_training(app, explorer, side)
    _register_pictures(app, explorer, side)


def _register_panel(app: Dash, explorer: Explorer, side: Side) -> None:
    if side == "run":
        on_click(app, "pin", changes.pin)
        app.clientside_callback(ClientsideFunction("explore", "reveal"), Input("run-shown", "data"))
    on_click(app, f"close-{side}", lambda view: changes.close(view, side))

    targets = {name: f"{side}-{target}" for name, target in PANEL.items()}

    @on(
        app,
        part(side),
        Input("version", "data"),
        State("echo", "data"),
        State(f"{side}-shown", "data"),
        output=outputs(**targets, shown=f"{side}-shown.data"),
        at_start=True,
    )
    def show_panel(
        view: View, _part: str, version: int, echo: str | None, on_page: Any
    ) -> dict[str, Any]:
        run = view.run_on(side)
        if on_page == [run, version] and (not run or echo == encode(view)):
            switches = explorer.switches(view, side)
            if switches is not None:  # were changed: only the range follows, and only what leads
                set_props(f"{side}-keep", {"value": switches.leading})
            raise PreventUpdate
        panel = explorer.show_network(view, side)
        if explorer.networks.busy:
            set_props("poll", {"disabled": False})
        filled = {name: getattr(panel, name) for name in PANEL}
        for name in ("values", "leading"):
            if filled[name] is None:
                filled[name] = no_update
        return {**filled, "shown": [run, version]}


def _register_switches(app: Dash, explorer: Explorer, side: Side) -> None:
    """Circles, instances and the range of circles switch the same frequencies: a change of one
    shows in the others.
    """

    def show(view: View, controls: Sequence[str]) -> None:
        switches = explorer.switches(view, side)
        if switches is not None:
            for control in controls:
                set_props(f"{side}-{control}", {"value": getattr(switches, control)})

    @on(app, Input(f"{side}-circles", "value"))
    def switch_circles(view: View, values: list[int]) -> None:
        after = changes.switch_circles(view, side, explorer.specimen(view, side), values)
        if after != view:
            show(after, ["instances"])
            go(view, after)

    @on(app, Input(f"{side}-instances", "value"))
    def switch_instances(view: View, values: list[int]) -> None:
        after = changes.switch_instances(view, side, explorer.specimen(view, side), values)
        if after != view:
            show(after, ["circles"])
            go(view, after)

    @on(app, Input(f"{side}-keep", "value"))
    def keep_first(view: View, count: Any) -> None:
        after = changes.keep_first(view, side, explorer.specimen(view, side), count)
        if after != view:
            show(after, ["circles", "instances"])
            go(view, after)


def _register_training(app: Dash, explorer: Explorer, side: Side) -> None:
    @on(app, Input(f"{side}-train", "n_clicks"))
    def train(view: View, clicks: int | None) -> None:
        if not clicks:
            return
        try:
            explorer.start_training(view, side)
        except InputError as error:
            set_props(f"{side}-job-text", {"children": str(error)})
            return
        set_props(f"{side}-job-text", {"children": "Training starts."})
        set_props(f"{side}-train", {"hidden": True})
        set_props(f"{side}-stop", {"hidden": False})
        set_props("poll", {"disabled": False})

    @on(app, Input(f"{side}-stop", "n_clicks"))
    def stop(view: View, clicks: int | None) -> None:
        if clicks:
            explorer.stop_training(view, side)


def _register_pictures(app: Dash, explorer: Explorer, side: Side) -> None:
    @on(
        app,
        part(side),
        Input("version", "data"),
        State(f"{side}-drawn", "data"),
        output=outputs(
            figure=f"{side}-logits.figure",
            accuracy=f"{side}-accuracy.children",
            order=f"{side}-order.children",
            kept=f"{side}-keep-label.children",
            drawn=f"{side}-drawn.data",
        ),
        at_start=True,
    )
    def show_logits(view: View, _part: str, version: int, drawn: str | None) -> dict[str, Any]:
        key = repr((view.run_on(side), view.off_on(side), version))
        logits = None if key == drawn else explorer.show_logits(view, side)
        if logits is None:
            raise PreventUpdate
        return {**logits._asdict(), "drawn": key}

    # After the logits are on the screen, which are looked at first; a browser needs longer for
    # several pictures.
    app.clientside_callback(
        ClientsideFunction("explore", "settled"),
        Output(f"{side}-settled", "data"),
        Input(f"{side}-drawn", "data"),
        prevent_initial_call=True,
    )

    @on(
        app,
        Input(f"{side}-settled", "data"),
        State("version", "data"),
        State(f"{side}-pictured", "data"),
        output=outputs(pictures=f"{side}-pictures.children", key=f"{side}-pictured.data"),
    )
    def show_circles(view: View, _settled: str, version: int, pictured: Any) -> dict[str, Any]:
        key = [view.run_on(side), version]
        if key == pictured:
            raise PreventUpdate
        return {"pictures": explorer.show_circles(view, side), "key": key}
