"""`algophase rivals`: every rival account of how networks answer, tested on the same network."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algophase.cli import completion
from algophase.cli.options import (
    NETWORKS,
    Activation,
    AsJson,
    AttentionRate,
    FileGroup,
    FileModulus,
    Format,
    Operation,
    State,
)
from algophase.cli.output import CommandBar, check_writable, complain, echo
from algophase.core.errors import InputError

if TYPE_CHECKING:
    from algophase.analysis.rivals.rivals import Rivals

EXAMPLE = "algophase rivals clock pizza -o rivals.json"


def rivals(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help=f"Networks: {NETWORKS}, or directories of them.",
            autocompletion=completion.networks,
        ),
    ],
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Also write the JSON to this file."),
    ] = None,
    format: Format = None,
    activation: Activation = None,
    operation: Operation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Test rival accounts of how networks answer: Clock, Pizza, characters, coset circuits,
    rho-sets, approximate cosets, lookup.

    Each account says what it predicts, with its measures and whether the network passes. A table of
    interventions follows: accuracy and loss with |x| for ReLU, flipped signs, swapped embeddings,
    without interactions, with one representation kept, without the units of one coset. With --json,
    one object per network. An unusable file prints a one-line error and the others are still
    tested; the exit code is then 1.
    """
    from algophase.analysis.rivals.rivals import rivals_of
    from algophase.pages.rivals_text import overview
    from algophase.storage.analyses import Unusable, analyze_files, network_files
    from algophase.storage.files import write_atomically
    from algophase.storage.formats.contents import Reading

    if out is not None:
        _check_output(out)
        check_writable(None, out)
    files, problems = network_files(paths)
    for problem in problems:
        complain(problem)
    failed = len(problems)
    if operation is not None and group is not None:
        raise InputError("choose one of --operation and --group; a group has one operation")
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    records: list[dict[str, Any]] = []
    with CommandBar() as bar:
        for outcome in analyze_files(files, progress=bar, reading=reading, operation=operation):
            if isinstance(outcome, Unusable):
                bar.complain(outcome.problem)
                failed += 1
                continue
            try:
                result = rivals_of(outcome.analysis)
            except InputError as error:
                bar.complain(error)
                failed += 1
                continue
            records.append(_record(outcome.source, result))
            if not as_json:
                bar.console.file.flush()
                echo(f"{result}\n")
    text = json.dumps(records, indent=2, allow_nan=False)
    if as_json:
        echo(text)
    elif len(records) > 1:
        echo("\n".join(overview(records).lines()))
    if out is not None:
        write_atomically(out, f"{text}\n".encode())
        echo(f"wrote {out}", err=True)
    if failed:
        raise typer.Exit(1)


def _record(source: Path, result: "Rivals") -> dict[str, Any]:
    return {"path": str(source), **result.to_dict()}


def _check_output(out: Path) -> None:
    """Refuse to overwrite anything that is not JSON."""
    if out.is_dir() or (out.exists() and out.suffix != ".json"):
        raise InputError(f"{out} exists already and is not a JSON file; choose another name")
