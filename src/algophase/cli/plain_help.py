"""Help as people read it: `PATH...` instead of `<list[Path]>`, and nothing behind a flag instead
of `<bool>`.
"""

from typing import Any

from typer.core import TyperCommand, TyperGroup

from algophase.cli.output import complain

# What typer calls a value, and what a reader calls it.
VALUES = {
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "str": "TEXT",
    "path": "PATH",
}


class PlainCommand(TyperCommand):
    """One command, with plain help."""

    def get_params(self, ctx: Any) -> Any:
        return _plain(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """All commands. Ctrl-C in one that does not handle it itself prints a line; typer would end
    without a word.
    """

    def get_params(self, ctx: Any) -> Any:
        return _plain(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        from typer import Exit

        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("interrupted")
            raise Exit(130) from None


def _plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            _describe_argument(parameter)
        else:
            _describe_option(parameter)
    return parameters


def _describe_argument(argument: Any) -> None:
    """Its name says what it is; in the usage line, brackets say that it may be left out."""
    name = argument.metavar or argument.name.upper()
    usage = name if argument.required or name.startswith("[") else f"[{name}]"
    argument.get_usage_pieces = lambda ctx: [usage]
    argument.display_type_rich = lambda ctx: None


def _describe_option(option: Any) -> None:
    value = None
    if not option.is_flag:
        value = option.metavar or _value(option)
    option.display_type_rich = lambda ctx: value


def _value(option: Any) -> str:
    """Choices stay as they are: png|svg|pdf. An older typer has no `display_type`, and does not
    ask for one.
    """
    if not hasattr(option, "display_type"):
        return ""
    kind = option.display_type(None).strip("<>").removeprefix("list[").removesuffix("]")
    return VALUES.get(kind, kind)
