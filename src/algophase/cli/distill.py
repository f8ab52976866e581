"""`algophase distill`: the program inside a network as a short Python file."""

from pathlib import Path
from typing import Annotated

import typer

from algophase.cli.options import (
    Activation,
    AttentionRate,
    FileGroup,
    FileModulus,
    Format,
    OneNetwork,
    State,
)
from algophase.cli.output import check_writable, echo

EXAMPLE = "algophase distill pizza -o program.py && python program.py"


def distill(
    path: OneNetwork,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Python file to write.",
            show_default="standard output",
        ),
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option(
            "--smallest",
            help="Write the smallest program that still answers every pair as the network does.",
        ),
    ] = False,
    least_share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="With --smallest: the share of the logits' squared norm that it must explain.",
        ),
    ] = 0.0,
    format: Format = None,
    activation: Activation = None,
    attention_rate: AttentionRate = None,
    modulus: FileModulus = None,
    state: State = None,
    group: FileGroup = None,
) -> None:
    """Write the formula inside a network as a readable Python file that needs NumPy alone.

    The file computes the logits and the answer of any pair. Its header says how closely it matches
    the network. Run as a script, it checks itself on all pairs. For a network on any finite group
    it builds the group and its representations. With --smallest, nothing is written
    if no program answers every pair as the network does; the exit code is then 1.
    """
    from algophase.analysis.analyze import analyze
    from algophase.analysis.program.distill import distill as distill_network
    from algophase.core.errors import InputError
    from algophase.storage import load
    from algophase.storage.files import write_atomically

    if least_share and not smallest:
        raise InputError(
            "--least-share needs --smallest; the whole program has every key frequency"
        )
    if out is not None:
        _check_output(out, path)
        check_writable(None, out)
    network = load(
        path,
        format,
        activation,
        attention_rate=attention_rate,
        modulus=modulus,
        state=state,
        group=group,
    )
    program = distill_network(network, smallest=smallest, least_share=least_share)
    proof = program.certificate
    echo(f"{network.id}: {analyze(network).verdict.headline}", err=True)
    echo(program.summary, err=True)
    if proof.disagreeing:
        pairs = f"{proof.disagreeing:,} of {proof.pairs:,} pairs"
        echo(
            f"algophase: warning: the program differs from the network on {pairs}",
            err=True,
        )
    if out is None:
        typer.echo(program.source, nl=False)
    else:
        write_atomically(out, program.source.encode())
        echo(f"wrote {out}", err=True)


def _check_output(out: Path, network: Path) -> None:
    """Refuse to overwrite a network, its description, or anything that is not a Python file."""
    from algophase.core.errors import InputError
    from algophase.core.gallery import shipped_network

    if out.is_dir():
        raise InputError(f"{out} is a directory; give the name of a Python file")
    if not out.exists():
        return
    network = shipped_network(network)
    folder = network if network.is_dir() else network.parent
    inputs = [file for file in folder.iterdir() if file.suffix != ".py"] if folder.is_dir() else []
    for file in [network, *inputs]:
        if file.is_file() and out.samefile(file):
            raise InputError(
                f"{out} is the file {file}, which belongs to the network or is next to it; "
                "choose another name"
            )
    if out.suffix != ".py":
        raise InputError(
            f"{out} exists already and is not a Python file; choose another name, such as "
            "program.py"
        )
