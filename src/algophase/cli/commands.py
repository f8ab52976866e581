"""The command `algophase`: all its commands, help as people read it (`PATH...` instead of
`<list[Path]>`), and errors a user can cause as one line on standard error with a non-zero exit.
"""

import contextlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from algophase.cli import (
    analyze,
    certify,
    check_gradients,
    compare,
    distill,
    doctor,
    explore,
    export,
    handmade,
    laws,
    llc,
    merge,
    paper,
    report,
    retrain,
    rivals,
    runs,
    survey,
    sweep,
    train,
)
from algophase.cli.output import complain, echo
from algophase.core.errors import InputError, out_of_memory
from algophase.core.interrupts import lose_no_interrupt

USAGE_ERROR: Any = typer.BadParameter.__base__  # click's own, or that of the click inside typer
# What typer calls a value, and what a reader calls it.
VALUES = {
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "str": "TEXT",
    "path": "PATH",
}


class Command(TyperCommand):
    """One command, with help as people read it."""

    def get_params(self, ctx: Any) -> Any:
        return _described(super().get_params(ctx))


class Commands(TyperGroup):
    """All commands. A wrong option or command is a line, as every other error is; typer would print
    a box of several. Ctrl-C in a command that does not handle it itself prints a line, too.
    """

    def get_params(self, ctx: Any) -> Any:
        return _described(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        from typer import Exit

        try:
            return super().invoke(ctx)
        except USAGE_ERROR as error:
            complain(_wrong_usage(error))
            raise Exit(error.exit_code) from None
        except KeyboardInterrupt:
            complain("interrupted")
            raise Exit(130) from None


def _wrong_usage(error: Any) -> str:
    """What is wrong with an option or an argument: its name, the value, and the values allowed."""
    message = " ".join(error.format_message().split()).replace("Value error, ", "")
    message = message.replace("Input should be", "it must be").rstrip(".")
    reasons = getattr(error.__cause__, "errors", None)
    if reasons is not None:
        value = str(reasons()[0]["input"])
        message = message if f"'{value}'" in message else f"{message}, not {value!r}"
    if error.ctx is None:
        return message
    return f"{message}; see {error.ctx.command_path} --help"


def _described(parameters: list[Any]) -> list[Any]:
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


app = typer.Typer(
    cls=Commands,
    help="Which algorithm did this neural network learn? The Clock, the Pizza, a mix of both, "
    "or something else.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def flowing(text: str) -> str:
    """Every paragraph on one line, so that a terminal of any width wraps it: typer would keep
    the lines of a docstring.
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _print_version(requested: bool) -> None:
    if requested:
        from algophase import __version__

        echo(f"algophase {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


for module in (
    analyze,
    survey,
    distill,
    certify,
    rivals,
    handmade,
    train,
    check_gradients,
    doctor,
    sweep,
    runs,
    merge,
    retrain,
    compare,
    laws,
    llc,
    paper,
    report,
    explore,
    export,
):
    command = getattr(module, module.__name__.rpartition(".")[2])
    app.command(cls=Command, epilog=f"Example:  {module.EXAMPLE}", help=flowing(command.__doc__))(
        command
    )


def main() -> None:
    """Entry point of the `algophase` command."""
    lose_no_interrupt()
    try:
        app()
    except InputError as error:
        complain(error)
        sys.exit(1)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        complain(
            "this does not fit into memory; choose a smaller network, modulus or "
            f"table{f' ({error})' if str(error) else ''}"
        )
        sys.exit(1)
    except (
        OSError
    ) as error:  # a full disk behind standard output, for one; a closed pipe ends in typer
        where = f"{error.filename}: " if error.filename else ""
        complain(f"reading or writing failed: {where}{error.strerror or error}")
        _drop_output()
        sys.exit(1)
    except KeyboardInterrupt:  # before any command began
        complain("interrupted")
        sys.exit(130)


def _drop_output() -> None:
    """Python would try to write what is left once more when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
