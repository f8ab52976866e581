"""Events of the page: a callback is called with the view of the address, and a control puts another
view into it.
"""

from collections.abc import Callable
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, set_props

from algophase.explore.view import View, decode, encode

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
